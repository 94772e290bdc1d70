use super::*;
use crate::testing::{batch, changed, tensors, update, vector_and_image, with_context};
use axiomrl_envs::{BoxSpace, Space};

/// One that sees numbers, and one that sees an image beside them.
fn each(config: &MpoConfig, mut check: impl FnMut(MpoLearner, Batch, bool)) {
    for setup in vector_and_image(&Space::Box(BoxSpace::uniform(2, -1.0, 1.0))) {
        let config = MpoConfig { hidden_sizes: vec![16], action_samples: 4, ..config.clone() };
        let learner = MpoLearner::new(config, &setup).unwrap();
        let sees = learner.critic.net.online.encoder.sees_images();
        check(learner, batch(&setup, 6), sees);
    }
}

#[test]
fn the_critic_trains_the_encoder_and_the_policy_does_not() {
    each(&MpoConfig::default(), |mut learner, batch, sees| {
        let mut seen = Vec::new();
        let by_critic = changed(&mut learner, |learner| {
            with_context(|context| {
                let targets = learner.targets(&batch, context.rng);
                seen = learner.update_critic(&batch, &targets, 1e-3, context).unwrap();
            });
        });
        assert_eq!(by_critic, if sees { &["critic", "encoder.vision"][..] } else { &["critic"] });
        let by_policy = changed(&mut learner, |learner| {
            with_context(|context| {
                let sampled = learner.sample(batch.obs(), context.rng);
                let (weights, _) = learner.weights(&sampled, context);
                learner.update_policy(&seen, &sampled, &weights, 1e-3, context).unwrap();
            });
        });
        assert_eq!(by_policy, ["actor"]);
        let moved = Divergence { mean: vec![1.0; 2], std: vec![1.0; 2] };
        let by_duals = changed(&mut learner, |learner| learner.update_duals([0.1; 2], &moved, 1e-2, 1).unwrap());
        assert_eq!(by_duals, ["duals"]);
    });
}

#[test]
fn targets_stand_still_until_they_are_copied() {
    // The update of the context is the second.
    for (interval, copies) in [(2, true), (3, false)] {
        let config = MpoConfig { target_update_interval: interval, ..MpoConfig::default() };
        each(&config, |mut learner, batch, _| {
            let before = tensors(&mut learner);
            update(&mut learner, &batch);
            let after = tensors(&mut learner);
            for (name, old) in before.iter().filter(|(name, _)| name.contains("_target")) {
                let online = &after[&name.replacen("_target", "", 1)];
                assert_eq!(after[name], *if copies { online } else { old }, "{name}");
            }
            assert!(before.keys().any(|name| name.starts_with("actor_target")));
        });
    }
}

#[test]
fn the_target_policy_draws_and_the_target_critic_judges() {
    each(&MpoConfig::default(), |mut learner, batch, _| {
        let sample = |learner: &MpoLearner| with_context(|context| learner.sample(batch.obs(), context.rng));
        let before = sample(&learner);
        for params in learner.actor.online.params().into_iter().chain(learner.critic.net.online.params()) {
            params.make_mut().fill(0.5);
        }
        let after = sample(&learner);
        assert_eq!((&before.head, &before.actions, &before.q), (&after.head, &after.actions, &after.q));
        for params in learner.critic.net.target.params() {
            params.make_mut().fill(0.5);
        }
        assert_ne!(sample(&learner).q, before.q);
    });
}

#[test]
fn weights_prefer_what_is_worth_more_and_lies_inside() {
    each(&MpoConfig::default(), |mut learner, _, _| {
        learner.duals.make_mut()[..2].fill(0.0);
        // One row of four samples: two of equal worth, one better, one as bad as the first but far outside.
        let actions = vec![0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 3.0, 0.0];
        let sampled = Sampled { head: vec![0.0; 4], actions, q: vec![1.0, 1.0, 2.0, 1.0] };
        let (weights, _) = with_context(|context| learner.weights(&sampled, context));
        assert_eq!(weights[0], weights[1]);
        assert!(weights[2] > weights[0] && weights[3] < weights[0], "{weights:?}");
        // Both softmaxes are at temperature ln 2: exp(1 / ln 2) and exp(-2 / ln 2), beside ones.
        let (better, outside) = ((1.0 / 2f32.ln()).exp(), (-2.0 / 2f32.ln()).exp());
        let wanted = better / (3.0 + better) + 1.0 / (3.0 + outside);
        assert!((weights[2] - wanted).abs() < 1e-5, "{weights:?}");
    });
}

#[test]
fn multipliers_grow_while_their_divergence_is_above_its_bound() {
    each(&MpoConfig::default(), |mut learner, _, _| {
        learner.duals.make_mut().fill(1.0);
        let moved = Divergence { mean: vec![1.0, 0.0], std: vec![0.0, 1.0] };
        learner.update_duals([1.0, -1.0], &moved, 0.1, 1).unwrap();
        let raised: Vec<bool> = learner.duals.as_slice().iter().map(|&raw| raw > 1.0).collect();
        assert_eq!(raised, [false, true, true, false, false, true]);
    });
}
