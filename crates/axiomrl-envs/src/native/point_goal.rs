//! PointGoal-v0: move a point in the plane to a goal, rewarded only for being there.

use crate::{BoxSpace, Env, EnvError, GoalRules, ObsMut, Rng, Space, Step, TaskRules, goal_space, snapshot};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How far an action moves the point, in sides of the square −1..1.
const STRIDE: f32 = 0.1;

/// Reward −1 a step, and 0 with the end of the episode within `radius` of the goal.
pub struct PointGoal {
    observation: Space,
    action: Space,
    radius: f32,
    place: Place,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Place {
    point: [f32; 2],
    goal: [f32; 2],
}

/// Reward, and whether the episode ends.
fn verdict(achieved: &[f32], desired: &[f32], radius: f32) -> (f32, bool) {
    let distance = (achieved[0] - desired[0]).hypot(achieved[1] - desired[1]);
    let reached = distance <= radius;
    (if reached { 0.0 } else { -1.0 }, reached)
}

impl PointGoal {
    pub fn new(radius: f32) -> Self {
        let square = BoxSpace::uniform(2, -1.0, 1.0);
        let action = Space::Box(square.clone());
        Self { observation: goal_space(square.clone(), square), action, radius, place: Place::default() }
    }
}

impl Env for PointGoal {
    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        &self.action
    }

    fn reset(&mut self, rng: &mut Rng) -> Result<(), EnvError> {
        let mut draw = || [rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0)];
        let goal = draw();
        let point = loop {
            let point = draw();
            if !verdict(&point, &goal, self.radius).1 {
                break point;
            }
        };
        self.place = Place { point, goal };
        Ok(())
    }

    fn step(&mut self, action: &[f32], _rng: &mut Rng) -> Result<Step, EnvError> {
        for (x, push) in self.place.point.iter_mut().zip(action) {
            *x = (*x + STRIDE * push.clamp(-1.0, 1.0)).clamp(-1.0, 1.0);
        }
        let (reward, terminated) = verdict(&self.place.point, &self.place.goal, self.radius);
        Ok(Step { reward: f64::from(reward), terminated, truncated: false })
    }

    fn observe(&self, mut out: ObsMut<'_>) {
        let Place { point, goal } = self.place;
        out.write(&[point, point, goal].concat());
    }

    fn task_rules(&self) -> Option<Arc<dyn TaskRules>> {
        let radius = self.radius;
        GoalRules::shared(&self.observation, move |achieved, desired| verdict(achieved, desired, radius))
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        Some(snapshot::to_bytes(&self.place))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.place = snapshot::from_bytes("PointGoal", snapshot)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;

    #[test]
    fn walking_straight_reaches_the_goal() {
        let (mut env, mut rng) = (PointGoal::new(0.1), stream(1, "point"));
        for _ in 0..20 {
            env.reset(&mut rng).unwrap();
            let mut steps = 0;
            loop {
                let Place { point, goal } = env.place;
                let toward = [0, 1].map(|i| ((goal[i] - point[i]) / STRIDE).clamp(-1.0, 1.0));
                steps += 1;
                let step = env.step(&toward, &mut rng).unwrap();
                assert_eq!(step.reward == 0.0, step.terminated);
                if step.terminated {
                    break;
                }
            }
            assert!(steps <= 20, "{steps}");
        }
    }
}
