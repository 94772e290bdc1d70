//! The loss of imitating actions, each as much as it counts.

use super::fitted::OutputLoss;
use axiomrl_nn::Distribution;

/// Recorded actions and what they count, beside a policy's standard deviations.
pub struct Imitation<'a> {
    pub distribution: &'a Distribution,
    pub log_std: &'a [f32],
    /// Allowed choices of all rows; empty where everything is.
    pub masks: &'a [bool],
    pub actions: &'a [f32],
    pub weights: &'a [f32],
    /// Weight of half the squares of what a mean has beyond [-1, 1].
    pub bounds_penalty: f32,
}

impl Imitation<'_> {
    /// -mean w * log pi(a|s), with its derivatives by what the network gives and by the logarithms of the standard deviations;
    /// and the mean of log pi(a|s).
    pub fn loss(&self, heads: &[f32]) -> (OutputLoss, f32) {
        let (width, per_action) = (self.distribution.head_width(), self.distribution.action_width());
        let (rows, masked) = (self.weights.len(), self.masks.len() / self.weights.len());
        let share = 1.0 / rows as f32;
        let (mut gradient, mut direct) = (vec![0.0; heads.len()], vec![0.0; self.log_std.len()]);
        let (mut value, mut log_likelihood) = (0.0, 0.0);
        for (row, (head, by_head)) in heads.chunks_exact(width).zip(gradient.chunks_exact_mut(width)).enumerate() {
            let action = &self.actions[row * per_action..(row + 1) * per_action];
            let mask = &self.masks[row * masked..(row + 1) * masked];
            let log_prob = self.distribution.log_prob(head, self.log_std, mask, action);
            let pull = -share * self.weights[row];
            value += pull * log_prob;
            log_likelihood += share * log_prob;
            self.distribution.d_log_prob(head, self.log_std, mask, action, pull, by_head, &mut direct);
            if self.bounds_penalty > 0.0 {
                value += self.penalty(head, share, by_head);
            }
        }
        (OutputLoss { value, gradient, direct }, log_likelihood)
    }

    /// penalty / 2 * sum max(0, |mean| - 1)^2, which keeps a mean without bounds near those of its actions.
    fn penalty(&self, means: &[f32], share: f32, gradient: &mut [f32]) -> f32 {
        let mut squares = 0.0;
        for (mean, by_mean) in means.iter().zip(gradient) {
            let beyond = mean - mean.clamp(-1.0, 1.0);
            squares += beyond * beyond;
            *by_mean += share * self.bounds_penalty * beyond;
        }
        0.5 * share * self.bounds_penalty * squares
    }
}

