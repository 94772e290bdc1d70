//! Pendulum-v1: swing a pendulum up and hold it there with a motor too weak to lift it at once.

use super::wrapped;
use crate::{BoxSpace, Env, EnvError, Frame, ObsMut, Rng, Space, Step, render, snapshot};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

const MAX_SPEED: f64 = 8.0;
const MAX_TORQUE: f32 = 2.0;
const DT: f64 = 0.05;

/// Reward −(angle² + 0.1·speed² + 0.001·torque²) of the state *before* the step; the world never ends.
pub struct Pendulum {
    observation: Space,
    action: Space,
    gravity: f64,
    body: Body,
}

/// Angle (0 upright, not wrapped) and angular speed; the last torque is kept for the picture.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Body {
    state: [f64; 2],
    #[serde(default)]
    torque: f32,
}

impl Pendulum {
    pub fn new(gravity: f64) -> Self {
        let high = [1.0, 1.0, MAX_SPEED as f32];
        Self {
            observation: Space::Box(BoxSpace::vector(&high.map(|h| -h), &high)),
            action: Space::Box(BoxSpace::uniform(1, -MAX_TORQUE, MAX_TORQUE)),
            gravity,
            body: Body::default(),
        }
    }

    /// From upright, anticlockwise, not wrapped.
    pub(super) fn angle(&self) -> f64 {
        self.body.state[0]
    }
}

impl Env for Pendulum {
    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        &self.action
    }

    fn reset(&mut self, rng: &mut Rng) -> Result<(), EnvError> {
        let angle = rng.random_range(-PI..PI);
        let speed = rng.random_range(-1.0..1.0);
        self.body = Body { state: [angle, speed], torque: 0.0 };
        Ok(())
    }

    fn step(&mut self, action: &[f32], _rng: &mut Rng) -> Result<Step, EnvError> {
        let [angle, speed] = self.body.state;
        let torque = action[0].clamp(-MAX_TORQUE, MAX_TORQUE);
        // Gymnasium keeps the products with the torque in single precision; so do we, to agree to the last digit.
        let effort = f64::from(0.001 * (torque * torque));
        let cost = wrapped(angle).powi(2) + 0.1 * (speed * speed) + effort;

        let acceleration = 3.0 * self.gravity / 2.0 * angle.sin() + f64::from(3.0 * torque);
        let speed = (speed + acceleration * DT).clamp(-MAX_SPEED, MAX_SPEED);
        self.body = Body { state: [angle + speed * DT, speed], torque };
        Ok(Step { reward: -cost, terminated: false, truncated: false })
    }

    fn observe(&self, mut out: ObsMut<'_>) {
        let [angle, speed] = self.body.state;
        let (sin, cos) = angle.sin_cos();
        out.write(&[cos as f32, sin as f32, speed as f32]);
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        Some(snapshot::to_bytes(&self.body))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.body = snapshot::from_bytes("Pendulum", snapshot)?;
        Ok(())
    }

    fn render(&self) -> Option<Frame> {
        render::pendulum(self.body.state[0], f64::from(self.body.torque / MAX_TORQUE))
    }
}
