//! BitFlip-v0: turn a row of bits into another by flipping one at a time. Chance almost never gets there.

use super::choice;
use crate::goal::{GoalTask, Verdict, goal_space};
use crate::{BoxSpace, Env, EnvError, ObsMut, ObsRef, Rng, Space, Step, snapshot};
use rand::RngExt;
use serde::{Deserialize, Serialize};

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

fn verdict(achieved: &[f32], desired: &[f32]) -> Verdict {
    let reached = achieved == desired;
    Verdict { reward: if reached { 0.0 } else { -1.0 }, terminated: reached }
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

    fn reset(&mut self, rng: &mut Rng) {
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
    }

    fn step(&mut self, action: &[f32], _rng: &mut Rng) -> Step {
        let bit = &mut self.row.bits[choice(action)];
        *bit = 1.0 - *bit;
        self.row.steps += 1;
        let Verdict { reward, terminated } = verdict(&self.row.bits, &self.row.goal);
        Step { reward: f64::from(reward), terminated, truncated: !terminated && self.row.steps >= self.count }
    }

    fn observe(&self, mut out: ObsMut<'_>) {
        let Row { bits, goal, .. } = &self.row;
        out.copy_from(ObsRef::F32(&[&bits[..], bits, goal].concat()));
    }

    fn goal_task(&self) -> Option<GoalTask> {
        GoalTask::new(&self.observation, verdict)
    }

    fn snapshot(&self) -> serde_json::Value {
        snapshot::to_value(&self.row)
    }

    fn restore(&mut self, snapshot: &serde_json::Value) -> Result<(), EnvError> {
        let row: Row = snapshot::parse("BitFlip", snapshot)?;
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

    #[test]
    fn flipping_every_wrong_bit_reaches_the_goal_and_the_clock_ends_the_rest() {
        let (mut env, mut rng) = (BitFlip::new(6), stream(1, "bits"));
        for _ in 0..20 {
            env.reset(&mut rng);
            let wrong: Vec<usize> = (0..6).filter(|&i| env.row.bits[i] != env.row.goal[i]).collect();
            let steps: Vec<Step> = wrong.iter().map(|&i| env.step(&[i as f32], &mut rng)).collect();
            let (last, before) = steps.split_last().unwrap();
            assert_eq!((last.reward, last.terminated), (0.0, true));
            assert!(before.iter().all(|s| s.reward == -1.0 && !s.terminated));
        }
        env.row = Row { bits: vec![0.0; 6], goal: vec![1.0; 6], steps: 0 };
        let ends: Vec<bool> = (0..6).map(|_| env.step(&[0.0], &mut rng).truncated).collect();
        assert_eq!(ends, [false, false, false, false, false, true]);
    }

    #[test]
    fn another_goal_can_be_judged() {
        let task = BitFlip::new(2).goal_task().unwrap();
        assert_eq!((task.achieved.clone(), task.desired.clone()), (2..4, 4..6));
        assert!(task.judge(&[1.0, 0.0], &[1.0, 0.0]).terminated);
        assert_eq!(task.judge(&[1.0, 0.0], &[1.0, 1.0]), Verdict { reward: -1.0, terminated: false });
    }
}
