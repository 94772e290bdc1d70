//! The clipped objective with its value and entropy terms, and its gradient, in one pass over a minibatch.

use super::minibatch::Minibatch;
use axiomrl_nn::Distribution;

/// Weights and limits of the objective.
#[derive(Clone, Copy, Debug)]
pub struct PpoTerms {
    pub clip: f32,
    /// Limit on how far a value may move per update; `None` leaves it free.
    pub value_clip: Option<f32>,
    pub value_weight: f32,
    pub entropy_weight: f32,
}

/// What the objective came to, for the logs.
#[derive(Clone, Copy, Debug, Default)]
pub struct PpoReport {
    pub loss: f32,
    pub policy_loss: f32,
    /// Of all kinds of reward together.
    pub value_loss: f32,
    /// Of what the learner pays itself alone.
    pub intrinsic_value_loss: f32,
    pub entropy: f32,
    /// Estimate of the divergence from the policy that acted: mean of (ratio - 1) - log ratio.
    pub approx_kl: f32,
    pub clip_fraction: f32,
}

/// Gradients with respect to the policy head, the values and the log standard deviations.
pub struct PpoGradient {
    pub head: Vec<f32>,
    pub value: Vec<f32>,
    pub log_std: Vec<f32>,
}

/// `head` and `values` have a row for each step that the minibatch learns from; with values of several kinds, their losses add up.
pub fn ppo_loss(
    distribution: &Distribution,
    head: &[f32],
    values: &[f32],
    log_std: &[f32],
    batch: &Minibatch,
    terms: PpoTerms,
) -> (PpoReport, PpoGradient) {
    let rows = batch.log_prob.len();
    let share = 1.0 / rows as f32;
    let (head_width, action_width) = (distribution.head_width(), distribution.action_width());
    let (mask_width, streams) = (batch.masks.len() / rows, batch.streams());
    let mut gradient =
        PpoGradient { head: vec![0.0; head.len()], value: vec![0.0; values.len()], log_std: vec![0.0; log_std.len()] };
    let mut report = PpoReport::default();
    let mut kept = vec![0.0; distribution.kept_width()];
    for row in 0..rows {
        let head_row = &head[row * head_width..(row + 1) * head_width];
        let head_gradient = &mut gradient.head[row * head_width..(row + 1) * head_width];
        let action = &batch.action[row * action_width..(row + 1) * action_width];
        let mask = &batch.masks[row * mask_width..(row + 1) * mask_width];

        let (log_prob, entropy) = distribution.log_prob_entropy(head_row, log_std, mask, action, &mut kept);
        let log_ratio = log_prob - batch.log_prob[row];
        let ratio = log_ratio.exp();
        let (objective, slope) = clipped_objective(ratio, batch.advantage[row], terms.clip);
        report.policy_loss -= share * objective;
        report.entropy += share * entropy;
        report.approx_kl += share * ((ratio - 1.0) - log_ratio);
        report.clip_fraction += if (ratio - 1.0).abs() > terms.clip { share } else { 0.0 };
        let (ratio_slope, entropy_slope) = (-share * slope, -terms.entropy_weight * share);
        if ratio_slope != 0.0 || entropy_slope != 0.0 {
            let log_std_gradient = &mut gradient.log_std;
            distribution.d_log_prob_entropy(
                mask,
                action,
                &kept,
                ratio_slope,
                entropy_slope,
                head_gradient,
                log_std_gradient,
            );
        }

        for at in row * streams..(row + 1) * streams {
            let (value_loss, value_slope) =
                value_term(values[at], batch.value[at], batch.returns[at], terms.value_clip);
            report.value_loss += share * value_loss;
            report.intrinsic_value_loss += if at > row * streams { share * value_loss } else { 0.0 };
            gradient.value[at] = terms.value_weight * share * value_slope;
        }
    }
    report.loss = report.policy_loss + terms.value_weight * report.value_loss - terms.entropy_weight * report.entropy;
    (report, gradient)
}

/// min(r A, clip(r, 1 - c, 1 + c) A), and its slope along the logarithm of r: flat where the clipped branch is the smaller one.
fn clipped_objective(ratio: f32, advantage: f32, clip: f32) -> (f32, f32) {
    let clipped = ratio.clamp(1.0 - clip, 1.0 + clip);
    let (free, bounded) = (ratio * advantage, clipped * advantage);
    (free.min(bounded), if free <= bounded { free } else { 0.0 })
}

