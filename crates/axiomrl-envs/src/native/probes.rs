//! Probe environments: the smallest worlds in which one part of a learner can be wrong.
//!
//! Each isolates one ability, so the first probe that fails names the broken part. The values below are exact.

use super::choice;
use crate::{BoxSpace, Env, EnvError, ObsMut, Rng, Space, Step, snapshot};
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// What a probe asks of the learner. `a` is the action; continuous actions lie in [−1, 1].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeKind {
    /// Probe 1: one step, observation 0, reward 1 whatever the action. V(0) = 1. Tests that values are learned at all.
    ConstantReward,
    /// Probe 2: one step, observation ±1, reward equal to it whatever the action. V(1) = 1, V(−1) = −1. Tests that the
    /// value depends on the observation.
    ObservedReward,
    /// Probe 3: two steps, observation 0 then 1, reward 0 then 1 whatever the actions. V(0) = γ, V(1) = 1. Tests
    /// bootstrapping and discounting.
    DelayedReward,
    /// Probe 4: one step, observation 0. Discrete: action 1 gives +1, action 0 gives −1, so Q(0, ·) = (−1, 1) and
    /// V*(0) = 1. Continuous: reward 1 − (a − 0.5)², so a* = 0.5 and V*(0) = 1. Tests that the policy follows reward.
    ActionReward,
    /// Probe 5: one step, observation ±1. Discrete: +1 if the action matches it (0 for −1, 1 for +1), else −1, so
    /// V*(±1) = 1. Continuous: reward −(a − 0.5·obs)², so a* = 0.5·obs and V*(±1) = 0. Tests that the policy depends on
    /// the observation.
    ObservedActionReward,
}

pub struct Probe {
    observation: Space,
    action: Space,
    kind: ProbeKind,
    continuous: bool,
    seen: Seen,
}

/// The observation now shown; it is the whole state.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Seen {
    obs: f32,
}

impl Probe {
    pub fn new(kind: ProbeKind, continuous: bool) -> Self {
        let action = match continuous {
            true => Space::Box(BoxSpace::uniform(1, -1.0, 1.0)),
            false => Space::Discrete { n: 2 },
        };
        Self {
            observation: Space::Box(BoxSpace::uniform(1, -1.0, 1.0)),
            action,
            kind,
            continuous,
            seen: Seen::default(),
        }
    }

    /// How well an action does where action 1, or `best` when continuous, is right.
    fn score(&self, action: &[f32], right: bool, best: f64) -> f64 {
        match self.continuous {
            true => -(f64::from(action[0]) - best).powi(2),
            false if (choice(action) == 1) == right => 1.0,
            false => -1.0,
        }
    }
}

impl Env for Probe {
    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        &self.action
    }

    fn reset(&mut self, rng: &mut Rng) -> Result<(), EnvError> {
        self.seen.obs = match self.kind {
            ProbeKind::ObservedReward | ProbeKind::ObservedActionReward if rng.random::<bool>() => 1.0,
            ProbeKind::ObservedReward | ProbeKind::ObservedActionReward => -1.0,
            _ => 0.0,
        };
        Ok(())
    }

    fn step(&mut self, action: &[f32], _rng: &mut Rng) -> Result<Step, EnvError> {
        let obs = self.seen.obs;
        let (reward, terminated) = match self.kind {
            ProbeKind::ConstantReward => (1.0, true),
            ProbeKind::ObservedReward => (f64::from(obs), true),
            ProbeKind::DelayedReward => {
                self.seen.obs = 1.0;
                (f64::from(obs), obs == 1.0)
            }
            ProbeKind::ActionReward => {
                let ceiling = if self.continuous { 1.0 } else { 0.0 };
                (ceiling + self.score(action, true, 0.5), true)
            }
            ProbeKind::ObservedActionReward => (self.score(action, obs > 0.0, 0.5 * f64::from(obs)), true),
        };
        Ok(Step { reward, terminated, truncated: false })
    }

    fn observe(&self, mut out: ObsMut<'_>) {
        out.write(&[self.seen.obs]);
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        Some(snapshot::to_bytes(&self.seen))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.seen = snapshot::from_bytes("Probe", snapshot)?;
        Ok(())
    }
}
