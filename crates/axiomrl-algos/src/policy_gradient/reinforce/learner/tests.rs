use super::*;
use crate::parts::torso::MemoryKind;
use crate::policy_gradient::testing::{self, Noise, vector, vector_and_image};
use axiomrl_core::RolloutSpec;
use axiomrl_envs::{ObsBuf, ObsWidths};

fn small() -> ReinforceConfig {
    ReinforceConfig { num_steps: 4, hidden_sizes: vec![8], value_steps: 2, ..ReinforceConfig::default() }
}

#[test]
fn the_policy_moves_first_and_then_the_value_alone() {
    let remembering =
        ReinforceConfig { memory: MemoryKind::Gru, recurrent_hidden_size: 8, sequence_length: 4, ..small() };
    for (config, observations, policy, value) in [
        (small(), vector(), "log_std policy", "value"),
        (small(), vector_and_image(), "log_std policy.head policy.vision", "value.head value.vision"),
        (
            remembering,
            vector(),
            "log_std policy.encoder policy.head policy.recurrent",
            "value.encoder value.head value.recurrent",
        ),
    ] {
        let (setup, length) = (testing::setup(observations), config.rollout().sequence_length);
        let mut learner = ReinforceLearner::new(config, &setup).unwrap();
        let noise = Noise::new(&mut learner, &setup, length);
        for (wanted, last) in [(policy, false), (value, false), (value, true)] {
            let mut done = false;
            let moved = testing::changed(&mut learner, |learner| done = testing::update(learner, &noise).0);
            assert_eq!((&moved[..], done), (wanted, last));
        }
        // And again from the beginning.
        assert_eq!(testing::changed(&mut learner, |learner| drop(testing::update(learner, &noise))), policy);
    }
}

#[test]
fn each_has_its_own_step_size() {
    let setup = testing::setup(vector());
    let zero = || axiomrl_core::Schedule::Constant(0.0);
    for (config, wanted) in [
        (ReinforceConfig { learning_rate: zero(), ..small() }, ["", "", ""]),
        (ReinforceConfig { value_learning_rate: Some(zero()), ..small() }, ["log_std policy", "", ""]),
    ] {
        let mut learner = ReinforceLearner::new(config, &setup).unwrap();
        let noise = Noise::new(&mut learner, &setup, 1);
        for wanted in wanted {
            assert_eq!(testing::changed(&mut learner, |learner| drop(testing::update(learner, &noise))), wanted);
        }
    }
}

/// Three steps with γ 0.9 that pay 1 each, values 2, 3, 4; what follows is worth 3, 5 (the last of an episode) and 6.
fn ended(terminated: bool) -> Rollout {
    let widths = ObsWidths { floats: 1, bytes: 0 };
    let mut rollout = Rollout::new(RolloutSpec {
        steps: 3,
        lanes: 1,
        widths,
        action_width: 1,
        mask_width: 0,
        raw: false,
        intrinsic: false,
    });
    for (t, value) in [2.0, 3.0, 4.0].into_iter().enumerate() {
        rollout.begin_row(t, ObsBuf::zeros(widths, 1).as_ref(), &[], &[0.0], &[0.0], &[value]);
        rollout.set_outcome(t, 0, 1.0, terminated && t == 1, !terminated && t == 1);
        if t > 0 {
            rollout.set_next_value(t, 0, if t == 1 { 5.0 } else { 6.0 });
        }
    }
    rollout
}

#[test]
fn returns_are_whole_whatever_lambda_is() {
    for (terminated, advantages) in [(false, [3.95, 2.5, 2.4]), (true, [-0.1, -2.0, 2.4])] {
        let mut rollout = ended(terminated);
        let near = |found: &[f32], wanted: [f32; 3]| {
            assert!(found.iter().zip(wanted).all(|(f, w)| (f - w).abs() < 1e-5), "{found:?} {wanted:?}");
        };
        rollout.compute_gae(0.9, 1.0);
        near(&rollout.advantage, advantages);
        rollout.compute_gae(0.9, 0.3);
        let returns = [advantages[0] + 2.0, advantages[1] + 3.0, advantages[2] + 4.0];
        near(&whole_returns(&rollout, 0.9), returns);
    }
}
