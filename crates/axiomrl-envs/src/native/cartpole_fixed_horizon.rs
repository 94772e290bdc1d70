//! CartPoleFixedHorizon-v0: CartPole that goes on after a fall.
//!
//! In CartPole-v1 the length of an episode gives the task away: whoever is paid anything at all for a step learns to balance.
//! Here every episode has the same length, so only a reward that tells balancing from lying about can teach it. That makes it a
//! test of imitation, where the reward is learned, and CartPole-v1 none.

use super::cartpole::{MAX_ANGLE, MAX_X};
use super::{CartPole, wrapped};
use crate::{BoxSpace, Env, EnvError, ObsMut, Rng, Space, Step, snapshot};
use std::f32::consts::PI;

/// Reward 1 while the cart is within its limits and the pole upright after the step, else 0. The world never ends: the pole
/// may swing through and be caught again, and the cart may leave for good.
pub struct CartPoleFixedHorizon {
    observation: Space,
    /// Its angle stays in [−π, π).
    cart: CartPole,
}

impl CartPoleFixedHorizon {
    pub fn new() -> Self {
        let high = [f32::INFINITY, f32::INFINITY, PI, f32::INFINITY];
        Self { observation: Space::Box(BoxSpace::vector(&high.map(|h| -h), &high)), cart: CartPole::new(false) }
    }
}

impl Default for CartPoleFixedHorizon {
    fn default() -> Self {
        Self::new()
    }
}

impl Env for CartPoleFixedHorizon {
    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        self.cart.action_space()
    }

    fn inner(&self) -> Option<&dyn Env> {
        Some(&self.cart)
    }

    fn reset(&mut self, rng: &mut Rng) -> Result<(), EnvError> {
        self.cart.reset(rng)
    }

    fn step(&mut self, action: &[f32], _rng: &mut Rng) -> Result<Step, EnvError> {
        self.cart.push(action);
        let [x, _, angle, _] = &mut self.cart.body.state;
        *angle = wrapped(*angle);
        let balanced = x.abs() < MAX_X && angle.abs() < MAX_ANGLE;
        Ok(Step { reward: f64::from(u8::from(balanced)), terminated: false, truncated: false })
    }

    fn observe(&self, out: ObsMut<'_>) {
        self.cart.observe(out);
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        self.cart.snapshot()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.cart.body = snapshot::from_bytes("CartPoleFixedHorizon", snapshot)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;

    fn observed(env: &dyn Env) -> [f32; 4] {
        let mut obs = [0.0; 4];
        env.observe(ObsMut::of_floats(&mut obs));
        obs
    }

    #[test]
    fn it_is_cartpole_until_the_fall_and_goes_on_after_it() {
        let (mut fixed, mut plain) = (CartPoleFixedHorizon::new(), CartPole::new(false));
        let mut rng = stream(3, "env");
        fixed.reset(&mut rng.clone()).unwrap();
        plain.reset(&mut rng).unwrap();
        assert_eq!(observed(&fixed), observed(&plain));
        let mut upright = 0;
        loop {
            let (ours, theirs) = (fixed.step(&[1.0], &mut rng).unwrap(), plain.step(&[1.0], &mut rng).unwrap());
            assert_eq!(observed(&fixed), observed(&plain));
            assert!(!ours.terminated && !ours.truncated);
            assert_eq!(ours.reward == 0.0, theirs.terminated, "the fall is not paid for");
            upright += 1;
            if theirs.terminated {
                break;
            }
        }
        assert!(upright > 5);
        // Hundreds of pushes one way: the angle goes round and stays in its bounds, the cart is far outside of the limits.
        let mut turned = 0;
        for _ in 0..490 {
            let before = observed(&fixed)[2];
            let step = fixed.step(&[1.0], &mut rng).unwrap();
            assert!(!step.terminated);
            let [x, _, angle, _] = observed(&fixed);
            assert!(x.is_finite() && (-PI..=PI).contains(&angle), "{angle}");
            turned += usize::from((angle - before).abs() > PI);
            assert!(x.abs() < 2.4 || step.reward == 0.0);
        }
        assert!(turned > 0, "a pole without an end to the world goes round");
        assert!(observed(&fixed)[0] > 100.0, "and the cart out of sight");
    }

    #[test]
    fn reward_comes_back_with_the_pole() {
        let mut env = CartPoleFixedHorizon::new();
        let mut rng = stream(0, "env");
        let mut earned = |state: [f64; 4]| {
            env.cart.body.state = state;
            env.step(&[1.0], &mut rng).unwrap().reward
        };
        assert_eq!(earned([0.0; 4]), 1.0);
        // Where the step leads counts: 2.39 + 0.02·1 lies outside, and 0.22 − 0.02·2 within 12° = 0.2094.
        assert_eq!(earned([2.39, 1.0, 0.0, 0.0]), 0.0);
        assert_eq!(earned([-2.39, -1.0, 0.0, 0.0]), 0.0);
        assert_eq!(earned([0.0, 0.0, 0.22, 0.0]), 0.0);
        assert_eq!(earned([0.0, 0.0, 0.22, -2.0]), 1.0);
        assert_eq!(earned([0.0, 0.0, -3.0, 0.0]), 0.0);
    }
}
