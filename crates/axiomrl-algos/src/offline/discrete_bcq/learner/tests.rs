use super::*;
use crate::policy::{Memory, Mode};
use crate::testing::{batch, changed, follows, update, vector_and_image, with_context};
use axiomrl_envs::Space;

const ACTIONS: usize = 3;

/// One that sees numbers, and one that sees an image beside them.
fn each(config: &DiscreteBcqConfig, mut check: impl FnMut(DiscreteBcqLearner, Batch, bool)) {
    for setup in vector_and_image(&Space::Discrete { n: ACTIONS }) {
        let config = DiscreteBcqConfig { hidden_sizes: vec![16], ..config.clone() };
        let learner = DiscreteBcqLearner::new(config, ACTIONS, &setup).unwrap();
        let sees = learner.q.online.encoder.sees_images();
        check(learner, batch(&setup, 6), sees);
    }
}

/// Makes a network say the same whatever it sees.
fn says(net: &mut Mlp, out: [f32; ACTIONS]) {
    let params = net.params.make_mut();
    params.fill(0.0);
    let end = params.len();
    params[end - ACTIONS..].copy_from_slice(&out);
}

/// A record of probabilities 0.6, 0.3 and 0.1; the last choice is praised the most.
fn opinionated(learner: &mut DiscreteBcqLearner) {
    says(&mut learner.imitation, [0.6f32.ln(), 0.3f32.ln(), 0.1f32.ln()]);
    says(&mut learner.q.online.layers, [1.0, 2.0, 9.0]);
    says(&mut learner.q.target.layers, [5.0, 7.0, 100.0]);
}

#[test]
fn one_loss_trains_values_imitation_and_encoder() {
    each(&DiscreteBcqConfig::default(), |mut learner, batch, sees| {
        let moved = changed(&mut learner, |learner| {
            with_context(|context| learner.descend(&batch, &batch.reward, 1e-3, context).unwrap());
        });
        assert_eq!(moved, if sees { &["encoder.vision", "imitation", "q"][..] } else { &["imitation", "q"] });
        let tau = learner.config.tau;
        follows(&mut learner, &batch, "q", "q_target", tau);
        if sees {
            follows(&mut learner, &batch, "encoder", "encoder_target", tau);
        }
    });
}

#[test]
fn the_encoder_learns_from_the_imitation_as_well() {
    each(&DiscreteBcqConfig::default(), |mut learner, batch, sees| {
        // Values that are right already teach nothing, whatever they see.
        says(&mut learner.q.online.layers, [0.0; 3]);
        let moved = changed(&mut learner, |learner| {
            with_context(|context| learner.descend(&batch, &vec![0.0; batch.rows], 1e-3, context).unwrap());
        });
        assert_eq!(moved, if sees { &["encoder.vision", "imitation"][..] } else { &["imitation"] });
    });
}

#[test]
fn targets_move_at_their_interval() {
    // The update of the context is the second.
    for (interval, moves) in [(2, true), (3, false)] {
        let config = DiscreteBcqConfig { target_update_interval: interval, ..DiscreteBcqConfig::default() };
        each(&config, |mut learner, batch, _| {
            let moved = changed(&mut learner, |learner| update(learner, &batch));
            assert_eq!(moved.iter().any(|name| name == "q_target"), moves, "{moved:?}");
        });
    }
}

