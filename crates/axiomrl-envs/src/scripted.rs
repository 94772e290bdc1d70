//! Experts written by hand: a rule for each of some environments, which needs no training.
//!
//! They give demonstrations to imitate, datasets to learn from, and answers to a learner that asks what an expert would have
//! done. A rule sees what a policy sees, a row of the observation, and answers in the environment's own units; it is a function
//! of that row alone, so whoever wants noise or a mixture adds it.

use crate::native::right_action;
use crate::{ObsRef, Spaces};

/// Acts well without having learned.
pub trait Expert: Send + Sync {
    /// One action for each row of `obs`, in the environment's own units.
    fn act(&self, obs: ObsRef<'_>, out: &mut [f32]);

    /// Whether this expert can read the observations and give the actions of such an environment. Stacked frames, say, change
    /// what an observation is.
    fn fits(&self, spaces: &Spaces) -> bool;
}

/// The expert for the built-in environment `env`, where there is one.
pub fn expert(env: &str) -> Option<&'static dyn Expert> {
    RULES.iter().find(|rule| rule.env == env).map(|rule| rule as &dyn Expert)
}

/// The environments that have an expert.
pub fn names() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.env)
}

struct Rule {
    env: &'static str,
    /// Numbers of an observation and of an action.
    widths: (usize, usize),
    act: fn(&[f32], &mut [f32]),
}

static RULES: [Rule; 7] = [
    Rule { env: "CartPole-v1", widths: (4, 1), act: balance },
    Rule { env: "CartPoleFixedHorizon-v0", widths: (4, 1), act: balance },
    Rule { env: "Pendulum-v1", widths: (3, 1), act: swing_up_and_hold },
    Rule { env: "MountainCarContinuous-v0", widths: (2, 1), act: rock },
    Rule { env: "Acrobot-v1", widths: (6, 1), act: pump },
    Rule { env: "Context-v0", widths: (4, 1), act: answer },
    Rule { env: "PointMass-v0", widths: (4, 2), act: steer },
];

impl Expert for Rule {
    fn act(&self, obs: ObsRef<'_>, out: &mut [f32]) {
        let (seen, done) = self.widths;
        for (obs, out) in obs.floats.chunks_exact(seen).zip(out.chunks_exact_mut(done)) {
            (self.act)(obs, out);
        }
    }

    fn fits(&self, spaces: &Spaces) -> bool {
        let widths = spaces.obs().widths;
        (widths.floats, spaces.action.width()) == self.widths && widths.bytes == 0
    }
}

/// Pushes to the side to which the pole leans or will lean, and a little past that where the cart is off the middle.
fn balance(obs: &[f32], out: &mut [f32]) {
    let lean = 0.05 * obs[0] + 0.1 * obs[1] + obs[2] + 0.3 * obs[3];
    out[0] = f32::from(u8::from(lean > 0.0));
}

/// Pumps energy until the pendulum has as much as at rest upright, and holds it there once it is near. Energy is ½·speed² +
/// 15·(cos − 1), 0 upright: the environment's angular acceleration is 15·sin + 3·torque.
fn swing_up_and_hold(obs: &[f32], out: &mut [f32]) {
    let (cos, angle, speed) = (obs[0], obs[1].atan2(obs[0]), obs[2]);
    let missing = 15.0 * (1.0 - cos) - 0.5 * speed * speed;
    let torque = if angle.abs() < 0.8 { -8.0 * angle - 2.0 * speed } else { 0.5 * missing * speed };
    out[0] = torque.clamp(-2.0, 2.0);
}

/// Drives the way the car rolls. Full throttle would cost more than it gains.
fn rock(obs: &[f32], out: &mut [f32]) {
    out[0] = if obs[1] >= 0.0 { 0.9 } else { -0.9 };
}

/// The motor's power is torque times the speed of its own joint; a bit of the first link's speed, taken off, lets the two
/// swing against each other.
fn pump(obs: &[f32], out: &mut [f32]) {
    out[0] = if obs[5] - 0.4 * obs[4] >= 0.0 { 2.0 } else { 0.0 };
}

