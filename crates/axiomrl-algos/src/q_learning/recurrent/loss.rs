//! The temporal-difference loss of whole sequences, and its gradient.

use crate::parts::actions::argmax;
use axiomrl_core::value_functions::{huber, huber_grad, value_rescale, value_unscale};
use axiomrl_core::{Batch, mixed_error};

/// The linear part of the rescaling, which keeps it invertible.
const RESCALE_EPS: f32 = 1e-3;

/// From returns to the scale on which the network values them.
pub fn to_scale(rescaled: bool, value: f32) -> f32 {
    if rescaled { value_rescale(value, RESCALE_EPS) } else { value }
}

/// Back again.
pub fn from_scale(rescaled: bool, value: f32) -> f32 {
    if rescaled { value_unscale(value, RESCALE_EPS) } else { value }
}

pub struct LossInput<'a> {
    pub batch: &'a Batch,
    pub actions: usize,
    /// Steps at the beginning that are not learned from.
    pub burn_in: usize,
    /// The target network at every time, `[steps + 1][row][action]`.
    pub target: &'a [f32],
    /// Let the online network choose the next action.
    pub double_q: bool,
    pub rescaled: bool,
    /// Part of the largest error in that of a sequence.
    pub eta: f32,
}

/// What the loss came to. Values are on the network's scale.
#[derive(Default)]
pub struct Report {
    pub loss: f32,
    pub q_mean: f32,
    pub target_mean: f32,
    pub td_error_mean: f32,
    /// One error per sequence, for priorities.
    pub errors: Vec<f32>,
}

/// Huber's loss of the steps after the burn-in, averaged over those where something was done. `online` begins after the
/// burn-in and includes the observation after the last step.
pub fn sequence_loss(input: &LossInput<'_>, online: &[f32]) -> (Report, Vec<f32>) {
    let LossInput { batch, actions, burn_in, .. } = *input;
    let rows = batch.rows;
    let mut gradient = vec![0.0; online.len()];
    let mut report = Report::default();
    let learned = burn_in * rows..batch.steps * rows;
    let share = 1.0 / batch.valid[learned.clone()].iter().filter(|&&m| m).count().max(1) as f32;
    let mut errors = vec![0.0; learned.len()];
    for at in learned.filter(|&at| batch.valid[at]) {
        let row = at % rows;
        let chosen = (at - burn_in * rows) * actions + batch.action[at] as usize;
        let wanted = to_scale(input.rescaled, expected_return(input, online, at));
        let error = online[chosen] - wanted;
        let slope = share * batch.weight[row];
        gradient[chosen] = slope * huber_grad(error, 1.0);
        report.loss += slope * huber(error, 1.0);
        report.q_mean += share * online[chosen];
        report.target_mean += share * wanted;
        report.td_error_mean += share * error.abs();
        errors[at - burn_in * rows] = error;
    }
    report.errors = (0..rows)
        .map(|row| {
            let of_row = (burn_in..batch.steps).filter(|t| batch.valid[t * rows + row]);
            mixed_error(of_row.map(|t| errors[(t - burn_in) * rows + row]), input.eta)
        })
        .collect();
    (report, gradient)
}

/// Reward of the window and discounted value after it.
fn expected_return(input: &LossInput<'_>, online: &[f32], at: usize) -> f32 {
    let LossInput { batch, actions, .. } = *input;
    if batch.discount[at] == 0.0 {
        return batch.reward[at];
    }
    let next = batch.next[at] as usize * batch.rows + at % batch.rows;
    let allowed = batch.masks.get(next * actions..(next + 1) * actions).unwrap_or(&[]);
    let values = &input.target[next * actions..(next + 1) * actions];
    let seen = next - input.burn_in * batch.rows;
    let chooser = if input.double_q { &online[seen * actions..(seen + 1) * actions] } else { values };
    let value = from_scale(input.rescaled, values[argmax(chooser, allowed)]);
    batch.reward[at] + batch.discount[at] * value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One sequence of three steps and two actions; the second step is the last observation of an episode.
    fn batch() -> Batch {
        Batch {
            steps: 3,
            rows: 1,
            action: vec![1.0, 0.0, 0.0],
            reward: vec![1.0, 0.0, 2.0],
            discount: vec![0.5, 0.5, 0.5],
            next: vec![1, 2, 3],
            valid: vec![true, false, true],
            starts: vec![true, false, true, false],
            weight: vec![0.5],
            index: vec![0],
            ..Batch::default()
        }
    }

    const TARGET: [f32; 8] = [9.0, 9.0, 4.0, 2.0, 9.0, 9.0, 1.0, 3.0];
    const ONLINE: [f32; 8] = [0.0, 2.5, 0.0, 1.0, 3.0, 0.0, 5.0, 0.0];

    fn loss(batch: &Batch, double_q: bool, burn_in: usize) -> (Report, Vec<f32>) {
        let input = LossInput { batch, actions: 2, burn_in, target: &TARGET, double_q, rescaled: false, eta: 0.9 };
        sequence_loss(&input, &ONLINE[2 * burn_in..])
    }

    #[test]
    fn hand_computed_sequence() {
        // Targets 1 + 4/2 = 3 and 2 + 3/2 = 3.5; errors -0.5 and -0.5; the masked step counts nowhere.
        let (report, gradient) = loss(&batch(), false, 0);
        assert_eq!(gradient, [0.0, -0.125, 0.0, 0.0, -0.125, 0.0, 0.0, 0.0]);
        assert_eq!((report.loss, report.td_error_mean), (0.0625, 0.5));
        assert_eq!((report.q_mean, report.target_mean), (2.75, 3.25));
        assert_eq!(report.errors, [0.5]);
        // Double: the online network prefers the second action at time 1 (worth 2) and the first at time 3 (worth 1).
        let (report, _) = loss(&batch(), true, 0);
        assert_eq!((report.target_mean, report.errors[0]), (2.25, 0.9 * 0.5 + 0.1 * 0.5));
        // After a burn-in of two steps only the last one is learned.
        let (report, gradient) = loss(&batch(), false, 2);
        assert_eq!((report.target_mean, &gradient[..]), (3.5, &[-0.25, 0.0, 0.0, 0.0][..]));
    }

    #[test]
    fn forbidden_actions_are_not_bootstrapped_from() {
        let mut masked = batch();
        masked.masks = vec![true, true, false, true, true, true, true, false];
        let (report, _) = loss(&masked, false, 0);
        assert_eq!(report.target_mean, (2.0 + 2.5) / 2.0);
    }

    #[test]
    fn rescaled_targets_are_those_of_the_formula() {
        let batch = batch();
        let (actions, target, double_q) = (2, &TARGET[..], false);
        let input = LossInput { batch: &batch, actions, burn_in: 2, target, double_q, rescaled: true, eta: 1.0 };
        let (report, _) = sequence_loss(&input, &ONLINE[4..]);
        let wanted = value_rescale(2.0 + 0.5 * value_unscale(3.0, 1e-3), 1e-3);
        assert!((report.target_mean - wanted).abs() < 1e-6);
        assert!((report.errors[0] - (3.0 - wanted).abs()).abs() < 1e-6);
    }
}
