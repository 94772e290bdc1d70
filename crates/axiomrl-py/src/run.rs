//! A run at work, driven piece by piece.

use crate::acting::{self, Numbers, Question, with};
use crate::bridge::{Maker, catalogue};
use crate::errors::Raised;
use crate::guard::compute;
use crate::policy::{Written, as_json, layout};
use crate::stepping::{self, Batch, Rows};
use crate::told::{Telling, evaluation};
use axiomrl_envs::{Rng, rng::stream};
use axiomrl_run::evaluate::{EVALUATION_SEED, EvalOptions, Evaluator};
use axiomrl_run::export::export;
use axiomrl_run::train::{Outcome, TrainError, TrainOptions, Trainer, Unit};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use signal_hook::SigId;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What is at work, or why nothing is any more.
enum State {
    Working(Box<Working>),
    /// It failed, or was closed: the folder can be used again.
    Gone,
}

pub struct Working {
    pub trainer: Trainer,
    evaluator: Evaluator,
    rng: Rng,
    /// Draws from the replay for whoever looks at it: the run's own chances stay as they are.
    pub looking: Rng,
    /// Whether the next update ends a stretch of steps.
    stepped: bool,
}

/// Why [`Run::advance`] came back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    /// Environments have stepped.
    Step,
    /// What was collected is about to be learned from.
    RolloutEnd,
    /// Something else is to be told, or time has passed.
    Pause,
    Ended,
}

impl Why {
    fn name(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::RolloutEnd => "rollout_end",
            Self::Pause => "pause",
            Self::Ended => "ended",
        }
    }
}

/// Signals are looked at this often.
pub const PATIENCE: Duration = Duration::from_millis(50);

#[pyclass(frozen)]
pub struct Run {
    state: Mutex<State>,
    stop: Arc<AtomicBool>,
    told: Telling,
    run_dir: PathBuf,
    /// How Ctrl-C reaches a piece that takes long.
    watch: Mutex<Option<SigId>>,
}

impl Run {
    fn new(trainer: Trainer, stop: Arc<AtomicBool>, told: Telling) -> Self {
        let run_dir = trainer.run_dir().map(Path::to_path_buf).unwrap_or_default();
        let working = Working {
            evaluator: Evaluator::new(trainer.environments()),
            rng: stream(trainer.config().seed, "predict"),
            looking: stream(trainer.config().seed, "look"),
            stepped: false,
            trainer,
        };
        Self { state: Mutex::new(State::Working(Box::new(working))), stop, told, run_dir, watch: Mutex::new(None) }
    }

    fn working<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Working) -> PyResult<T> + Send) -> PyResult<T> {
        with(py, &self.state, |state| match state {
            State::Working(working) => work(working),
            State::Gone => {
                Err(PyRuntimeError::new_err("this run was closed, or has failed; resume it from its folder"))
            }
        })
    }

    /// For steps by hand: an error is the end of it, unless the run only refused.
    fn by_hand<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Working) -> Result<T, TrainError> + Send,
    ) -> PyResult<T> {
        match self.working(py, |working| Ok(work(working)))? {
            Ok(done) => Ok(done),
            Err(refused @ TrainError::Refused(_)) => Err(refused.raised()),
            Err(error) => {
                self.close(py);
                Err(error.raised())
            }
        }
    }

    /// What is to be told, as Python has it.
    fn tell(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, Py<PyAny>)>> {
        self.told.take().into_iter().map(|told| told.into_python(py)).collect()
    }

    /// As [`Run::working`], but an error is the end of it.
    fn at_risk<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Working) -> PyResult<T> + Send) -> PyResult<T> {
        let done = self.working(py, work);
        if done.is_err() {
            self.close(py);
        }
        done
    }
}

#[pymethods]
impl Run {
    /// Begins the run that `run` (JSON) describes, in exactly the folder `run_dir` or in one below its `output_dir`.
    #[staticmethod]
    fn begin(
        py: Python<'_>,
        run: &str,
        by_hand: bool,
        maker: Option<Maker>,
        run_dir: Option<PathBuf>,
        show_progress: bool,
    ) -> PyResult<Self> {
        let (written, catalogue) = (Written::parse(run, by_hand)?, catalogue(maker.as_ref())?);
        compute(py, || {
            let experiment = written.read(&catalogue)?;
            let (options, told) = options(run_dir, show_progress);
            let stop = options.stop.clone();
            let trainer = Trainer::new(experiment, options, vec![Box::new(told.clone())]);
            Ok(Self::new(trainer.map_err(|error| error.raised())?, stop, told))
        })
    }

