//! The rollout store of on-policy algorithms: `steps` rows of `lanes` environments, used once and cleared.

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
}

impl Rollout {
    pub fn new(spec: RolloutSpec) -> Self {
        let rows = spec.steps * spec.lanes;
        Self {
            steps: spec.steps,
            lanes: spec.lanes,
            filled: 0,
            outcomes: 0,
            obs: ObsBuf::zeros(spec.widths, rows),
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
    /// sets `next_value` only for truncated steps and for the last row.
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
        self.value[t * lanes..(t + 1) * lanes].copy_from_slice(values);
        // Nothing of an earlier rollout may show in a row that is saved half way.
        for row in t * lanes..(t + 1) * lanes {
            (self.reward[row], self.next_value[row]) = (0.0, 0.0);
            (self.terminated[row], self.truncated[row], self.valid[row]) = (false, false, true);
        }
        if t > 0 {
            for (before, &value) in ((t - 1) * lanes..t * lanes).zip(values) {
                if !self.terminated[before] && !self.truncated[before] {
                    self.next_value[before] = value;
                }
            }
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
    }

    /// The episode under way in `lane` goes on unseen after the last filled step, whose `next_value` is known.
    pub fn cut_off(&mut self, lane: usize) {
        if self.filled > 0 {
            self.cut_off_row((self.filled - 1) * self.lanes + lane);
        }
    }

    fn cut_off_row(&mut self, row: usize) {
        self.truncated[row] |= !self.terminated[row];
    }

    /// Forgets a row that was begun but has not brought all its outcomes. Gives the number of those that are left.
    pub fn drop_open_row(&mut self) -> usize {
        self.outcomes = 0;
        self.filled
    }

    /// Forgets the filled steps; the memory stays. A row that is half way goes on as the first of the next rollout.
    pub fn start_over(&mut self) {
        if self.outcomes > 0 {
            let (from, lanes, spec) = (self.filled * self.lanes, self.lanes, &self.spec);
            let rows = |width: usize| from * width..(from + lanes) * width;
            self.obs.floats.copy_within(rows(spec.widths.floats), 0);
            self.obs.bytes.copy_within(rows(spec.widths.bytes), 0);
            self.masks.copy_within(rows(spec.mask_width), 0);
            self.action.copy_within(rows(spec.action_width), 0);
            for column in [&mut self.log_prob, &mut self.value, &mut self.reward, &mut self.next_value] {
                column.copy_within(rows(1), 0);
            }
            for column in [&mut self.terminated, &mut self.truncated, &mut self.valid] {
                column.copy_within(rows(1), 0);
            }
        }
        self.filled = 0;
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

    fn shape(&self) -> [(&'static str, u64); 7] {
        let spec = &self.spec;
        [
            ("format", 2),
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
        write_bools(w, &self.valid[..rows])
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
        *self = fresh;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> RolloutSpec {
        RolloutSpec { steps: 3, lanes: 2, widths: ObsWidths { floats: 2, bytes: 0 }, action_width: 1, mask_width: 2 }
    }

    /// Lane 0 is truncated at step 1 (V(final) = 60), lane 1 terminates at step 0; bootstrap values 80 and 8.
    fn filled() -> Rollout {
        let mut rollout = Rollout::new(spec());
        for (t, (values, rewards)) in
            [([10.0, 1.0], [1.0, 1.0]), ([20.0, 2.0], [2.0, 1.0]), ([40.0, 4.0], [4.0, 1.0])].into_iter().enumerate()
        {
            let obs = [t as f32, 0.0, t as f32, 1.0];
            rollout.begin_row(
                t,
                ObsRef::of_floats(2, &obs),
                &[true, false, true, true],
                &[0.0, 1.0],
                &[-0.5, -0.7],
                &values,
            );
            rollout.set_outcome(t, 1, rewards[1], t == 0, false);
            assert_eq!(rollout.filled, t);
            rollout.set_outcome(t, 0, rewards[0], false, t == 1);
            assert_eq!(rollout.filled, t + 1);
            if t == 1 {
                rollout.set_next_value(1, 0, 60.0);
            }
        }
        rollout.set_next_value(2, 0, 80.0);
        rollout.set_next_value(2, 1, 8.0);
        rollout
    }

    #[test]
    fn next_values_come_from_the_following_row_except_at_ends() {
        let rollout = filled();
        assert_eq!(rollout.next_value, [20.0, 0.0, 60.0, 4.0, 80.0, 8.0]);
        assert!(rollout.is_full());
    }

    #[test]
    fn gae_of_both_lanes() {
        let mut rollout = filled();
        rollout.compute_gae(0.5, 0.5);
        // Lane 0 as in the table of `gae`; lane 1: δ = 1−1, 1+2−2, 1+4−4 = 0, 1, 1.
        assert_eq!(rollout.advantage, [4.0, 0.0, 12.0, 1.25, 4.0, 1.0]);
        assert_eq!(rollout.returns, [14.0, 1.0, 32.0, 3.25, 44.0, 5.0]);
    }

    #[test]
    fn a_partly_filled_rollout_survives_a_file() {
        let mut rollout = filled();
        rollout.filled = 2;
        let mut bytes = Vec::new();
        rollout.write(&mut bytes).unwrap();
        let mut back = Rollout::new(spec());
        back.read(&mut bytes.as_slice()).unwrap();
        let mut again = Vec::new();
        back.write(&mut again).unwrap();
        assert_eq!((back.filled, &again), (2, &bytes));
        rollout.compute_gae(0.9, 0.8);
        back.compute_gae(0.9, 0.8);
        assert_eq!(back.advantage[..4], rollout.advantage[..4]);
        assert_eq!(back.obs.range(0..4), rollout.obs.range(0..4));
    }

    #[test]
    fn a_row_half_way_survives_a_file() {
        let mut rollout = filled();
        rollout.clear();
        rollout.begin_row(
            0,
            ObsRef::of_floats(2, &[1.0, 2.0, 3.0, 4.0]),
            &[true; 4],
            &[0.0, 1.0],
            &[-0.1, -0.2],
            &[5.0, 6.0],
        );
        rollout.set_outcome(0, 0, 7.0, false, false);
        let mut bytes = Vec::new();
        rollout.write(&mut bytes).unwrap();
        let mut back = Rollout::new(spec());
        back.read(&mut bytes.as_slice()).unwrap();
        for half in [&mut rollout, &mut back] {
            half.set_outcome(0, 1, 8.0, true, false);
            assert_eq!((half.filled, &half.reward[..2], &half.value[..2]), (1, &[7.0, 8.0][..], &[5.0, 6.0][..]));
        }
        let files = [&rollout, &back].map(|r| {
            let mut bytes = Vec::new();
            r.write(&mut bytes).unwrap();
            bytes
        });
        assert_eq!(files[0], files[1]);
    }

    #[test]
    fn a_row_half_way_becomes_the_first_of_the_next_rollout() {
        let mut rollout = Rollout::new(spec());
        for t in 0..2 {
            let obs = [t as f32, 5.0, t as f32, 6.0];
            rollout.begin_row(t, ObsRef::of_floats(2, &obs), &[true; 4], &[3.0, 4.0], &[-0.1, -0.2], &[7.0, 8.0]);
            rollout.set_outcome(t, 0, 1.0, false, false);
            if t == 0 {
                rollout.set_outcome(t, 1, 2.0, false, false);
            }
        }
        rollout.start_over();
        assert_eq!((rollout.filled, rollout.obs.row(1).floats), (0, &[1.0, 6.0][..]));
        rollout.set_outcome(0, 1, 9.0, true, false);
        assert_eq!((rollout.filled, &rollout.reward[..2], &rollout.value[..2]), (1, &[1.0, 9.0][..], &[7.0, 8.0][..]));
    }

    #[test]
    fn what_was_not_done_is_left_out_and_reaches_no_other_row() {
        // Lane 0: reward 1, then its environment begins an episode instead of a step, then reward 4.
        let play = |left_out: bool| {
            let mut rollout = Rollout::new(RolloutSpec { lanes: 1, mask_width: 0, ..spec() });
            for (t, reward) in [1.0, if left_out { 0.0 } else { 99.0 }, 4.0].into_iter().enumerate() {
                rollout.begin_row(t, ObsRef::of_floats(1, &[0.0; 2]), &[], &[0.0], &[0.0], &[10.0]);
                match (t, left_out) {
                    (1, true) => rollout.leave_out(1, 0),
                    _ => rollout.set_outcome(t, 0, reward, false, false),
                }
            }
            rollout.set_next_value(2, 0, 10.0);
            rollout.compute_gae(0.5, 0.5);
            rollout
        };
        let rollout = play(true);
        assert_eq!(rollout.valid, [true, false, true]);
        assert!(rollout.truncated[0] && !rollout.terminated[0], "cut off, and valued where it stood");
        // 1 + 0.5 * 10 - 10 and 4 + 0.5 * 10 - 10.
        assert_eq!((rollout.advantage[0], rollout.advantage[2]), (-4.0, -1.0));
        assert_ne!(play(false).advantage[0], -4.0);
    }

    #[test]
    fn a_foreign_or_cut_file_changes_nothing() {
        let mut bytes = Vec::new();
        filled().write(&mut bytes).unwrap();
        let mut other = Rollout::new(RolloutSpec { lanes: 3, ..spec() });
        let error = other.read(&mut bytes.as_slice()).unwrap_err().to_string();
        assert!(error.contains("num_envs = 2, this run has 3"), "{error}");
        let mut same = filled();
        same.clear();
        assert!(same.read(&mut &bytes[..bytes.len() - 1]).is_err());
        assert_eq!(same.filled, 0);
    }

    #[test]
    fn both_blocks_are_kept_and_survive_a_file() {
        let widths = ObsWidths { floats: 1, bytes: 2 };
        let spec = RolloutSpec { steps: 1, widths, mask_width: 0, ..spec() };
        let mut rollout = Rollout::new(spec.clone());
        let obs = ObsRef { rows: 2, floats: &[0.5, -0.5], bytes: &[1, 2, 3, 255] };
        rollout.begin_row(0, obs, &[], &[0.0; 2], &[0.0; 2], &[0.0; 2]);
        (0..2).for_each(|lane| rollout.set_outcome(0, lane, 1.0, false, false));
        let mut bytes = Vec::new();
        rollout.write(&mut bytes).unwrap();
        let mut back = Rollout::new(spec);
        back.read(&mut bytes.as_slice()).unwrap();
        assert_eq!((rollout.obs.as_ref(), back.obs.as_ref()), (obs, obs));
    }
}
