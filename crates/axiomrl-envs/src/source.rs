//! Where environments come from.

use crate::rng::stream;
use crate::wrappers::{ActionRepeat, FrameStack};
use crate::{Env, EnvError, Rng, Spaces, SyncVecEnv, VecEnv};

/// What environments are wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Training,
    Evaluation,
}

/// Which random numbers a batch of environments draws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeding {
    pub seed: u64,
    /// Environment `i` draws from the stream `<stream>/<i>`.
    pub stream: String,
}

impl Seeding {
    pub fn new(seed: u64, stream: impl Into<String>) -> Self {
        Self { seed, stream: stream.into() }
    }

    /// The generator of environment `i`.
    pub fn rng(&self, i: usize) -> Rng {
        stream(self.seed, &format!("{}/{i}", self.stream))
    }

    /// A number for environments that seed themselves, such as Gymnasium's.
    pub fn number(&self, i: usize) -> u64 {
        use rand::Rng as _;
        self.rng(i).next_u64() >> 33
    }
}

/// Makes environments, of one kind and as many as asked for.
pub trait EnvSource: Send + Sync {
    fn spaces(&self) -> Result<Spaces, EnvError>;

    /// How many environments it makes at once when `wanted` are asked for: fixed or costly sources answer their own number,
    /// and 0 says that there are none to be had.
    fn lanes(&self, _purpose: Purpose, wanted: usize) -> usize {
        wanted
    }

    /// `n` environments. Call [`VecEnv::reset`] before the first step.
    fn make(&self, n: usize, seeding: &Seeding, purpose: Purpose) -> Result<Box<dyn VecEnv>, EnvError>;
}

/// What is put round every environment, whatever it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrapping {
    /// How many steps every action is held; 1 for none.
    pub action_repeat: usize,
    /// How many observations to stack; 1 for none.
    pub frame_stack: usize,
}

impl Default for Wrapping {
    fn default() -> Self {
        Self { action_repeat: 1, frame_stack: 1 }
    }
}

impl Wrapping {
    pub fn around(self, env: Box<dyn Env>) -> Result<Box<dyn Env>, EnvError> {
        let env = if self.action_repeat > 1 { Box::new(ActionRepeat::new(env, self.action_repeat)) } else { env };
        if self.frame_stack == 1 {
            return Ok(env);
        }
        // Users know the wrapper by the key that asked for it.
        let blamed = |error| match error {
            EnvError::BadOption { env, problem } => EnvError::BadSetting { env, key: "frame_stack".into(), problem },
            other => other,
        };
        Ok(Box::new(FrameStack::new(env, self.frame_stack).map_err(blamed)?))
    }
}

/// A source of environments that a function makes one by one.
pub struct EachEnv<F> {
    name: String,
    build: F,
    wrapping: Wrapping,
}

impl<F: Fn() -> Result<Box<dyn Env>, EnvError> + Send + Sync> EachEnv<F> {
    /// `name` is what users know the environment by.
    pub fn new(name: impl Into<String>, wrapping: Wrapping, build: F) -> Self {
        Self { name: name.into(), build, wrapping }
    }

    fn one(&self) -> Result<Box<dyn Env>, EnvError> {
        (self.build)().and_then(|env| self.wrapping.around(env)).map_err(|error| self.named(error))
    }

    /// Whatever a wrapper finds wrong, the user knows the environment by the name they gave.
    fn named(&self, error: EnvError) -> EnvError {
        match error {
            EnvError::BadOption { problem, .. } => EnvError::BadOption { env: self.name.clone(), problem },
            EnvError::BadSetting { key, problem, .. } => EnvError::BadSetting { env: self.name.clone(), key, problem },
            other => other,
        }
    }
}

impl<F: Fn() -> Result<Box<dyn Env>, EnvError> + Send + Sync> EnvSource for EachEnv<F> {
    fn spaces(&self) -> Result<Spaces, EnvError> {
        Ok(Spaces::of(&self.one()?))
    }

    fn make(&self, n: usize, seeding: &Seeding, purpose: Purpose) -> Result<Box<dyn VecEnv>, EnvError> {
        let envs = (0..n).map(|_| self.one()).collect::<Result<Vec<_>, _>>()?;
        let envs = SyncVecEnv::new(envs, seeding).map_err(|error| self.named(error))?;
        Ok(Box::new(if purpose == Purpose::Evaluation { envs.remember_pristine() } else { envs }))
    }
}
