//! Identity environments: repeat what you see. One for each kind of action space, and one with action masks.

use super::choice;
use crate::{Env, EnvError, ObsMut, Rng, Space, Step, snapshot};
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// The observation is a random value of the action space, drawn anew every step. Reward 1 for repeating it exactly, else
/// 0; in a Box the reward is −|action − observation|². The world never ends: over 100 steps the best return is 100 (Box: 0).
pub struct Identity {
    space: Space,
    target: Target,
}

#[derive(Clone, Serialize, Deserialize)]
struct Target {
    target: Vec<f32>,
}

impl Identity {
    /// Observations and actions are both drawn from `space`, which must not be a Dict.
    pub fn new(space: Space) -> Self {
        let target = Target { target: vec![0.0; space.width()] };
        Self { space, target }
    }

    fn draw(&mut self, rng: &mut Rng) {
        for (i, value) in self.target.target.iter_mut().enumerate() {
            *value = match &self.space {
                Space::Box(b) => rng.random_range(b.low[i]..=b.high[i]),
                Space::Discrete { n } => rng.random_range(0..*n) as f32,
                Space::MultiDiscrete { nvec } => rng.random_range(0..nvec[i]) as f32,
                Space::MultiBinary { .. } => rng.random_range(0..2) as f32,
                Space::Dict { .. } => 0.0,
            };
        }
    }
}

impl Env for Identity {
    fn observation_space(&self) -> &Space {
        &self.space
    }

    fn action_space(&self) -> &Space {
        &self.space
    }

    fn reset(&mut self, rng: &mut Rng) -> Result<(), EnvError> {
        self.draw(rng);
        Ok(())
    }

    fn step(&mut self, action: &[f32], rng: &mut Rng) -> Result<Step, EnvError> {
        let target = &self.target.target;
        let reward = match self.space {
            Space::Box(_) => -action.iter().zip(target).map(|(a, t)| f64::from(a - t).powi(2)).sum::<f64>(),
            _ => f64::from(u8::from(action == target)),
        };
        self.draw(rng);
        Ok(Step { reward, terminated: false, truncated: false })
    }

    fn observe(&self, mut out: ObsMut<'_>) {
        out.write(&self.target.target);
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        Some(snapshot::to_bytes(&self.target))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        let target: Target = snapshot::from_bytes("Identity", snapshot)?;
        snapshot::check_len("Identity", "numbers", target.target.len(), self.space.width())?;
        self.target = target;
        Ok(())
    }
}

/// Actions come in pairs (0 and 1, 2 and 3 …), of which the mask allows one each, drawn anew every step. The observation
/// names a pair; its allowed member is right.
///
/// Reward 1 for the right action, −1 for a masked one, 0 otherwise. So masks and observation are both needed: over 100
/// steps the best return is 100 with both, 0 with the observation alone, and 100·2/n with the masks alone.
pub struct IdentityMasked {
    observation: Space,
    action: Space,
    round: Round,
}

#[derive(Clone, Serialize, Deserialize)]
struct Round {
    pair: usize,
    allowed: Vec<bool>,
}

impl IdentityMasked {
    pub fn new(pairs: usize) -> Self {
        Self {
            observation: Space::Discrete { n: pairs },
            action: Space::Discrete { n: 2 * pairs },
            round: Round { pair: 0, allowed: vec![true; 2 * pairs] },
        }
    }

    fn draw(&mut self, rng: &mut Rng) {
        let Round { pair, allowed } = &mut self.round;
        *pair = rng.random_range(0..allowed.len() / 2);
        for members in allowed.chunks_exact_mut(2) {
            members[0] = rng.random();
            members[1] = !members[0];
        }
    }
}

impl Env for IdentityMasked {
    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        &self.action
    }

    fn reset(&mut self, rng: &mut Rng) -> Result<(), EnvError> {
        self.draw(rng);
        Ok(())
    }

    fn step(&mut self, action: &[f32], rng: &mut Rng) -> Result<Step, EnvError> {
        let chosen = choice(action);
        let reward = match self.round.allowed[chosen] {
            false => -1.0,
            true if chosen / 2 == self.round.pair => 1.0,
            true => 0.0,
        };
        self.draw(rng);
        Ok(Step { reward, terminated: false, truncated: false })
    }

    fn observe(&self, mut out: ObsMut<'_>) {
        out.write(&[self.round.pair as f32]);
    }

    fn action_mask(&self, out: &mut [bool]) {
        out.copy_from_slice(&self.round.allowed);
    }

    fn has_action_mask(&self) -> bool {
        true
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        Some(snapshot::to_bytes(&self.round))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        let round: Round = snapshot::from_bytes("IdentityMasked", snapshot)?;
        snapshot::check_len("IdentityMasked", "actions", round.allowed.len(), self.round.allowed.len())?;
        self.round = round;
        Ok(())
    }
}
