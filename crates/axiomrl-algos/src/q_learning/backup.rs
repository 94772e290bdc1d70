//! From the values of the next state to the returns a value should represent.

use super::config::{Backup, DqnConfig};
use super::entries::{Entry, place_after};
use super::outcomes::Outcomes;
use super::scale::Scale;
use crate::parts::actions::argmax;
use crate::parts::value_head::{Head, Wanted};
use axiomrl_core::Batch;
use axiomrl_core::value_functions::{mellowmax, munchausen_bonus};
use std::ops::Range;

/// The returns to represent, entry after entry: weighted, the weights of an entry summing to 1.
#[derive(Default)]
pub struct Targets {
    returns: Vec<f32>,
    weights: Vec<f32>,
    /// Where each entry ends.
    ends: Vec<usize>,
    /// Expected return of each entry, on the network's scale.
    pub mean: Vec<f32>,
    policy: Vec<f32>,
    shift: Vec<f32>,
}

impl Targets {
    #[inline]
    pub fn entry(&self, number: usize) -> Wanted<'_> {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        let range = start..self.ends[number];
        Wanted { returns: &self.returns[range.clone()], weights: &self.weights[range] }
    }
}

/// What goes into a backup besides the batch.
pub struct BackupInput<'a> {
    pub head: &'a Head,
    pub scale: Scale,
    pub entries: &'a [Entry],
    /// The target network after the windows.
    pub next: &'a Outcomes,
    /// What chooses the action after the windows, where that is not the same: the online network, or the target network at
    /// fractions of its own.
    pub chooser: Option<&'a Outcomes>,
    /// The target network at the observations themselves, for bonuses that depend on it.
    pub here: Option<&'a Outcomes>,
    /// Chance of a random action in the policy that is valued.
    pub epsilon: f32,
}

/// Fills `targets` for every entry: for each return z of the next state,
/// ```text
/// y = h(R + bonus + D * (h^-1(z) + shift))      h is the scale on which the network values returns
/// ```
pub fn back_up(config: &DqnConfig, batch: &Batch, input: &BackupInput<'_>, targets: &mut Targets) {
    let BackupInput { head, scale, next, .. } = *input;
    let actions = next.actions;
    let Targets { returns, weights, ends, mean, policy, shift } = targets;
    [&mut *returns, &mut *weights, &mut *mean].into_iter().for_each(Vec::clear);
    ends.clear();
    policy.resize(actions, 0.0);
    shift.resize(actions, 0.0);
    let chooser = input.chooser.unwrap_or(next);
    for entry in input.entries {
        let mask = mask_at(batch, place_after(batch, entry.at), actions);
        let q_next = next.q(0, entry.next);
        let valued = next_policy(config, chooser.q(0, entry.next), q_next, mask, input.epsilon, policy, shift);
        let discount = batch.discount[entry.at];
        let after = (discount > 0.0).then_some((q_next, mask));
        let reward = batch.reward[entry.at] + bonus(config, input, batch, entry, after);
        let start = returns.len();
        for action in valued.filter(|&a| policy[a] > 0.0) {
            let member = next.smallest_member(entry.next, action);
            head.for_each_return(next.of(member, entry.next, action), next.share(entry.next), |z, weight| {
                returns.push(scale.shrink(reward + discount * (scale.stretch(z) + shift[action])));
                weights.push(weight * policy[action]);
            });
        }
        ends.push(returns.len());
        mean.push(returns[start..].iter().zip(&weights[start..]).map(|(y, w)| y * w).sum());
    }
}

/// How likely each next action is in the policy that is valued, and what is added to its value; and which actions these are: what
/// is said of others is of an earlier entry.
fn next_policy(
    config: &DqnConfig,
    chooser: &[f32],
    q: &[f32],
    mask: &[bool],
    epsilon: f32,
    policy: &mut [f32],
    shift: &mut [f32],
) -> Range<usize> {
    let best = argmax(chooser, mask);
    if matches!(config.backup, Backup::Max | Backup::Mellowmax) {
        (policy[best], shift[best]) = (1.0, 0.0);
    } else {
        policy.fill(0.0);
        shift.fill(0.0);
    }
    match config.backup {
        Backup::Max => return best..best + 1,
        Backup::Mellowmax => {
            let allowed: Vec<f32> =
                q.iter().enumerate().filter(|(i, _)| permitted(mask, *i)).map(|(_, v)| *v).collect();
            shift[best] = mellowmax(&allowed, config.mellowmax_omega) - q[best];
            return best..best + 1;
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
    0..q.len()
}

/// The choices that were allowed at a place of the batch's observations; empty where all were.
pub fn mask_at(batch: &Batch, at: usize, actions: usize) -> &[bool] {
    if batch.masks.is_empty() { &[] } else { &batch.masks[at * actions..(at + 1) * actions] }
}

pub fn permitted(mask: &[bool], action: usize) -> bool {
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

/// What is added to the reward: Munchausen's log-policy, or minus the action gap of advantage learning. Both are of the
/// choices that were allowed. `after` is what the target network says of the next state, and its mask, if there is one.
fn bonus(
    config: &DqnConfig,
    input: &BackupInput<'_>,
    batch: &Batch,
    entry: &Entry,
    after: Option<(&[f32], &[bool])>,
) -> f32 {
    let Some(here) = input.here else { return 0.0 };
    let (q, action) = (here.q(0, entry.here), batch.action[entry.at] as usize);
    let mask = mask_at(batch, entry.at, q.len());
    let mut bonus = 0.0;
    if config.munchausen_alpha > 0.0 {
        let (tau, floor) = (config.entropy_temperature, config.munchausen_clip_min);
        let allowed: Vec<f32> =
            q.iter().enumerate().map(|(i, q)| if permitted(mask, i) { *q } else { f32::NEG_INFINITY }).collect();
        bonus += munchausen_bonus(&allowed, action, tau, config.munchausen_alpha, floor);
    }
    if config.advantage_alpha > 0.0 {
        let gap = |q: &[f32], mask: &[bool]| q[argmax(q, mask)] - q[action];
        let mut smaller = gap(q, mask);
        if config.persistent_advantage {
            // The larger of two targets is the one with the smaller gap. After the end nothing is worth more than anything else; an
            // action that is forbidden next cannot be repeated.
            smaller = match after {
                Some((q_next, mask)) if permitted(mask, action) => smaller.min(gap(q_next, mask)),
                Some(_) => smaller,
                None => smaller.min(0.0),
            };
        }
        bonus -= config.advantage_alpha * smaller;
    }
    bonus
}

/// Whether the backup looks at the target network at the observation itself.
pub fn needs_here(config: &DqnConfig) -> bool {
    config.munchausen_alpha > 0.0 || config.advantage_alpha > 0.0
}
