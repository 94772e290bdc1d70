//! The loss of a batch on the outputs of a value network, with its gradient.

use super::backup::Targets;
use super::config::DqnConfig;
use super::entries::Entry;
use super::model::Outputs;
use crate::parts::value_head::{Head, Said};
use axiomrl_core::Batch;

/// What the loss came to, for the logs. Values are on the network's scale.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    pub loss: f32,
    pub q_mean: f32,
    pub q_max: f32,
    pub target_mean: f32,
    pub td_error_mean: f32,
}

/// What surrounds the outputs.
pub struct LossInput<'a> {
    pub config: &'a DqnConfig,
    pub head: &'a Head,
    pub batch: &'a Batch,
    pub entries: &'a [Entry],
    pub targets: &'a Targets,
}

/// loss = 1/n * sum over entries of w * d(Q(s, a), y), members added up. `errors` takes the error of every row, for
/// priorities: that of a single step, or the mixture of a sequence's.
pub fn batch_loss(input: &LossInput<'_>, online: &Outputs<'_>, errors: &mut Vec<f32>) -> (Report, Vec<f32>) {
    let LossInput { config, head, batch, entries, targets } = *input;
    let Outputs { members, rows, actions, width, values, .. } = *online;
    let n = entries.len().max(1);
    let share_of = 1.0 / (n * members) as f32;
    let mut gradient = vec![0.0; values.len()];
    let mut report = Report { q_max: f32::MIN, ..Report::default() };
    let mut spare = Vec::new();
    errors.clear();
    errors.resize(entries.len(), 0.0);
    for member in 0..members {
        for (number, entry) in entries.iter().enumerate() {
            let start = (member * rows + entry.here) * actions * width;
            let all = start..start + actions * width;
            let action = batch.action[entry.at] as usize;
            let taken = start + action * width..start + (action + 1) * width;
            let said = Said {
                outputs: &values[taken.clone()],
                fractions: online.fractions(entry.here),
                share: online.share(entry.here),
            };
            let slot = &mut gradient[taken.clone()];
            let fit = head.loss(said, targets.entry(number), slot, &mut spare);
            let error = fit.expectation - targets.mean[number];
            let mut weight = batch.weight[entry.row] / n as f32;
            if error > 0.0 {
                weight *= config.hysteretic_beta;
            }
            slot.iter_mut().for_each(|g| *g *= weight);
            report.loss += weight * fit.loss;
            // Priorities follow the plain error of a scalar head, the loss of a distributional one.
            let counts = if matches!(head, Head::Scalar { .. }) { error.abs() } else { fit.loss };
            errors[number] += counts / members as f32;
            if config.cql_alpha > 0.0 {
                let weight = config.cql_alpha / n as f32;
                let said = Said { outputs: &values[all.clone()], ..said };
                report.loss += conservative(head, said, action, width, weight, &mut gradient[all]);
            }
            report.q_mean += fit.expectation * share_of;
            report.q_max = report.q_max.max(fit.expectation);
            report.td_error_mean += error.abs() * share_of;
        }
    }
    report.target_mean = targets.mean.iter().sum::<f32>() / n as f32;
    if config.remembers() {
        mix_errors(entries, batch.rows, config.priority_eta, errors);
    }
    (report, gradient)
}

/// From errors of entries to errors of sequences: `eta` of the largest and the rest of the mean, 0 without any. The largest
/// alone would let one step decide, the mean alone would drown it.
fn mix_errors(entries: &[Entry], rows: usize, eta: f32, errors: &mut Vec<f32>) {
    let mut sequences = vec![(0.0f32, 0.0, 0); rows];
    for (entry, error) in entries.iter().zip(errors.iter()) {
        let (largest, sum, count) = &mut sequences[entry.row];
        *largest = largest.max(*error);
        *sum += error;
        *count += 1;
    }
    errors.clear();
    errors.extend(sequences.iter().map(|(max, sum, count)| eta * max + (1.0 - eta) * sum / (*count).max(1) as f32));
}

/// The penalty of CQL: alpha * (logsumexp_a Q - Q of the action taken).
fn conservative(head: &Head, all: Said<'_>, taken: usize, width: usize, weight: f32, gradient: &mut [f32]) -> f32 {
    let mut said = all.outputs.to_vec();
    head.interpret(&mut said, &mut Vec::new());
    let q: Vec<f32> = said.chunks_exact(width).map(|o| head.expectation(o, all.share)).collect();
    let peak = q.iter().fold(f32::MIN, |m, v| m.max(*v));
    let total: f32 = q.iter().map(|v| (v - peak).exp()).sum();
    for (action, (said, gradient)) in said.chunks_exact(width).zip(gradient.chunks_exact_mut(width)).enumerate() {
        let slope = weight * ((q[action] - peak).exp() / total - f32::from(u8::from(action == taken)));
        head.d_expectation(said, all.share, slope, gradient);
    }
    weight * (peak + total.ln() - q[taken])
}
