//! MountainCarContinuous-v0: the mountain car with a throttle instead of three gears.

use super::mountain_car::{MAX_POSITION, MAX_SPEED, MIN_POSITION, observation_space};
use crate::{BoxSpace, Env, EnvError, Frame, ObsMut, Rng, RowRules, Space, Step, TaskRules, render, snapshot};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const GOAL: f64 = 0.45;
const POWER: f32 = 0.0015;
const GRAVITY: f64 = 0.0025;

/// Reward −0.1·action² a step, and 100 for reaching the flag at `goal_velocity` or more.
pub struct MountainCarContinuous {
    observation: Space,
    action: Space,
    goal_velocity: f64,
    body: Body,
}

/// Position and velocity.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Body {
    state: [f64; 2],
    /// Whether the state is in single precision already; see [`MountainCarContinuous::step`].
    #[serde(default)]
    single_precision: bool,
}

impl MountainCarContinuous {
    pub fn new(goal_velocity: f64) -> Self {
        Self {
            observation: observation_space(),
            action: Space::Box(BoxSpace::uniform(1, -1.0, 1.0)),
            goal_velocity,
            body: Body::default(),
        }
    }
}

impl Env for MountainCarContinuous {
    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        &self.action
    }

    fn reset(&mut self, rng: &mut Rng) -> Result<(), EnvError> {
        self.body = Body { state: [rng.random_range(-0.6..-0.4), 0.0], single_precision: false };
        Ok(())
    }

    /// Gymnasium draws the first state in double precision and keeps every later one in single precision, so each sum
    /// after the first step is rounded. Following it decides on which step a car that only just makes it arrives.
    fn step(&mut self, action: &[f32], _rng: &mut Rng) -> Result<Step, EnvError> {
        let single = self.body.single_precision;
        let round = |v: f64| if single { f64::from(v as f32) } else { v };
        let (min_position, max_position, max_speed) = (round(MIN_POSITION), round(MAX_POSITION), round(MAX_SPEED));

        let [position, velocity] = self.body.state;
        let slope = (GRAVITY * round(3.0 * position).cos()) as f32;
        let push = f64::from(action[0].clamp(-1.0, 1.0) * POWER - slope);
        let mut velocity = round(velocity + push).clamp(-max_speed, max_speed);
        let position = round(position + velocity).clamp(min_position, max_position);
        if position == min_position && velocity < 0.0 {
            velocity = 0.0;
        }

        let terminated = position >= round(GOAL) && velocity >= round(self.goal_velocity);
        let effort = f64::from(action[0]).powi(2) * 0.1;
        self.body = Body { state: [position, velocity].map(|v| f64::from(v as f32)), single_precision: true };
        Ok(Step { reward: if terminated { 100.0 } else { 0.0 } - effort, terminated, truncated: false })
    }

    fn observe(&self, mut out: ObsMut<'_>) {
        out.write(&self.body.state.map(|v| v as f32));
    }

    fn task_rules(&self) -> Option<Arc<dyn TaskRules>> {
        let goal_velocity = self.goal_velocity as f32;
        let judge = move |_: &[f32], action: &[f32], next: &[f32]| {
            let arrived = next[0] >= GOAL as f32 && next[1] >= goal_velocity;
            (if arrived { 100.0 } else { 0.0 } - 0.1 * action[0] * action[0], arrived)
        };
        RowRules::shared(judge, |obs| {
            for row in obs.chunks_exact_mut(2) {
                row[0] = row[0].clamp(MIN_POSITION as f32, MAX_POSITION as f32);
                row[1] = row[1].clamp(-MAX_SPEED as f32, MAX_SPEED as f32);
            }
        })
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        Some(snapshot::to_bytes(&self.body))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.body = snapshot::from_bytes("MountainCarContinuous", snapshot)?;
        Ok(())
    }

    fn render(&self) -> Option<Frame> {
        render::mountain_car(self.body.state[0], GOAL)
    }
}
