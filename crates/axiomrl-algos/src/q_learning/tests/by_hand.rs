//! Every way to value the next state, and every change to the loss, on numbers that can be followed with a pencil.

use crate::parts::value_head::Head;
use crate::q_learning::backup::{BackupInput, Targets, back_up, needs_here};
use crate::q_learning::entries::find_entries;
use crate::q_learning::loss::{LossInput, batch_loss};
use crate::q_learning::model::Outputs;
use crate::q_learning::outcomes::Outcomes;
use crate::q_learning::scale::Scale;
use crate::q_learning::{Backup, DqnConfig};
use axiomrl_core::Batch;

const HEAD: Head = Head::Scalar { kappa: 1.0 };

/// Of three actions: the target network at the next state and here, the online network at the next state.
const NEXT: [f32; 3] = [1.0, 3.0, 2.0];
const HERE: [f32; 3] = [1.0, 2.0, 0.0];
const ONLINE_NEXT: [f32; 3] = [5.0, 0.0, 1.0];

const ALL: [bool; 3] = [true; 3];

/// One transition with reward 1 and discount 1/2.
fn transition(action: usize) -> Batch {
    Batch {
        steps: 1,
        rows: 1,
        action: vec![action as f32],
        reward: vec![1.0],
        discount: vec![0.5],
        next: vec![1],
        valid: vec![true],
        starts: vec![false; 2],
        weight: vec![1.0],
        ..Batch::default()
    }
}

fn masked(batch: Batch, here: [bool; 3], next: [bool; 3]) -> Batch {
    Batch { masks: [here, next].concat(), ..batch }
}

fn outcomes(members: usize, values: &[f32]) -> Outcomes {
    let values = values.to_vec();
    let mut said = Outcomes { members, rows: 1, actions: 3, width: 1, values, ..Outcomes::default() };
    said.settle(&HEAD, Scale::Plain);
    said
}

fn target_of(config: &DqnConfig, batch: &Batch, next: &Outcomes, epsilon: f32) -> f32 {
    let (mut entries, mut targets) = (Vec::new(), Targets::default());
    find_entries(batch, None, &mut entries);
    let (online, here) = (outcomes(1, &ONLINE_NEXT), outcomes(1, &HERE));
    let chooser = config.double_q.then_some(&online);
    let here = needs_here(config).then_some(&here);
    let input = BackupInput { head: &HEAD, scale: Scale::Plain, entries: &entries, next, chooser, here, epsilon };
    back_up(config, batch, &input, &mut targets);
    let wanted = targets.entry(0);
    assert!((wanted.weights.iter().sum::<f32>() - 1.0).abs() < 1e-6);
    targets.mean[0]
}

fn target(config: &DqnConfig, batch: &Batch) -> f32 {
    target_of(config, batch, &outcomes(1, &NEXT), 0.3)
}

fn close(found: f32, wanted: f32) {
    assert!((found - wanted).abs() < 1e-5, "{found} is not {wanted}");
}

fn backup(backup: Backup) -> DqnConfig {
    DqnConfig { backup, ..DqnConfig::default() }
}

#[test]
fn the_largest_value_counts_and_double_lets_the_online_network_choose() {
    let double = DqnConfig { double_q: true, ..DqnConfig::default() };
    close(target(&DqnConfig::default(), &transition(0)), 1.0 + 0.5 * 3.0);
    close(target(&double, &transition(0)), 1.0 + 0.5 * 1.0);
    let without_first = masked(transition(0), ALL, [false, true, true]);
    close(target(&double, &without_first), 1.0 + 0.5 * 2.0);
    let without_best = masked(transition(0), ALL, [true, false, true]);
    close(target(&DqnConfig::default(), &without_best), 1.0 + 0.5 * 2.0);
}

#[test]
fn the_more_cautious_of_two_networks_values_what_the_first_chose() {
    let twin = DqnConfig { twin: true, ..DqnConfig::default() };
    // The first prefers the second action, of which the other thinks less; of the third it thinks nothing at all.
    let next = outcomes(2, &[1.0, 3.0, 2.0, 9.0, 0.5, -7.0]);
    close(target_of(&twin, &transition(0), &next, 0.0), 1.0 + 0.5 * 0.5);
    let other = outcomes(2, &[1.0, 3.0, 2.0, 9.0, 8.0, -7.0]);
    close(target_of(&twin, &transition(0), &other, 0.0), 1.0 + 0.5 * 3.0);
}

