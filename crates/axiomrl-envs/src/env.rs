//! One environment.

use crate::{DType, GoalTask, Space};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Rows of observations, in the environment's own number type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ObsBuf {
    F32(Vec<f32>),
    U8(Vec<u8>),
}

/// A borrowed row, or rows, of observations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ObsRef<'a> {
    F32(&'a [f32]),
    U8(&'a [u8]),
}

/// A row to be written.
#[derive(Debug)]
pub enum ObsMut<'a> {
    F32(&'a mut [f32]),
    U8(&'a mut [u8]),
}

/// What one step brought, besides the observation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    pub reward: f64,
    /// The world reached an end: there is no future to value.
    pub terminated: bool,
    /// The clock ran out: the future goes on unseen.
    pub truncated: bool,
}

/// A picture: `width * height` RGB triples, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub width: usize,
    pub height: usize,
    pub rgb: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
pub enum EnvError {
    #[error("unknown environment `{name}`{hint}; `axiomrl envs` lists the ones that are built in")]
    Unknown { name: String, hint: String },
    #[error("environment `{env}`: {problem}")]
    BadOption { env: String, problem: String },
    /// As [`EnvError::BadOption`], where it is known which key of the run file is to blame.
    #[error("environment `{env}`: {problem}")]
    BadSetting { env: String, key: String, problem: String },
    #[error("environment `{env}` cannot be restored from this snapshot: {problem}")]
    BadSnapshot { env: String, problem: String },
}

/// One world with Gymnasium's meaning.
///
/// The random generator is handed in, not owned, so that whoever steps the environment also saves the generator.
pub trait Env: Send {
    fn observation_space(&self) -> &Space;
    fn action_space(&self) -> &Space;

    /// Starts a new episode.
    fn reset(&mut self, rng: &mut ChaCha8Rng);

    /// Takes one step. `action` is a row of [`Space::width`] numbers in the environment's own units.
    fn step(&mut self, action: &[f32], rng: &mut ChaCha8Rng) -> Step;

    /// Writes the current observation.
    fn observe(&self, out: ObsMut<'_>);

    /// Writes which choices are allowed now ([`Space::mask_width`] entries). Environments without masks leave it alone.
    fn action_mask(&self, _out: &mut [bool]) {}

    /// Whether [`Env::action_mask`] says anything.
    fn has_action_mask(&self) -> bool {
        false
    }

    /// For tasks whose goal is part of the observation: where it lies, and what reaching it is worth.
    fn goal_task(&self) -> Option<GoalTask> {
        None
    }

    /// The whole state, so that a run can stop here and go on as if it had not.
    fn snapshot(&self) -> serde_json::Value;
    fn restore(&mut self, snapshot: &serde_json::Value) -> Result<(), EnvError>;

    /// The current picture, for environments that have one.
    fn render(&self) -> Option<Frame> {
        None
    }
}

/// A boxed environment is an environment, so that wrappers take either.
impl<E: Env + ?Sized> Env for Box<E> {
    fn observation_space(&self) -> &Space {
        (**self).observation_space()
    }

    fn action_space(&self) -> &Space {
        (**self).action_space()
    }

    fn reset(&mut self, rng: &mut ChaCha8Rng) {
        (**self).reset(rng);
    }

    fn step(&mut self, action: &[f32], rng: &mut ChaCha8Rng) -> Step {
        (**self).step(action, rng)
    }

    fn observe(&self, out: ObsMut<'_>) {
        (**self).observe(out);
    }

    fn action_mask(&self, out: &mut [bool]) {
        (**self).action_mask(out);
    }

    fn has_action_mask(&self) -> bool {
        (**self).has_action_mask()
    }

    fn goal_task(&self) -> Option<GoalTask> {
        (**self).goal_task()
    }

    fn snapshot(&self) -> serde_json::Value {
        (**self).snapshot()
    }

    fn restore(&mut self, snapshot: &serde_json::Value) -> Result<(), EnvError> {
        (**self).restore(snapshot)
    }

    fn render(&self) -> Option<Frame> {
        (**self).render()
    }
}

impl ObsBuf {
    pub fn zeros(dtype: DType, len: usize) -> Self {
        match dtype {
            DType::F32 => ObsBuf::F32(vec![0.0; len]),
            DType::U8 => ObsBuf::U8(vec![0; len]),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            ObsBuf::F32(v) => v.len(),
            ObsBuf::U8(v) => v.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn dtype(&self) -> DType {
        match self {
            ObsBuf::F32(_) => DType::F32,
            ObsBuf::U8(_) => DType::U8,
        }
    }

    pub fn as_ref(&self) -> ObsRef<'_> {
        match self {
            ObsBuf::F32(v) => ObsRef::F32(v),
            ObsBuf::U8(v) => ObsRef::U8(v),
        }
    }

    /// Rows `start..end` of rows that are `width` numbers wide.
    pub fn rows(&self, start: usize, end: usize, width: usize) -> ObsRef<'_> {
        self.as_ref().rows(start, end, width)
    }

    /// All rows, to be written.
    pub fn as_mut(&mut self) -> ObsMut<'_> {
        match self {
            ObsBuf::F32(v) => ObsMut::F32(v),
            ObsBuf::U8(v) => ObsMut::U8(v),
        }
    }

    pub fn row_mut(&mut self, row: usize, width: usize) -> ObsMut<'_> {
        let range = row * width..(row + 1) * width;
        match self {
            ObsBuf::F32(v) => ObsMut::F32(&mut v[range]),
            ObsBuf::U8(v) => ObsMut::U8(&mut v[range]),
        }
    }
}

impl<'a> ObsRef<'a> {
    pub fn len(&self) -> usize {
        match self {
            ObsRef::F32(v) => v.len(),
            ObsRef::U8(v) => v.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn rows(self, start: usize, end: usize, width: usize) -> ObsRef<'a> {
        match self {
            ObsRef::F32(v) => ObsRef::F32(&v[start * width..end * width]),
            ObsRef::U8(v) => ObsRef::U8(&v[start * width..end * width]),
        }
    }

    /// The numbers as `f32`, copied only when they are bytes.
    pub fn to_f32(self) -> std::borrow::Cow<'a, [f32]> {
        match self {
            ObsRef::F32(v) => std::borrow::Cow::Borrowed(v),
            ObsRef::U8(v) => std::borrow::Cow::Owned(v.iter().map(|&b| f32::from(b)).collect()),
        }
    }
}

impl ObsMut<'_> {
    pub fn copy_from(&mut self, source: ObsRef<'_>) {
        match (self, source) {
            (ObsMut::F32(to), ObsRef::F32(from)) => to.copy_from_slice(from),
            (ObsMut::U8(to), ObsRef::U8(from)) => to.copy_from_slice(from),
            (ObsMut::F32(to), ObsRef::U8(from)) => {
                for (t, f) in to.iter_mut().zip(from) {
                    *t = f32::from(*f);
                }
            }
            (ObsMut::U8(_), ObsRef::F32(_)) => unreachable!("a byte observation is never written from floats"),
        }
    }
}
