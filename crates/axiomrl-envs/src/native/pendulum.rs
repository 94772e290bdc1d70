//! Pendulum-v1: swing a pendulum up and hold it there with a motor too weak to lift it at once.

use super::wrapped;
use crate::{BoxSpace, Env, EnvError, Frame, ObsMut, Rng, RowRules, Space, Step, TaskRules, render, snapshot};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;
use std::sync::Arc;

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

    /// The reward is that of the state before the step.
    fn task_rules(&self) -> Option<Arc<dyn TaskRules>> {
        let judge = |obs: &[f32], action: &[f32], _: &[f32]| {
            let (angle, speed) = (obs[1].atan2(obs[0]), obs[2]);
            let torque = action[0].clamp(-MAX_TORQUE, MAX_TORQUE);
            (-(angle * angle + 0.1 * speed * speed + 0.001 * torque * torque), false)
        };
        RowRules::shared(judge, |obs| {
            for row in obs.chunks_exact_mut(3) {
                let length = row[0].hypot(row[1]);
                // The centre of the circle is as far from all of it: there is no nearest point.
                if length > 1e-6 {
                    row[0] /= length;
                    row[1] /= length;
                }
                row[2] = row[2].clamp(-MAX_SPEED as f32, MAX_SPEED as f32);
            }
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;
    use crate::{ObsRef, Rows};

    /// Hanging at rest, with all the torque there is: the reward is that of the state before the step.
    #[test]
    fn rules_and_steps_agree_on_numbers_made_by_hand() {
        let mut env = Pendulum::new(10.0);
        env.body.state = [PI, 0.0];
        let step = env.step(&[2.0], &mut stream(0, "env")).unwrap();
        let (obs, mut next) = ([-1.0, 0.0, 0.0], [0.0; 3]);
        env.observe(ObsMut::of_floats(&mut next));
        for (found, by_hand) in next.iter().zip([-0.999_888, -0.014_999, 0.3]) {
            assert!((found - by_hand).abs() < 1e-5, "{next:?}");
        }
        let (obs, next_obs) = (ObsRef::of_floats(1, &obs), ObsRef::of_floats(1, &next));
        let (mut reward, mut ends) = ([0.0], [true]);
        let rules = env.task_rules().unwrap();
        rules.apply(Rows { obs, action: &[2.0], next_obs }, Some(&mut reward), &mut ends).unwrap();
        assert!((reward[0] + 9.8736).abs() < 1e-4 && !ends[0], "{reward:?}");
        assert!((f64::from(reward[0]) - step.reward).abs() < 1e-4, "{}", step.reward);
    }

    #[test]
    fn guesses_are_brought_back_to_the_circle_and_the_speed_limit() {
        let mut guessed = [3.0, 4.0, 9.0, 0.0, -0.5, -1.0];
        Pendulum::new(10.0).task_rules().unwrap().project(&mut guessed);
        assert_eq!(guessed, [0.6, 0.8, 8.0, 0.0, -1.0, -1.0]);
    }
}
