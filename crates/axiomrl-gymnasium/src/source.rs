//! Gymnasium's ids as sources of environments.

use crate::python;
use crate::settings::Settings;
use crate::stack::Stack;
use crate::vec_env::GymVecEnv;
use crate::worker::{Opened, Trouble, Worker, WorkerOptions};
use crate::workers::Workers;
use axiomrl_envs::names::{did_you_mean, nearest, short};
use axiomrl_envs::{EnvError, EnvSource, Purpose, Seeding, Spaces, VecEnv, Wrapping};
use axiomrl_run::catalogue::{EnvFactory, EnvResolver, Sourced};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Environments that are evaluated together. They step as a whole, so those that are done would only cost time.
const EVALUATED_TOGETHER: usize = 8;

/// Finds every id that an installed Gymnasium knows, and `module:Id` of packages that register theirs.
#[derive(Clone, Default)]
pub struct GymResolver {
    python: Option<PathBuf>,
    /// Names that are built in, for those who mistype them.
    known: Vec<String>,
    idle: Pool,
}

impl GymResolver {
    /// With this Python, or the one that [`python::executable`] finds.
    pub fn new(python: Option<PathBuf>, known: Vec<String>) -> Self {
        Self { python, known, idle: Pool::default() }
    }
}

impl EnvResolver for GymResolver {
    fn resolve(&self, name: &str) -> Option<Arc<dyn EnvFactory>> {
        looks_like_an_id(name).then(|| Arc::new(self.clone()) as Arc<dyn EnvFactory>)
    }
}

/// `Name-v1`, `Family/Name` and `module:Name`: for anything else no process need be started to say that there is no such thing.
fn looks_like_an_id(name: &str) -> bool {
    let versioned = name.rsplit_once("-v").is_some_and(|(_, version)| version.parse::<u32>().is_ok());
    versioned || name.contains('/') || name.contains(':')
}

impl EnvFactory for GymResolver {
    fn source(&self, name: &str, kwargs: &Map<String, Value>, wrapping: Wrapping) -> Sourced {
        let settings = Settings::take(name, kwargs)?;
        let (start_timeout, step_timeout) = (settings.start_timeout, settings.step_timeout);
        let python = python::executable(self.python.as_deref());
        let options = WorkerOptions { python, start_timeout, step_timeout };
        let shared = Shared { id: name.to_owned(), wrapping, settings, options, idle: self.idle.clone() };
        // Whoever is wrong about the Python, the name or the options hears it now. Without a Python nothing else is known.
        let started = shared.warm_up().map_err(|trouble| Trouble::Unknown { message: trouble.to_string() }.about(name));
        match started.and_then(|()| GymSource::new(shared)) {
            Ok(source) => Ok(Arc::new(source)),
            Err(EnvError::Unknown { name, hint }) => Err(self.unknown(name, &hint)),
            Err(EnvError::Failed(reason)) => Err(EnvError::BadOption { env: short(name), problem: reason.to_string() }),
            Err(other) => Err(other),
        }
    }
}

impl GymResolver {
    /// The nearest of the names that are built in is suggested.
    fn unknown(&self, name: String, reason: &str) -> EnvError {
        let known: Vec<&str> = self.known.iter().map(String::as_str).collect();
        let meant = nearest(&name, &known).map_or(String::new(), did_you_mean);
        EnvError::Unknown { name, hint: format!("{meant}{reason}") }
    }
}

/// The environments of one id with its options.
pub struct GymSource {
    shared: Arc<Shared>,
    spaces: Spaces,
}

impl GymSource {
    fn new(shared: Shared) -> Result<Self, EnvError> {
        let shared = Arc::new(shared);
        let (worker, opened) = shared.take(1, Purpose::Training)?;
        let wanted = shared.wanted(1, Purpose::Training);
        shared.idle.push(Idle { worker, ready: Some((wanted, opened.clone())) });
        let (observation, _) = Stack::of(&shared.id, &opened.spaces.observation, shared.wrapping.frame_stack)?;
        Ok(Self { spaces: Spaces { observation, ..opened.spaces }, shared })
    }
}

