//! The loss of a batch on the outputs of a value network, with its gradient.

use super::backup::Targets;
use super::config::DqnConfig;
use super::heads::Head;
use super::outcomes::row_of;
use axiomrl_core::Batch;

/// What the loss came to, for the logs and the priorities.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub loss: f32,
    /// One per row: the error that priorities follow.
    pub errors: Vec<f32>,
    pub q_mean: f32,
    pub q_max: f32,
    pub td_error_mean: f32,
}

/// What surrounds the outputs.
pub struct LossInput<'a> {
    pub config: &'a DqnConfig,
    pub head: &'a Head,
    pub batch: &'a Batch,
    pub targets: &'a Targets,
    pub members: usize,
    pub actions: usize,
    pub width: usize,
    /// As in [`super::outcomes::Outcomes`].
    pub fractions: &'a [f32],
    pub share: &'a [f32],
}

/// Mean over rows, sum over members. `outputs` is `[member][row][action][number]`.
pub fn batch_loss(input: &LossInput<'_>, outputs: &[f32]) -> (Report, Vec<f32>) {
    let LossInput { config, head, batch, targets, members, actions, width, .. } = *input;
    let rows = batch.rows;
    let mut gradient = vec![0.0; outputs.len()];
    let mut report = Report { errors: vec![0.0; rows], q_max: f32::MIN, ..Report::default() };
    let mut scratch = Vec::new();
    let share_of = 1.0 / (rows * members) as f32;
    for member in 0..members {
        for row in 0..rows {
            let (fractions, share) = (row_of(input.fractions, row, width), row_of(input.share, row, width));
            let start = (member * rows + row) * actions * width;
            let row_outputs = &outputs[start..start + actions * width];
            let row_gradient = &mut gradient[start..start + actions * width];
            let taken = batch.action[row] as usize * width;
            let chosen = &row_outputs[taken..taken + width];
            let q = head.expectation(chosen, share);
            let error = q - targets.mean[row];
            let mut weight = batch.weight[row] / rows as f32;
            if error > 0.0 {
                weight *= config.hysteretic_beta;
            }
            let (returns, weights) = targets.row(row);
            let slot = &mut row_gradient[taken..taken + width];
            let loss = head.loss(chosen, fractions, returns, weights, weight, slot, &mut scratch);
            report.loss += weight * loss;
            // Priorities follow the plain error of a scalar head, the loss of a distributional one.
            report.errors[row] += if matches!(head, Head::Scalar) { error.abs() } else { loss } / members as f32;
            if config.cql_alpha > 0.0 {
                report.loss += conservative(input, row_outputs, row_gradient, taken / width, share);
            }
            report.q_mean += q * share_of;
            report.q_max = report.q_max.max(q);
            report.td_error_mean += error.abs() * share_of;
        }
    }
    (report, gradient)
}

/// The penalty of CQL: alpha * (logsumexp_a Q - Q of the action taken).
fn conservative(input: &LossInput<'_>, outputs: &[f32], gradient: &mut [f32], taken: usize, share: &[f32]) -> f32 {
    let LossInput { config, head, actions, width, .. } = *input;
    let q: Vec<f32> = outputs.chunks_exact(width).map(|o| head.expectation(o, share)).collect();
    let peak = q.iter().fold(f32::MIN, |m, v| m.max(*v));
    let total: f32 = q.iter().map(|v| (v - peak).exp()).sum();
    let weight = config.cql_alpha / input.batch.rows as f32;
    for action in 0..actions {
        let slope = weight * ((q[action] - peak).exp() / total - f32::from(u8::from(action == taken)));
        let at = action * width..(action + 1) * width;
        head.d_expectation(&outputs[at.clone()], share, slope, &mut gradient[at]);
    }
    weight * (peak + total.ln() - q[taken])
}
