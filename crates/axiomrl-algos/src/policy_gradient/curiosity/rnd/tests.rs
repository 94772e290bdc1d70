use super::*;
use crate::policy_gradient::curiosity::CuriosityKind;
use crate::policy_gradient::curiosity::testing::{agrees, choice, settings, setup, steps};
use crate::policy_gradient::testing::{image, vector, vector_and_image};
use crate::testing::with_context;
use axiomrl_envs::Space;
use axiomrl_nn::gradients_of;

fn rnd(observation: Space) -> (Rnd, Steps) {
    let setup = setup(observation, choice());
    (Rnd::new(&settings(CuriosityKind::Rnd), &setup).unwrap(), steps(&setup))
}

fn mean(bonus: &[f32]) -> f32 {
    bonus.iter().sum::<f32>() / bonus.len() as f32
}

fn values(net: &mut Features) -> Vec<f32> {
    net.params().iter().flat_map(|params| params.as_slice().to_vec()).collect()
}

#[test]
fn squares_by_hand() {
    assert_eq!(mean_square(&[1.0, 3.0], &[0.0, 1.0]), (2.5, vec![1.0, 2.0]));
    // Columns (1, 3) and (5, 5), of variances 1 and 0.
    assert_eq!(variance(&[1.0, 5.0, 3.0, 5.0], 2), 0.5);
}

#[test]
fn the_predictors_gradient_agrees_with_finite_differences() {
    for observation in [vector(), image(), vector_and_image()] {
        let (mut rnd, steps) = rnd(observation);
        let loss = rnd.loss(&steps, &rnd.target.infer(steps.next_obs.as_ref()));
        assert!((loss.value - mean(&rnd.of(&steps))).abs() < 1e-5, "the loss is the mean bonus");
        for (i, gradient) in gradients_of(loss.node, &loss.tracked).iter().enumerate() {
            let of = |rnd: &Rnd| mean(&rnd.of(&steps));
            let what = format!("tensor {i}");
            agrees(&what, &mut rnd, |rnd| rnd.predictor.params().swap_remove(i), gradient, of);
        }
    }
}

#[test]
fn what_was_learned_is_news_no_more_and_the_target_never_moves() {
    let (mut rnd, seen) = rnd(vector());
    let mut unseen = steps(&setup(vector(), choice()));
    unseen.next_obs.floats.iter_mut().for_each(|x| *x = 3.0 - *x);
    let (target, predictor) = (values(&mut rnd.target), values(&mut rnd.predictor));
    let ratio = |rnd: &Rnd| mean(&rnd.of(&seen)) / mean(&rnd.of(&unseen));
    let before = ratio(&rnd);
    for _ in 0..200 {
        with_context(|context| rnd.learn(&seen, 1e-3, context)).unwrap();
    }
    assert!(ratio(&rnd) < 0.1 * before, "{} against {before}", ratio(&rnd));
    assert_eq!(values(&mut rnd.target), target);
    assert_ne!(values(&mut rnd.predictor), predictor);
}

#[test]
fn what_was_seen_before_and_done_does_not_matter() {
    let (rnd, steps) = rnd(vector());
    let other = Steps { obs: steps.next_obs.clone(), actions: vec![0.0; 5], next_obs: steps.next_obs.clone() };
    assert_eq!(rnd.of(&steps), rnd.of(&other));
}
