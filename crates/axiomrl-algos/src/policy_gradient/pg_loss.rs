//! The plain policy gradient and the squared error of the values, on the steps of a minibatch.

use super::minibatch::Minibatch;
use axiomrl_nn::Distribution;

/// What the objective of the policy came to, for the logs.
#[derive(Clone, Copy, Debug, Default)]
pub struct PgReport {
    /// -mean A log pi
    pub policy_loss: f32,
    pub entropy: f32,
    /// The largest distance of a probability ratio from 1: nothing but rounding, where the policy is the one that played.
    pub ratio_error: f32,
}

/// Gradients by the policy's heads, a row for each step, and by the log standard deviations.
pub struct PgGradient {
    pub head: Vec<f32>,
    pub log_std: Vec<f32>,
}

impl Minibatch {
    /// -mean A log pi - c_e * mean entropy, with its gradient. `head` has a row for all steps of the minibatch; those that are not
    /// learned from get no gradient.
    pub fn policy_gradient(
        &self,
        distribution: &Distribution,
        head: &[f32],
        log_std: &[f32],
        entropy_weight: f32,
    ) -> (PgReport, PgGradient) {
        let (width, actions) = (distribution.head_width(), distribution.action_width());
        let head = self.pick(head, width);
        let share = 1.0 / self.log_prob.len() as f32;
        let mut gradient = PgGradient { head: vec![0.0; head.len()], log_std: vec![0.0; log_std.len()] };
        let (mut report, mut kept) = (PgReport::default(), vec![0.0; distribution.kept_width()]);
        let rows = head.chunks_exact(width).zip(gradient.head.chunks_exact_mut(width));
        for (row, (head, by_head)) in rows.enumerate() {
            let (action, mask) = (&self.action[row * actions..(row + 1) * actions], self.mask(row));
            let (log_prob, entropy) = distribution.log_prob_entropy(head, log_std, mask, action, &mut kept);
            report.policy_loss -= share * self.advantage[row] * log_prob;
            report.entropy += share * entropy;
            report.ratio_error = report.ratio_error.max(((log_prob - self.log_prob[row]).exp() - 1.0).abs());
            let (k, k_entropy) = (-share * self.advantage[row], -share * entropy_weight);
            distribution.d_log_prob_entropy(mask, action, &kept, k, k_entropy, by_head, &mut gradient.log_std);
        }
        gradient.head = self.spread(gradient.head, width);
        (report, gradient)
    }

    /// mean (V - target)^2 over the steps that are learned from, and its gradient by the values of all. Where a step has several
    /// targets, side by side, their errors add up.
    pub fn value_error(&self, values: &[f32], targets: &[f32]) -> (f32, Vec<f32>) {
        let streams = targets.len() / self.learned.len();
        let values = self.pick(values, streams);
        let share = 1.0 / self.learned.len() as f32;
        let errors = || values.iter().zip(targets).map(|(value, target)| value - target);
        let loss = errors().map(|error| share * error * error).sum();
        (loss, self.spread(errors().map(|error| 2.0 * share * error).collect(), streams))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(advantage: &[f32]) -> Minibatch {
        let mut batch = Minibatch {
            action: vec![0.0, 1.0],
            log_prob: vec![0.5f32.ln(); 2],
            advantage: advantage.to_vec(),
            ..Minibatch::default()
        };
        batch.learn_from_all(2);
        batch
    }

    #[test]
    fn hand_computed_rows() {
        // Probabilities 1/2 and 1/2, advantages 2 and -1, actions 0 and 1: -(2 - 1) ln 1/2 over 2.
        let (batch, choice) = (rows(&[2.0, -1.0]), Distribution::Categorical { n: 2 });
        let (report, gradient) = batch.policy_gradient(&choice, &[0.0; 4], &[], 0.1);
        assert!((report.policy_loss - 0.5 * 2f32.ln()).abs() < 1e-6 && (report.entropy - 2f32.ln()).abs() < 1e-6);
        assert!(report.ratio_error < 1e-6);
        // d(-A log p_a / 2)/d logits = -A/2 (one-hot - p); the entropy is at its largest.
        let wanted = [-0.5, 0.5, -0.25, 0.25];
        assert!(gradient.head.iter().zip(wanted).all(|(g, w)| (g - w).abs() < 1e-6), "{:?}", gradient.head);
    }

    #[test]
    fn the_error_of_the_values_has_no_half() {
        let batch = rows(&[0.0; 2]);
        let (loss, gradient) = batch.value_error(&[1.0, 5.0], &[3.0, 4.0]);
        assert_eq!((loss, gradient), (2.5, vec![-2.0, 1.0]));
        // Two values for each step: (4 + 1 + 0 + 9) / 2.
        let (loss, gradient) = batch.value_error(&[1.0, 5.0, 2.0, 0.0], &[3.0, 4.0, 2.0, 3.0]);
        assert_eq!((loss, gradient), (7.0, vec![-2.0, 1.0, 0.0, -3.0]));
    }

    #[test]
    fn the_gradient_agrees_with_finite_differences() {
        let (batch, gaussian) = (rows(&[1.5, -0.7]), Distribution::DiagGaussian { d: 1 });
        let loss = |head: &[f32], log_std: &[f32]| {
            let report = batch.policy_gradient(&gaussian, head, log_std, 0.3).0;
            report.policy_loss - 0.3 * report.entropy
        };
        let (head, log_std) = ([0.2, -0.5], [0.4]);
        let gradient = batch.policy_gradient(&gaussian, &head, &log_std, 0.3).1;
        for i in 0..2 {
            let moved = |by: f32| {
                let mut head = head;
                head[i] += by;
                loss(&head, &log_std)
            };
            assert!(((moved(1e-2) - moved(-1e-2)) / 2e-2 - gradient.head[i]).abs() < 1e-3);
        }
        let difference = (loss(&head, &[0.41]) - loss(&head, &[0.39])) / 0.02;
        assert!((difference - gradient.log_std[0]).abs() < 2e-3, "{difference} {}", gradient.log_std[0]);
    }
}
