//! A world that breaks on command: a test aid for whatever must notice.

use crate::{BoxSpace, Env, EnvError, ObsMut, Rng, Space, Step, snapshot};
use serde::{Deserialize, Serialize};

/// Steps of an episode.
const EPISODE: u64 = 10;

/// Shows how much of its ten-step episode has passed and pays 1 a step, until a given step of its life, over all
/// episodes, brings a NaN.
pub struct Faulty {
    observation: Space,
    action: Space,
    /// The steps, counted from 1, that bring a NaN reward and a NaN observation; 0 for never.
    nan_reward_at: u64,
    nan_observation_at: u64,
    life: Life,
}

#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Life {
    steps: u64,
    /// Steps of this episode.
    elapsed: u64,
}

impl Faulty {
    pub fn new(continuous: bool, nan_reward_at: u64, nan_observation_at: u64) -> Self {
        let action = match continuous {
            true => Space::Box(BoxSpace::uniform(1, -1.0, 1.0)),
            false => Space::Discrete { n: 2 },
        };
        let observation = Space::Box(BoxSpace::uniform(1, 0.0, 1.0));
        Self { observation, action, nan_reward_at, nan_observation_at, life: Life::default() }
    }

    fn is_at(&self, step: u64) -> bool {
        step > 0 && self.life.steps == step
    }
}

impl Env for Faulty {
    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        &self.action
    }

    fn reset(&mut self, _rng: &mut Rng) -> Result<(), EnvError> {
        self.life.elapsed = 0;
        Ok(())
    }

    fn step(&mut self, _action: &[f32], _rng: &mut Rng) -> Result<Step, EnvError> {
        self.life.steps += 1;
        self.life.elapsed += 1;
        let reward = if self.is_at(self.nan_reward_at) { f64::NAN } else { 1.0 };
        Ok(Step { reward, terminated: self.life.elapsed == EPISODE, truncated: false })
    }

    fn observe(&self, mut out: ObsMut<'_>) {
        let seen = match self.is_at(self.nan_observation_at) {
            true => f32::NAN,
            false => self.life.elapsed as f32 / EPISODE as f32,
        };
        out.write(&[seen]);
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        Some(snapshot::to_bytes(&self.life))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.life = snapshot::from_bytes("Faulty", snapshot)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;

    #[test]
    fn only_the_named_steps_bring_a_nan() {
        let mut rng = stream(0, "env/0");
        let mut env = Faulty::new(false, 13, 25);
        env.reset(&mut rng).unwrap();
        for number in 1..=40 {
            let step = env.step(&[0.0], &mut rng).unwrap();
            let mut seen = [0.0];
            env.observe(ObsMut::of_floats(&mut seen));
            assert_eq!(step.reward.is_nan(), number == 13, "reward of step {number}");
            assert_eq!(seen[0].is_nan(), number == 25, "observation of step {number}");
            assert_eq!(step.terminated, number % 10 == 0, "end at step {number}");
            if step.terminated {
                env.reset(&mut rng).unwrap();
            }
        }
    }
}
