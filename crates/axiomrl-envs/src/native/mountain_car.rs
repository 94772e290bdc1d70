//! MountainCar-v0: a car too weak for the hill must first back up the other side.

use super::choice;
use crate::{BoxSpace, Env, EnvError, Frame, ObsMut, Rng, Space, Step, render, snapshot};
use rand::RngExt;
use serde::{Deserialize, Serialize};

pub(super) const MIN_POSITION: f64 = -1.2;
pub(super) const MAX_POSITION: f64 = 0.6;
pub(super) const MAX_SPEED: f64 = 0.07;
const GOAL: f64 = 0.5;
const FORCE: f64 = 0.001;
const GRAVITY: f64 = 0.0025;

/// Reward −1 a step until the flag is reached at `goal_velocity` or more. Actions: push left, none, right.
pub struct MountainCar {
    observation: Space,
    action: Space,
    goal_velocity: f64,
    body: Body,
}

/// Position and velocity.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Body {
    state: [f64; 2],
}

impl MountainCar {
    pub fn new(goal_velocity: f64) -> Self {
        Self {
            observation: observation_space(),
            action: Space::Discrete { n: 3 },
            goal_velocity,
            body: Body::default(),
        }
    }
}

/// Both mountain cars see position and velocity.
pub(super) fn observation_space() -> Space {
    let speed = MAX_SPEED as f32;
    Space::Box(BoxSpace::vector(&[MIN_POSITION as f32, -speed], &[MAX_POSITION as f32, speed]))
}

impl Env for MountainCar {
    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        &self.action
    }

    fn reset(&mut self, rng: &mut Rng) -> Result<(), EnvError> {
        self.body.state = [rng.random_range(-0.6..-0.4), 0.0];
        Ok(())
    }

    fn step(&mut self, action: &[f32], _rng: &mut Rng) -> Result<Step, EnvError> {
        let [position, velocity] = self.body.state;
        let push = (choice(action) as f64 - 1.0) * FORCE - (3.0 * position).cos() * GRAVITY;
        let mut velocity = (velocity + push).clamp(-MAX_SPEED, MAX_SPEED);
        let position = (position + velocity).clamp(MIN_POSITION, MAX_POSITION);
        // The left wall stops the car dead.
        if position == MIN_POSITION && velocity < 0.0 {
            velocity = 0.0;
        }
        self.body.state = [position, velocity];
        Ok(Step { reward: -1.0, terminated: position >= GOAL && velocity >= self.goal_velocity, truncated: false })
    }

    fn observe(&self, mut out: ObsMut<'_>) {
        out.write(&self.body.state.map(|v| v as f32));
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        Some(snapshot::to_bytes(&self.body))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.body = snapshot::from_bytes("MountainCar", snapshot)?;
        Ok(())
    }

    fn render(&self) -> Option<Frame> {
        render::mountain_car(self.body.state[0], GOAL)
    }
}
