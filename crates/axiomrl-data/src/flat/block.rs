//! A stretch of rows of all arrays, so that files are read in large pieces.

use super::columns::Rows;
use crate::DataError;
use crate::rows::scatter;
use axiomrl_envs::{Kind, ObsBuf, ObsSpace};
use std::ops::Range;

/// Rows read at a time.
pub(super) const ROWS: usize = 8192;

/// The arrays of an observation's parts.
pub(super) struct ObsColumns {
    space: ObsSpace,
    /// In the order of the parts.
    columns: Vec<Box<dyn Rows>>,
    floats: Vec<f32>,
    bytes: Vec<u8>,
}

impl ObsColumns {
    pub fn new(space: ObsSpace, columns: Vec<Box<dyn Rows>>) -> Self {
        Self { space, columns, floats: Vec::new(), bytes: Vec::new() }
    }

    /// Replaces `to` by the next rows.
    fn read(&mut self, rows: usize, to: &mut ObsBuf) -> Result<(), DataError> {
        let widths = self.space.widths;
        to.reshape(widths, rows);
        for (part, column) in self.space.parts.iter().zip(&mut self.columns) {
            if part.kind == Kind::U8 {
                self.bytes.clear();
                column.bytes(rows, &mut self.bytes)?;
                scatter(&self.bytes, &mut to.bytes, part.at.clone(), widths.bytes);
            } else {
                self.floats.clear();
                column.floats(rows, &mut self.floats)?;
                scatter(&self.floats, &mut to.floats, part.at.clone(), widths.floats);
            }
        }
        Ok(())
    }
}

/// What is read row by row, and the rows of it that are at hand.
pub(super) struct Block {
    pub obs_columns: ObsColumns,
    pub next_columns: Option<ObsColumns>,
    pub action_column: Box<dyn Rows>,
    pub reward_column: Box<dyn Rows>,
    /// Of a row and of what it led to.
    pub mask_columns: Option<[Box<dyn Rows>; 2]>,
    pub obs: ObsBuf,
    pub next: ObsBuf,
    pub actions: Vec<f32>,
    pub rewards: Vec<f32>,
    pub masks: [Vec<f32>; 2],
    /// Rows of the file.
    pub held: Range<usize>,
}

impl Block {
    /// Makes sure that a row, the next one to be looked at, is at hand, and says where.
    pub fn reach(&mut self, row: usize, total: usize) -> Result<usize, DataError> {
        if row >= self.held.end {
            let rows = ROWS.min(total - row);
            self.obs_columns.read(rows, &mut self.obs)?;
            if let Some(columns) = &mut self.next_columns {
                columns.read(rows, &mut self.next)?;
            }
            self.actions.clear();
            self.action_column.floats(rows, &mut self.actions)?;
            self.rewards.clear();
            self.reward_column.floats(rows, &mut self.rewards)?;
            if let Some(columns) = &mut self.mask_columns {
                for (column, masks) in columns.iter_mut().zip(&mut self.masks) {
                    masks.clear();
                    column.floats(rows, masks)?;
                }
            }
            self.held = row..row + rows;
        }
        Ok(row - self.held.start)
    }
}