    /// Takes up the run in a folder.
    #[staticmethod]
    fn resume(
        py: Python<'_>,
        path: PathBuf,
        total: Option<u64>,
        maker: Option<Maker>,
        show_progress: bool,
    ) -> PyResult<Self> {
        let catalogue = catalogue(maker.as_ref())?;
        compute(py, || {
            let (options, told) = options(None, show_progress);
            let stop = options.stop.clone();
            let trainer = Trainer::resume(&catalogue, &path, total, options, vec![Box::new(told.clone())]);
            Ok(Self::new(trainer.map_err(|error| error.raised())?, stop, told))
        })
    }

    #[getter]
    fn run_dir(&self) -> PathBuf {
        self.run_dir.clone()
    }

    /// The settings with every default filled in, as JSON.
    fn config(&self, py: Python<'_>) -> PyResult<String> {
        self.working(py, |working| as_json(working.trainer.config()))
    }

    /// What is observed and done, as JSON.
    fn layout(&self, py: Python<'_>) -> PyResult<String> {
        self.working(py, |working| layout(working.trainer.agent().policy()))
    }

    /// Steps and updates done, what intervals count, and where that ends.
    fn clock(&self, py: Python<'_>) -> PyResult<(u64, u64, u64, u64)> {
        self.working(py, |working| {
            let clock = working.trainer.clock();
            Ok((clock.env_steps, clock.updates, clock.at, clock.total))
        })
    }

    /// Runs on, until something is to be told, a moment has passed or the run has ended; with `each_step`, until environments
    /// have stepped or what they showed is about to be learned from. Gives why it came back, what is to be told and, at the
    /// end, the outcome as JSON.
    fn advance<'py>(
        &self,
        py: Python<'py>,
        each_step: bool,
    ) -> PyResult<(&'static str, Vec<(&'static str, Py<PyAny>)>, Option<String>)> {
        let (why, outcome) = self.at_risk(py, |working| working.advance(each_step, &self.told))?;
        Ok((why.name(), self.tell(py)?, outcome.as_ref().map(told_outcome)))
    }

    /// Collects for a moment: until the agent needs an update, or until so many steps are taken. Gives why it came back, what is to
    /// be told and, at the end, the outcome as JSON.
    fn collect(
        &self,
        py: Python<'_>,
        until: Option<u64>,
    ) -> PyResult<(&'static str, Vec<(&'static str, Py<PyAny>)>, Option<String>)> {
        let (why, outcome) = self.by_hand(py, |working| stepping::collect(working, until, &self.told))?;
        Ok((why, self.tell(py)?, outcome.as_ref().map(told_outcome)))
    }

    /// Updates for a moment, up to `most` times; `first` begins to average what they report. Gives how many were made, what is to be
    /// told and, where the run ended instead, the outcome as JSON.
    fn update(
        &self,
        py: Python<'_>,
        most: u64,
        first: bool,
    ) -> PyResult<(u64, Vec<(&'static str, Py<PyAny>)>, Option<String>)> {
        let (made, outcome) = self.by_hand(py, |working| stepping::update(working, most, first))?;
        Ok((made, self.tell(py)?, outcome.as_ref().map(told_outcome)))
    }

    /// As [`Run::update`], once and from rows that are handed over.
    fn learn_from(
        &self,
        py: Python<'_>,
        batch: Batch<'_>,
        first: bool,
    ) -> PyResult<(u64, Vec<(&'static str, Py<PyAny>)>, Option<String>)> {
        let handed = batch.handed()?;
        let (made, outcome) = self.by_hand(py, |working| stepping::learn_from(working, &handed, first))?;
        Ok((made, self.tell(py)?, outcome.as_ref().map(told_outcome)))
    }

    /// What the updates reported since they began to be averaged.
    fn update_metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let metrics = self.working(py, |working| Ok(working.trainer.watched_metrics()))?;
        let told = PyDict::new(py);
        for (name, value) in metrics {
            told.set_item(name, value)?;
        }
        Ok(told)
    }

    /// Steps in the replay.
    fn replay_len(&self, py: Python<'_>) -> PyResult<usize> {
        self.by_hand(py, |working| Ok(working.trainer.replay()?.len()))
    }

    fn replay_add(&self, py: Python<'_>, rows: Rows<'_>) -> PyResult<()> {
        let given = rows.transitions()?;
        self.by_hand(py, |working| Ok(working.trainer.replay()?.add(&given)?))
    }

    fn replay_sample<'py>(&self, py: Python<'py>, rows: usize) -> PyResult<Bound<'py, PyDict>> {
        let drawn = self.by_hand(py, |working| {
            let Working { trainer, looking, .. } = working;
            Ok(trainer.replay()?.sample(rows, looking)?)
        })?;
        stepping::to_arrays(py, drawn)
    }

    /// Saves, stops and gives the outcome; the agent stays.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        self.stop.store(true, Ordering::Relaxed);
        let outcome = self.at_risk(py, |working| working.trainer.run_to_end().map_err(|error| error.raised()));
        self.stop.store(false, Ordering::Relaxed);
        Ok(told_outcome(&outcome?))
    }

    /// Whether there is an agent to be asked.
    #[getter]
    fn is_open(&self, py: Python<'_>) -> bool {
        py.detach(|| matches!(*self.state.lock().unwrap_or_else(PoisonError::into_inner), State::Working(_)))
    }

    /// Saves the last checkpoint now.
    fn save(&self, py: Python<'_>) -> PyResult<()> {
        self.at_risk(py, |working| working.trainer.save().map_err(|error| error.raised()))
    }

    /// From here on Ctrl-C breaks off a piece that takes long. Only for Python's own handler: others decide for themselves.
    fn watch_interrupt(&self) -> PyResult<()> {
        let id = signal_hook::flag::register(signal_hook::consts::SIGINT, self.stop.clone())?;
        self.watch.lock().unwrap_or_else(PoisonError::into_inner).replace(id);
        Ok(())
    }

    fn forget_interrupt(&self) {
        if let Some(id) = self.watch.lock().unwrap_or_else(PoisonError::into_inner).take() {
            signal_hook::low_level::unregister(id);
        }
        self.stop.store(false, Ordering::Relaxed);
    }

    /// Lets go of the agent and of the folder.
    fn close(&self, py: Python<'_>) {
        py.detach(|| *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::Gone);
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
        let answer = self.working(py, |working| question.answer(working.trainer.agent().policy(), &mut working.rng))?;
        Ok(answer.into_arrays(py))
    }

    /// `None` when it was broken off.
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        episodes: usize,
        seed: Option<u64>,
        deterministic: bool,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let options = EvalOptions { episodes, seed: seed.unwrap_or(EVALUATION_SEED), deterministic };
        let result = self.working(py, |working| {
            acting::evaluate(working.trainer.agent().policy(), &mut working.evaluator, &self.stop, &options)
        })?;
        result.map(|result| evaluation(py, &result)).transpose()
    }

    /// Writes the policy, as it is now, as an ONNX file.
    fn export(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.working(py, |working| {
            let config = working.trainer.config().clone();
            let written = export(working.trainer.agent().policy(), &config, &path);
            written.map(drop).map_err(|error| error.raised())
        })
    }

    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let section = self.working(py, |working| acting::saved(working.trainer.agent().policy()))?;
        acting::to_arrays(py, &section)
    }

    fn set_parameters(&self, py: Python<'_>, given: &Bound<'_, PyDict>, exact: bool) -> PyResult<()> {
        let mut section = self.working(py, |working| acting::saved(working.trainer.agent().policy()))?;
        acting::replace(&mut section, given, exact)?;
        self.working(py, |working| acting::load(working.trainer.agent().policy(), section))
    }
}