/// mean over rows and numbers of w * (pi(s) - a)^2, with its derivatives.
pub fn distances(policy: &[f32], actions: &[f32], weights: &[f32]) -> OutputLoss {
    let share = 1.0 / policy.len() as f32;
    let width = policy.len() / weights.len();
    let mut loss = OutputLoss::default();
    for (at, (ours, theirs)) in policy.iter().zip(actions).enumerate() {
        let (weight, off) = (share * weights[at / width], ours - theirs);
        loss.value += weight * off * off;
        loss.gradient.push(2.0 * weight * off);
    }
    loss
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAUSSIAN: Distribution = Distribution::DiagGaussian { d: 2 };
    const CHOICE: Distribution = Distribution::Categorical { n: 3 };

    fn near(found: f32, wanted: f32) {
        assert!((found - wanted).abs() < 1e-5, "{found} is not {wanted}");
    }

    #[test]
    fn a_gaussian_is_imitated_by_its_plain_density_summed_over_the_numbers() {
        let imitation = Imitation {
            distribution: &GAUSSIAN,
            log_std: &[0.0, 2f32.ln()],
            masks: &[],
            actions: &[1.0, -1.0, 0.5, 0.5],
            weights: &[2.0, 0.0],
            bounds_penalty: 0.0,
        };
        let (loss, log_likelihood) = imitation.loss(&[0.0, 0.0, 0.5, 0.5]);
        // Densities at distances (1, 1/2) and (0, 0): no change of variables, though the actions lie on the bounds.
        let ln_tau = (2.0 * std::f32::consts::PI).ln();
        let (first, second) = (-0.5 - 0.125 - 2f32.ln() - ln_tau, -2f32.ln() - ln_tau);
        near(log_likelihood, 0.5 * (first + second));
        // The second row counts nothing, and its share of the mean is lost with it.
        near(loss.value, -0.5 * 2.0 * first);
        for (found, wanted) in loss.gradient.iter().zip([-1.0, 0.25, 0.0, 0.0]) {
            near(*found, wanted);
        }
        // -w * (z^2 - 1), half of it.
        near(loss.direct[0], 0.0);
        near(loss.direct[1], 0.75);
    }

    #[test]
    fn a_choice_is_imitated_by_its_cross_entropy_among_what_is_allowed() {
        let imitation = Imitation {
            distribution: &CHOICE,
            log_std: &[],
            masks: &[true, true, false],
            actions: &[1.0],
            weights: &[3.0],
            bounds_penalty: 0.0,
        };
        let (loss, log_likelihood) = imitation.loss(&[0.0, 3f32.ln(), 9.0]);
        near(log_likelihood, 0.75f32.ln());
        near(loss.value, -3.0 * 0.75f32.ln());
        // w * (p - 1{a}).
        for (found, wanted) in loss.gradient.iter().zip([0.75, -0.75, 0.0]) {
            near(*found, wanted);
        }
        assert!(loss.direct.is_empty());
    }

    #[test]
    fn a_deterministic_policy_is_judged_by_the_mean_square_over_rows_and_numbers() {
        let loss = distances(&[0.1, 0.5, 0.0, 0.0], &[0.0, 0.5, 0.4, 0.0], &[1.0, 2.0]);
        near(loss.value, 0.25 * (0.01 + 2.0 * 0.16));
        for (found, wanted) in loss.gradient.iter().zip([0.05, 0.0, -0.4, 0.0]) {
            near(*found, wanted);
        }
    }

    #[test]
    fn means_beyond_the_bounds_are_pulled_back() {
        let of = |bounds_penalty: f32| Imitation {
            distribution: &GAUSSIAN,
            log_std: &[0.0, 0.0],
            masks: &[],
            actions: &[0.0, 0.0],
            weights: &[0.0],
            bounds_penalty,
        };
        let (loss, _) = of(10.0).loss(&[1.5, -0.9]);
        near(loss.value, 10.0 * 0.5 * 0.25);
        assert_eq!(loss.gradient, [5.0, 0.0]);
        assert_eq!(of(10.0).loss(&[0.3, -3.0]).0.gradient, [0.0, -20.0]);
        assert_eq!(of(0.0).loss(&[1.5, -0.9]).0.value, 0.0);
    }

    #[test]
    fn derivatives_agree_with_differences() {
        let (actions, weights) = ([0.3, -0.7, 1.0, 0.2], [0.5, 2.0]);
        let heads = [0.1, -0.4, 1.3, -1.6];
        let loss = |heads: &[f32], log_std: &[f32]| {
            let imitation = Imitation {
                distribution: &GAUSSIAN,
                log_std,
                masks: &[],
                actions: &actions,
                weights: &weights,
                bounds_penalty: 3.0,
            };
            imitation.loss(heads).0
        };
        let log_std = [-0.3, 0.4];
        let exact = loss(&heads, &log_std);
        let differs = |f: &dyn Fn(f32) -> f32| (f(1e-2) - f(-1e-2)) / 2e-2;
        for at in 0..heads.len() {
            let numeric = differs(&|by| {
                let mut heads = heads;
                heads[at] += by;
                loss(&heads, &log_std).value
            });
            assert!((numeric - exact.gradient[at]).abs() < 2e-3, "{at}: {numeric} against {}", exact.gradient[at]);
        }
        for at in 0..2 {
            let numeric = differs(&|by| {
                let mut log_std = log_std;
                log_std[at] += by;
                loss(&heads, &log_std).value
            });
            assert!((numeric - exact.direct[at]).abs() < 2e-3, "{at}: {numeric} against {}", exact.direct[at]);
        }
    }
}