#[test]
fn smooth_values_are_those_of_their_formulas() {
    let mellow = DqnConfig { mellowmax_omega: 5.0, ..backup(Backup::Mellowmax) };
    let mean = ((-10.0f32).exp() + 1.0 + (-5.0f32).exp()) / 3.0;
    close(target(&mellow, &transition(0)), 1.0 + 0.5 * (3.0 + mean.ln() / 5.0));
    let two = ((-5.0f32).exp() + 1.0) / 2.0;
    let without_best = masked(transition(0), ALL, [true, false, true]);
    close(target(&mellow, &without_best), 1.0 + 0.5 * (2.0 + two.ln() / 5.0));

    // 1 - 0.3 for the best, and a third of 0.3 for each.
    close(target(&backup(Backup::Expected), &transition(0)), 1.0 + 0.5 * (0.1 * 1.0 + 0.8 * 3.0 + 0.1 * 2.0));
    close(target(&backup(Backup::Expected), &without_best), 1.0 + 0.5 * (0.15 * 1.0 + 0.85 * 2.0));

    let weights = [(-4.0f32).exp(), 1.0, (-2.0f32).exp()];
    let total: f32 = weights.iter().sum();
    let boltzmann = DqnConfig { boltzmann_temperature: 0.5, ..backup(Backup::Boltzmann) };
    let expected = (weights[0] * 1.0 + weights[1] * 3.0 + weights[2] * 2.0) / total;
    close(target(&boltzmann, &transition(0)), 1.0 + 0.5 * expected);

    let soft = DqnConfig { entropy_temperature: 0.5, ..backup(Backup::Soft) };
    close(target(&soft, &transition(0)), 1.0 + 0.5 * (3.0 + 0.5 * total.ln()));
    let allowed = 0.5 * (1.0 + (-2.0f32).exp()).ln();
    close(target(&soft, &without_best), 1.0 + 0.5 * (2.0 + allowed));
}

#[test]
fn munchausens_bonus_is_the_log_policy_over_allowed_actions() {
    let config =
        DqnConfig { munchausen_alpha: 0.9, entropy_temperature: 0.5, munchausen_clip_min: -1.0, ..backup(Backup::Max) };
    // tau ln pi(0) = 1 - (2 + 0.5 ln(1 + e^-2 + e^-4)), which is below the floor; of the second action it is not.
    close(target(&config, &transition(0)), 1.0 - 0.9 + 0.5 * 3.0);
    let log_policy = -0.5 * (1.0 + (-2.0f32).exp() + (-4.0f32).exp()).ln();
    close(target(&config, &transition(1)), 1.0 + 0.9 * log_policy + 0.5 * 3.0);
    // Where the second action is forbidden, the first is the better one of two.
    let allowed = -0.5 * (1.0 + (-2.0f32).exp()).ln();
    let batch = masked(transition(0), [true, false, true], ALL);
    close(target(&config, &batch), 1.0 + 0.9 * allowed + 0.5 * 3.0);
}

#[test]
fn advantage_learning_subtracts_the_gap_of_allowed_actions() {
    let config = DqnConfig { advantage_alpha: 0.9, ..DqnConfig::default() };
    close(target(&config, &transition(0)), 1.0 - 0.9 * 1.0 + 0.5 * 3.0);
    close(target(&config, &transition(1)), 1.0 + 0.5 * 3.0);
    let batch = masked(transition(2), [true, false, true], ALL);
    close(target(&config, &batch), 1.0 - 0.9 * 1.0 + 0.5 * 3.0);
    // A forbidden action of great value, which is never trained, is not missed.
    let here = masked(transition(0), [true, false, true], ALL);
    close(target(&config, &here), 1.0 + 0.5 * 3.0);
}

#[test]
fn persistent_advantage_learning_takes_the_smaller_gap() {
    let config = DqnConfig { advantage_alpha: 0.9, persistent_advantage: true, ..DqnConfig::default() };
    // Gaps here (1, 0, 2), next (2, 0, 1).
    close(target(&config, &transition(0)), 1.0 - 0.9 * 1.0 + 0.5 * 3.0);
    close(target(&config, &transition(2)), 1.0 - 0.9 * 1.0 + 0.5 * 3.0);
    // Without the best action next, the third one has no gap there; with itself forbidden, it cannot be repeated.
    close(target(&config, &masked(transition(2), ALL, [true, false, true])), 1.0 + 0.5 * 2.0);
    close(target(&config, &masked(transition(2), ALL, [true, true, false])), 1.0 - 0.9 * 2.0 + 0.5 * 3.0);
    // After the end everything is worth the same.
    let over = Batch { discount: vec![0.0], ..transition(2) };
    close(target(&config, &over), 1.0);
}