#[test]
fn the_best_known_choice_is_valued_by_the_slow_copy() {
    each(&DiscreteBcqConfig::default(), |mut learner, mut batch, _| {
        opinionated(&mut learner);
        let targets = |learner: &DiscreteBcqLearner, batch: &Batch| {
            with_context(|context| {
                let targets = learner.targets(batch, context);
                let share = context.metrics.take().into_iter().find(|(name, _)| name == "allowed_share").unwrap().1;
                (targets, share)
            })
        };
        let close = |found: &[f32], value: f32| {
            let wanted = batch.reward.iter().map(|reward| reward + 0.9 * value);
            assert!(found.iter().zip(wanted).all(|(f, w)| (f - w).abs() < 1e-4), "{found:?}, not {value}");
        };
        // Of the two that the record knows the second is better; the slow copy says 7.
        let (found, share) = targets(&learner, &batch);
        close(&found, 7.0);
        assert!((share - 2.0 / 3.0).abs() < 1e-6);
        // Everything is known under a lower threshold, and only the likeliest under a higher one.
        learner.config.threshold = 0.1;
        close(&targets(&learner, &batch).0, 100.0);
        learner.config.threshold = 0.6;
        close(&targets(&learner, &batch).0, 5.0);
        learner.config.threshold = 0.3;
        // What is forbidden at the next observation is not known.
        let mut masked = batch.clone();
        masked.masks = [vec![true; 6 * ACTIONS], [true, false, true].repeat(6)].concat();
        close(&targets(&learner, &masked).0, 5.0);
        batch.discount.fill(0.0);
        assert_eq!(targets(&learner, &batch).0, batch.reward);
    });
}

#[test]
fn the_parts_of_the_loss_by_hand() {
    each(&DiscreteBcqConfig { logit_penalty: 0.1, ..DiscreteBcqConfig::default() }, |learner, mut batch, _| {
        batch.action.copy_from_slice(&[0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
        let q = [1.0, 2.0, 9.0].repeat(6);
        let logits = [0.6f32.ln(), 0.3f32.ln(), 0.1f32.ln()].repeat(6);
        // Errors of 1/2, within the square, and of 3, beyond it.
        let targets = [0.5, -1.0].repeat(3);
        let (parts, [by_q, by_logits]) = learner.loss(&batch, &targets, &q, &logits);
        let close = |found: f32, wanted: f32| assert!((found - wanted).abs() < 1e-5, "{found} is not {wanted}");
        close(parts.critic, (0.125 + 2.5) / 2.0);
        close(parts.imitation, -(0.6f32.ln() + 0.3f32.ln()) / 2.0);
        let square = (0.6f32.ln().powi(2) + 0.3f32.ln().powi(2) + 0.1f32.ln().powi(2)) / 3.0;
        close(parts.penalty, 0.1 * square);
        close(parts.error, 1.75);
        close(parts.q_data, 1.5);
        close(parts.q_policy, 2.0);
        for (found, wanted) in by_q.iter().zip([0.5 / 6.0, 0.0, 0.0, 0.0, 1.0 / 6.0, 0.0]) {
            close(*found, wanted);
        }
        close(by_logits[0], (0.6 - 1.0 + 0.1 * 2.0 * 0.6f32.ln() / 3.0) / 6.0);
        close(by_logits[5], (0.1 + 0.1 * 2.0 * 0.1f32.ln() / 3.0) / 6.0);
    });
}

#[test]
fn it_acts_by_the_best_known_choice() {
    each(&DiscreteBcqConfig::default(), |mut learner, batch, _| {
        opinionated(&mut learner);
        let mut act = |masks: &[bool]| {
            let input = ActInput { obs: batch.obs(), masks };
            let (mut rng, mut actions) = (axiomrl_core::stream(1, "act"), vec![9.0; batch.rows]);
            let mut values = vec![9.0; batch.rows];
            learner.act(input, ActContext::new(&mut Memory::default(), Mode::Best, &mut rng), &mut actions).unwrap();
            assert!(learner.values(input, &mut values));
            (actions, values)
        };
        assert_eq!(act(&[]), (vec![1.0; 6], vec![2.0; 6]));
        // Without the likeliest choice the last one is a third as likely as what is left.
        assert_eq!(act(&[false, true, true].repeat(6)), (vec![2.0; 6], vec![9.0; 6]));
        assert_eq!(act(&[true, false, false].repeat(6)), (vec![0.0; 6], vec![1.0; 6]));
    });
}
