//! Loops that are written in Python: what they hand over and get back.

use crate::acting::numbers;
use crate::run::{PATIENCE, Working};
use crate::told::Telling;
use axiomrl_algos::{Handed, Transitions};
use axiomrl_envs::{ObsBuf, ObsWidths};
use axiomrl_run::train::{Collecting, Outcome, TrainError, Updated};
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::time::Instant;

/// Steps as arrays, a row each; masks of no columns where there are none.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Rows<'py> {
    floats: PyReadonlyArray2<'py, f32>,
    bytes: PyReadonlyArray2<'py, u8>,
    next_floats: PyReadonlyArray2<'py, f32>,
    next_bytes: PyReadonlyArray2<'py, u8>,
    masks: PyReadonlyArray2<'py, bool>,
    next_masks: PyReadonlyArray2<'py, bool>,
    action: PyReadonlyArray2<'py, f32>,
    reward: PyReadonlyArray1<'py, f32>,
    terminated: PyReadonlyArray1<'py, bool>,
    truncated: PyReadonlyArray1<'py, bool>,
}

impl Rows<'_> {
    pub fn transitions(&self) -> PyResult<Transitions> {
        Ok(Transitions {
            obs: observations(&self.floats, &self.bytes)?,
            next_obs: observations(&self.next_floats, &self.next_bytes)?,
            masks: numbers(&self.masks)?,
            next_masks: numbers(&self.next_masks)?,
            action: numbers(&self.action)?,
            reward: numbers(&self.reward)?,
            terminated: numbers(&self.terminated)?,
            truncated: numbers(&self.truncated)?,
        })
    }
}

/// Rows for an update.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Batch<'py> {
    rows: Rows<'py>,
    discount: Option<PyReadonlyArray1<'py, f32>>,
    weight: Option<PyReadonlyArray1<'py, f32>>,
}

impl Batch<'_> {
    pub fn handed(&self) -> PyResult<Handed> {
        Ok(Handed {
            rows: self.rows.transitions()?,
            discount: self.discount.as_ref().map(numbers).transpose()?,
            weight: self.weight.as_ref().map(numbers).transpose()?,
        })
    }
}

fn observations(floats: &PyReadonlyArray2<'_, f32>, bytes: &PyReadonlyArray2<'_, u8>) -> PyResult<ObsBuf> {
    let widths = ObsWidths { floats: floats.shape()[1], bytes: bytes.shape()[1] };
    let mut obs = ObsBuf::zeros(widths, 0);
    (obs.floats, obs.bytes) = (numbers(floats)?, numbers(bytes)?);
    Ok(obs)
}

/// Flat; Python knows the shapes.
pub fn to_arrays(py: Python<'_>, drawn: Transitions) -> PyResult<Bound<'_, PyDict>> {
    let arrays = PyDict::new(py);
    for (name, obs) in [("", &drawn.obs), ("next_", &drawn.next_obs)] {
        arrays.set_item(format!("{name}floats"), obs.floats.to_pyarray(py))?;
        arrays.set_item(format!("{name}bytes"), obs.bytes.to_pyarray(py))?;
    }
    arrays.set_item("masks", drawn.masks.to_pyarray(py))?;
    arrays.set_item("next_masks", drawn.next_masks.to_pyarray(py))?;
    arrays.set_item("action", drawn.action.to_pyarray(py))?;
    arrays.set_item("reward", drawn.reward.to_pyarray(py))?;
    arrays.set_item("terminated", drawn.terminated.to_pyarray(py))?;
    arrays.set_item("truncated", drawn.truncated.to_pyarray(py))?;
    Ok(arrays)
}

/// Until there is something to say or a moment has passed.
pub fn collect(
    working: &mut Working,
    until: Option<u64>,
    told: &Telling,
) -> Result<(&'static str, Option<Outcome>), TrainError> {
    let begun = Instant::now();
    loop {
        match working.trainer.collect(until)? {
            Collecting::GoesOn if begun.elapsed() >= PATIENCE || !told.is_empty() => return Ok(("pause", None)),
            Collecting::GoesOn => {}
            Collecting::Enough if working.trainer.is_about_to_learn() => return Ok(("enough, needs update", None)),
            Collecting::Enough => return Ok(("enough", None)),
            Collecting::NeedsUpdate => return Ok(("needs update", None)),
            Collecting::Ended(outcome) => return Ok(("ended", Some(outcome))),
        }
    }
}

/// As often as asked for, or until a moment has passed.
pub fn update(working: &mut Working, most: u64, first: bool) -> Result<(u64, Option<Outcome>), TrainError> {
    let (begun, mut made) = (Instant::now(), 0);
    if first {
        working.trainer.watch_metrics();
    }
    while made < most {
        match working.trainer.update_by_hand()? {
            Updated::Made => made += 1,
            Updated::Ended(outcome) => return Ok((made, Some(outcome))),
        }
        if begun.elapsed() >= PATIENCE {
            break;
        }
    }
    Ok((made, None))
}

/// Once, from what was handed over.
pub fn learn_from(working: &mut Working, handed: &Handed, first: bool) -> Result<(u64, Option<Outcome>), TrainError> {
    if first {
        working.trainer.watch_metrics();
    }
    match working.trainer.learn_from(handed)? {
        Updated::Made => Ok((1, None)),
        Updated::Ended(outcome) => Ok((0, Some(outcome))),
    }
}
