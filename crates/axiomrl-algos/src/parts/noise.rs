//! Exploration noise for continuous actions.

use crate::state::{StateError, StateIo};
use axiomrl_core::explore::{ColoredNoise, OrnsteinUhlenbeck};
use axiomrl_core::random::normal;
use axiomrl_envs::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a continuous policy departs from its mean while it collects data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Exploration {
    /// Actions are drawn from the policy itself.
    Policy,
    /// Independent noise at each step.
    Gaussian,
    /// Noise that drifts back to zero, started afresh in each episode.
    OrnsteinUhlenbeck,
    /// Pink noise: slow movements as strong as fast ones.
    Colored,
    /// A random linear function of the policy's last hidden layer that stays the same within an episode (gSDE): the same
    /// state, the same noise.
    StateDependent,
}

/// The processes clip what they are added to; drawn this small, they never reach the clip.
const SMALL: f32 = 0.01;

/// A process of unit size for every number of every environment's action.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Process {
    Independent,
    OrnsteinUhlenbeck(OrnsteinUhlenbeck),
    Colored(ColoredNoise),
    StateDependent(StateNoise),
}

/// A random linear function of each environment's features and a constant, of unit size.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct StateNoise {
    /// For each environment and action element, a weight per feature, and one for the constant; empty before the first draw.
    weights: Vec<Vec<f32>>,
    actions: usize,
}

impl StateNoise {
    fn apply(&mut self, features: &[f32], restart: &[bool], rng: &mut Rng, out: &mut [f32]) {
        let envs = restart.len();
        let width = features.len() / envs;
        self.weights.resize(envs, Vec::new());
        for (env, seen) in features.chunks_exact(width).enumerate() {
            let weights = &mut self.weights[env];
            if restart[env] || weights.is_empty() {
                fill_normal(weights, self.actions * (width + 1), rng);
            }
            // Divided by the length of what is seen, so that each number is standard normal over the draws of the weights.
            let length = (1.0 + seen.iter().map(|x| x * x).sum::<f32>()).sqrt();
            let own = &mut out[env * self.actions..(env + 1) * self.actions];
            for (noise, weights) in own.iter_mut().zip(weights.chunks_exact(width + 1)) {
                let sum: f32 = seen.iter().zip(weights).map(|(x, w)| x * w).sum();
                *noise = (sum + weights[width]) / length;
            }
        }
    }
}

/// Noise of unit size; whoever uses it scales it.
pub struct ActionNoise {
    process: Process,
    /// Environments whose episode ended since the last draw.
    restart: Vec<bool>,
}

impl ActionNoise {
    /// `horizon` is the slowest movement of coloured noise, in steps.
    pub fn new(kind: Exploration, envs: usize, width: usize, horizon: usize, rng: &mut Rng) -> Self {
        let process = match kind {
            Exploration::Policy | Exploration::Gaussian => Process::Independent,
            Exploration::OrnsteinUhlenbeck => {
                let mut noise = OrnsteinUhlenbeck::new(envs, width, SMALL);
                // A step of the process is a step of the environment, as in the first publication of DDPG.
                noise.dt = 1.0;
                Process::OrnsteinUhlenbeck(noise)
            }
            Exploration::StateDependent => Process::StateDependent(StateNoise { weights: Vec::new(), actions: width }),
            Exploration::Colored => Process::Colored(ColoredNoise::pink(envs, width, SMALL, horizon, rng)),
        };
        Self { process, restart: vec![false; envs] }
    }

    /// The next numbers of all environments, of unit size (Ornstein-Uhlenbeck: unit step). `features` is what the
    /// policy makes of their observations; only state-dependent noise looks at it.
    pub fn draw(&mut self, features: &[f32], len: usize, rng: &mut Rng, out: &mut Vec<f32>) {
        out.clear();
        out.resize(len, 0.0);
        match &mut self.process {
            Process::Independent => out.iter_mut().for_each(|x| *x = normal(rng)),
            Process::OrnsteinUhlenbeck(noise) => {
                (0..self.restart.len()).filter(|&env| self.restart[env]).for_each(|env| noise.reset(env));
                noise.apply(out, rng);
                out.iter_mut().for_each(|x| *x /= SMALL);
            }
            Process::StateDependent(noise) => noise.apply(features, &self.restart, rng, out),
            Process::Colored(noise) => {
                (0..self.restart.len()).filter(|&env| self.restart[env]).for_each(|env| noise.reset(env, rng));
                noise.apply(out, rng);
                out.iter_mut().for_each(|x| *x /= SMALL);
            }
        }
        self.restart.fill(false);
    }

