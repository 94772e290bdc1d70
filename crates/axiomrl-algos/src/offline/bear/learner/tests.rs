use super::*;
use crate::offline::testing::acts_by_the_best;
use crate::testing::{batch, changed, follows, tensors, update, vector_and_image, with_context};
use axiomrl_envs::{BoxSpace, Space};

const D: usize = 2;

/// One that sees numbers, and one that sees an image beside them.
fn each(config: &BearConfig, mut check: impl FnMut(BearLearner, Batch, bool)) {
    for setup in vector_and_image(&Space::Box(BoxSpace::uniform(D, -1.0, 1.0))) {
        let config = BearConfig { hidden_sizes: vec![16], vae_hidden_sizes: vec![12], ..config.clone() };
        let learner = BearLearner::new(config, &setup).unwrap();
        let sees = learner.critic.net.online.encoder.sees_images();
        check(learner, batch(&setup, 6), sees);
    }
}

fn small() -> BearConfig {
    BearConfig { target_samples: 3, act_samples: 5, mmd_samples: 4, ..BearConfig::default() }
}

#[test]
fn each_part_trains_its_own_network_and_only_the_critics_train_the_encoder() {
    each(&small(), |mut learner, batch, sees| {
        let seen = learner.critic.net.online.encoder.infer(batch.obs()).into_owned();
        let by_critics = changed(&mut learner, |learner| {
            with_context(|context| {
                let targets = learner.targets(&batch, context.rng);
                learner.critic.fit(&batch, &targets, 1e-3, context).unwrap();
            });
        });
        assert_eq!(by_critics, if sees { &["critic", "encoder.vision"][..] } else { &["critic"] });
        let by_actor = changed(&mut learner, |learner| {
            with_context(|context| learner.update_actor(&seen, batch.rows, 1e-3, context).unwrap());
        });
        assert_eq!(by_actor, ["actor"], "neither the critics nor the action model");
        let by_dual = changed(&mut learner, |learner| learner.dual.update(1.0, 1e-3, 1).unwrap());
        assert_eq!(by_dual, ["log_mmd_weight"]);
    });
}

#[test]
fn an_update_moves_every_network_and_the_slow_copies_by_tau() {
    each(&small(), |mut learner, batch, sees| {
        let moved = changed(&mut learner, |learner| update(learner, &batch));
        let mut wanted = vec!["actor", "actor_target", "critic", "critic_target"];
        wanted.extend(["log_mmd_weight", "vae_decoder", "vae_encoder"]);
        if sees {
            wanted.splice(4..4, ["encoder.vision", "encoder_target.vision"]);
        }
        assert_eq!(moved, wanted);
        let tau = learner.config.tau;
        follows(&mut learner, &batch, "critic", "critic_target", tau);
        follows(&mut learner, &batch, "actor", "actor_target", tau);
        if sees {
            follows(&mut learner, &batch, "encoder", "encoder_target", tau);
        }
    });
}

#[test]
fn targets_are_of_the_slow_copies() {
    each(&small(), |mut learner, mut batch, _| {
        let targets =
            |learner: &BearLearner, batch: &Batch| with_context(|context| learner.targets(batch, context.rng));
        let before = targets(&learner, &batch);
        let mut others = learner.critic.net.online.layers.params();
        others.extend(learner.actor.online.params());
        others.into_iter().for_each(|params| params.make_mut().fill(0.5));
        assert_eq!(targets(&learner, &batch), before, "what is learned has no part in them");
        learner.actor.target.params.make_mut().iter_mut().for_each(|w| *w *= 1.5);
        assert_ne!(targets(&learner, &batch), before);
        // Critics of one opinion, 3 and 7 whatever the action: three quarters of the lower, one of the higher.
        let layers = &mut learner.critic.net.target.layers;
        let per_member = layers.params.per_member();
        layers.params.make_mut().fill(0.0);
        layers.params.make_mut()[per_member - 1] = 7.0;
        layers.params.make_mut()[2 * per_member - 1] = 3.0;
        for (target, reward) in targets(&learner, &batch).iter().zip(&batch.reward) {
            assert!((target - (reward + 0.9 * 4.0)).abs() < 1e-5, "{target} {reward}");
        }
        batch.discount.fill(0.0);
        assert_eq!(targets(&learner, &batch), batch.reward);
    });
}

/// Outputs of an actor, noise and recorded samples for the rows of a batch.
fn samples(learner: &BearLearner, batch: &Batch) -> (Vec<f32>, Vec<f32>, Vec<f32>, Vec<f32>) {
    let mut rng = axiomrl_core::stream(8, "test");
    let mut some = |count: usize| (0..count).map(|_| 0.5 * normal(&mut rng)).collect::<Vec<f32>>();
    let each = batch.rows * learner.config.mmd_samples * D;
    let seen = learner.critic.net.online.encoder.infer(batch.obs()).into_owned();
    (seen, some(batch.rows * 2 * D), some(each), some(each))
}

