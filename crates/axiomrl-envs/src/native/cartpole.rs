//! CartPole-v1: balance a pole on a cart by pushing the cart left or right.

use super::choice;
use crate::{BoxSpace, Env, EnvError, Frame, ObsMut, Rng, Space, Step, render, snapshot};
use rand::RngExt;
use serde::{Deserialize, Serialize};

const GRAVITY: f64 = 9.8;
const CART_MASS: f64 = 1.0;
const POLE_MASS: f64 = 0.1;
const TOTAL_MASS: f64 = POLE_MASS + CART_MASS;
const HALF_POLE: f64 = 0.5;
const POLE_MOMENT: f64 = POLE_MASS * HALF_POLE;
const FORCE: f64 = 10.0;
const DT: f64 = 0.02;
pub(super) const MAX_X: f64 = 2.4;
pub(super) const MAX_ANGLE: f64 = 12.0 * 2.0 * std::f64::consts::PI / 360.0;

/// Reward 1 for every step, the last one included; with `sutton_barto_reward` 0, and −1 for the fall.
pub struct CartPole {
    observation: Space,
    action: Space,
    sutton_barto_reward: bool,
    pub(super) body: Body,
}

/// Cart position and speed, pole angle (0 upright) and angular speed.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Body {
    pub state: [f64; 4],
}

impl CartPole {
    pub fn new(sutton_barto_reward: bool) -> Self {
        // Twice the failure limits, so that the failing observation still lies inside.
        let high = [2.0 * MAX_X as f32, f32::INFINITY, 2.0 * MAX_ANGLE as f32, f32::INFINITY];
        Self {
            observation: Space::Box(BoxSpace::vector(&high.map(|h| -h), &high)),
            action: Space::Discrete { n: 2 },
            sutton_barto_reward,
            body: Body::default(),
        }
    }

    /// Where the cart stands and how the pole leans: what a picture shows.
    pub(super) fn visible(&self) -> (f64, f64) {
        let [x, _, angle, _] = self.body.state;
        (x, angle)
    }

    /// What an action does to the cart, whatever that is worth.
    pub(super) fn push(&mut self, action: &[f32]) {
        self.body.state = pushed(self.body.state, choice(action) == 1);
    }
}

impl Env for CartPole {
    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        &self.action
    }

    fn reset(&mut self, rng: &mut Rng) -> Result<(), EnvError> {
        self.body.state = std::array::from_fn(|_| rng.random_range(-0.05..0.05));
        Ok(())
    }

    fn step(&mut self, action: &[f32], _rng: &mut Rng) -> Result<Step, EnvError> {
        self.push(action);
        let [x, _, angle, _] = self.body.state;
        let terminated = x.abs() > MAX_X || angle.abs() > MAX_ANGLE;
        let reward = match (self.sutton_barto_reward, terminated) {
            (false, _) => 1.0,
            (true, false) => 0.0,
            (true, true) => -1.0,
        };
        Ok(Step { reward, terminated, truncated: false })
    }

    fn observe(&self, mut out: ObsMut<'_>) {
        out.write(&self.body.state.map(|v| v as f32));
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        Some(snapshot::to_bytes(&self.body))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.body = snapshot::from_bytes("CartPole", snapshot)?;
        Ok(())
    }

    fn render(&self) -> Option<Frame> {
        let (x, angle) = self.visible();
        render::cartpole(x, angle, MAX_X)
    }
}

/// The state one tick after a push to the right, or to the left.
fn pushed([x, x_dot, angle, angle_dot]: [f64; 4], right: bool) -> [f64; 4] {
    let force = if right { FORCE } else { -FORCE };
    let (sin, cos) = angle.sin_cos();
    let push = (force + POLE_MOMENT * (angle_dot * angle_dot) * sin) / TOTAL_MASS;
    let angle_acc = (GRAVITY * sin - cos * push) / (HALF_POLE * (4.0 / 3.0 - POLE_MASS * (cos * cos) / TOTAL_MASS));
    let x_acc = push - POLE_MOMENT * angle_acc * cos / TOTAL_MASS;
    // Plain Euler: positions move with the speeds from before this step.
    [x + DT * x_dot, x_dot + DT * x_acc, angle + DT * angle_dot, angle_dot + DT * angle_acc]
}
