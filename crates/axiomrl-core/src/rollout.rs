//! The rollout store of on-policy algorithms: `steps` rows of `lanes` environments, used once and cleared.

mod intrinsic;
#[cfg(test)]
mod tests;

pub use intrinsic::Intrinsic;

use crate::bytes::*;
use crate::gae::{Segment, gae};
use axiomrl_envs::{ObsBuf, ObsRef, ObsWidths};
use std::io::{self, Read, Write};
use std::mem::take;

/// The shape of a rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutSpec {
    pub steps: usize,
    pub lanes: usize,
    pub widths: ObsWidths,
    pub action_width: usize,
    /// entries of an action mask, 0 without masks
    pub mask_width: usize,
    /// whether raw observations are kept, too, and what each step led to
    pub raw: bool,
    /// whether the learner pays itself, too, with values of its own for that
    pub intrinsic: bool,
}

/// What was seen and what came of it, as the environment gave it: the rows that a policy acted on may have been scaled.
#[derive(Clone, Debug)]
pub struct RawRows {
    pub obs: ObsBuf,
    /// What each step led to, before any restart: at an end the last observation of the episode.
    pub next_obs: ObsBuf,
}

/// Columns of `steps * lanes` rows; row `t * lanes + lane` is step `t` of environment `lane`.
#[derive(Clone, Debug)]
pub struct Rollout {
    spec: RolloutSpec,
    pub steps: usize,
    pub lanes: usize,
    /// Steps whose outcome is known for every environment.
    pub filled: usize,
    /// Outcomes known of the step after those.
    outcomes: usize,
    pub obs: ObsBuf,
    /// Where the spec asks for them.
    pub raw: Option<RawRows>,
    pub masks: Vec<bool>,
    pub action: Vec<f32>,
    pub log_prob: Vec<f32>,
    pub value: Vec<f32>,
    pub reward: Vec<f32>,
    pub terminated: Vec<bool>,
    pub truncated: Vec<bool>,
    /// Whether something was done in this row; what was not is not learned from.
    pub valid: Vec<bool>,
    /// V of the observation the step led to: of the last observation of the episode where it was truncated. Not read
    /// where it terminated.
    pub next_value: Vec<f32>,
    pub advantage: Vec<f32>,
    pub returns: Vec<f32>,
    /// What the learner pays itself, where the spec asks for it.
    pub intrinsic: Option<Intrinsic>,
}

impl Rollout {
    pub fn new(spec: RolloutSpec) -> Self {
        let rows = spec.steps * spec.lanes;
        let zeros = || ObsBuf::zeros(spec.widths, rows);
        Self {
            steps: spec.steps,
            lanes: spec.lanes,
            filled: 0,
            outcomes: 0,
            obs: zeros(),
            raw: spec.raw.then(|| RawRows { obs: zeros(), next_obs: zeros() }),
            masks: vec![true; rows * spec.mask_width],
            action: vec![0.0; rows * spec.action_width],
            log_prob: vec![0.0; rows],
            value: vec![0.0; rows],
            reward: vec![0.0; rows],
            terminated: vec![false; rows],
            truncated: vec![false; rows],
            valid: vec![true; rows],
            next_value: vec![0.0; rows],
            advantage: vec![0.0; rows],
            returns: vec![0.0; rows],
            intrinsic: spec.intrinsic.then(|| Intrinsic::new(rows)),
            spec,
        }
    }

    pub fn spec(&self) -> &RolloutSpec {
        &self.spec
    }

    pub fn is_full(&self) -> bool {
        self.filled == self.steps
    }

    /// Environments whose outcome of the step under way is known; 0 between steps.
    pub fn outcomes(&self) -> usize {
        self.outcomes
    }