#[test]
fn the_loss_of_the_actor_is_its_parts_and_its_slope_that_of_differences() {
    // Narrow kernels and smooth critics, so that differences have something to see.
    let config = BearConfig { mmd_sigma: 0.5, activation: axiomrl_nn::Activation::Tanh, ..small() };
    each(&config, |mut learner, batch, _| {
        learner.critic.net.online.layers.params.make_mut().iter_mut().for_each(|w| *w *= 3.0);
        let (seen, outputs, noise, recorded) = samples(&learner, &batch);
        for (alpha, warming_up) in [(2.0, false), (2.0, true), (0.0, false)] {
            let at = |outputs: &[f32]| learner.actor_loss(outputs, &seen, &noise, &recorded, alpha, warming_up);
            let found = at(&outputs);
            let q = if warming_up { 0.0 } else { found.q };
            assert!((found.value - (alpha * found.mmd - q)).abs() < 1e-6);
            for i in (0..outputs.len()).step_by(5) {
                let moved = |by: f32| {
                    let mut moved = outputs.clone();
                    moved[i] += by;
                    at(&moved).value
                };
                let numeric = (moved(4e-3) - moved(-4e-3)) / 8e-3;
                assert!((numeric - found.by_outputs[i]).abs() < 3e-3, "{i}: {numeric} {}", found.by_outputs[i]);
            }
            let size = found.by_outputs.iter().map(|g| g.abs()).fold(0.0, f32::max);
            assert!(size > 2e-2, "{size}");
        }
    });
}

#[test]
fn the_distance_is_of_samples_before_their_tanh_and_the_value_of_those_after() {
    each(&small(), |learner, batch, _| {
        let (seen, outputs, noise, _) = samples(&learner, &batch);
        let drawn = draw(&outputs, &noise, D, learner.config.mmd_samples);
        let mmd = |recorded: &[f32]| learner.actor_loss(&outputs, &seen, &noise, recorded, 1.0, false).mmd;
        assert!((mmd(&drawn.raw) - 1e-3).abs() < 1e-5, "no further from itself than the floor under the root");
        assert!(mmd(&drawn.action) > 2e-3);
        let q = ascend(&learner.critic.net.online.layers, &seen, &drawn.action, batch.rows, 4).value;
        assert_eq!(learner.actor_loss(&outputs, &seen, &noise, &drawn.raw, 1.0, false).q, q);
    });
}

#[test]
fn the_noise_that_the_actor_learns_from_is_cut() {
    let noise = clipped_noise(1000, &mut axiomrl_core::stream(1, "test"));
    let cut = noise.iter().filter(|noise| noise.abs() == 0.5).count();
    assert!(noise.iter().all(|noise| noise.abs() <= 0.5) && (500..750).contains(&cut), "{cut}");
}

#[test]
fn the_warm_start_ends_with_its_part_of_the_run() {
    // The context's update is a tenth of the run in.
    for (fraction, warming_up) in [(0.05, false), (0.2, true)] {
        each(&BearConfig { warm_start_fraction: fraction, ..small() }, |mut learner, batch, _| {
            let seen = learner.critic.net.online.encoder.infer(batch.obs()).into_owned();
            let logged = with_context(|context| {
                learner.update_actor(&seen, batch.rows, 1e-3, context).unwrap();
                context.metrics.take()
            });
            let of = |name: &str| logged.iter().find(|(found, _)| found == name).unwrap().1;
            let distance_alone = (of("actor_loss") - of("mmd_weight") * of("mmd")).abs() < 1e-6;
            assert_eq!(distance_alone, warming_up, "what the critics think counts after it: {logged:?}");
        });
    }
}

#[test]
fn the_weight_follows_the_distance_that_the_actor_had() {
    for (threshold, grows) in [(0.0, true), (2.0, false)] {
        each(&BearConfig { mmd_threshold: threshold, ..small() }, |mut learner, batch, _| {
            update(&mut learner, &batch);
            assert_eq!(learner.dual.weight() > 1.0, grows, "{}", learner.dual.weight());
        });
    }
}

#[test]
fn it_acts_by_the_best_draw_of_the_first_critic() {
    each(&small(), |mut learner, batch, _| {
        let mut outputs = Vec::new();
        let seen = learner.critic.net.online.encoder.infer(batch.obs()).into_owned();
        learner.actor.online.infer(&seen, batch.rows, &mut outputs);
        let candidates = draw(&outputs, &learner.noise.repeat(batch.rows), D, 5).action;
        let q = scores(&learner.critic.net.online.layers, &seen, &candidates, batch.rows, 5);
        acts_by_the_best(&mut learner, &batch, &candidates, &q[..5 * batch.rows]);
        assert_eq!(tensors(&mut learner)["noise"].len(), 5 * D);
    });
}
