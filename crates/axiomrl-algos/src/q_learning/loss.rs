//! The loss of a batch on the outputs of a value network, with its gradient.

use super::backup::{Targets, mask_at, permitted};
use super::config::DqnConfig;
use super::entries::Entry;
use super::model::Outputs;
use crate::parts::value_head::{Head, Said};
use axiomrl_core::{Batch, mixed_error};

/// What the loss came to, for the logs. Values are on the network's scale.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    pub loss: f32,
    pub q_mean: f32,
    pub q_max: f32,
    pub target_mean: f32,
    pub td_error_mean: f32,
    /// How much of the targets' probability lies outside the support of a categorical head.
    pub outside_mass: f32,
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
    errors.resize(rows, 0.0);
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
            errors[entry.here] += counts / members as f32;
            if config.cql_alpha > 0.0 {
                let weight = config.cql_alpha / n as f32;
                let said = Said { outputs: &values[all.clone()], ..said };
                let mask = mask_at(batch, entry.at, actions);
                report.loss += conservative(head, said, action, mask, width, weight, &mut gradient[all]);
            }
            report.outside_mass += fit.outside * share_of;
            report.q_mean += fit.expectation * share_of;
            report.q_max = report.q_max.max(fit.expectation);
            report.td_error_mean += error.abs() * share_of;
        }
    }
    report.target_mean = targets.mean.iter().sum::<f32>() / n as f32;
    if config.remembers() {
        *errors = errors_of_sequences(batch, config.priority_eta, errors);
    }
    (report, gradient)
}

/// From the errors of the entries after the burn-in to one for each sequence.
fn errors_of_sequences(batch: &Batch, eta: f32, errors: &[f32]) -> Vec<f32> {
    // There is an observation more than there are steps.
    let burn_in = (batch.steps + 1) * batch.rows - errors.len();
    let of_row = |row| (burn_in + row..batch.steps * batch.rows).step_by(batch.rows).filter(|&at| batch.valid[at]);
    (0..batch.rows).map(|row| mixed_error(of_row(row).map(|at| errors[at - burn_in]), eta)).collect()
}

/// The penalty of CQL: alpha * (logsumexp_a Q - Q of the action taken), over the actions that were allowed.
fn conservative(
    head: &Head,
    all: Said<'_>,
    taken: usize,
    mask: &[bool],
    width: usize,
    weight: f32,
    gradient: &mut [f32],
) -> f32 {
    let mut said = all.outputs.to_vec();
    head.interpret(&mut said, &mut Vec::new());
    let expected = said.chunks_exact(width).map(|o| head.expectation(o, all.share));
    let q: Vec<f32> =
        (expected.enumerate()).map(|(action, q)| if permitted(mask, action) { q } else { f32::NEG_INFINITY }).collect();
    let peak = q.iter().fold(f32::MIN, |m, v| m.max(*v));
    let total: f32 = q.iter().map(|v| (v - peak).exp()).sum();
    for (action, (said, gradient)) in said.chunks_exact(width).zip(gradient.chunks_exact_mut(width)).enumerate() {
        if permitted(mask, action) {
            let slope = weight * ((q[action] - peak).exp() / total - f32::from(u8::from(action == taken)));
            head.d_expectation(said, all.share, slope, gradient);
        }
    }
    weight * (peak + total.ln() - q[taken])
}

#[cfg(test)]
mod tests {
    use super::super::backup::{BackupInput, back_up, needs_here};
    use super::super::entries::find_entries;
    use super::super::outcomes::Outcomes;
    use super::super::scale::Scale;
    use super::*;
    use crate::parts::torso::MemoryKind;

    const HEAD: Head = Head::Scalar { kappa: 1.0 };

    /// Of two actions, at every time.
    const TARGET: [f32; 8] = [9.0, 9.0, 4.0, 2.0, 9.0, 9.0, 1.0, 3.0];
    const ONLINE: [f32; 8] = [0.0, 2.5, 0.0, 1.0, 3.0, 0.0, 5.0, 0.0];

    /// One sequence of three steps; the second one closes an episode that was cut off.
    fn sequence() -> Batch {
        Batch {
            steps: 3,
            rows: 1,
            action: vec![1.0, 0.0, 0.0],
            reward: vec![1.0, 0.0, 2.0],
            discount: vec![0.5, 0.0, 0.5],
            next: vec![1, 1, 3],
            valid: vec![true, false, true],
            starts: vec![true, false, true, false],
            weight: vec![0.5],
            ..Batch::default()
        }
    }

    fn recurrent() -> DqnConfig {
        DqnConfig { memory: MemoryKind::Lstm, priority_eta: 0.9, ..DqnConfig::default() }
    }

    fn outcomes(values: &[f32], scale: Scale) -> Outcomes {
        let (rows, values) = (values.len() / 2, values.to_vec());
        let mut said = Outcomes { members: 1, rows, actions: 2, width: 1, values, ..Outcomes::default() };
        said.settle(&HEAD, scale);
        said
    }