/// Loss and gradient where the network says 2, 1, 0 and the target of the second action is 2.5.
fn loss(config: &DqnConfig, batch: &Batch) -> (f32, Vec<f32>) {
    let (mut entries, mut targets, mut errors) = (Vec::new(), Targets::default(), Vec::new());
    find_entries(batch, None, &mut entries);
    let next = outcomes(1, &NEXT);
    let (head, entries) = (&HEAD, &entries[..]);
    let input =
        BackupInput { head, scale: Scale::Plain, entries, next: &next, chooser: None, here: None, epsilon: 0.0 };
    back_up(config, batch, &input, &mut targets);
    let values = [2.0, 1.0, 0.0];
    let said = Outputs { members: 1, rows: 1, actions: 3, width: 1, values: &values, fractions: &[], share: &[] };
    let (report, gradient) =
        batch_loss(&LossInput { config, head, batch, entries, targets: &targets }, &said, &mut errors);
    (report.loss, gradient)
}

#[test]
fn hysteretic_learning_weakens_what_lowers_a_value() {
    let config = DqnConfig { hysteretic_beta: 0.4, ..DqnConfig::default() };
    // 1 is below 2.5: full weight, and the loss is linear beyond an error of 1.
    let (value, gradient) = loss(&config, &transition(1));
    close(value, 1.0);
    assert_eq!(gradient, [0.0, -1.0, 0.0]);
    let cheap = Batch { reward: vec![-1.0], ..transition(1) };
    // The target is 0.5.
    let (value, gradient) = loss(&config, &cheap);
    close(value, 0.4 * 0.125);
    close(gradient[1], 0.4 * 0.5);
}

#[test]
fn the_conservative_penalty_is_over_allowed_actions() {
    let config = DqnConfig { cql_alpha: 0.5, ..DqnConfig::default() };
    let total = 1.0 + (-1.0f32).exp() + (-2.0f32).exp();
    let (value, gradient) = loss(&config, &transition(1));
    close(value, 1.0 + 0.5 * (2.0 + total.ln() - 1.0));
    close(gradient[0], 0.5 / total);
    close(gradient[1], -1.0 + 0.5 * ((-1.0f32).exp() / total - 1.0));
    close(gradient[2], 0.5 * (-2.0f32).exp() / total);
    // Without the first action the second is the best.
    let total = 1.0 + (-1.0f32).exp();
    let (value, gradient) = loss(&config, &masked(transition(1), [false, true, true], ALL));
    close(value, 1.0 + 0.5 * total.ln());
    assert_eq!(gradient[0], 0.0);
    close(gradient[2], 0.5 * (-1.0f32).exp() / total);
}

#[test]
fn what_a_support_cannot_hold_is_counted() {
    let head = Head::categorical(0.0, 2.0, 3);
    let mut entries = Vec::new();
    let batch = Batch { reward: vec![1.5], ..transition(0) };
    find_entries(&batch, None, &mut entries);
    // All probability on the last atom but a quarter on the first: 1.5 + 2/2 is outside, 1.5 is not.
    let logits = [0.25f32.ln(), -1e9, 0.75f32.ln()];
    let mut next =
        Outcomes { members: 1, rows: 1, actions: 1, width: 3, values: logits.to_vec(), ..Outcomes::default() };
    next.settle(&head, Scale::Plain);
    let (config, mut targets, mut errors) = (DqnConfig::default(), Targets::default(), Vec::new());
    let (head, entries) = (&head, &entries[..]);
    let input =
        BackupInput { head, scale: Scale::Plain, entries, next: &next, chooser: None, here: None, epsilon: 0.0 };
    back_up(&config, &batch, &input, &mut targets);
    let said = Outputs { members: 1, rows: 1, actions: 1, width: 3, values: &logits, fractions: &[], share: &[] };
    let input = LossInput { config: &config, head, batch: &batch, entries, targets: &targets };
    let (report, _) = batch_loss(&input, &said, &mut errors);
    close(report.outside_mass, 0.75);
}
