//! Rollouts that are learned from again.

use crate::parts::statistics::ObsStats;
use crate::regimes::{read_floats, write_floats};
use crate::state::Streamed;
use axiomrl_core::Rollout;
use axiomrl_envs::{ObsBuf, ObsWidths};
use std::collections::VecDeque;
use std::io::{self, Read, Write};

/// Numbers of a stored step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widths {
    pub obs: ObsWidths,
    /// Number of actions.
    pub actions: usize,
    /// Entries of a mask; 0 without masks.
    pub masks: usize,
}

/// The steps of one environment in one rollout.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredWindow {
    /// Raw.
    pub obs: ObsBuf,
    pub masks: Vec<bool>,
    pub action: Vec<u32>,
    pub reward: Vec<f32>,
    /// What the policy was, all actions of every step.
    pub policy: Vec<f32>,
    pub ends: Vec<End>,
    /// What was seen where a step was cut, raw: one row for each such step, in their order.
    pub cut_obs: ObsBuf,
}

/// What came after a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// The next step.
    #[default]
    GoesOn,
    /// Nothing: the world ended.
    Terminated,
    /// Something that the window does not have: its observation is in `cut_obs`.
    Cut,
    /// Nothing was done in this step: there is nothing to learn from it.
    Idle,
}

impl StoredWindow {
    pub fn len(&self) -> usize {
        self.reward.len()
    }

    /// Steps of `lane` in a rollout with raw observations; `policy` has the probabilities of all actions for every row.
    pub fn of(rollout: &Rollout, lane: usize, policy: &[f32], widths: Widths) -> Self {
        let (seen, led_to) = match &rollout.raw {
            Some(raw) => (&raw.obs, &raw.next_obs),
            None => unreachable!("rollouts keep what steps led to"),
        };
        let mut window = Self::default();
        for t in 0..rollout.filled {
            let row = t * rollout.lanes + lane;
            extend(&mut window.obs, seen, row);
            window.masks.extend_from_slice(&rollout.masks[row * widths.masks..(row + 1) * widths.masks]);
            window.action.push(rollout.action[row] as u32);
            window.reward.push(rollout.reward[row]);
            window.policy.extend_from_slice(&policy[row * widths.actions..(row + 1) * widths.actions]);
            let last = t + 1 == rollout.filled;
            let end = match (rollout.valid[row], rollout.terminated[row], rollout.truncated[row] || last) {
                (false, ..) => End::Idle,
                (true, true, _) => End::Terminated,
                (true, false, true) => End::Cut,
                (true, false, false) => End::GoesOn,
            };
            if end == End::Cut {
                extend(&mut window.cut_obs, led_to, row);
            }
            window.ends.push(end);
        }
        let rows = window.len();
        window.obs.reshape(widths.obs, rows);
        let cuts = window.cuts();
        window.cut_obs.reshape(widths.obs, cuts);
        window
    }

    pub fn cuts(&self) -> usize {
        self.ends.iter().filter(|end| **end == End::Cut).count()
    }
}

fn extend(to: &mut ObsBuf, from: &ObsBuf, row: usize) {
    let row = from.row(row);
    to.floats.extend_from_slice(row.floats);
    to.bytes.extend_from_slice(row.bytes);
}

/// Several buffers below each other, standardised as networks take them.
pub fn stacked<'a>(
    buffers: impl Iterator<Item = &'a ObsBuf>,
    widths: ObsWidths,
    statistics: Option<&ObsStats>,
) -> ObsBuf {
    let (mut all, mut rows) = (ObsBuf::zeros(widths, 0), 0);
    for buffer in buffers {
        all.floats.extend_from_slice(&buffer.floats);
        all.bytes.extend_from_slice(&buffer.bytes);
        rows += buffer.rows();
    }
    all.reshape(widths, rows);
    if let Some(statistics) = statistics {
        statistics.scale(&mut all.floats, widths.floats);
    }
    all
}

/// The newest rollouts, each with a window for every environment.
pub struct RolloutStore {
    widths: Widths,
    lanes: usize,
    /// Most steps of an environment.
    capacity: usize,
    rollouts: VecDeque<Vec<StoredWindow>>,
}

impl RolloutStore {
    pub fn new(widths: Widths, lanes: usize, capacity: usize) -> Self {
        Self { widths, lanes, capacity, rollouts: VecDeque::new() }
    }

    /// Steps of each environment.
    pub fn steps(&self) -> usize {
        self.rollouts.iter().map(|rollout| rollout[0].len()).sum()
    }

    pub fn len(&self) -> usize {
        self.rollouts.len()
    }

    pub fn window(&self, rollout: usize, lane: usize) -> &StoredWindow {
        &self.rollouts[rollout][lane]
    }

    /// Keeps a rollout, and forgets the oldest ones that there is no room for.
    pub fn push(&mut self, windows: Vec<StoredWindow>) {
        self.rollouts.push_back(windows);
        while self.steps() > self.capacity && self.rollouts.len() > 1 {
            self.rollouts.pop_front();
        }
    }
}

