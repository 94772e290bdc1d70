//! From the values of the next state to the returns a value should represent.

use super::config::{Backup, DqnConfig};
use super::heads::Head;
use super::outcomes::{Outcomes, row_of};
use crate::parts::actions::argmax;
use axiomrl_core::Batch;
use axiomrl_core::value_functions::{mellowmax, munchausen_bonus};

/// The returns to represent, row after row: weighted, the weights of a row summing to 1.
#[derive(Default)]
pub struct Targets {
    pub returns: Vec<f32>,
    pub weights: Vec<f32>,
    /// Where each row ends.
    pub ends: Vec<usize>,
    /// Expected return of each row.
    pub mean: Vec<f32>,
}

impl Targets {
    pub fn row(&self, row: usize) -> (&[f32], &[f32]) {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        (&self.returns[start..self.ends[row]], &self.weights[start..self.ends[row]])
    }
}

/// What goes into a backup besides the batch.
pub struct BackupInput<'a> {
    pub head: &'a Head,
    /// The target network at the next observation.
    pub next: &'a Outcomes,
    /// The online network at the next observation, when it chooses the action.
    pub online_next: Option<&'a Outcomes>,
    /// The target network at the observation itself, for bonuses that depend on it.
    pub here: Option<&'a Outcomes>,
    /// Chance of a random action in the policy that is valued.
    pub epsilon: f32,
}

/// Fills `targets` for every row of `batch`.
pub fn back_up(config: &DqnConfig, batch: &Batch, input: &BackupInput<'_>, targets: &mut Targets) {
    let actions = input.next.actions;
    targets.returns.clear();
    targets.weights.clear();
    targets.ends.clear();
    targets.mean.clear();
    let mut policy = vec![0.0; actions];
    let mut shift = vec![0.0; actions];
    let masks = batch.next_masks();
    for row in 0..batch.rows {
        let mask = if masks.is_empty() { &[] } else { &masks[row * actions..(row + 1) * actions] };
        let chooser = input.online_next.unwrap_or(input.next);
        let q_next = input.next.q(0, row);
        next_policy(config, chooser.q(0, row), q_next, mask, input.epsilon, &mut policy, &mut shift);
        let reward = batch.reward[row] + bonus(config, input, batch.action[row] as usize, row, q_next);
        let discount = batch.discount[row];
        let share = row_of(&input.next.share, row, input.next.width);
        for action in (0..actions).filter(|&a| policy[a] > 0.0) {
            let member = input.next.smallest_member(row, action);
            input.head.for_each_return(input.next.of(member, row, action), share, |value, weight| {
                targets.returns.push(reward + discount * (value + shift[action]));
                targets.weights.push(weight * policy[action]);
            });
        }
        let start = targets.ends.last().copied().unwrap_or(0);
        targets.ends.push(targets.returns.len());
        let row = targets.returns[start..].iter().zip(&targets.weights[start..]);
        targets.mean.push(row.map(|(y, w)| y * w).sum());
    }
}

/// How likely each next action is in the policy that is valued, and what is added to its value.
fn next_policy(
    config: &DqnConfig,
    chooser: &[f32],
    q: &[f32],
    mask: &[bool],
    epsilon: f32,
    policy: &mut [f32],
    shift: &mut [f32],
) {
    shift.fill(0.0);
    policy.fill(0.0);
    let best = argmax(chooser, mask);
    match config.backup {
        Backup::Max => policy[best] = 1.0,
        Backup::Mellowmax => {
            policy[best] = 1.0;
            let allowed: Vec<f32> =
                q.iter().enumerate().filter(|(i, _)| permitted(mask, *i)).map(|(_, v)| *v).collect();
            shift[best] = mellowmax(&allowed, config.mellowmax_omega) - q[best];
        }
        Backup::Expected => {
            let count = (0..q.len()).filter(|&i| permitted(mask, i)).count().max(1) as f32;
            (0..q.len()).filter(|&i| permitted(mask, i)).for_each(|i| policy[i] = epsilon / count);
            policy[best] += 1.0 - epsilon;
        }
        Backup::Boltzmann => softmax(chooser, mask, config.boltzmann_temperature, policy),
        Backup::Soft => {
            let temperature = config.entropy_temperature;
            softmax(chooser, mask, temperature, policy);
            for (s, p) in shift.iter_mut().zip(policy.iter()) {
                *s = if *p > 0.0 { -temperature * p.ln() } else { 0.0 };
            }
        }
    }
}

fn permitted(mask: &[bool], action: usize) -> bool {
    mask.is_empty() || mask[action]
}

/// exp(Q / T), normalised over the allowed actions.
pub fn softmax(q: &[f32], mask: &[bool], temperature: f32, probabilities: &mut [f32]) {
    let peak = q[argmax(q, mask)];
    let mut total = 0.0;
    for (i, p) in probabilities.iter_mut().enumerate() {
        *p = if permitted(mask, i) { ((q[i] - peak) / temperature).exp() } else { 0.0 };
        total += *p;
    }
    probabilities.iter_mut().for_each(|p| *p /= total);
}

/// What is added to the reward: Munchausen's log-policy, or minus the action gap of advantage learning.
fn bonus(config: &DqnConfig, input: &BackupInput<'_>, action: usize, row: usize, q_next: &[f32]) -> f32 {
    let Some(here) = input.here else { return 0.0 };
    let q = here.q(0, row);
    let mut bonus = 0.0;
    if config.munchausen_alpha > 0.0 {
        let (tau, floor) = (config.entropy_temperature, config.munchausen_clip_min);
        bonus += munchausen_bonus(q, action, tau, config.munchausen_alpha, floor);
    }
    if config.advantage_alpha > 0.0 {
        let gap = |q: &[f32]| q[argmax(q, &[])] - q[action];
        // The larger of two targets is the one with the smaller gap.
        let gap = if config.persistent_advantage { gap(q).min(gap(q_next)) } else { gap(q) };
        bonus -= config.advantage_alpha * gap;
    }
    bonus
}

/// Whether the backup looks at the target network at the observation itself.
pub fn needs_here(config: &DqnConfig) -> bool {
    config.munchausen_alpha > 0.0 || config.advantage_alpha > 0.0
}
