//! Episodes and transitions that were there before.

use crate::{Ending, EpisodeBuf};
use axiomrl_envs::{ObsRef, Spaces};
use sha2::{Digest, Sha256};
use std::collections::HashSet;

/// Half a hash: enough that no two differing ones will ever meet, and half the memory.
type Print = [u8; 16];

#[derive(Default)]
pub(super) struct Duplicates {
    pub episodes: usize,
    pub transitions: u64,
    known_episodes: HashSet<Print>,
    known_transitions: HashSet<Print>,
}

impl Duplicates {
    pub fn add(&mut self, episode: &EpisodeBuf, spaces: &Spaces) {
        let (width, steps) = (spaces.action.width(), episode.steps());
        let mut whole = Sha256::new();
        for t in 0..steps {
            let mut one = Sha256::new();
            seen(&mut one, episode.obs.row(t));
            numbers(&mut one, &episode.actions[t * width..(t + 1) * width]);
            numbers(&mut one, &episode.rewards[t..=t]);
            one.update([u8::from(t + 1 == steps && episode.ending == Ending::Terminated)]);
            seen(&mut one, episode.obs.row(t + 1));
            let print = print(one);
            whole.update(print);
            self.transitions += u64::from(!self.known_transitions.insert(print));
        }
        whole.update([episode.ending as u8]);
        self.episodes += usize::from(!self.known_episodes.insert(print(whole)));
    }
}

fn seen(hash: &mut Sha256, obs: ObsRef<'_>) {
    numbers(hash, obs.floats);
    hash.update(obs.bytes);
}

fn numbers(hash: &mut Sha256, values: &[f32]) {
    values.iter().for_each(|value| hash.update(value.to_le_bytes()));
}

fn print(hash: Sha256) -> Print {
    let hash: [u8; 32] = hash.finalize().into();
    let mut half = Print::default();
    half.copy_from_slice(&hash[..16]);
    half
}
