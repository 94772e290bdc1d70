//! PointMass-v0: push a mass in the plane to the origin and keep it there.
//!
//! The smallest task with more than one action dimension that still has something to control: for what a single dimension
//! cannot show, such as gradients with respect to the action that point different ways.

use crate::{BoxSpace, Env, EnvError, Frame, ObsMut, Rng, RowRules, Space, Step, TaskRules, render, snapshot};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The walls of the room, on which the mass stops.
const WALL: f32 = 1.5;
const MAX_SPEED: f32 = 1.0;
/// The part of its speed that the mass keeps from one step to the next.
const GLIDE: f32 = 0.95;
const DT: f32 = 0.1;
const EFFORT: f32 = 0.05;

/// Reward −(distance from the origin + 0.05·|force|²), of the state after the step; the world never ends. Doing nothing earns
/// about −77 and the best about −7 in 100 steps.
pub struct PointMass {
    observation: Space,
    action: Space,
    body: Body,
}

/// The last force is kept for the picture.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Body {
    position: [f32; 2],
    velocity: [f32; 2],
    force: [f32; 2],
}

impl PointMass {
    pub fn new() -> Self {
        let high = [WALL, WALL, MAX_SPEED, MAX_SPEED];
        Self {
            observation: Space::Box(BoxSpace::vector(&high.map(|h| -h), &high)),
            action: Space::Box(BoxSpace::uniform(2, -1.0, 1.0)),
            body: Body::default(),
        }
    }
}

impl Default for PointMass {
    fn default() -> Self {
        Self::new()
    }
}

impl Env for PointMass {
    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        &self.action
    }

    fn reset(&mut self, rng: &mut Rng) -> Result<(), EnvError> {
        let position = std::array::from_fn(|_| rng.random_range(-1.0..1.0));
        self.body = Body { position, ..Body::default() };
        Ok(())
    }

    fn step(&mut self, action: &[f32], _rng: &mut Rng) -> Result<Step, EnvError> {
        let Body { position, velocity, force } = &mut self.body;
        for i in 0..2 {
            force[i] = action[i].clamp(-1.0, 1.0);
            velocity[i] = (GLIDE * velocity[i] + DT * force[i]).clamp(-MAX_SPEED, MAX_SPEED);
            position[i] += DT * velocity[i];
            if position[i].abs() > WALL {
                (position[i], velocity[i]) = (WALL.copysign(position[i]), 0.0);
            }
        }
        let effort = EFFORT * (force[0] * force[0] + force[1] * force[1]);
        let cost = position[0].hypot(position[1]) + effort;
        Ok(Step { reward: -f64::from(cost), terminated: false, truncated: false })
    }

    fn observe(&self, mut out: ObsMut<'_>) {
        let Body { position: [x, y], velocity: [vx, vy], .. } = self.body;
        out.write(&[x, y, vx, vy]);
    }

    fn task_rules(&self) -> Option<Arc<dyn TaskRules>> {
        let judge = |_: &[f32], action: &[f32], next: &[f32]| {
            let effort: f32 = action.iter().map(|force| EFFORT * force.clamp(-1.0, 1.0).powi(2)).sum();
            (-(next[0].hypot(next[1]) + effort), false)
        };
        RowRules::shared(judge, |obs| {
            for row in obs.chunks_exact_mut(4) {
                row[..2].iter_mut().for_each(|x| *x = x.clamp(-WALL, WALL));
                row[2..].iter_mut().for_each(|v| *v = v.clamp(-MAX_SPEED, MAX_SPEED));
            }
        })
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        Some(snapshot::to_bytes(&self.body))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.body = snapshot::from_bytes("PointMass", snapshot)?;
        Ok(())
    }

    fn render(&self) -> Option<Frame> {
        let pair = |[x, y]: [f32; 2]| (f64::from(x), f64::from(y));
        render::point_mass(pair(self.body.position), pair(self.body.force), f64::from(WALL))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;

    #[test]
    fn hand_numbers_of_one_step() {
        let mut env = PointMass::new();
        env.body = Body { position: [0.3, 0.4], velocity: [0.2, 0.0], force: [0.0; 2] };
        // Forces are clipped: 2 counts as 1. v = (.95·.2 + .1, −.05) = (.29, −.05), p = (.329, .395).
        let step = env.step(&[2.0, -0.5], &mut stream(0, "env")).unwrap();
        let mut obs = [0.0; 4];
        env.observe(ObsMut::of_floats(&mut obs));
        for (ours, by_hand) in obs.iter().zip([0.329, 0.395, 0.29, -0.05]) {
            assert!((ours - by_hand).abs() < 1e-6, "{obs:?}");
        }
        // √(.329² + .395²) + .05·(1 + .25) = .514068 + .0625.
        assert!((step.reward + 0.576568).abs() < 1e-5, "{}", step.reward);
        assert!(!step.terminated && !step.truncated);
    }

    #[test]
    fn walls_stop_the_mass() {
        let mut env = PointMass::new();
        env.body = Body { position: [1.45, -1.45], velocity: [1.0, -1.0], force: [0.0; 2] };
        env.step(&[1.0, -1.0], &mut stream(0, "env")).unwrap();
        assert_eq!((env.body.position, env.body.velocity), ([1.5, -1.5], [0.0, 0.0]));
    }
}