impl Streamed for RolloutStore {
    fn write(&mut self, to: &mut dyn Write) -> io::Result<()> {
        write_count(to, self.rollouts.len())?;
        for windows in &self.rollouts {
            write_count(to, windows[0].len())?;
            for window in windows {
                write_floats(to, &window.obs.floats)?;
                to.write_all(&window.obs.bytes)?;
                write_flags(to, &window.masks)?;
                to.write_all(&window.action.iter().flat_map(|action| action.to_le_bytes()).collect::<Vec<u8>>())?;
                write_floats(to, &window.reward)?;
                write_floats(to, &window.policy)?;
                to.write_all(&window.ends.iter().map(|end| *end as u8).collect::<Vec<u8>>())?;
                write_floats(to, &window.cut_obs.floats)?;
                to.write_all(&window.cut_obs.bytes)?;
            }
        }
        Ok(())
    }

    fn read(&mut self, from: &mut dyn Read) -> io::Result<()> {
        let Widths { obs, actions, masks } = self.widths;
        let mut rollouts = VecDeque::new();
        for _ in 0..read_count(from, self.capacity + 1)? {
            let steps = read_count(from, self.capacity)?;
            let mut windows = Vec::new();
            for _ in 0..self.lanes {
                let mut window = StoredWindow { obs: ObsBuf::zeros(obs, steps), ..StoredWindow::default() };
                read_floats(from, &mut window.obs.floats)?;
                from.read_exact(&mut window.obs.bytes)?;
                window.masks = read_bytes(from, steps * masks)?.into_iter().map(|byte| byte != 0).collect();
                let bytes = read_bytes(from, 4 * steps)?;
                window.action = bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
                (window.reward, window.policy) = (vec![0.0; steps], vec![0.0; steps * actions]);
                read_floats(from, &mut window.reward)?;
                read_floats(from, &mut window.policy)?;
                let ends = read_bytes(from, steps)?.into_iter().map(|byte| match byte {
                    0 => Ok(End::GoesOn),
                    1 => Ok(End::Terminated),
                    2 => Ok(End::Cut),
                    3 => Ok(End::Idle),
                    _ => Err(damaged()),
                });
                window.ends = ends.collect::<io::Result<Vec<End>>>()?;
                if window.action.iter().any(|&action| action as usize >= actions) {
                    return Err(damaged());
                }
                window.cut_obs = ObsBuf::zeros(obs, window.cuts());
                read_floats(from, &mut window.cut_obs.floats)?;
                from.read_exact(&mut window.cut_obs.bytes)?;
                windows.push(window);
            }
            rollouts.push_back(windows);
        }
        self.rollouts = rollouts;
        Ok(())
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the saved rollouts are damaged, or of another configuration")
}

fn write_count(to: &mut dyn Write, count: usize) -> io::Result<()> {
    to.write_all(&(count as u64).to_le_bytes())
}

fn read_count(from: &mut dyn Read, limit: usize) -> io::Result<usize> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    usize::try_from(u64::from_le_bytes(bytes)).ok().filter(|&count| count <= limit).ok_or_else(damaged)
}

fn write_flags(to: &mut dyn Write, flags: &[bool]) -> io::Result<()> {
    to.write_all(&flags.iter().map(|&flag| u8::from(flag)).collect::<Vec<u8>>())
}

fn read_bytes(from: &mut dyn Read, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; count];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(first: f32, ends: &[End]) -> StoredWindow {
        let rows = ends.len();
        let mut window = StoredWindow {
            obs: ObsBuf::zeros(ObsWidths { floats: 1, bytes: 0 }, rows),
            action: (0..rows as u32).map(|t| t % 2).collect(),
            reward: vec![first; rows],
            policy: vec![0.5; 2 * rows],
            ends: ends.to_vec(),
            ..StoredWindow::default()
        };
        window.obs.floats.fill(first);
        window.cut_obs = ObsBuf::zeros(ObsWidths { floats: 1, bytes: 0 }, window.cuts());
        window
    }

    #[test]
    fn the_oldest_go_and_the_rest_comes_back_from_a_file() {
        let widths = Widths { obs: ObsWidths { floats: 1, bytes: 0 }, actions: 2, masks: 0 };
        let mut store = RolloutStore::new(widths, 1, 5);
        for first in [1.0, 2.0, 3.0] {
            store.push(vec![window(first, &[End::Terminated, End::Cut])]);
        }
        assert_eq!((store.len(), store.steps(), store.window(0, 0).reward[0]), (2, 4, 2.0));
        let mut bytes = Vec::new();
        store.write(&mut bytes).unwrap();
        let mut back = RolloutStore::new(widths, 1, 5);
        back.read(&mut &bytes[..]).unwrap();
        assert_eq!(back.rollouts, store.rollouts);
        assert!(RolloutStore::new(widths, 1, 1).read(&mut &bytes[..]).is_err(), "more than there is room for");
        assert!(back.read(&mut &bytes[..20]).is_err());
    }
}