    /// Loss, gradient and errors where the target network says `target` and the online network `online`, then and there.
    fn learn(config: &DqnConfig, batch: &Batch, target: &[f32], online: &[f32]) -> (Report, Vec<f32>, Vec<f32>) {
        let scale = Scale::of(config.value_rescale);
        let (mut entries, mut targets, mut errors) = (Vec::new(), Targets::default(), Vec::new());
        find_entries(batch, config.remembers().then_some(config.burn_in), &mut entries);
        let (next, chooser) = (outcomes(target, scale), outcomes(online, scale));
        let (entries, epsilon) = (&entries[..], 0.0);
        let chooser = config.double_q.then_some(&chooser);
        let here = needs_here(config).then_some(&next);
        let input = BackupInput { head: &HEAD, scale, entries, next: &next, chooser, here, epsilon };
        back_up(config, batch, &input, &mut targets);
        let (rows, actions) = (online.len() / 2, 2);
        let said = Outputs { members: 1, rows, actions, width: 1, values: online, fractions: &[], share: &[] };
        let input = LossInput { config, head: &HEAD, batch, entries, targets: &targets };
        let (report, gradient) = batch_loss(&input, &said, &mut errors);
        (report, gradient, errors)
    }

    #[test]
    fn single_steps_by_hand() {
        let batch = Batch {
            steps: 1,
            rows: 2,
            action: vec![1.0, 0.0],
            reward: vec![1.0, 2.0],
            discount: vec![0.5, 0.0],
            next: vec![1, 1],
            valid: vec![true; 2],
            starts: vec![false; 4],
            weight: vec![0.5, 1.0],
            ..Batch::default()
        };
        // Targets 1 + 4/2 = 3 and 2; errors -0.5 and 3, of which Huber's loss is linear beyond 1.
        let (report, gradient, errors) =
            learn(&DqnConfig::default(), &batch, &[4.0, 2.0, 9.0, 9.0], &[0.0, 2.5, 5.0, 0.0]);
        assert_eq!(gradient, [0.0, -0.125, 0.5, 0.0]);
        assert_eq!((report.loss, report.td_error_mean), (0.25 * 0.125 + 0.5 * 2.5, 1.75));
        assert_eq!((report.q_mean, report.q_max, report.target_mean), (3.75, 5.0, 2.5));
        assert_eq!(errors, [0.5, 3.0]);
    }

    #[test]
    fn a_sequence_by_hand() {
        // Targets 1 + 4/2 = 3 and 2 + 3/2 = 3.5; errors -0.5 and -0.5; the closing entry counts nowhere.
        let (report, gradient, errors) = learn(&recurrent(), &sequence(), &TARGET, &ONLINE);
        assert_eq!(gradient, [0.0, -0.125, 0.0, 0.0, -0.125, 0.0, 0.0, 0.0]);
        assert_eq!((report.loss, report.td_error_mean), (0.0625, 0.5));
        assert_eq!((report.q_mean, report.target_mean), (2.75, 3.25));
        assert_eq!(errors, [0.5]);
        // Double: the online network prefers the second action at time 1 (worth 2) and the first at time 3 (worth 1).
        let double = DqnConfig { double_q: true, ..recurrent() };
        assert_eq!(learn(&double, &sequence(), &TARGET, &ONLINE).0.target_mean, 2.25);
        // After a burn-in of two steps only the last one is learned.
        let later = DqnConfig { burn_in: 2, ..recurrent() };
        let (report, gradient, errors) = learn(&later, &sequence(), &TARGET[4..], &ONLINE[4..]);
        assert_eq!((report.target_mean, &gradient[..]), (3.5, &[-0.25, 0.0, 0.0, 0.0][..]));
        assert_eq!(errors, [0.5]);
    }

    #[test]
    fn forbidden_actions_are_not_bootstrapped_from() {
        let masks = vec![true, true, false, true, true, true, true, false];
        let (report, ..) = learn(&recurrent(), &Batch { masks, ..sequence() }, &TARGET, &ONLINE);
        assert_eq!(report.target_mean, (2.0 + 2.5) / 2.0);
    }

    #[test]
    fn rescaled_targets_are_those_of_the_formula() {
        let config = DqnConfig { burn_in: 2, value_rescale: true, priority_eta: 1.0, ..recurrent() };
        let (report, _, errors) = learn(&config, &sequence(), &TARGET[4..], &ONLINE[4..]);
        let h = Scale::Rescaled;
        let wanted = h.shrink(2.0 + 0.5 * h.stretch(3.0));
        assert!((report.target_mean - wanted).abs() < 1e-6);
        assert!((errors[0] - (3.0 - wanted).abs()).abs() < 1e-6);
    }

    #[test]
    fn a_sequence_has_one_error_of_the_largest_and_the_mean() {
        let batch = Batch { steps: 2, rows: 2, valid: vec![true, true, true, false], ..Batch::default() };
        // Two sequences after a burn-in of nothing, with an observation more than steps; the last entry is no step.
        let errors = errors_of_sequences(&batch, 0.9, &[1.0, 2.0, 3.0, 9.0, 9.0, 9.0]);
        assert!((errors[0] - (0.9 * 3.0 + 0.1 * 2.0)).abs() < 1e-6 && (errors[1] - 2.0).abs() < 1e-6, "{errors:?}");
    }
}
