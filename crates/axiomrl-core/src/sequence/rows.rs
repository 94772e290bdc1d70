//! Columns of steps.

use super::SequenceSpec;
use crate::bytes::*;
use axiomrl_envs::{ObsBuf, ObsRef};
use std::io::{self, Read, Write};
use std::ops::Range;

/// Steps, or places where nothing was done, one row each.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    pub obs: ObsBuf,
    pub choices: Vec<bool>,
    pub action: Vec<f32>,
    pub reward: Vec<f32>,
    pub flags: Vec<u8>,
}

impl Rows {
    pub fn new(spec: &SequenceSpec, rows: usize) -> Self {
        Self {
            obs: ObsBuf::zeros(spec.widths, rows),
            choices: vec![true; rows * spec.mask_width],
            action: vec![0.0; rows * spec.action_width],
            reward: vec![0.0; rows],
            flags: vec![0; rows],
        }
    }

    /// What was seen. Nothing has been done yet, and nothing of an earlier use of the row may show.
    pub fn put(&mut self, spec: &SequenceSpec, row: usize, obs: ObsRef<'_>, mask: &[bool], flags: u8) {
        self.obs.row_mut(row).copy_from(obs);
        if spec.mask_width > 0 {
            self.choices[row * spec.mask_width..(row + 1) * spec.mask_width].copy_from_slice(mask);
        }
        self.action[row * spec.action_width..(row + 1) * spec.action_width].fill(0.0);
        self.reward[row] = 0.0;
        self.flags[row] = flags;
    }

    /// What was done, and what came of it.
    pub fn finish(&mut self, spec: &SequenceSpec, row: usize, action: &[f32], reward: f32, flags: u8) {
        self.action[row * spec.action_width..(row + 1) * spec.action_width].copy_from_slice(action);
        self.reward[row] = reward;
        self.flags[row] |= flags;
    }

    /// Copies `count` rows of another set.
    pub fn copy(&mut self, spec: &SequenceSpec, to: usize, source: &Rows, from: usize, count: usize) {
        self.obs.range_mut(to..to + count).copy_from(source.obs.range(from..from + count));
        copy(&source.choices, &mut self.choices, from, to, count, spec.mask_width);
        copy(&source.action, &mut self.action, from, to, count, spec.action_width);
        copy(&source.reward, &mut self.reward, from, to, count, 1);
        copy(&source.flags, &mut self.flags, from, to, count, 1);
    }

    /// Moves all rows of `rows` forward by `count`, over the first ones.
    pub fn drop_front(&mut self, spec: &SequenceSpec, count: usize, rows: usize) {
        let range = |width: usize| count * width..rows * width;
        self.obs.floats.copy_within(range(spec.widths.floats), 0);
        self.obs.bytes.copy_within(range(spec.widths.bytes), 0);
        self.choices.copy_within(range(spec.mask_width), 0);
        self.action.copy_within(range(spec.action_width), 0);
        self.reward.copy_within(range(1), 0);
        self.flags.copy_within(range(1), 0);
    }

    pub fn write(&self, spec: &SequenceSpec, rows: Range<usize>, w: &mut dyn Write) -> io::Result<()> {
        write_obs(w, self.obs.range(rows.clone()))?;
        write_bools(w, &self.choices[rows.start * spec.mask_width..rows.end * spec.mask_width])?;
        write_f32s(w, &self.action[rows.start * spec.action_width..rows.end * spec.action_width])?;
        write_f32s(w, &self.reward[rows.clone()])?;
        w.write_all(&self.flags[rows])
    }

    pub fn read(&mut self, spec: &SequenceSpec, rows: Range<usize>, r: &mut dyn Read) -> io::Result<()> {
        read_obs(r, self.obs.range_mut(rows.clone()))?;
        read_bools(r, &mut self.choices[rows.start * spec.mask_width..rows.end * spec.mask_width])?;
        read_f32s(r, &mut self.action[rows.start * spec.action_width..rows.end * spec.action_width])?;
        read_f32s(r, &mut self.reward[rows.clone()])?;
        r.read_exact(&mut self.flags[rows.clone()])?;
        match self.flags[rows].iter().find(|&&flags| flags >= 2 * super::CLOSING) {
            Some(flags) => Err(damaged(format!("{flags} is no kind of step"))),
            None => Ok(()),
        }
    }
}

fn copy<T: Copy>(source: &[T], into: &mut [T], from: usize, to: usize, count: usize, width: usize) {
    into[to * width..(to + count) * width].copy_from_slice(&source[from * width..(from + count) * width]);
}