impl Working {
    fn advance(&mut self, each_step: bool, told: &Telling) -> PyResult<(Why, Option<Outcome>)> {
        let begun = Instant::now();
        loop {
            if each_step && self.stepped && self.trainer.is_about_to_learn() {
                self.stepped = false;
                return Ok((Why::RolloutEnd, None));
            }
            match self.trainer.unit().map_err(|error| error.raised())? {
                Unit::Ended(outcome) => return Ok((Why::Ended, Some(outcome))),
                Unit::Round => {
                    self.stepped = true;
                    if each_step {
                        return Ok((Why::Step, None));
                    }
                }
                Unit::Update | Unit::Duties => {}
            }
            if begun.elapsed() >= PATIENCE || !told.is_empty() {
                return Ok((Why::Pause, None));
            }
        }
    }
}

fn options(run_dir: Option<PathBuf>, show_progress: bool) -> (TrainOptions, Telling) {
    (TrainOptions { run_dir, quiet: !show_progress, ..TrainOptions::default() }, Telling::default())
}

fn told_outcome(outcome: &Outcome) -> String {
    let Outcome { steps, updates, wall_seconds, steps_per_second, reason, .. } = outcome;
    let told = json!({
        "steps": steps, "updates": updates, "wall_seconds": wall_seconds, "steps_per_second": steps_per_second,
        "reason": reason,
        "evaluation": outcome.evaluation,
        "best": outcome.best,
    });
    told.to_string()
}