impl EnvSource for GymSource {
    fn spaces(&self) -> Result<Spaces, EnvError> {
        Ok(self.spaces.clone())
    }

    fn lanes(&self, purpose: Purpose, wanted: usize) -> usize {
        if purpose == Purpose::Evaluation { wanted.min(EVALUATED_TOGETHER) } else { wanted }
    }

    fn make(&self, n: usize, seeding: &Seeding, purpose: Purpose) -> Result<Box<dyn VecEnv>, EnvError> {
        let workers = Workers::open(&self.shared, n, seeding, purpose)?;
        Ok(Box::new(GymVecEnv::new(&self.shared.id, workers, seeding, self.shared.wrapping.frame_stack)?))
    }
}

/// What all batches of a source have in common.
pub struct Shared {
    id: String,
    wrapping: Wrapping,
    pub settings: Settings,
    options: WorkerOptions,
    idle: Pool,
}

impl Shared {
    /// Sees to it that a process waits for work.
    fn warm_up(&self) -> Result<(), Trouble> {
        match self.idle.pop() {
            Some(idle) => self.idle.push(idle),
            None => self.idle.push(Idle { worker: Worker::start(&self.options)?, ready: None }),
        }
        Ok(())
    }

    /// A process with `n` environments: one that waits for work, or a new one.
    pub fn take(&self, n: usize, purpose: Purpose) -> Result<(Worker, Opened), EnvError> {
        let Some(Idle { mut worker, ready }) = self.idle.pop() else {
            return self.start(n, purpose).map_err(|trouble| trouble.about(&self.id));
        };
        worker.adopt(&self.options);
        if let Some((_, opened)) = ready.filter(|(wanted, _)| *wanted == self.wanted(n, purpose)) {
            return Ok((worker, opened));
        }
        match worker.open(&self.wanted(n, purpose)) {
            Ok(opened) => Ok((worker, opened)),
            Err(refused @ (Trouble::Refused { .. } | Trouble::Unknown { .. })) => {
                self.give_back(worker);
                Err(refused.about(&self.id))
            }
            // It may have died meanwhile.
            Err(_) => Ok(self.start(n, purpose)?),
        }
    }

    /// A new process with `n` environments.
    pub fn start(&self, n: usize, purpose: Purpose) -> Result<(Worker, Opened), Trouble> {
        let mut worker = Worker::start(&self.options)?;
        let opened = worker.open(&self.wanted(n, purpose))?;
        Ok((worker, opened))
    }

    /// What environments are to be made, as a worker understands it.
    fn wanted(&self, n: usize, purpose: Purpose) -> Value {
        let purpose = if purpose == Purpose::Evaluation { "evaluation" } else { "training" };
        let (id, kwargs, action_repeat) = (&self.id, &self.settings.kwargs, self.wrapping.action_repeat);
        json!({ "id": id, "n": n, "kwargs": kwargs, "purpose": purpose, "action_repeat": action_repeat })
    }

    /// Takes back a process that has done its work.
    pub fn give_back(&self, worker: Worker) {
        self.idle.push(Idle { worker, ready: None });
    }
}

/// Processes without work. Starting one takes a second, most of it for imports, and any can take up any environments.
#[derive(Clone, Default)]
struct Pool(Arc<Mutex<Vec<Idle>>>);

struct Idle {
    worker: Worker,
    /// Environments that it has made and nobody has touched.
    ready: Option<(Value, Opened)>,
}

impl Pool {
    fn pop(&self) -> Option<Idle> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn push(&self, idle: Idle) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(idle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_looks_like_an_id_is_looked_for() {
        for id in ["LunarLander-v3", "ALE/Pong-v5", "minigrid:MiniGrid-Empty-5x5-v0", "my_envs:Robot"] {
            assert!(looks_like_an_id(id), "{id}");
        }
        for other in ["cartpole", "none", "my-values", ""] {
            assert!(!looks_like_an_id(other), "{other}");
        }
    }
}
