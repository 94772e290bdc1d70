//! The place of an environment in runs that have none.

use crate::{EnvError, EnvSource, Purpose, Seeding, Spaces, Stepping, VecEnv, VecState};
use std::ops::Range;

/// Learning from recorded data needs no environment, only its spaces. Nothing can be stepped, and nothing evaluated.
#[derive(Clone, Debug)]
pub struct NoEnv(pub Spaces);

impl EnvSource for NoEnv {
    fn spaces(&self) -> Result<Spaces, EnvError> {
        Ok(self.0.clone())
    }

    /// One to build an agent for, none to play in.
    fn lanes(&self, purpose: Purpose, _wanted: usize) -> usize {
        match purpose {
            Purpose::Training => 1,
            Purpose::Evaluation => 0,
        }
    }

    fn make(&self, n: usize, _: &Seeding, _: Purpose) -> Result<Box<dyn VecEnv>, EnvError> {
        Ok(Box::new(Nowhere { state: VecState::new(&self.0, n), spaces: self.0.clone(), n }))
    }
}

struct Nowhere {
    spaces: Spaces,
    state: VecState,
    n: usize,
}

impl VecEnv for Nowhere {
    fn spaces(&self) -> &Spaces {
        &self.spaces
    }

    fn num_envs(&self) -> usize {
        self.n
    }

    fn stepping(&self) -> Stepping {
        Stepping::Each
    }

    fn reset(&mut self, _: Option<&Seeding>) -> Result<(), EnvError> {
        Ok(())
    }

    fn step(&mut self, _: Range<usize>, _: &[f32]) -> Result<(), EnvError> {
        let problem =
            "there is no environment to step; name one in `env_id`, or set `offline: true` and `online_timesteps: 0`";
        Err(EnvError::Failed(problem.into()))
    }

    fn state(&self) -> &VecState {
        &self.state
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        Some(Vec::new())
    }

    fn restore(&mut self, _: &[u8]) -> Result<(), EnvError> {
        Ok(())
    }
}