fn answer(obs: &[f32], out: &mut [f32]) {
    out[0] = right_action(obs) as f32;
}

/// A spring to the origin and a damper.
fn steer(obs: &[f32], out: &mut [f32]) {
    for (i, force) in out.iter_mut().enumerate() {
        *force = (-8.0 * obs[i] - 4.0 * obs[i + 2]).clamp(-1.0, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ActionMap, Purpose, Seeding, Wrapping, registry};

    /// Returns of 20 episodes, and the longest of them.
    fn play(env: &str, seed: u64) -> (Vec<f64>, u64) {
        let source = registry::source(env, &Default::default(), Wrapping::default()).unwrap();
        let expert = expert(env).unwrap();
        assert!(expert.fits(&source.spaces().unwrap()));
        let mut envs = source.make(20, &Seeding::new(seed, "env"), Purpose::Training).unwrap();
        let mut actions = vec![0.0; 20 * envs.spaces().action.width()];
        envs.reset(None).unwrap();
        let mut first = [None; 20];
        while first.iter().any(Option::is_none) {
            expert.act(envs.state().obs.as_ref(), &mut actions);
            envs.step(0..20, &actions).unwrap();
            for end in &envs.state().episodes {
                first[end.env].get_or_insert((end.episode_return, end.length));
            }
        }
        let ends: Vec<(f64, u64)> = first.into_iter().flatten().collect();
        (ends.iter().map(|end| end.0).collect(), ends.iter().map(|end| end.1).max().unwrap_or(0))
    }

    fn mean(env: &str, seed: u64) -> f64 {
        let (returns, _) = play(env, seed);
        returns.iter().sum::<f64>() / returns.len() as f64
    }

    #[test]
    fn both_cart_poles_stand_to_the_end() {
        for env in ["CartPole-v1", "CartPoleFixedHorizon-v0"] {
            let (returns, longest) = play(env, 1);
            assert_eq!(returns, [500.0; 20], "{env}");
            assert_eq!(longest, 500);
        }
    }

    #[test]
    fn the_pendulum_is_swung_up_and_held() {
        let mean = mean("Pendulum-v1", 1);
        assert!(mean > -170.0, "{mean}");
    }

    #[test]
    fn the_car_arrives_cheaply_and_soon() {
        let (returns, longest) = play("MountainCarContinuous-v0", 1);
        assert!(returns.iter().all(|&r| r > 90.5), "{returns:?}");
        assert!(longest < 150, "{longest}");
    }

    #[test]
    fn the_acrobot_passes_the_line() {
        let mean = mean("Acrobot-v1", 1);
        assert!(mean > -95.0, "{mean}");
    }

    #[test]
    fn contexts_are_answered_and_the_mass_is_brought_home() {
        assert_eq!(mean("Context-v0", 1), 50.0);
        let mean = mean("PointMass-v0", 1);
        assert!(mean > -10.0, "{mean}");
    }

    #[test]
    fn each_expert_stays_in_bounds_and_refuses_observations_it_cannot_read() {
        for env in names() {
            let rule = expert(env).unwrap();
            let stacked = Wrapping { frame_stack: 2, ..Wrapping::default() };
            let spaces = registry::source(env, &Default::default(), stacked).unwrap().spaces().unwrap();
            assert!(!rule.fits(&spaces), "{env}");
            // Far outside of what is usual: an action of the space all the same, with nothing left to clip.
            let (wide, widths) = ([7.0; 6], spaces.action.width());
            let mut out = vec![f32::NAN; widths];
            rule.act(ObsRef::of_floats(1, &wide[..spaces.observation.width() / 2]), &mut out);
            let mut unit = out.clone();
            assert_eq!(ActionMap::of(&spaces.action).unwrap().to_unit(&out, &mut unit), 0, "{env}: {out:?}");
            assert!(out.iter().all(|a| a.is_finite()));
        }
        assert!(expert("MountainCar-v0").is_none());
    }
}
