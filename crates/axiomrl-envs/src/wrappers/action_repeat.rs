//! Holds each action for several steps.

use crate::{Env, EnvError, ObsMut, Rng, Space, Step};

/// Takes every action `count` times, or until the episode ends, and adds up the rewards. What counts as a step outside is
/// one choice: an episode of 200 steps has 100 with `count` 2.
pub struct ActionRepeat<E> {
    env: E,
    count: usize,
}

impl<E: Env> ActionRepeat<E> {
    pub fn new(env: E, count: usize) -> Self {
        Self { env, count }
    }
}

impl<E: Env> Env for ActionRepeat<E> {
    fn observation_space(&self) -> &Space {
        self.env.observation_space()
    }

    fn action_space(&self) -> &Space {
        self.env.action_space()
    }

    fn reset(&mut self, rng: &mut Rng) -> Result<(), EnvError> {
        self.env.reset(rng)
    }

    fn step(&mut self, action: &[f32], rng: &mut Rng) -> Result<Step, EnvError> {
        let mut total = Step::default();
        for _ in 0..self.count {
            let step = self.env.step(action, rng)?;
            total = Step { reward: total.reward + step.reward, ..step };
            if step.terminated || step.truncated {
                break;
            }
        }
        Ok(total)
    }

    fn observe(&self, out: ObsMut<'_>) {
        self.env.observe(out);
    }

    fn inner(&self) -> Option<&dyn Env> {
        Some(&self.env)
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        self.env.snapshot()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.env.restore(snapshot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::make;
    use crate::rng::stream;

    #[test]
    fn rewards_add_up_and_the_clock_still_runs() {
        let limit = serde_json::json!({"max_episode_steps": 5});
        let build = || make("CartPole-v1", limit.as_object().unwrap()).unwrap();
        let mut env = ActionRepeat::new(build(), 2);
        let mut rng = stream(0, "env/0");
        env.reset(&mut rng).unwrap();
        let steps: Vec<Step> = (0..3).map(|_| env.step(&[1.0], &mut rng).unwrap()).collect();
        assert_eq!(steps.iter().map(|s| s.reward).collect::<Vec<_>>(), [2.0, 2.0, 1.0]);
        assert_eq!(steps.iter().map(|s| s.truncated).collect::<Vec<_>>(), [false, false, true]);
    }
}
