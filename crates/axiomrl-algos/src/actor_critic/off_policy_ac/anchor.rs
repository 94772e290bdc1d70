//! What holds a policy to recorded actions: a term of the actor's loss, one of the targets, and imitation at the start.

use super::settings::{AcConfig, BcDistance};
use crate::parts::squashed_actor::{ActionGradient, Counted, SquashedHead};
use axiomrl_nn::distributions::TanhGaussian;
use axiomrl_nn::{Tensor, fused_loss};

/// Below this the size of values is no measure.
const SMALLEST_SIZE: f32 = 1e-8;

/// `weight * distance(a, recorded) - lambda * Q(s, a)`, with lambda the inverse of Q's size, times `alpha`.
pub struct Anchor {
    weight: f32,
    distance: BcDistance,
    alpha: Option<f32>,
}

impl Anchor {
    pub fn new(config: &AcConfig) -> Self {
        Self { weight: config.actor_bc_weight, distance: config.bc_distance, alpha: config.bc_alpha }
    }

    pub fn holds(&self) -> bool {
        self.weight > 0.0
    }

    /// Turns what the critics make of actions into what the actor is to climb. `size` is the mean of |Q|, a constant like the
    /// critics. Gives the mean distance.
    pub fn apply(
        &self,
        by: &mut ActionGradient,
        size: f32,
        action: &[f32],
        recorded: &[f32],
        counted: Counted<'_>,
    ) -> f32 {
        if let Some(alpha) = self.alpha {
            let lambda = alpha / size.max(SMALLEST_SIZE);
            by.value_mean *= lambda;
            by.by_action.iter_mut().for_each(|slope| *slope *= lambda);
        }
        if !self.holds() {
            return 0.0;
        }
        let width = action.len() / counted.valid.len();
        let each = match self.distance {
            BcDistance::Mean => 1.0 / width as f32,
            BcDistance::Sum => 1.0,
        };
        let pairs = by.by_action.iter_mut().zip(action.iter().zip(recorded)).enumerate();
        let mut distance = 0.0;
        for (_, (slope, (action, recorded))) in pairs.filter(|(at, _)| counted.valid[at / width]) {
            let apart = action - recorded;
            distance += each * apart * apart / counted.count as f32;
            *slope -= self.weight * 2.0 * each * apart;
        }
        by.value_mean -= self.weight * distance;
        distance
    }
}

/// Lowers the bonus of each target by `weight * sum (a' - recorded)^2`.
pub fn hold_targets(bonus: &mut [f32], action: &[f32], recorded: &[f32], weight: f32) {
    let width = action.len() / bonus.len();
    for ((bonus, action), recorded) in
        bonus.iter_mut().zip(action.chunks_exact(width)).zip(recorded.chunks_exact(width))
    {
        *bonus -= weight * action.iter().zip(recorded).map(|(a, r)| (a - r) * (a - r)).sum::<f32>();
    }
}

