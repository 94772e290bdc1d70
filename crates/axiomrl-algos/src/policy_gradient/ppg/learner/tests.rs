use super::*;
use crate::agent::Agent;
use crate::policy_gradient::testing::{self, Noise, vector, vector_and_image};
use crate::regimes::OnPolicy;
use crate::testing::drive;
use axiomrl_envs::Space;
use std::collections::BTreeMap;

fn small() -> PpgConfig {
    PpgConfig {
        num_steps: 4,
        hidden_sizes: vec![8],
        minibatch_size: 4,
        aux_frequency: 2,
        aux_epochs: 2,
        aux_minibatch_size: 8,
        ..PpgConfig::default()
    }
}

fn learner(config: PpgConfig, observations: Space) -> (PpgLearner, Noise) {
    let setup = testing::setup(observations);
    let mut learner = PpgLearner::new(config, &setup).unwrap();
    let noise = Noise::new(&mut learner, &setup, 1);
    (learner, noise)
}

/// What each of the next updates changes, and whether it was the last one on its rollout.
fn changes(learner: &mut PpgLearner, noise: &Noise, updates: usize) -> Vec<(String, bool)> {
    let mut seen = Vec::new();
    for _ in 0..updates {
        let mut done = false;
        let moved = testing::changed(learner, |learner| done = testing::update(learner, noise).0);
        seen.push((moved, done));
    }
    seen
}

#[test]
fn the_auxiliary_head_learns_in_its_phase_alone() {
    for (observations, both, aux) in [
        (
            vector(),
            "log_std policy.encoder policy.head value.encoder value.head",
            "log_std policy.aux policy.encoder policy.head value.encoder value.head",
        ),
        (
            vector_and_image(),
            "log_std policy.encoder policy.head policy.vision value.encoder value.head value.vision",
            "log_std policy.aux policy.encoder policy.head policy.vision value.encoder value.head value.vision",
        ),
    ] {
        let (mut learner, noise) = learner(small(), observations);
        // Two minibatches a rollout, two rollouts a phase; then the old outputs, and two passes of two minibatches.
        let seen = changes(&mut learner, &noise, 10);
        let moved: Vec<&str> = seen.iter().map(|(moved, _)| &moved[..]).collect();
        // The first step of the phase has no divergence to close yet, so log_std may rest in it.
        assert_eq!(moved[..5], [both, both, both, both, ""]);
        assert_eq!(moved[6..9], [aux, aux, aux]);
        assert!(moved[5].contains("policy.aux") && moved[5].contains("value.head"), "{}", moved[5]);
        let done: Vec<bool> = seen.iter().map(|(_, done)| *done).collect();
        assert_eq!(done, [false, true, false, false, false, false, false, false, true, false]);
        assert_eq!(moved[9], both, "the next phase begins");
    }
}

#[test]
fn with_other_passes_the_value_goes_first() {
    let (mut learner, noise) = learner(PpgConfig { value_epochs: 2, aux_epochs: 0, ..small() }, vector());
    let (value, policy) = ("value.encoder value.head", "log_std policy.encoder policy.head");
    let seen = changes(&mut learner, &noise, 7);
    let moved: Vec<&str> = seen.iter().map(|(moved, _)| &moved[..]).collect();
    assert_eq!(moved, [value, value, value, value, policy, policy, value]);
    assert_eq!(
        seen.iter().map(|(_, done)| *done).collect::<Vec<_>>(),
        [false, false, false, false, false, true, false]
    );
}

#[test]
fn returns_and_old_outputs_are_those_of_their_time() {
    let (mut learner, noise) = learner(small(), vector());
    changes(&mut learner, &noise, 4);
    let returns = [&noise.rollout.returns[..], &noise.rollout.returns].concat();
    assert_eq!(learner.rule.phase.returns, returns);
    changes(&mut learner, &noise, 1);
    let old = learner.rule.phase.old_heads.clone();
    assert_eq!(old.len(), 2 * 16);
    changes(&mut learner, &noise, 2);
    assert_eq!((&learner.rule.phase.old_heads, &learner.rule.phase.returns), (&old, &returns));
    changes(&mut learner, &noise, 2);
    assert_eq!(learner.rule.phase.len(), 0, "cleared");
}

/// What the phase logged, with this weight on the divergence.
fn phase(beta_clone: f32) -> BTreeMap<String, f64> {
    let config = PpgConfig {
        beta_clone,
        aux_epochs: 40,
        learning_rate: axiomrl_core::Schedule::Constant(3e-3),
        hidden_sizes: vec![16],
        ..small()
    };
    let (mut learner, noise) = learner(config, vector());
    let mut logged = BTreeMap::new();
    for _ in 0..5 + 80 {
        logged.extend(testing::update(&mut learner, &noise).1);
    }
    logged
}

#[test]
fn the_divergence_holds_the_policy_while_the_features_learn() {
    let (held, free) = (phase(10.0), phase(0.0));
    assert!(free["aux_kl"] > 5.0 * held["aux_kl"], "{} {}", free["aux_kl"], held["aux_kl"]);
    // So strong a hold slows the features down, but does not stop them: untrained ones explain nothing.
    assert!(held["aux_explained_variance"] > 0.1, "{}", held["aux_explained_variance"]);
}

#[test]
fn advantages_are_standardised_over_the_rollout_and_shuffled_the_same_way_all_along() {
    let (mut learner, noise) = learner(PpgConfig { update_epochs: 2, value_epochs: 2, ..small() }, vector());
    changes(&mut learner, &noise, 1);
    let mut own = noise.rollout.advantage.clone();
    standardise(&mut own);
    assert_eq!(learner.rule.advantages, own);
    learner.rule.config.shuffle_advantages = true;
    changes(&mut learner, &noise, 3);
    changes(&mut learner, &noise, 1);
    let shuffled = learner.rule.advantages.clone();
    assert_ne!(shuffled, own);
    learner.rule.advantages.clear();
    changes(&mut learner, &noise, 1);
    assert_eq!(learner.rule.advantages, shuffled, "as after loading");
}

#[test]
fn stops_anywhere_change_nothing() {
    let make = |config: &PpgConfig, setup: Setup| -> Box<dyn Agent> {
        let learner = Box::new(PpgLearner::new(config.clone(), &setup).unwrap());
        Box::new(OnPolicy::new(learner, config.rollout(), &setup).unwrap())
    };
    for (env, scaling) in [
        ("CartPole-v1", ObsScaling::Running),
        ("Pendulum-v1", ObsScaling::Raw),
        ("IdentityMasked-v0", ObsScaling::Raw),
        ("Catch-v0", ObsScaling::Raw),
    ] {
        for shuffle_advantages in [false, true] {
            let config = PpgConfig { num_steps: 8, minibatch_size: 16, shuffle_advantages, ..small() };
            let run = |stopping| drive(env, 3, 150, stopping, |setup| make(&config, Setup { scaling, ..setup }));
            assert_eq!(run(true), run(false), "{env}");
        }
    }
}
