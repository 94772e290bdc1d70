use super::*;
use crate::offline::testing::acts_by_the_best;
use crate::parts::tracked::Trainable;
use crate::testing::{batch, changed, follows, tensors, update, vector_and_image, with_context};
use axiomrl_envs::{BoxSpace, Space};

const D: usize = 2;

/// One that sees numbers, and one that sees an image beside them.
fn each(config: &BcqConfig, mut check: impl FnMut(BcqLearner, Batch, bool)) {
    for setup in vector_and_image(&Space::Box(BoxSpace::uniform(D, -1.0, 1.0))) {
        let config = BcqConfig { hidden_sizes: vec![16], vae_hidden_sizes: vec![12], ..config.clone() };
        let learner = BcqLearner::new(config, &setup).unwrap();
        let sees = learner.critic.net.online.encoder.sees_images();
        check(learner, batch(&setup, 6), sees);
    }
}

fn small() -> BcqConfig {
    BcqConfig { target_samples: 3, act_samples: 5, ..BcqConfig::default() }
}

#[test]
fn each_part_trains_its_own_network_and_only_the_critics_train_the_encoder() {
    each(&small(), |mut learner, batch, sees| {
        let seen = learner.critic.net.online.encoder.infer(batch.obs()).into_owned();
        let by_model = changed(&mut learner, |learner| {
            with_context(|context| learner.vae.fit(&seen, &batch.action, 1e-3, context).unwrap());
        });
        assert_eq!(by_model, ["vae_decoder", "vae_encoder"]);
        let by_critics = changed(&mut learner, |learner| {
            with_context(|context| {
                let targets = learner.targets(&batch, context.rng);
                learner.critic.fit(&batch, &targets, 1e-3, context).unwrap();
            });
        });
        assert_eq!(by_critics, if sees { &["critic", "encoder.vision"][..] } else { &["critic"] });
        let by_policy = changed(&mut learner, |learner| {
            with_context(|context| learner.update_perturbation(&seen, batch.rows, 1e-3, context).unwrap());
        });
        assert_eq!(by_policy, ["perturbation"]);
    });
}

#[test]
fn an_update_moves_every_network_and_the_slow_copies_by_tau() {
    each(&small(), |mut learner, batch, sees| {
        let moved = changed(&mut learner, |learner| update(learner, &batch));
        let mut wanted = vec!["critic", "critic_target", "perturbation", "perturbation_target"];
        wanted.extend(["vae_decoder", "vae_encoder"]);
        if sees {
            wanted.splice(2..2, ["encoder.vision", "encoder_target.vision"]);
        }
        assert_eq!(moved, wanted);
        let tau = learner.config.tau;
        follows(&mut learner, &batch, "critic", "critic_target", tau);
        follows(&mut learner, &batch, "perturbation", "perturbation_target", tau);
        if sees {
            follows(&mut learner, &batch, "encoder", "encoder_target", tau);
        }
    });
}

#[test]
fn only_rewards_count_where_there_is_no_future() {
    each(&small(), |learner, mut batch, _| {
        batch.discount.fill(0.0);
        assert_eq!(with_context(|context| learner.targets(&batch, context.rng)), batch.reward);
    });
}

#[test]
fn targets_are_of_the_slow_copies_at_what_the_model_decodes() {
    each(&small(), |mut learner, batch, _| {
        let targets = |learner: &BcqLearner| with_context(|context| learner.targets(&batch, context.rng));
        let before = targets(&learner);
        let mut others = learner.critic.net.online.layers.params();
        others.extend(learner.perturbation.net.online.params());
        others.into_iter().for_each(|params| params.make_mut().fill(0.5));
        assert_eq!(targets(&learner), before, "what is learned has no part in them");
        let moved = |params: Vec<&mut axiomrl_nn::Params>| {
            params.into_iter().for_each(|params| params.make_mut().iter_mut().for_each(|w| *w *= 1.5));
        };
        moved(learner.perturbation.net.target.params());
        let by_correction = targets(&learner);
        assert_ne!(by_correction, before);
        moved(learner.vae.params());
        assert_ne!(targets(&learner), by_correction);
        // Critics of one opinion, 3 and 7 whatever the action: three quarters of the lower, one of the higher.
        let layers = &mut learner.critic.net.target.layers;
        let per_member = layers.params.per_member();
        layers.params.make_mut().fill(0.0);
        layers.params.make_mut()[per_member - 1] = 7.0;
        layers.params.make_mut()[2 * per_member - 1] = 3.0;
        for (target, reward) in targets(&learner).iter().zip(&batch.reward) {
            assert!((target - (reward + 0.9 * 4.0)).abs() < 1e-5, "{target} {reward}");
        }
    });
}

#[test]
fn the_correction_climbs_the_first_critic() {
    each(&BcqConfig { perturbation: 0.5, ..small() }, |mut learner, batch, _| {
        // The first critic likes large first numbers, the second small ones.
        let layers = &mut learner.critic.net.online.layers;
        let inputs = layers.spec.inputs;
        let spec = axiomrl_nn::MlpSpec::new(inputs, &[], 1, axiomrl_nn::Activation::Relu);
        *layers = axiomrl_nn::Mlp::new(spec, 2, &Init::pytorch(), &mut axiomrl_core::stream(1, "init"));
        let params = layers.params.make_mut();
        params.fill(0.0);
        (params[inputs - D], params[inputs + 1 + inputs - D]) = (1.0, -9.0);
        let seen = learner.critic.net.online.encoder.infer(batch.obs()).into_owned();
        let corrections = |learner: &BcqLearner| {
            let corrected = learner.perturbation.online(&seen, &vec![0.0; batch.rows * D], 1);
            corrected.iter().step_by(D).sum::<f32>()
        };
        let before = corrections(&learner);
        with_context(|context| {
            (0..5).for_each(|_| learner.update_perturbation(&seen, batch.rows, 1e-2, context).unwrap());
        });
        assert!(corrections(&learner) > before + 0.1, "{before} {}", corrections(&learner));
    });
}

#[test]
fn it_acts_by_the_best_corrected_proposal_of_the_first_critic() {
    each(&small(), |mut learner, batch, _| {
        let seen = learner.critic.net.online.encoder.infer(batch.obs()).into_owned();
        let latents = learner.latents.repeat(batch.rows);
        let candidates = learner.perturbation.online(&seen, &learner.vae.decode(&seen, &latents, 5), 5);
        let q = scores(&learner.critic.net.online.layers, &seen, &candidates, batch.rows, 5);
        acts_by_the_best(&mut learner, &batch, &candidates, &q[..5 * batch.rows]);
        let kept = tensors(&mut learner);
        assert_eq!(kept["latents"].len(), 5 * 2 * D, "what the best action is chosen with belongs to the policy");
    });
}