/// `- mean log pi(recorded|s)` as a function of the policy's outputs `[rows, outputs]`, and its value. The policy is Gaussian.
pub fn imitation(head: &SquashedHead, out: Tensor<2>, recorded: &[f32], counted: Counted<'_>) -> (Tensor<1>, f32) {
    let policy = TanhGaussian { d: head.width, bounds: head.log_std };
    let share = 1.0 / counted.count as f32;
    let mut value = 0.0;
    let node = fused_loss([out], |[out]| {
        let mut gradient = vec![0.0; out.len()];
        let rows = out.chunks_exact(2 * head.width).zip(recorded.chunks_exact(head.width));
        for ((row, (out, recorded)), place) in rows.enumerate().zip(gradient.chunks_exact_mut(2 * head.width)) {
            if counted.valid[row] {
                value -= share * policy.log_prob(out, recorded);
                policy.d_log_prob(out, recorded, -share, place);
            }
        }
        (value, [gradient])
    });
    (node, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::squashed_actor::{ActorKind, Jitter};
    use axiomrl_core::stream;
    use axiomrl_nn::{LogStdBounds, gradients, leaf};

    fn close(found: &[f32], wanted: &[f32]) {
        assert_eq!(found.len(), wanted.len());
        assert!(found.iter().zip(wanted).all(|(f, w)| (f - w).abs() < 1e-5), "{found:?} is not {wanted:?}");
    }

    /// The loss of a deterministic policy whose actions are `off` from the recorded ones, where the first critic says 2 and -4
    /// with slopes 3, and the gradient by the actions.
    fn loss(anchor: &Anchor, off: &[f32]) -> (f32, Vec<f32>) {
        let width = off.len() / 2;
        let head = SquashedHead { kind: ActorKind::Deterministic, width, log_std: LogStdBounds::Clamp(-20.0, 2.0) };
        let recorded = vec![0.2; off.len()];
        let action: Vec<f32> = off.iter().zip(&recorded).map(|(off, a)| off + a).collect();
        let out = leaf(&action, [2, width]).require_grad();
        let counted = Counted::of(&[true, true]);
        let drawn = head.draw(out.clone(), Jitter { std: 0.0, clip: 0.0 }, &mut stream(1, "draw"));
        let mut by = ActionGradient { value_mean: -1.0, by_action: vec![3.0; off.len()] };
        anchor.apply(&mut by, 3.0, &drawn.action, &recorded, counted);
        let loss = head.loss(drawn, &by, 0.0, counted);
        let [gradient] = gradients(loss.node, [&out]);
        (loss.value, gradient.to_vec())
    }

    #[test]
    fn the_actors_loss_by_hand() {
        let mut anchor = Anchor { weight: 1.0, distance: BcDistance::Mean, alpha: Some(2.5) };
        let (value, gradient) = loss(&anchor, &[0.1, 0.3]);
        close(&[value], &[0.88333]);
        // - lambda * slope / 2 + 2 * distance / 2, with lambda = 2.5 / 3 held fixed.
        close(&gradient, &[-1.25 + 0.1, -1.25 + 0.3]);
        let (value, gradient) = loss(&anchor, &[0.1, 0.0, 0.3, 0.0]);
        close(&[value], &[0.85833]);
        close(&gradient, &[-1.25 + 0.05, -1.25, -1.25 + 0.15, -1.25]);
        // ReBRAC sums over the numbers of an action and weighs the distance instead of the value.
        anchor = Anchor { weight: 0.4, distance: BcDistance::Sum, alpha: Some(1.0) };
        let (value, gradient) = loss(&anchor, &[0.1, 0.2, 0.3, 0.0]);
        close(&[value], &[1.0 / 3.0 + 0.4 * (0.05 + 0.09) / 2.0]);
        close(&gradient, &[-0.5 + 0.04, -0.5 + 0.08, -0.5 + 0.12, -0.5]);
        // Without an anchor nothing changes, to the bit.
        anchor = Anchor { weight: 0.0, distance: BcDistance::Sum, alpha: None };
        assert_eq!(loss(&anchor, &[0.1, 0.3]), (1.0, vec![-1.5, -1.5]));
    }

    #[test]
    fn rows_that_do_not_count_hold_nothing() {
        let anchor = Anchor { weight: 1.0, distance: BcDistance::Sum, alpha: None };
        let mut by = ActionGradient { value_mean: 0.0, by_action: vec![0.0; 4] };
        let distance = anchor.apply(&mut by, 1.0, &[1.0, 0.0, 9.0, 9.0], &[0.0; 4], Counted::of(&[true, false]));
        assert_eq!((distance, by.value_mean, by.by_action), (1.0, -1.0, vec![-2.0, 0.0, 0.0, 0.0]));
    }

    #[test]
    fn targets_by_hand() {
        let mut bonus = vec![0.0, 1.0];
        hold_targets(&mut bonus, &[0.5, 0.0, 0.2, 0.1], &[0.0, 0.5, 0.2, 0.1], 0.1);
        close(&bonus, &[-0.05, 1.0]);
        // r 1, Q' 10, discount .99; at a terminal the distance means nothing.
        close(&[1.0 + 0.99 * (10.0 + bonus[0]), 1.0 + 0.0 * (10.0 + bonus[0])], &[10.8505, 1.0]);
    }

    #[test]
    fn imitation_follows_the_density_of_recorded_actions() {
        let head = SquashedHead { kind: ActorKind::TanhGaussian, width: 2, log_std: LogStdBounds::Clamp(-5.0, 2.0) };
        let at = [0.1, -0.2, -0.5, 0.3, 0.4, 0.2, 0.1, -0.3, 9.0, 9.0, 9.0, 9.0];
        let recorded = [0.3, -0.6, 0.99999, 0.0, 0.5, 0.5];
        let counted = Counted::of(&[true, true, false]);
        let value_at = |out: &[f32]| imitation(&head, leaf(out, [3, 4]).require_grad(), &recorded, counted).1;
        let out = leaf(&at, [3, 4]).require_grad();
        let (node, value) = imitation(&head, out.clone(), &recorded, counted);
        let [gradient] = gradients(node, [&out]);
        let policy = TanhGaussian { d: 2, bounds: head.log_std };
        close(
            &[value],
            &[-0.5 * (policy.log_prob(&at[..4], &recorded[..2]) + policy.log_prob(&at[4..8], &recorded[2..4]))],
        );
        for i in 0..at.len() {
            let moved = |step: f32| {
                let mut moved = at;
                moved[i] += step;
                value_at(&moved)
            };
            let numeric = (moved(1e-2) - moved(-1e-2)) / 2e-2;
            assert!((numeric - gradient[i]).abs() < 2e-2, "output {i}: {numeric} {}", gradient[i]);
        }
        assert_eq!(gradient[8..], [0.0; 4]);
    }
}
