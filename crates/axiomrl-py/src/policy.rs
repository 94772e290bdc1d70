//! Settings that proved sound, and policies that act without a run.

use crate::acting::{self, Numbers, Question, with};
use crate::bridge::{Maker, catalogue};
use crate::errors::Raised;
use crate::guard::compute;
use crate::told::evaluation;
use axiomrl_algos::Policy;
use axiomrl_algos::config::Document;
use axiomrl_envs::{Rng, rng::stream};
use axiomrl_run::catalogue::Catalogue;
use axiomrl_run::checkpoint;
use axiomrl_run::evaluate::{EVALUATION_SEED, EvalOptions, Evaluator};
use axiomrl_run::experiment::{Experiment, blank_policy};
use axiomrl_run::export::export;
use axiomrl_run::policy::TrainedPolicy;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

/// What messages call settings that were put together in Python.
const HERE: &str = "the settings";

/// A run as Python wrote it.
pub struct Written {
    pub run: Value,
    /// Whether it was a person who wrote each of its keys, so that one without an effect is a mistake.
    pub by_hand: bool,
}

impl Written {
    pub fn parse(run: &str, by_hand: bool) -> PyResult<Self> {
        let run = serde_json::from_str(run).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { run, by_hand })
    }

    /// All of it checked, every default filled in.
    pub fn read(&self, catalogue: &Catalogue) -> PyResult<Experiment> {
        let experiment = catalogue.read_value(&self.run, HERE).map_err(|error| error.raised())?;
        if self.by_hand {
            let document = Document::of(&self.run, HERE).map_err(|error| error.raised())?;
            let settings = &experiment.config.algo_kwargs.0;
            experiment.algorithm.refuse_idle(&document, settings).map_err(|error| error.raised())?;
        }
        Ok(experiment)
    }
}

/// What a policy is shown, what it answers and what it remembers.
pub fn layout(policy: &mut dyn Policy) -> PyResult<String> {
    let spaces = policy.spaces();
    as_json(&json!({ "spaces": spaces, "observation": spaces.obs(), "memory": policy.memory_width() }))
}

pub fn as_json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// The settings with every default filled in, if they are sound.
#[pyfunction]
pub fn check(py: Python<'_>, run: &str, by_hand: bool, maker: Option<Maker>) -> PyResult<String> {
    let (written, catalogue) = (Written::parse(run, by_hand)?, catalogue(maker.as_ref())?);
    compute(py, || as_json(&written.read(&catalogue)?.config))
}

#[pyclass(frozen)]
pub struct LoadedPolicy {
    inner: Mutex<Inner>,
}

struct Inner {
    trained: TrainedPolicy,
    /// Made with the first evaluation: acting needs no environment.
    evaluator: Option<Evaluator>,
    rng: Rng,
    catalogue: Catalogue,
}

impl LoadedPolicy {
    fn new(trained: TrainedPolicy, evaluator: Option<Evaluator>, catalogue: Catalogue) -> Self {
        let rng = stream(trained.config.seed, "predict");
        Self { inner: Mutex::new(Inner { trained, evaluator, rng, catalogue }) }
    }
}

#[pymethods]
impl LoadedPolicy {
    /// One that has learned nothing yet.
    #[staticmethod]
    fn blank(py: Python<'_>, run: &str, by_hand: bool, maker: Option<Maker>) -> PyResult<Self> {
        let (written, catalogue) = (Written::parse(run, by_hand)?, catalogue(maker.as_ref())?);
        compute(py, || {
            let Experiment { config, algorithm, environments, .. } = written.read(&catalogue)?;
            let spaces = environments.spaces().map_err(|error| error.raised())?;
            let policy = blank_policy(&config, &algorithm, spaces).map_err(|error| error.raised())?;
            Ok(Self::new(TrainedPolicy { config, policy }, Some(Evaluator::new(environments)), catalogue))
        })
    }

    /// The policy of a run folder (its last checkpoint) or of a checkpoint.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, maker: Option<Maker>) -> PyResult<Self> {
        let catalogue = catalogue(maker.as_ref())?;
        compute(py, || {
            let found = checkpoint::find(&path).map_err(|error| error.raised())?;
            let saved = checkpoint::load_policy(&found).map_err(|error| error.raised())?;
            let trained = TrainedPolicy::restore(&catalogue, saved).map_err(|error| error.raised())?;
            Ok(Self::new(trained, None, catalogue))
        })
    }

    fn config(&self, py: Python<'_>) -> PyResult<String> {
        with(py, &self.inner, |inner| as_json(&inner.trained.config))
    }

    fn layout(&self, py: Python<'_>) -> PyResult<String> {
        with(py, &self.inner, |inner| layout(inner.trained.policy.as_mut()))
    }

    fn act<'py>(
        &self,
        py: Python<'py>,
        floats: PyReadonlyArray2<'py, f32>,
        bytes: PyReadonlyArray2<'py, u8>,
        masks: Option<PyReadonlyArray2<'py, bool>>,
        memory: Option<PyReadonlyArray2<'py, f32>>,
        starts: PyReadonlyArray1<'py, bool>,
        deterministic: bool,
    ) -> PyResult<(Numbers<'py>, Numbers<'py>)> {
        let question = Question::new(&floats, &bytes, masks.as_ref(), memory.as_ref(), &starts, deterministic)?;
        let answer = with(py, &self.inner, |inner| question.answer(inner.trained.policy.as_mut(), &mut inner.rng))?;
        Ok(answer.into_arrays(py))
    }

    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        episodes: usize,
        seed: Option<u64>,
        deterministic: bool,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let options = EvalOptions { episodes, seed: seed.unwrap_or(EVALUATION_SEED), deterministic };
        let result = with(py, &self.inner, |Inner { trained, evaluator, catalogue, .. }| {
            let evaluator = match evaluator {
                Some(made) => made,
                none => {
                    let source = trained.environments(catalogue).map_err(|error| error.raised())?;
                    none.insert(Evaluator::new(source))
                }
            };
            acting::evaluate(trained.policy.as_mut(), evaluator, &AtomicBool::new(false), &options)
        })?;
        result.map(|result| evaluation(py, &result)).transpose()
    }

    /// Writes the policy as an ONNX file.
    fn export(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        with(py, &self.inner, |inner| {
            let TrainedPolicy { policy, config } = &inner.trained;
            export(policy.as_ref(), config, &path).map(drop).map_err(|error| error.raised())
        })
    }

    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let section = with(py, &self.inner, |inner| acting::saved(inner.trained.policy.as_mut()))?;
        acting::to_arrays(py, &section)
    }

    fn set_parameters(&self, py: Python<'_>, given: &Bound<'_, PyDict>, exact: bool) -> PyResult<()> {
        let mut section = with(py, &self.inner, |inner| acting::saved(inner.trained.policy.as_mut()))?;
        acting::replace(&mut section, given, exact)?;
        with(py, &self.inner, |inner| acting::load(inner.trained.policy.as_mut(), section))
    }
}
