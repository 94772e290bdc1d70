//! The store as a stream of bytes: the header, then each lane column by column from its oldest row to its newest.
//!
//! Only filled rows are written. Nothing depends on where a row or a pool slot happens to lie in memory, so two stores
//! that would give the same samples give the same bytes.

use super::{Lane, Replay, TERMINATED, TRUNCATED};
use crate::bytes::*;
use axiomrl_envs::DType;
use std::io::{self, Read, Write};
use std::ops::Range;

const FORMAT: u64 = 2;

impl Replay {
    /// Writes the whole state.
    pub fn write(&self, w: &mut dyn Write) -> io::Result<()> {
        write_shape(w, &self.shape())?;
        if let Some(priorities) = &self.priorities {
            write_f64(w, priorities.max)?;
        }
        for lane in 0..self.lanes.len() {
            self.write_lane(lane, w)?;
        }
        Ok(())
    }

    /// Takes over what [`Replay::write`] wrote for a store of the same spec. After an error the store is as before.
    pub fn read(&mut self, r: &mut dyn Read) -> io::Result<()> {
        check_shape(r, "replay store", &self.shape())?;
        let mut fresh = Replay::new(self.spec.clone());
        if let Some(priorities) = &mut fresh.priorities {
            priorities.max = read_f64(r)?;
        }
        for lane in 0..self.lanes.len() {
            fresh.read_lane(lane, r)?;
        }
        *self = fresh;
        Ok(())
    }

    fn shape(&self) -> [(&'static str, u64); 10] {
        let spec = &self.spec;
        [
            ("format", FORMAT),
            ("capacity per environment", (self.ring - 1 - spec.frames.history()) as u64),
            ("num_envs", spec.lanes as u64),
            ("observation width", spec.obs_width as u64),
            ("bytes per observed number", if spec.obs_dtype == DType::F32 { 4 } else { 1 }),
            ("frame_stack", spec.frames.count as u64),
            ("action width", spec.action_width as u64),
            ("mask width", spec.mask_width as u64),
            ("n_step", spec.n_step as u64),
            ("prioritised replay", u64::from(spec.prioritized.is_some())),
        ]
    }

    /// The rows that hold transitions `from..to` of a lane, as at most two stretches of memory.
    fn stretches(&self, lane: usize, from: u64, to: u64) -> [Range<usize>; 2] {
        let first = lane * self.ring;
        let (start, count) = (self.row(lane, from), (to - from) as usize);
        let until_wrap = (first + self.ring - start).min(count);
        [start..start + until_wrap, first..first + count - until_wrap]
    }

    /// The first number whose frame is still shown by a stored observation.
    fn first_needed(&self, oldest: u64) -> u64 {
        oldest.saturating_sub(self.spec.frames.history() as u64)
    }

    fn write_lane(&self, lane: usize, w: &mut dyn Write) -> io::Result<()> {
        let Lane { begun, next, oldest, episode, sampleable, .. } = self.lanes[lane];
        for value in [u64::from(begun), next, oldest, episode, sampleable] {
            write_u64(w, value)?;
        }
        let spec = &self.spec;
        // The observation that waits for its action belongs to the store, too.
        let frame = spec.obs_width / spec.frames.count;
        for rows in self.stretches(lane, self.first_needed(oldest), next + u64::from(begun)) {
            write_obs(w, self.obs.rows(rows.start, rows.end, frame))?;
        }
        for rows in self.stretches(lane, oldest, next + u64::from(begun)) {
            w.write_all(self.age.get(rows.clone()).unwrap_or_default())?;
            write_bools(w, &self.mask[rows.start * spec.mask_width..rows.end * spec.mask_width])?;
        }
        for rows in self.stretches(lane, oldest, next) {
            write_f32s(w, &self.action[rows.start * spec.action_width..rows.end * spec.action_width])?;
            write_f32s(w, &self.reward[rows.clone()])?;
            w.write_all(&self.flags[rows.clone()])?;
            for row in rows.filter(|&row| self.flags[row] != 0) {
                let slot = self.final_slot[row] as usize;
                write_obs(w, self.finals.obs.rows(slot, slot + 1, spec.obs_width))?;
                write_bools(w, &self.finals.mask[slot * spec.mask_width..(slot + 1) * spec.mask_width])?;
            }
        }
        if let Some(priorities) = &self.priorities {
            for number in oldest..sampleable {
                write_f64(w, priorities.tree.get(self.row(lane, number)))?;
            }
        }
        Ok(())
    }

    fn read_lane(&mut self, lane: usize, r: &mut dyn Read) -> io::Result<()> {
        let begun = read_u64(r)? != 0;
        let [next, oldest, episode, sampleable] = [read_u64(r)?, read_u64(r)?, read_u64(r)?, read_u64(r)?];
        let in_order = oldest <= next && episode <= next && next < u64::MAX;
        let kept = (self.ring - self.spec.frames.history()) as u64;
        if !in_order || next - oldest >= kept || (next > 0 && !begun) {
            return Err(damaged(format!("environment {lane} has impossible counters")));
        }
        self.lanes[lane] = Lane { begun, next, oldest, oldest_row: self.row(lane, oldest), episode, sampleable };
        if sampleable != self.complete(&self.lanes[lane]) {
            return Err(damaged(format!("environment {lane} has impossible counters")));
        }
        let (obs_width, mask_width, action_width) = (self.spec.obs_width, self.spec.mask_width, self.spec.action_width);
        let frame = obs_width / self.spec.frames.count;
        for rows in self.stretches(lane, self.first_needed(oldest), next + u64::from(begun)) {
            read_obs(r, &mut self.obs, rows.start, rows.end, frame)?;
        }
        for rows in self.stretches(lane, oldest, next + u64::from(begun)) {
            if let Some(age) = self.age.get_mut(rows.clone()) {
                r.read_exact(age)?;
                if age.iter().any(|&age| usize::from(age) > self.spec.frames.history()) {
                    return Err(damaged(format!("environment {lane} has an impossible count of frames")));
                }
            }
            read_bools(r, &mut self.mask[rows.start * mask_width..rows.end * mask_width])?;
        }
        let mut final_obs = axiomrl_envs::ObsBuf::zeros(self.spec.obs_dtype, obs_width);
        let mut final_mask = vec![false; mask_width];
        for rows in self.stretches(lane, oldest, next) {
            read_f32s(r, &mut self.action[rows.start * action_width..rows.end * action_width])?;
            read_f32s(r, &mut self.reward[rows.clone()])?;
            r.read_exact(&mut self.flags[rows.clone()])?;
            for row in rows {
                match self.flags[row] {
                    0 => continue,
                    flags if flags > TERMINATED | TRUNCATED => {
                        return Err(damaged(format!("environment {lane} has an unknown kind of episode end")));
                    }
                    _ => {}
                }
                read_obs(r, &mut final_obs, 0, 1, obs_width)?;
                read_bools(r, &mut final_mask)?;
                self.final_slot[row] = self.finals.insert(final_obs.as_ref(), &final_mask);
            }
        }
        self.ends[lane] = (oldest..next).filter(|&n| self.flags[self.row(lane, n)] != 0).map(|n| n + 1).collect();
        for number in oldest..sampleable {
            let row = self.row(lane, number);
            if let Some(priorities) = &mut self.priorities {
                let value = read_f64(r)?;
                if !(value > 0.0 && value.is_finite()) {
                    return Err(damaged(format!("environment {lane} has {value} as a priority")));
                }
                priorities.tree.set(row, value);
            }
        }
        Ok(())
    }
}
