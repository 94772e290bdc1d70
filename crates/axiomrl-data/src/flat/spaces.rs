//! What the arrays of a flat file mean: by what the file says itself, by the environment's spaces, or by their looks.

use super::columns::{ColumnInfo, Rows, Table};
use crate::element::Element;
use crate::{DataError, Metadata, OpenOptions};
use axiomrl_envs::{BoxSpace, DType, Kind, ObsSpace, Part, Space, Spaces};
use serde::{Deserialize, Serialize};

/// The array of bytes in which our own files say what is in them, as JSON. Other readers pass it over.
pub(crate) const DESCRIBED: &str = "axiomrl";

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Described {
    pub spaces: Spaces,
    pub metadata: Metadata,
}

/// The key of a part of an observation.
pub(crate) fn part_key(key: &str, part: &Part) -> String {
    if part.name.is_empty() { key.to_owned() } else { format!("{key}/{}", part.name) }
}

/// Spaces and origin of a file whose observations are called `obs`, and what had to be guessed.
pub(super) fn resolve(
    table: &dyn Table,
    obs: &str,
    options: &OpenOptions,
) -> Result<(Spaces, Metadata, Vec<String>), DataError> {
    if table.has(DESCRIBED) {
        let mut column = table.column(DESCRIBED)?;
        let (info, mut text) = (column.info().clone(), Vec::new());
        let damaged = |problem: String| DataError::key(table.path(), DESCRIBED, problem);
        if info.element != Element::U8 || !info.shape.is_empty() {
            return Err(damaged("must be a row of bytes that hold JSON".into()));
        }
        column.bytes(info.rows, &mut text)?;
        let found: Described =
            serde_json::from_slice(&text).map_err(|error| damaged(format!("is damaged: {error}")))?;
        return Ok((found.spaces, found.metadata, Vec::new()));
    }
    if let Some(spaces) = &options.spaces {
        return Ok((spaces.clone(), Metadata::default(), Vec::new()));
    }
    let mut notes = Vec::new();
    let observation = guess_observation(table, obs)?;
    let action = guess_action(table, &mut notes)?;
    Ok((Spaces::new(observation, action), Metadata::default(), notes))
}

/// Numbers or bytes without bounds.
fn guess_observation(table: &dyn Table, key: &str) -> Result<Space, DataError> {
    let space = |key: &str| {
        let info = table.require(key)?.info().clone();
        let (low, high, dtype) = match info.element {
            Element::U8 => (0.0, 255.0, DType::U8),
            _ => (f32::NEG_INFINITY, f32::INFINITY, DType::F32),
        };
        let shape = if info.shape.is_empty() { vec![1] } else { info.shape.clone() };
        let (low, high) = (vec![low; info.width()], vec![high; info.width()]);
        Ok(Space::Box(BoxSpace { shape, low, high, dtype, frames: 1 }))
    };
    let prefix = format!("{key}/");
    let parts: Vec<&str> = table.keys().iter().filter_map(|key| key.strip_prefix(&prefix)).collect();
    if table.has(key) || parts.is_empty() {
        return space(key);
    }
    let entries = parts.into_iter().map(|part| Ok((part.to_owned(), space(&format!("{key}/{part}"))?)));
    Ok(Space::Dict { entries: entries.collect::<Result<_, DataError>>()? })
}

/// Whole numbers are choices; other numbers are a Box that just holds them, [−1, 1] where that is enough.
fn guess_action(table: &dyn Table, notes: &mut Vec<String>) -> Result<Space, DataError> {
    let mut column = table.require("actions")?;
    let info = column.info().clone();
    let width = info.width();
    let (mut least, mut largest, mut rows) = (vec![f32::INFINITY; width], vec![f32::NEG_INFINITY; width], Vec::new());
    let mut at = 0;
    while at < info.rows {
        let count = super::block::ROWS.min(info.rows - at);
        rows.clear();
        column.floats(count, &mut rows)?;
        for row in rows.chunks_exact(width.max(1)) {
            for (i, value) in row.iter().enumerate().filter(|(_, value)| value.is_finite()) {
                (least[i], largest[i]) = (least[i].min(*value), largest[i].max(*value));
            }
        }
        at += count;
    }
    let whole = info.element.is_whole();
    if whole && least.iter().any(|&least| least < 0.0) {
        return Err(DataError::key(
            table.path(),
            "actions",
            "has whole numbers below 0, which are no choices; say which \
            environment they are for",
        ));
    }
    // An empty array has no largest number: its choices are one.
    let sizes: Vec<usize> = largest.iter().map(|&largest| largest.max(0.0) as usize + 1).collect();
    if whole {
        notes.push(format!("`actions` are taken for choices, of which there are {sizes:?}, the largest that occurs"));
        return Ok(match sizes.as_slice() {
            [n] => Space::Discrete { n: *n },
            _ => Space::MultiDiscrete { nvec: sizes },
        });
    }
    let bound = |i: usize| match least[i].abs().max(largest[i].abs()) {
        farthest if farthest.is_finite() && farthest > 1.0 + 1e-6 => farthest,
        _ => 1.0,
    };
    let high: Vec<f32> = (0..width).map(bound).collect();
    let low = high.iter().map(|high| -high).collect();
    notes.push(format!(
        "the file does not say the bounds of its actions: ±{high:?} is taken from the data; name the environment to have its own"
    ));
    let shape = if info.shape.is_empty() { vec![1] } else { info.shape.clone() };
    Ok(Space::Box(BoxSpace { shape, low, high, dtype: DType::F32, frames: 1 }))
}

/// The arrays of all parts of an observation, each of which must fit.
pub(super) fn obs_columns(table: &dyn Table, key: &str, space: &ObsSpace) -> Result<Vec<Box<dyn Rows>>, DataError> {
    space
        .parts
        .iter()
        .map(|part| {
            let column = table.require(&part_key(key, part))?;
            let info = column.info();
            check_shape(table, info, &part.shape, "the observation")?;
            if part.kind == Kind::U8 && info.element != Element::U8 {
                let problem = format!("is {}, where the observation is uint8", info.element.name());
                return Err(DataError::key(table.path(), &info.key, problem));
            }
            Ok(column)
        })
        .collect()
}

pub(super) fn action_column(table: &dyn Table, space: &Space) -> Result<Box<dyn Rows>, DataError> {
    let column = table.require("actions")?;
    let shape = match space {
        Space::Box(b) => b.shape.clone(),
        other => vec![other.width()],
    };
    check_shape(table, column.info(), &shape, &format!("the action, a {},", space.kind()))?;
    Ok(column)
}

fn check_shape(table: &dyn Table, info: &ColumnInfo, shape: &[usize], what: &str) -> Result<(), DataError> {
    if info.has_rows_of(shape) {
        return Ok(());
    }
    let problem = format!("has rows of shape {:?}, where {what} has {shape:?}", info.shape);
    Err(DataError::key(table.path(), &info.key, problem))
}

/// A column of one number a row: `[N]` or `[N, 1]`.
pub(super) fn number_column(table: &dyn Table, key: &str) -> Result<Box<dyn Rows>, DataError> {
    let column = table.require(key)?;
    let info = column.info();
    if info.width() != 1 {
        let problem = format!("has rows of shape {:?}, where there should be one number for each step", info.shape);
        return Err(DataError::key(table.path(), key, problem));
    }
    Ok(column)
}
