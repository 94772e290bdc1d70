use super::*;
use crate::policy::Memory;
use crate::testing::{batch, changed, follows, tensors, vector_and_image, with_context};
use axiomrl_envs::Space;

const ACTIONS: usize = 3;

/// One that sees numbers, and one that sees an image beside them.
fn each(mut check: impl FnMut(DiscreteSacLearner, Batch, bool)) {
    for setup in vector_and_image(&Space::Discrete { n: ACTIONS }) {
        let config = DiscreteSacConfig { hidden_sizes: vec![16], ..DiscreteSacConfig::default() };
        let learner = DiscreteSacLearner::new(config, ACTIONS, &setup).unwrap();
        let sees = learner.critic.net.online.encoder.sees_images();
        check(learner, batch(&setup, 6), sees);
    }
}

#[test]
fn critics_train_the_encoder_and_the_actor_does_not() {
    each(|mut learner, batch, sees| {
        let mut seen = Vec::new();
        let by_critics = changed(&mut learner, |learner| {
            let targets = learner.targets(&batch);
            seen = with_context(|context| learner.update_critics(&batch, &targets, 1e-3, context).unwrap());
        });
        assert_eq!(by_critics, if sees { &["critic", "encoder.vision"][..] } else { &["critic"] });
        let by_actor = changed(&mut learner, |learner| {
            with_context(|context| learner.update_actor(&seen, &batch, 1e-3, context).unwrap());
        });
        assert_eq!(by_actor, ["actor"]);
    });
}

#[test]
fn targets_follow_by_tau_alone() {
    each(|mut learner, batch, sees| {
        let tau = learner.config.tau;
        follows(&mut learner, &batch, "critic", "critic_target", tau);
        if sees {
            follows(&mut learner, &batch, "encoder", "encoder_target", tau);
        }
    });
}

#[test]
fn only_rewards_count_where_there_is_no_future() {
    each(|learner, mut batch, _| {
        batch.discount.fill(0.0);
        assert_eq!(learner.targets(&batch), batch.reward);
    });
}

#[test]
fn a_forbidden_action_has_no_part_in_targets_gradients_and_choices() {
    each(|mut learner, mut batch, _| {
        // Both critics' opinion of the last action: the last of the output layer's biases, which end each member.
        let praise = |net: &mut SeeingNet| {
            let per_member = net.layers.params.per_member();
            net.layers
                .params
                .make_mut()
                .chunks_exact_mut(per_member)
                .for_each(|member| member[per_member - 1] += 100.0);
        };
        let open = learner.targets(&batch);
        batch.masks = (0..2 * batch.rows).flat_map(|_| [true, true, false]).collect();
        let masked = learner.targets(&batch);
        assert_ne!(masked, open);
        praise(&mut learner.critic.net.target);
        assert_eq!(learner.targets(&batch), masked);
        praise(&mut learner.critic.net.online);
        let bias = |learner: &mut DiscreteSacLearner| {
            let all = tensors(learner);
            let (_, bias) = all.iter().rfind(|(name, _)| name.starts_with("actor") && name.ends_with("bias")).unwrap();
            bias.clone()
        };
        let before = bias(&mut learner);
        assert_eq!(before.len(), ACTIONS);
        let seen = learner.critic.net.online.encoder.infer(batch.obs()).into_owned();
        with_context(|context| learner.update_actor(&seen, &batch, 1e-3, context).unwrap());
        let after = bias(&mut learner);
        assert!(before[0] != after[0] && before[1] != after[1] && before[2] == after[2], "{before:?} {after:?}");
        let input = ActInput { obs: batch.obs(), masks: batch.masks() };
        let (mut rng, mut actions) = (axiomrl_core::stream(1, "act"), vec![9.0; batch.rows]);
        for _ in 0..50 {
            learner.act(input, ActContext::new(&mut Memory::default(), Mode::Sample, &mut rng), &mut actions).unwrap();
            assert!(actions.iter().all(|&a| a < 2.0), "{actions:?}");
        }
    });
}

#[test]
fn masks_lower_the_entropy_that_is_asked_for() {
    assert_eq!(largest_entropy(&[], 4, ACTIONS), 3f32.ln());
    // Two choices in one row, a single one in the other, which leaves no entropy at all.
    let masks = [true, true, false, false, true, false];
    assert!((largest_entropy(&masks, 2, ACTIONS) - 0.5 * 2f32.ln()).abs() < 1e-6);
}

#[test]
fn the_temperature_falls_where_there_is_more_entropy_than_asked_for_and_rises_where_there_is_less() {
    for (ratio, rises) in [(0.0, false), (2.0, true)] {
        each(|mut learner, batch, _| {
            learner.config.target_entropy_ratio = axiomrl_core::Schedule::Constant(ratio);
            let before = learner.temperature.value();
            with_context(|context| learner.update(&batch, context).unwrap());
            assert_eq!(learner.temperature.value() > before, rises);
        });
    }
}

#[test]
fn the_more_cautious_critic_is_believed() {
    each(|learner, _, _| {
        let q = [1.0, 5.0, 2.0, 3.0, 4.0, 2.5];
        assert_eq!([0, 1, 2].map(|action| learner.lower(&q, 0, action)), [1.0, 4.0, 2.0]);
    });
}

#[test]
fn where_there_is_no_choice_no_entropy_is_asked_for() {
    each(|mut learner, mut batch, _| {
        batch.masks = (0..2 * batch.rows).flat_map(|_| [true, false, false]).collect();
        let before = learner.temperature.value();
        with_context(|context| learner.update(&batch, context).unwrap());
        assert_eq!(learner.temperature.value(), before);
    });
}
