//! BitFlip-v0: turn a row of bits into another by flipping one at a time. Chance almost never gets there.

use super::choice;
use crate::{BoxSpace, Env, EnvError, GoalRules, ObsMut, Rng, Space, Step, TaskRules, goal_space, snapshot};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Reward −1 a step until the bits equal the goal, which ends the episode with 0; after as many steps as there are bits the
/// time is over.
pub struct BitFlip {
    observation: Space,
    action: Space,
    count: usize,
    row: Row,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Row {
    bits: Vec<f32>,
    goal: Vec<f32>,
    steps: usize,
}

/// Reward, and whether the episode ends.
fn verdict(achieved: &[f32], desired: &[f32]) -> (f32, bool) {
    let reached = achieved == desired;
    (if reached { 0.0 } else { -1.0 }, reached)
}

impl BitFlip {
    pub fn new(count: usize) -> Self {
        let bits = BoxSpace::uniform(count, 0.0, 1.0);
        let row = Row { bits: vec![0.0; count], goal: vec![1.0; count], steps: 0 };
        Self { observation: goal_space(bits.clone(), bits), action: Space::Discrete { n: count }, count, row }
    }
}

impl Env for BitFlip {
    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        &self.action
    }

    fn reset(&mut self, rng: &mut Rng) -> Result<(), EnvError> {
        let mut draw = || (0..self.count).map(|_| f32::from(u8::from(rng.random::<bool>()))).collect::<Vec<f32>>();
        let goal = draw();
        // Nothing to do would be no task.
        let bits = loop {
            let bits = draw();
            if bits != goal {
                break bits;
            }
        };
        self.row = Row { bits, goal, steps: 0 };
        Ok(())
    }

    fn step(&mut self, action: &[f32], _rng: &mut Rng) -> Result<Step, EnvError> {
        let bit = &mut self.row.bits[choice(action)];
        *bit = 1.0 - *bit;
        self.row.steps += 1;
        let (reward, terminated) = verdict(&self.row.bits, &self.row.goal);
        Ok(Step { reward: f64::from(reward), terminated, truncated: !terminated && self.row.steps >= self.count })
    }

    fn observe(&self, mut out: ObsMut<'_>) {
        let Row { bits, goal, .. } = &self.row;
        out.write(&[&bits[..], bits, goal].concat());
    }

    fn task_rules(&self) -> Option<Arc<dyn TaskRules>> {
        GoalRules::shared(&self.observation, verdict)
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        Some(snapshot::to_bytes(&self.row))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        let row: Row = snapshot::from_bytes("BitFlip", snapshot)?;
        snapshot::check_len("BitFlip", "bits", row.bits.len(), self.count)?;
        snapshot::check_len("BitFlip", "bits of the goal", row.goal.len(), self.count)?;
        self.row = row;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;
    use crate::{GoalParts, ObsRef, ObsSpace, Rows};

    #[test]
    fn flipping_every_wrong_bit_reaches_the_goal_and_the_clock_ends_the_rest() {
        let (mut env, mut rng) = (BitFlip::new(6), stream(1, "bits"));
        for _ in 0..20 {
            env.reset(&mut rng).unwrap();
            let wrong: Vec<usize> = (0..6).filter(|&i| env.row.bits[i] != env.row.goal[i]).collect();
            let steps: Vec<Step> = wrong.iter().map(|&i| env.step(&[i as f32], &mut rng).unwrap()).collect();
            let (last, before) = steps.split_last().unwrap();
            assert_eq!((last.reward, last.terminated), (0.0, true));
            assert!(before.iter().all(|s| s.reward == -1.0 && !s.terminated));
        }
        env.row = Row { bits: vec![0.0; 6], goal: vec![1.0; 6], steps: 0 };
        let ends: Vec<bool> = (0..6).map(|_| env.step(&[0.0], &mut rng).unwrap().truncated).collect();
        assert_eq!(ends, [false, false, false, false, false, true]);
    }

    #[test]
    fn another_goal_can_be_judged() {
        let env = BitFlip::new(2);
        let goal = GoalParts::of(&ObsSpace::of(&env.observation)).unwrap();
        assert_eq!((goal.achieved, goal.desired), (2..4, 4..6));
        // Two rows that show the bits 1 0: once they are the goal, once not.
        let rows = ObsRef::of_floats(2, &[1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0]);
        let (mut reward, mut ends) = ([9.0; 2], [false; 2]);
        let asked = Rows { obs: rows, action: &[0.0; 2], next_obs: rows };
        env.task_rules().unwrap().apply(asked, Some(&mut reward), &mut ends).unwrap();
        assert_eq!((reward, ends), ([0.0, -1.0], [true, false]));
    }
}
