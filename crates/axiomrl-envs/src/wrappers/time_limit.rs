//! Ends episodes by the clock.

use crate::{Env, EnvError, Frame, GoalTask, ObsMut, Rng, Space, Step, snapshot};
use serde::Deserialize;
use serde_json::{Value, json};

/// Truncates an episode after `max_steps` steps.
pub struct TimeLimit<E> {
    env: E,
    max_steps: u64,
    elapsed: u64,
}

#[derive(Deserialize)]
struct Saved {
    elapsed: u64,
    env: Value,
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

    fn reset(&mut self, rng: &mut Rng) {
        self.elapsed = 0;
        self.env.reset(rng);
    }

    fn step(&mut self, action: &[f32], rng: &mut Rng) -> Step {
        let mut step = self.env.step(action, rng);
        self.elapsed += 1;
        step.truncated |= self.elapsed >= self.max_steps;
        step
    }

    fn observe(&self, out: ObsMut<'_>) {
        self.env.observe(out);
    }

    fn action_mask(&self, out: &mut [bool]) {
        self.env.action_mask(out);
    }

    fn has_action_mask(&self) -> bool {
        self.env.has_action_mask()
    }

    fn goal_task(&self) -> Option<GoalTask> {
        self.env.goal_task()
    }

    fn snapshot(&self) -> Value {
        json!({ "elapsed": self.elapsed, "env": self.env.snapshot() })
    }

    fn restore(&mut self, snapshot: &Value) -> Result<(), EnvError> {
        let saved: Saved = snapshot::parse("TimeLimit", snapshot)?;
        self.env.restore(&saved.env)?;
        self.elapsed = saved.elapsed;
        Ok(())
    }

    fn render(&self) -> Option<Frame> {
        self.env.render()
    }
}
