//! Rows of observations in, rows of actions out.

use crate::errors::Raised;
use crate::guard::compute;
use axiomrl_algos::{ActContext, ActInput, Memory, Mode, Policy, Section, Snapshot, StateIo, TensorData};
use axiomrl_envs::{ObsRef, Rng};
use axiomrl_run::evaluate::{EvalOptions, Evaluation, Evaluator};
use axiomrl_run::experiment::SessionError;
use numpy::{
    PyArray, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArrayDyn, PyUntypedArrayMethods, ToPyArray,
};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

/// Numbers of an array, in the order of its rows.
pub fn numbers<T: numpy::Element + Copy, D: numpy::ndarray::Dimension>(
    array: &numpy::PyReadonlyArray<'_, T, D>,
) -> PyResult<Vec<T>> {
    if !array.is_c_contiguous() {
        return Err(PyValueError::new_err("an array must be contiguous, its last axis first"));
    }
    Ok(array.as_slice()?.to_vec())
}

/// What is acted on, copied out of Python's memory.
pub struct Question {
    rows: usize,
    floats: Vec<f32>,
    bytes: Vec<u8>,
    masks: Vec<bool>,
    memory: Option<Vec<f32>>,
    starts: Vec<bool>,
    mode: Mode,
}

impl Question {
    pub fn new(
        floats: &PyReadonlyArray2<'_, f32>,
        bytes: &PyReadonlyArray2<'_, u8>,
        masks: Option<&PyReadonlyArray2<'_, bool>>,
        memory: Option<&PyReadonlyArray2<'_, f32>>,
        starts: &PyReadonlyArray1<'_, bool>,
        deterministic: bool,
    ) -> PyResult<Self> {
        Ok(Self {
            rows: starts.len(),
            floats: numbers(floats)?,
            bytes: numbers(bytes)?,
            masks: masks.map(numbers).transpose()?.unwrap_or_default(),
            memory: memory.map(numbers).transpose()?,
            starts: numbers(starts)?,
            mode: if deterministic { Mode::Best } else { Mode::Sample },
        })
    }

    /// Actions in the environment's units, and what the policy remembers.
    pub fn answer(mut self, policy: &mut dyn Policy, rng: &mut Rng) -> PyResult<Answer> {
        let spaces = policy.spaces();
        let (widths, width, masks) = (spaces.obs().widths, spaces.action.width(), spaces.masks);
        if masks > 0 && self.masks.is_empty() {
            self.masks = vec![true; self.rows * masks];
        }
        let mut memory = Memory::new(self.rows, policy.memory_width());
        let fits = self.floats.len() == self.rows * widths.floats
            && self.bytes.len() == self.rows * widths.bytes
            && self.masks.len() == self.rows * masks
            && self.memory.as_ref().is_none_or(|given| given.len() == memory.state.len());
        if !fits {
            return Err(PyValueError::new_err("observations, masks or states of another size than the policy takes"));
        }
        if let Some(given) = self.memory {
            memory.state = given;
        }
        memory.starts = self.starts;
        let (mut chosen, mut actions) = (vec![0.0; self.rows * width], vec![0.0; self.rows * width]);
        let obs = ObsRef { rows: self.rows, floats: &self.floats, bytes: &self.bytes };
        let input = ActInput { obs, masks: &self.masks };
        policy.act(input, ActContext::new(&mut memory, self.mode, rng), &mut chosen).map_err(|error| error.raised())?;
        policy.action_map().to_env(&chosen, &mut actions);
        Ok(Answer { actions, memory: memory.state })
    }
}

/// Flat; Python knows the shapes.
pub struct Answer {
    pub actions: Vec<f32>,
    pub memory: Vec<f32>,
}

pub type Numbers<'py> = Bound<'py, PyArray<f32, numpy::Ix1>>;

impl Answer {
    pub fn into_arrays(self, py: Python<'_>) -> (Numbers<'_>, Numbers<'_>) {
        (self.actions.to_pyarray(py), self.memory.to_pyarray(py))
    }
}

/// Plays whole episodes; `None` when asked to stop meanwhile.
pub fn evaluate(
    policy: &mut dyn Policy,
    evaluator: &mut Evaluator,
    stop: &AtomicBool,
    options: &EvalOptions,
) -> PyResult<Option<Evaluation>> {
    evaluator.evaluate_unless(stop, policy, options).map_err(|error| error.raised())
}

/// What acting needs, by name.
pub fn saved(policy: &mut dyn Policy) -> PyResult<Section> {
    let mut snapshot = Snapshot::default();
    let visited = policy.visit_state(&mut StateIo::save(&mut snapshot, None));
    visited.map_err(|error| SessionError::from(error).raised())?;
    Ok(snapshot.policy)
}

/// Tensors as arrays.
pub fn to_arrays<'py>(py: Python<'py>, section: &Section) -> PyResult<Bound<'py, PyDict>> {
    let arrays = PyDict::new(py);
    for (name, TensorData { shape, values }) in &section.tensors {
        arrays.set_item(name, values.to_pyarray(py).reshape(shape.clone())?)?;
    }
    Ok(arrays)
}

/// Arrays as tensors, to be taken in the place of those in `section`: all of them, or, if not `exact`, those that are given.
pub fn replace(section: &mut Section, given: &Bound<'_, PyDict>, exact: bool) -> PyResult<()> {
    for (name, array) in given.iter() {
        let name: String = name.extract()?;
        let array: PyReadonlyArrayDyn<'_, f32> = array.extract()?;
        let Some(tensor) = section.tensors.get_mut(&name) else {
            let known: Vec<&str> = section.tensors.keys().map(String::as_str).collect();
            return Err(PyKeyError::new_err(format!("no parameter `{name}`; there are {}", known.join(", "))));
        };
        if array.shape() != tensor.shape {
            let words = format!("`{name}` has the shape {:?}, and {:?} was given", tensor.shape, array.shape());
            return Err(PyValueError::new_err(words));
        }
        tensor.values = numbers(&array)?;
    }
    match section.tensors.keys().find(|name| exact && !given.contains(name.as_str()).unwrap_or(false)) {
        Some(missing) => Err(PyKeyError::new_err(format!(
            "the parameter `{missing}` is missing; `exact_match=False` leaves it as it is"
        ))),
        None => Ok(()),
    }
}

/// Loads what [`saved`] gave.
pub fn load(policy: &mut dyn Policy, section: Section) -> PyResult<()> {
    let snapshot = Snapshot { policy: section, ..Snapshot::default() };
    let visited = policy.visit_state(&mut StateIo::load(&snapshot, None));
    visited.map_err(|error| SessionError::from(error).raised())
}

/// Does `work` with what a mutex holds, without the interpreter: whoever holds it meanwhile may be waiting for that.
pub fn with<T: Send, I: Send, F>(py: Python<'_>, mutex: &Mutex<I>, work: F) -> PyResult<T>
where
    F: FnOnce(&mut I) -> PyResult<T> + Send,
{
    compute(py, || {
        let mut guard = mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        work(&mut guard)
    })
}
