//! Acrobot-v1: swing the tip of a two-link arm above a line by driving only the joint between the links.

use super::choice;
use crate::{BoxSpace, Env, EnvError, Frame, ObsMut, Rng, Space, Step, render, snapshot};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

const GRAVITY: f64 = 9.8;
const LENGTH_1: f64 = 1.0;
const MASS_1: f64 = 1.0;
const MASS_2: f64 = 1.0;
/// Where along its link each centre of mass lies.
const CENTRE_1: f64 = 0.5;
const CENTRE_2: f64 = 0.5;
const INERTIA: f64 = 1.0;
const MAX_SPEED_1: f64 = 4.0 * PI;
const MAX_SPEED_2: f64 = 9.0 * PI;
const DT: f64 = 0.2;

/// Reward −1 a step until the tip passes the line (0 for that step). The dynamics are those of Sutton and Barto's book,
/// without torque noise.
pub struct Acrobot {
    observation: Space,
    action: Space,
    body: Body,
}

/// Angle of the first link (0 hanging), of the second relative to the first, and their speeds.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Body {
    state: [f64; 4],
}

impl Acrobot {
    pub fn new() -> Self {
        let high = [1.0, 1.0, 1.0, 1.0, MAX_SPEED_1 as f32, MAX_SPEED_2 as f32];
        Self {
            observation: Space::Box(BoxSpace::vector(&high.map(|h| -h), &high)),
            action: Space::Discrete { n: 3 },
            body: Body::default(),
        }
    }
}

impl Default for Acrobot {
    fn default() -> Self {
        Self::new()
    }
}

impl Env for Acrobot {
    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        &self.action
    }

    fn reset(&mut self, rng: &mut Rng) -> Result<(), EnvError> {
        // Gymnasium rounds the first state, and only that one, to single precision.
        self.body.state = std::array::from_fn(|_| f64::from(rng.random_range(-0.1..0.1) as f32));
        Ok(())
    }

    fn step(&mut self, action: &[f32], _rng: &mut Rng) -> Result<Step, EnvError> {
        let torque = choice(action) as f64 - 1.0;
        let [angle1, angle2, speed1, speed2] = runge_kutta(self.body.state, torque);
        let (angle1, angle2) = (wrapped(angle1), wrapped(angle2));
        self.body.state =
            [angle1, angle2, speed1.clamp(-MAX_SPEED_1, MAX_SPEED_1), speed2.clamp(-MAX_SPEED_2, MAX_SPEED_2)];
        let terminated = -angle1.cos() - (angle2 + angle1).cos() > 1.0;
        Ok(Step { reward: if terminated { 0.0 } else { -1.0 }, terminated, truncated: false })
    }

    fn observe(&self, mut out: ObsMut<'_>) {
        let [angle1, angle2, speed1, speed2] = self.body.state;
        let (sin1, cos1) = angle1.sin_cos();
        let (sin2, cos2) = angle2.sin_cos();
        out.write(&[cos1, sin1, cos2, sin2, speed1, speed2].map(|v| v as f32));
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        Some(snapshot::to_bytes(&self.body))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.body = snapshot::from_bytes("Acrobot", snapshot)?;
        Ok(())
    }

    fn render(&self) -> Option<Frame> {
        render::acrobot(self.body.state[0], self.body.state[1])
    }
}

/// One fourth-order Runge–Kutta step of length [`DT`].
fn runge_kutta(state: [f64; 4], torque: f64) -> [f64; 4] {
    let moved = |slope: &[f64; 4], dt: f64| std::array::from_fn(|i| state[i] + dt * slope[i]);
    let k1 = derivative(state, torque);
    let k2 = derivative(moved(&k1, DT / 2.0), torque);
    let k3 = derivative(moved(&k2, DT / 2.0), torque);
    let k4 = derivative(moved(&k3, DT), torque);
    std::array::from_fn(|i| state[i] + DT / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]))
}

/// Speeds and accelerations; `d` and `phi` are named as in the book.
fn derivative([angle1, angle2, speed1, speed2]: [f64; 4], torque: f64) -> [f64; 4] {
    let (sin2, cos2) = angle2.sin_cos();
    let d1 = MASS_1 * CENTRE_1 * CENTRE_1
        + MASS_2 * (LENGTH_1 * LENGTH_1 + CENTRE_2 * CENTRE_2 + 2.0 * LENGTH_1 * CENTRE_2 * cos2)
        + 2.0 * INERTIA;
    let d2 = MASS_2 * (CENTRE_2 * CENTRE_2 + LENGTH_1 * CENTRE_2 * cos2) + INERTIA;
    let phi2 = MASS_2 * CENTRE_2 * GRAVITY * (angle1 + angle2 - PI / 2.0).cos();
    let arm = MASS_2 * LENGTH_1 * CENTRE_2;
    let phi1 = -arm * (speed2 * speed2) * sin2 - 2.0 * arm * speed2 * speed1 * sin2
        + (MASS_1 * CENTRE_1 + MASS_2 * LENGTH_1) * GRAVITY * (angle1 - PI / 2.0).cos()
        + phi2;
    let acceleration2 = (torque + d2 / d1 * phi1 - arm * (speed1 * speed1) * sin2 - phi2)
        / (MASS_2 * CENTRE_2 * CENTRE_2 + INERTIA - d2 * d2 / d1);
    let acceleration1 = -(d2 * acceleration2 + phi1) / d1;
    [speed1, speed2, acceleration1, acceleration2]
}

/// The same angle in [−π, π]. Speeds are bounded, so at most a couple of turns come off.
fn wrapped(mut angle: f64) -> f64 {
    while angle > PI {
        angle -= 2.0 * PI;
    }
    while angle < -PI {
        angle += 2.0 * PI;
    }
    angle
}