    /// What the policy saw and did at step `t`, one row per environment.
    ///
    /// The values are also the `next_value` of the step before, wherever that did not end an episode. So the caller
    /// sets `next_value` only for truncated steps and for the last row. Where the learner pays itself, too, there are two
    /// values for each environment, side by side: of the environment's rewards and of its own.
    pub fn begin_row(
        &mut self,
        t: usize,
        obs: ObsRef<'_>,
        masks: &[bool],
        actions: &[f32],
        log_probs: &[f32],
        values: &[f32],
    ) {
        assert_eq!((t, self.outcomes), (self.filled, 0), "steps are recorded in order, each with all its outcomes");
        let (spec, lanes) = (&self.spec, self.lanes);
        self.obs.range_mut(t * lanes..(t + 1) * lanes).copy_from(obs);
        if spec.mask_width > 0 {
            let width = lanes * spec.mask_width;
            self.masks[t * width..(t + 1) * width].copy_from_slice(masks);
        }
        let width = lanes * spec.action_width;
        self.action[t * width..(t + 1) * width].copy_from_slice(actions);
        self.log_prob[t * lanes..(t + 1) * lanes].copy_from_slice(log_probs);
        let streams = values.len() / lanes;
        let extrinsic = || values.iter().step_by(streams).copied();
        self.value[t * lanes..(t + 1) * lanes].iter_mut().zip(extrinsic()).for_each(|(value, new)| *value = new);
        if let Some(intrinsic) = &mut self.intrinsic {
            intrinsic.begin_row(t, values);
        }
        // Nothing of an earlier rollout may show in a row that is saved half way.
        for row in t * lanes..(t + 1) * lanes {
            (self.reward[row], self.next_value[row]) = (0.0, 0.0);
            (self.terminated[row], self.truncated[row], self.valid[row]) = (false, false, true);
        }
        if let Some(raw) = &mut self.raw {
            for buffer in [&mut raw.obs, &mut raw.next_obs] {
                let rows = buffer.range_mut(t * lanes..(t + 1) * lanes);
                rows.floats.fill(0.0);
                rows.bytes.fill(0);
            }
        }
        if t > 0 {
            for (before, value) in ((t - 1) * lanes..t * lanes).zip(extrinsic()) {
                if !self.terminated[before] && !self.truncated[before] {
                    self.next_value[before] = value;
                }
            }
        }
    }

    /// What the environments showed at step `t`, one row each; after [`Rollout::begin_row`]. Kept where the spec asks for it.
    pub fn set_raw(&mut self, t: usize, obs: ObsRef<'_>) {
        if let Some(raw) = &mut self.raw {
            raw.obs.range_mut(t * self.lanes..(t + 1) * self.lanes).copy_from(obs);
        }
    }

    /// What step `t` of `lane` led to, before any restart. Kept where the spec asks for it.
    pub fn set_next_obs(&mut self, t: usize, lane: usize, obs: ObsRef<'_>) {
        if let Some(raw) = &mut self.raw {
            raw.next_obs.row_mut(t * self.lanes + lane).copy_from(obs);
        }
    }

    /// What step `t` brought to `lane`; once for each lane, in any order.
    pub fn set_outcome(&mut self, t: usize, lane: usize, reward: f32, terminated: bool, truncated: bool) {
        assert_eq!(t, self.filled, "the outcome belongs to the step that was begun last");
        let row = t * self.lanes + lane;
        self.reward[row] = reward;
        self.terminated[row] = terminated;
        self.truncated[row] = truncated;
        self.next_value[row] = 0.0;
        self.outcomes += 1;
        if self.outcomes == self.lanes {
            self.outcomes = 0;
            self.filled += 1;
        }
    }

    /// The value of the observation that step `t` of `lane` led to; after [`Rollout::set_outcome`].
    pub fn set_next_value(&mut self, t: usize, lane: usize, value: f32) {
        self.next_value[t * self.lanes + lane] = value;
    }

    /// Nothing was done in `lane` at step `t`: its environment began an episode instead. An episode that was under way
    /// counts as cut off before.
    pub fn leave_out(&mut self, t: usize, lane: usize) {
        if t > 0 {
            self.cut_off_row((t - 1) * self.lanes + lane);
        }
        // As an end, so that nothing of the row reaches the one before.
        self.set_outcome(t, lane, 0.0, true, false);
        self.valid[t * self.lanes + lane] = false;
        if let Some(intrinsic) = &mut self.intrinsic {
            intrinsic.cut_off(t * self.lanes + lane);
        }
    }

    /// The episode under way in `lane` goes on unseen after the last filled step, whose `next_value` is known.
    pub fn cut_off(&mut self, lane: usize) {
        if self.filled > 0 {
            self.cut_off_row((self.filled - 1) * self.lanes + lane);
        }
    }

    fn cut_off_row(&mut self, row: usize) {
        self.truncated[row] |= !self.terminated[row];
        if let Some(intrinsic) = &mut self.intrinsic {
            intrinsic.cut_off(row);
        }
    }

    /// Forgets a row that was begun but has not brought all its outcomes. Gives the number of those that are left.
    pub fn drop_open_row(&mut self) -> usize {
        self.outcomes = 0;
        self.filled
    }

    /// Forgets everything; the memory stays.
    pub fn clear(&mut self) {
        self.filled = 0;
        self.outcomes = 0;
    }

