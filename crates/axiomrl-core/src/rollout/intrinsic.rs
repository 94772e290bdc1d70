//! What a learner pays itself beside the environment: a stream of rewards that knows no ends.

use crate::bytes::*;
use crate::gae::{Segment, gae};
use std::io::{self, Read, Write};

/// Columns beside those of a rollout. What is worth seeing stays so after an episode is over, so values reach on into the next one:
/// only where steps are missing is a lane cut.
#[derive(Clone, Debug)]
pub struct Intrinsic {
    pub reward: Vec<f32>,
    pub value: Vec<f32>,
    /// Value of what the policy saw next, be it the beginning of another episode.
    pub next_value: Vec<f32>,
    /// Steps that nothing is known after but `next_value`.
    cut: Vec<bool>,
    pub advantage: Vec<f32>,
    pub returns: Vec<f32>,
}

impl Intrinsic {
    pub(super) fn new(rows: usize) -> Self {
        let zeros = || vec![0.0; rows];
        Self {
            reward: zeros(),
            value: zeros(),
            next_value: zeros(),
            cut: vec![false; rows],
            advantage: zeros(),
            returns: zeros(),
        }
    }

    /// `values` are pairs, one for each environment; the second of each belongs here.
    pub(super) fn begin_row(&mut self, t: usize, values: &[f32]) {
        let lanes = values.len() / 2;
        for (lane, value) in values.iter().skip(1).step_by(2).enumerate() {
            let row = t * lanes + lane;
            self.value[row] = *value;
            (self.reward[row], self.next_value[row], self.cut[row]) = (0.0, 0.0, false);
            if t > 0 {
                self.set_next_value(row - lanes, *value);
            }
        }
    }

    /// The value of what was seen after step `row`, unless the lane was cut there with a value of its own.
    pub fn set_next_value(&mut self, row: usize, value: f32) {
        if !self.cut[row] {
            self.next_value[row] = value;
        }
    }

    pub(super) fn cut_off(&mut self, row: usize) {
        self.cut[row] = true;
    }

    pub(super) fn compute_gae(&mut self, lanes: usize, rows: usize, gamma: f32, lambda: f32) {
        let steps = Segment {
            lanes,
            reward: &self.reward[..rows],
            terminated: &vec![false; rows],
            truncated: &self.cut[..rows],
            next_value: &self.next_value[..rows],
        };
        gae(&steps, &self.value[..rows], gamma, lambda, &mut self.advantage[..rows], &mut self.returns[..rows]);
    }

    pub(super) fn write(&self, rows: usize, w: &mut dyn Write) -> io::Result<()> {
        for column in [&self.reward, &self.value, &self.next_value] {
            write_f32s(w, &column[..rows])?;
        }
        write_bools(w, &self.cut[..rows])
    }

    pub(super) fn read(&mut self, rows: usize, r: &mut dyn Read) -> io::Result<()> {
        for column in [&mut self.reward, &mut self.value, &mut self.next_value] {
            read_f32s(r, &mut column[..rows])?;
        }
        read_bools(r, &mut self.cut[..rows])
    }
}
