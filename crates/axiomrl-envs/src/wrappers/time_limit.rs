//! Ends episodes by the clock.

use crate::snapshot::{Reader, Writer};
use crate::{Env, EnvError, ObsMut, Rng, Space, Step, TaskRules};
use std::sync::Arc;

/// Truncates an episode after `max_steps` steps.
pub struct TimeLimit<E> {
    env: E,
    max_steps: u64,
    elapsed: u64,
}

impl<E: Env> TimeLimit<E> {
    pub fn new(env: E, max_steps: u64) -> Self {
        Self { env, max_steps, elapsed: 0 }
    }
}

impl<E: Env> Env for TimeLimit<E> {
    fn observation_space(&self) -> &Space {
        self.env.observation_space()
    }

    fn action_space(&self) -> &Space {
        self.env.action_space()
    }

    fn reset(&mut self, rng: &mut Rng) -> Result<(), EnvError> {
        self.elapsed = 0;
        self.env.reset(rng)
    }

    fn step(&mut self, action: &[f32], rng: &mut Rng) -> Result<Step, EnvError> {
        let mut step = self.env.step(action, rng)?;
        self.elapsed += 1;
        step.truncated |= self.elapsed >= self.max_steps;
        Ok(step)
    }

    fn observe(&self, out: ObsMut<'_>) {
        self.env.observe(out);
    }

    fn inner(&self) -> Option<&dyn Env> {
        Some(&self.env)
    }

    /// A clock changes neither rewards nor the world's own ends.
    fn task_rules(&self) -> Option<Arc<dyn TaskRules>> {
        self.env.task_rules()
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        let mut to = Writer::default();
        to.whole(self.elapsed).bytes(&self.env.snapshot()?);
        Some(to.finish())
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        let mut from = Reader::new("TimeLimit", snapshot);
        let elapsed = from.whole()?;
        self.env.restore(from.blob()?)?;
        self.elapsed = elapsed;
        Ok(())
    }
}
