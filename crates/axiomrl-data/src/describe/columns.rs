//! Ranges of observations and actions, number by number.

use crate::EpisodeBuf;
use axiomrl_envs::{Kind, ObsSpace, Space, Spaces};
use serde::Serialize;

/// One number of an observation over all rows, or all bytes of a part together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Column {
    /// Empty where the observation has one part.
    pub part: String,
    /// Which number of the part; `None` for bytes, which are taken together.
    pub index: Option<usize>,
    /// Of finite values; above `max` where there are none.
    pub min: f32,
    pub max: f32,
    /// NaN and infinities.
    pub not_finite: u64,
}

impl Column {
    /// Whether it is the same in every row.
    pub fn never_varies(&self) -> bool {
        self.min == self.max
    }

    fn add(&mut self, value: f32) {
        if value.is_finite() {
            (self.min, self.max) = (self.min.min(value), self.max.max(value));
        } else {
            self.not_finite += 1;
        }
    }
}

pub(super) struct ObsTally {
    space: ObsSpace,
    /// In the order of the parts.
    pub columns: Vec<Column>,
    /// Where the columns of each part begin.
    first: Vec<usize>,
}

impl ObsTally {
    pub fn new(spaces: &Spaces) -> Self {
        let space = spaces.obs();
        let (mut columns, mut first) = (Vec::new(), Vec::new());
        for part in &space.parts {
            first.push(columns.len());
            let indices = if part.kind == Kind::U8 { vec![None] } else { (0..part.at.len()).map(Some).collect() };
            let column = |index| Column {
                part: part.name.clone(),
                index,
                min: f32::INFINITY,
                max: f32::NEG_INFINITY,
                not_finite: 0,
            };
            columns.extend(indices.into_iter().map(column));
        }
        Self { space, columns, first }
    }

    pub fn add(&mut self, episode: &EpisodeBuf) {
        for row in 0..episode.obs.rows() {
            let row = episode.obs.row(row);
            for (part, &first) in self.space.parts.iter().zip(&self.first) {
                if part.kind == Kind::U8 {
                    row.bytes[part.at.clone()].iter().for_each(|&byte| self.columns[first].add(f32::from(byte)));
                } else {
                    let columns = self.columns[first..].iter_mut();
                    columns.zip(&row.floats[part.at.clone()]).for_each(|(column, &value)| column.add(value));
                }
            }
        }
    }
}

/// One number of an action over all steps.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ActionColumn {
    pub index: usize,
    /// Of finite values; above `max` where there are none.
    pub min: f32,
    pub max: f32,
    pub mean: f64,
    /// NaN and infinities.
    pub not_finite: u64,
    /// Steps at which it lies on a bound of its Box, up to rounding.
    pub at_bound: u64,
    /// Steps at which it lies out of bounds, or is none of the choices.
    pub outside: u64,
    /// How often each choice was taken; empty for a Box.
    pub choices: Vec<u64>,
}

impl ActionColumn {
    /// Whether it is the same at every step.
    pub fn never_varies(&self) -> bool {
        self.min == self.max
    }
}

pub(super) struct ActionTally {
    pub columns: Vec<ActionColumn>,
    /// Centre and half the extent of each axis of a Box with bounds.
    axes: Vec<Option<(f64, f64)>>,
    finite: Vec<u64>,
}

impl ActionTally {
    pub fn new(space: &Space) -> Self {
        let sizes = match space {
            Space::Discrete { n } => vec![*n],
            Space::MultiDiscrete { nvec } => nvec.clone(),
            Space::MultiBinary { n } => vec![2; *n],
            Space::Box(_) | Space::Dict { .. } => vec![0; space.width()],
        };
        let axes = match space {
            Space::Box(b) => b.low.iter().zip(&b.high).map(|(&low, &high)| axis(low.into(), high.into())).collect(),
            _ => vec![None; sizes.len()],
        };
        let column = |(index, size): (usize, usize)| ActionColumn {
            index,
            min: f32::INFINITY,
            max: f32::NEG_INFINITY,
            mean: 0.0,
            not_finite: 0,
            at_bound: 0,
            outside: 0,
            choices: vec![0; size],
        };
        let columns: Vec<ActionColumn> = sizes.into_iter().enumerate().map(column).collect();
        Self { finite: vec![0; columns.len()], columns, axes }
    }

    pub fn add(&mut self, actions: &[f32]) {
        for row in actions.chunks_exact(self.columns.len().max(1)) {
            for (i, &value) in row.iter().enumerate() {
                let column = &mut self.columns[i];
                if !value.is_finite() {
                    column.not_finite += 1;
                    continue;
                }
                (column.min, column.max) = (column.min.min(value), column.max.max(value));
                self.finite[i] += 1;
                column.mean += (f64::from(value) - column.mean) / self.finite[i] as f64;
                if !column.choices.is_empty() {
                    let whole = value >= 0.0 && value.fract() == 0.0;
                    match column.choices.get_mut(value as usize).filter(|_| whole) {
                        Some(count) => *count += 1,
                        None => column.outside += 1,
                    }
                } else if let Some((centre, half)) = self.axes[i] {
                    // As the map to [−1, 1] sees it.
                    let distance = (f64::from(value) - centre).abs() - half;
                    let rounding = 1e-6 * half;
                    column.outside += u64::from(distance > rounding);
                    column.at_bound += u64::from(distance.abs() <= rounding);
                }
            }
        }
    }
}

fn axis(low: f64, high: f64) -> Option<(f64, f64)> {
    (low.is_finite() && high.is_finite()).then_some((0.5 * (low + high), 0.5 * (high - low)))
}