/// Squared error, or with a limit the larger of the free and the limited one; and its slope.
fn value_term(value: f32, old: f32, target: f32, clip: Option<f32>) -> (f32, f32) {
    let error = value - target;
    let free = (0.5 * error * error, error);
    let Some(limit) = clip else { return free };
    let moved = (value - old).clamp(-limit, limit);
    let limited_error = old + moved - target;
    let limited = 0.5 * limited_error * limited_error;
    if limited > free.0 {
        let slope = if (value - old).abs() < limit { limited_error } else { 0.0 };
        (limited, slope)
    } else {
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(log_prob: f32, advantage: f32) -> Minibatch {
        Minibatch {
            action: vec![0.0],
            log_prob: vec![log_prob],
            advantage: vec![advantage],
            returns: vec![2.0],
            value: vec![0.0],
            ..Minibatch::default()
        }
    }

    const TERMS: PpoTerms = PpoTerms { clip: 0.2, value_clip: None, value_weight: 0.5, entropy_weight: 0.01 };

    #[test]
    fn hand_computed_row() {
        // Two equal logits: p = 1/2, log p = -ln 2, entropy = ln 2. The old probability was 0.4, so the ratio is 1.25,
        // over the limit of 1.2: with a positive advantage the objective is 1.2 and flat.
        let d = Distribution::Categorical { n: 2 };
        let (report, gradient) = ppo_loss(&d, &[0.0, 0.0], &[1.0], &[], &batch(0.4f32.ln(), 1.0), TERMS);
        assert!((report.policy_loss + 1.2).abs() < 1e-6);
        assert!((report.entropy - 2f32.ln()).abs() < 1e-6);
        assert!((report.value_loss - 0.5).abs() < 1e-6);
        assert!((report.loss - (-1.2 + 0.25 - 0.01 * 2f32.ln())).abs() < 1e-6);
        assert!((report.clip_fraction - 1.0).abs() < 1e-6);
        assert!((report.approx_kl - (0.25 - 1.25f32.ln())).abs() < 1e-6);
        assert!(gradient.head.iter().all(|g| g.abs() < 1e-6), "flat, and the entropy is at its maximum");
        assert!((gradient.value[0] + 0.5).abs() < 1e-6);
        // A negative advantage takes the free branch: d(-ratio * A)/d logit_0 = 1.25 * (1 - 1/2).
        let (report, gradient) = ppo_loss(&d, &[0.0, 0.0], &[1.0], &[], &batch(0.4f32.ln(), -1.0), TERMS);
        assert!((report.policy_loss - 1.25).abs() < 1e-6);
        assert!((gradient.head[0] - 0.625).abs() < 1e-6 && (gradient.head[1] + 0.625).abs() < 1e-6);
    }

    #[test]
    fn errors_of_two_values_add_up() {
        let two = Minibatch { returns: vec![2.0, 5.0], value: vec![0.0; 2], ..batch(0.5f32.ln(), 0.0) };
        let d = Distribution::Categorical { n: 2 };
        let (report, gradient) = ppo_loss(&d, &[0.0, 0.0], &[1.0, 2.0], &[], &two, TERMS);
        assert_eq!((report.value_loss, gradient.value), (5.0, vec![-0.5, -1.5]), "(1 + 9) / 2");
        assert_eq!(report.intrinsic_value_loss, 4.5);
    }

    #[test]
    fn gradient_agrees_with_finite_differences() {
        let d = Distribution::DiagGaussian { d: 2 };
        let mut rng = axiomrl_core::stream(3, "test");
        let mut draw = || rand::RngExt::random_range(&mut rng, -1.0f32..1.0);
        let rows = 5;
        let head: Vec<f32> = (0..rows * 2).map(|_| draw()).collect();
        let values: Vec<f32> = (0..rows).map(|_| draw()).collect();
        let log_std = [0.3, -0.2];
        let batch = Minibatch {
            action: (0..rows * 2).map(|_| draw()).collect(),
            log_prob: (0..rows).map(|_| -2.0 + 0.2 * draw()).collect(),
            advantage: (0..rows).map(|_| draw()).collect(),
            returns: (0..rows).map(|_| draw()).collect(),
            value: (0..rows).map(|_| draw()).collect(),
            ..Minibatch::default()
        };
        let terms = PpoTerms { value_clip: Some(0.3), ..TERMS };
        let loss = |h: &[f32], v: &[f32], s: &[f32]| f64::from(ppo_loss(&d, h, v, s, &batch, terms).0.loss);
        let gradient = ppo_loss(&d, &head, &values, &log_std, &batch, terms).1;
        let step = 1e-2;
        let check = |name: &str, i: usize, exact: f32, up: f64, down: f64| {
            let numeric = (up - down) / f64::from(2.0 * step);
            assert!((numeric - f64::from(exact)).abs() < 3e-3, "{name}[{i}]: {numeric} against {exact}");
        };
        let moved = |x: &[f32], i: usize, by: f32| {
            let mut x = x.to_vec();
            x[i] += by;
            x
        };
        for i in 0..head.len() {
            let (up, down) = (moved(&head, i, step), moved(&head, i, -step));
            check("head", i, gradient.head[i], loss(&up, &values, &log_std), loss(&down, &values, &log_std));
        }
        for i in 0..rows {
            let (up, down) = (moved(&values, i, step), moved(&values, i, -step));
            check("value", i, gradient.value[i], loss(&head, &up, &log_std), loss(&head, &down, &log_std));
        }
        for i in 0..2 {
            let (up, down) = (moved(&log_std, i, step), moved(&log_std, i, -step));
            check("log_std", i, gradient.log_std[i], loss(&head, &values, &up), loss(&head, &values, &down));
        }
    }

    fn near((value, slope): (f32, f32), wanted: (f32, f32)) {
        assert!((value - wanted.0).abs() < 1e-5 && (slope - wanted.1).abs() < 1e-5, "{value} {slope}, not {wanted:?}");
    }

    #[test]
    fn a_ratio_is_limited_on_the_side_that_pays() {
        near(clipped_objective(0.5, -1.0, 0.2), (-0.8, 0.0));
        near(clipped_objective(0.5, 1.0, 0.2), (0.5, 0.5));
        near(clipped_objective(1.5, 1.0, 0.2), (1.2, 0.0));
        near(clipped_objective(1.5, -1.0, 0.2), (-1.5, -1.5));
    }

    #[test]
    fn of_a_free_and_a_limited_value_the_worse_one_counts() {
        // From 0 to 1 where 3 is right: limited to 0.2 it is farther away, and stands still.
        near(value_term(1.0, 0.0, 3.0, Some(0.2)), (3.92, 0.0));
        // Where 0 is right the limited one is nearer.
        near(value_term(1.0, 0.0, 0.0, Some(0.2)), (0.5, 1.0));
        near(value_term(1.0, 0.0, 3.0, None), (2.0, -2.0));
    }
}