    pub fn episode_ended(&mut self, env: usize) {
        self.restart[env] = true;
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.value("noise", &mut self.process)?;
        io.flags("noise_restart", &mut self.restart)
    }
}

/// Adds `std * noise` to actions and keeps them in [-1, 1].
pub fn add_noise(actions: &mut [f32], noise: &[f32], std: f32) {
    for (action, noise) in actions.iter_mut().zip(noise) {
        *action = (*action + std * noise).clamp(-1.0, 1.0);
    }
}

/// Independent standard normal numbers.
pub fn fill_normal(into: &mut Vec<f32>, len: usize, rng: &mut Rng) {
    into.clear();
    into.extend((0..len).map(|_| normal(rng)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(kind: Exploration, steps: usize) -> (f32, f32) {
        let mut rng = axiomrl_core::stream(1, "test");
        let mut noise = ActionNoise::new(kind, 200, 1, 100, &mut rng);
        let (mut out, mut before) = (Vec::new(), vec![0.0; 200]);
        let (mut size, mut step) = (0.0, 0.0);
        for _ in 0..steps {
            noise.draw(&[], 200, &mut rng, &mut out);
            size = out.iter().map(|x| x * x).sum::<f32>() / 200.0;
            step = out.iter().zip(&before).map(|(a, b)| (a - b) * (a - b)).sum::<f32>() / 200.0;
            before.clone_from(&out);
        }
        (size.sqrt(), step.sqrt())
    }

    #[test]
    fn processes_have_unit_size_and_slow_ones_move_less() {
        let (white, white_step) = spread(Exploration::Gaussian, 50);
        let (pink, pink_step) = spread(Exploration::Colored, 50);
        let (drift, drift_step) = spread(Exploration::OrnsteinUhlenbeck, 50);
        assert!((white - 1.0).abs() < 0.2 && (pink - 1.0).abs() < 0.25, "{white} {pink}");
        // Stationary: 1 / sqrt(1 - 0.85^2) = 1.9 of the unit step.
        assert!((drift - 1.9).abs() < 0.4 && (drift_step - 1.04).abs() < 0.2, "{drift} {drift_step}");
        assert!(pink_step < 0.8 * white_step);
    }

    #[test]
    fn state_dependent_noise_is_a_function_of_the_state_until_the_episode_ends() {
        let mut rng = axiomrl_core::stream(3, "test");
        let mut noise = ActionNoise::new(Exploration::StateDependent, 2, 1, 100, &mut rng);
        let mut draw = |noise: &mut ActionNoise, obs: [f32; 4]| {
            let mut out = Vec::new();
            noise.draw(&obs, 2, &mut rng, &mut out);
            [out[0], out[1]]
        };
        let first = draw(&mut noise, [0.5, 1.0, -2.0, 0.0]);
        let elsewhere = draw(&mut noise, [0.6, 1.0, -2.0, 0.0]);
        assert!(
            elsewhere[0] != first[0] && (elsewhere[0] - first[0]).abs() < 0.5,
            "a little further, a little different"
        );
        assert_eq!(draw(&mut noise, [0.5, 1.0, -2.0, 0.0]), first, "back again, the same noise");
        noise.episode_ended(0);
        let next = draw(&mut noise, [0.5, 1.0, -2.0, 0.0]);
        assert!(next[0] != first[0] && next[1] == first[1]);
        let many: Vec<f32> = (0..4000)
            .map(|_| {
                noise.episode_ended(0);
                draw(&mut noise, [0.5, 3.0, 0.0, 0.0])[0]
            })
            .collect();
        let size = (many.iter().map(|x| x * x).sum::<f32>() / 4000.0).sqrt();
        assert!((size - 1.0).abs() < 0.05, "{size}");
    }

    #[test]
    fn an_ended_episode_restarts_only_its_own_noise() {
        let mut rng = axiomrl_core::stream(2, "test");
        let mut noise = ActionNoise::new(Exploration::OrnsteinUhlenbeck, 2, 1, 100, &mut rng);
        let mut out = Vec::new();
        (0..60).for_each(|_| noise.draw(&[], 2, &mut rng, &mut out));
        let Process::OrnsteinUhlenbeck(before) = noise.process.clone() else { unreachable!() };
        let mut same = rng.clone();
        noise.episode_ended(0);
        noise.draw(&[], 2, &mut rng, &mut out);
        let (first, second) = (out[0], out[1]);
        let mut untouched = ActionNoise { process: Process::OrnsteinUhlenbeck(before), restart: vec![false; 2] };
        untouched.draw(&[], 2, &mut same, &mut out);
        assert!(first != out[0] && second == out[1]);
    }
}