    /// The filled steps, for the functions of [`returns`](crate::returns).
    pub fn segment(&self) -> Segment<'_> {
        let rows = self.filled * self.lanes;
        Segment {
            lanes: self.lanes,
            reward: &self.reward[..rows],
            terminated: &self.terminated[..rows],
            truncated: &self.truncated[..rows],
            next_value: &self.next_value[..rows],
        }
    }

    /// Fills `advantage` and `returns` for the filled steps.
    pub fn compute_gae(&mut self, gamma: f32, lambda: f32) {
        let rows = self.filled * self.lanes;
        let (mut advantage, mut returns) = (take(&mut self.advantage), take(&mut self.returns));
        gae(&self.segment(), &self.value[..rows], gamma, lambda, &mut advantage[..rows], &mut returns[..rows]);
        (self.advantage, self.returns) = (advantage, returns);
    }

    /// Fills the columns of what the learner pays itself, and makes `advantage` the sum of both kinds, `weights` times the
    /// environment's and its own; after [`Rollout::compute_gae`]. Returns stay apart.
    pub fn add_intrinsic(&mut self, gamma: f32, lambda: f32, weights: [f32; 2]) {
        let rows = self.filled * self.lanes;
        if let Some(intrinsic) = &mut self.intrinsic {
            intrinsic.compute_gae(self.lanes, rows, gamma, lambda);
            for (advantage, own) in self.advantage[..rows].iter_mut().zip(&intrinsic.advantage) {
                *advantage = weights[0] * *advantage + weights[1] * own;
            }
        }
    }

    fn shape(&self) -> [(&'static str, u64); 7] {
        let spec = &self.spec;
        [
            // With raw rows there is more in the file, and with rewards of the learner's own.
            ("format", 2 + u64::from(spec.raw) + 2 * u64::from(spec.intrinsic)),
            ("steps per rollout", spec.steps as u64),
            ("num_envs", spec.lanes as u64),
            ("observed numbers", spec.widths.floats as u64),
            ("observed bytes", spec.widths.bytes as u64),
            ("action width", spec.action_width as u64),
            ("mask width", spec.mask_width as u64),
        ]
    }

    /// Rows worth keeping: the filled steps, and the one under way if some of its outcomes are known.
    fn rows_in_use(&self) -> usize {
        (self.filled + usize::from(self.outcomes > 0)) * self.lanes
    }

    /// Writes what has been recorded. Advantages are not kept: they follow from the rest.
    pub fn write(&self, w: &mut dyn Write) -> io::Result<()> {
        write_shape(w, &self.shape())?;
        write_u64(w, self.filled as u64)?;
        write_u64(w, self.outcomes as u64)?;
        let (rows, spec) = (self.rows_in_use(), &self.spec);
        write_obs(w, self.obs.range(0..rows))?;
        write_bools(w, &self.masks[..rows * spec.mask_width])?;
        write_f32s(w, &self.action[..rows * spec.action_width])?;
        for column in [&self.log_prob, &self.value, &self.reward, &self.next_value] {
            write_f32s(w, &column[..rows])?;
        }
        write_bools(w, &self.terminated[..rows])?;
        write_bools(w, &self.truncated[..rows])?;
        write_bools(w, &self.valid[..rows])?;
        if let Some(raw) = &self.raw {
            write_obs(w, raw.obs.range(0..rows))?;
            write_obs(w, raw.next_obs.range(0..rows))?;
        }
        self.intrinsic.as_ref().map_or(Ok(()), |intrinsic| intrinsic.write(rows, w))
    }

    /// Takes over what [`Rollout::write`] wrote for a rollout of the same spec. After an error it is as before.
    pub fn read(&mut self, r: &mut dyn Read) -> io::Result<()> {
        check_shape(r, "rollout", &self.shape())?;
        let mut fresh = Rollout::new(self.spec.clone());
        let mut count = |limit: usize| {
            let number = usize::try_from(read_u64(r)?).ok().filter(|&n| n <= limit);
            number.ok_or_else(|| damaged("more steps than a rollout has".into()))
        };
        fresh.filled = count(self.steps)?;
        fresh.outcomes = count(if fresh.filled < self.steps { self.lanes - 1 } else { 0 })?;
        let (rows, spec) = (fresh.rows_in_use(), &self.spec);
        read_obs(r, fresh.obs.range_mut(0..rows))?;
        read_bools(r, &mut fresh.masks[..rows * spec.mask_width])?;
        read_f32s(r, &mut fresh.action[..rows * spec.action_width])?;
        for column in [&mut fresh.log_prob, &mut fresh.value, &mut fresh.reward, &mut fresh.next_value] {
            read_f32s(r, &mut column[..rows])?;
        }
        read_bools(r, &mut fresh.terminated[..rows])?;
        read_bools(r, &mut fresh.truncated[..rows])?;
        read_bools(r, &mut fresh.valid[..rows])?;
        if let Some(raw) = &mut fresh.raw {
            read_obs(r, raw.obs.range_mut(0..rows))?;
            read_obs(r, raw.next_obs.range_mut(0..rows))?;
        }
        if let Some(intrinsic) = &mut fresh.intrinsic {
            intrinsic.read(rows, r)?;
        }
        *self = fresh;
        Ok(())
    }
}
