//! # CEM: the cross-entropy method
//!
//! **What it does.** Draws the parameters of a policy from a Gaussian, plays each draw, and fits the Gaussian to the best few of them: it
//! closes in on what works.
//!
//! **When to use it.** For small policies, a linear one above all, and as the simplest yardstick: what CEM solves in a few
//! thousand episodes needs no gradient. It searches a deviation for every parameter, so it fades with large networks, where `ars` and
//! `openai_es` go on.
//!
//! **The update.** With mean m, deviations s, and extra noise e that is gone after K iterations:
//! ```text
//! theta_i ~ N(m, s^2 + e^2 * max(0, 1 - k / K))       i = 1 .. population, in iteration k
//! elite = the best share of them by return
//! m, s = mean and standard deviation of the elite
//! ```
//!
//! **Details that matter.**
//! - The extra noise, `extra_std`, keeps the search from closing in too early. It is added to what is drawn and is not part of s.
//! - The elite has one member at least; of equal returns the first counts as better. Its deviation is that of these very members: with
//!   an elite of one it is 0, and only the extra noise is left.
//! - The policy is linear, with a bias, and begins at 0 unless there are `hidden_sizes`. Box actions of a network are squashed, those of a
//!   linear policy clipped.
//! - What is evaluated, and saved, is the mean m, never the best draw. `num_envs` changes how fast a run is, and nothing that it
//!   learns.
//! - An iteration that the run is too short for is dropped. `minimize` and `permute_scores` are for comparisons that must fail.
//! - Logged are `return_mean`, `return_std` and `return_max` of the candidates, `search_std` (the mean of s), `step_norm` and
//!   `weight_norm`.
//!
//! **What is left out.** Full covariances, observation statistics, images and a memory.
//!
//! **References.** Rubinstein, The cross-entropy method for combinatorial and continuous optimization, 1999. Szita and Lőrincz, Learning
//! Tetris using the noisy cross-entropy method, 2006.

use super::SearchPolicy;
use super::checks::{check_setup, linear};
use super::directions::Directions;
use crate::agent::{Learned, Setup, UpdateContext};
use crate::config::{Idle, Problem, settings};
use crate::parts::checks::BuildError;
use crate::regimes::{Iteration, Learner, Search, Searcher, norm, population_settings};
use crate::registry::Algorithm;
use crate::state::{StateError, StateIo};
use axiomrl_nn::{Activation, Init, Params};

#[cfg(test)]
mod tests;

settings! {
    /// Settings of the cross-entropy method.
    pub struct CemConfig {
        ..search,
        /// Candidates of an iteration.
        #[garde(range(min = 2, max = 1_000_000))]
        pub population: usize,
        /// The part of them that the next ones are drawn after.
        #[garde(range(min = 0.0, max = 1.0))]
        pub elite_fraction: f64,
        /// Standard deviation of each parameter at the start.
        #[garde(range(min = 0.0, max = 1000.0))]
        pub init_std: f32,
        /// Extra standard deviation at the start; it falls to 0.
        #[garde(range(min = 0.0, max = 1000.0))]
        pub extra_std: f32,
        /// Iterations over which its square falls.
        #[garde(range(min = 1, max = 1_000_000_000))]
        pub extra_iterations: u64,
    }
}

impl Default for CemConfig {
    fn default() -> Self {
        Self {
            hidden_sizes: Vec::new(),
            activation: Activation::Tanh,
            episodes_per_candidate: 1,
            reward_shift: 0.0,
            minimize: false,
            permute_scores: false,
            population: 100,
            elite_fraction: 0.05,
            init_std: 1.0,
            extra_std: 1.0,
            extra_iterations: 100,
        }
    }
}

pub struct Cem;

impl Algorithm for Cem {
    type Config = CemConfig;

    fn check(config: &CemConfig) -> Result<(), Problem> {
        Problem::when(config.init_std == 0.0 && config.extra_std == 0.0, &["init_std", "extra_std"], || {
            "with `init_std` and `extra_std` 0 all candidates are the same; set one of them to 1, say".to_owned()
        })?;
        Problem::when(config.elite_fraction == 0.0, &["elite_fraction"], || {
            "an `elite_fraction` of 0 keeps nothing to go on with; set it to 0.1, say".to_owned()
        })?;
        Problem::when(config.elite_fraction == 1.0, &["elite_fraction"], || {
            "an `elite_fraction` of 1 keeps good and bad alike; set it to 0.1, say".to_owned()
        })
    }

    fn check_setup(_config: &CemConfig, setup: &Setup) -> Result<(), Problem> {
        check_setup(setup, None)
    }

    fn idle(config: &CemConfig) -> Vec<Idle> {
        let extra = Idle {
            now: config.extra_std == 0.0,
            keys: &["extra_iterations"],
            switch: Some("extra_std"),
            why: "there is no extra noise that could fall; set `extra_std`",
        };
        vec![linear(&config.hidden_sizes), extra]
    }

    fn build(config: CemConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let policy = SearchPolicy::new(&config.hidden_sizes, config.activation, &Init::pytorch(), None, setup)?;
        let settings = population_settings!(config);
        let search = CemSearch {
            directions: Directions::new(setup.seed, policy.params().len()),
            population: config.population,
            elite: ((config.elite_fraction * config.population as f64) as usize).max(1),
            std: vec![config.init_std; policy.params().len()],
            extra_std: f64::from(config.extra_std),
            extra_iterations: config.extra_iterations,
        };
        Ok(Learner::Population(Searcher { policy, search: Box::new(search) }, settings))
    }
}

struct CemSearch {
    directions: Directions,
    population: usize,
    elite: usize,
    /// The deviation of each parameter, without what is extra.
    std: Vec<f32>,
    extra_std: f64,
    extra_iterations: u64,
}

impl CemSearch {
    /// The variance that is added in an iteration.
    fn extra_variance(&self, iteration: u64) -> f64 {
        let left = 1.0 - iteration as f64 / self.extra_iterations as f64;
        self.extra_std.powi(2) * left.max(0.0)
    }
}

/// The numbers of the `count` best; of equals the first.
fn best(scores: &[f64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    order.truncate(count);
    order
}

/// Mean and deviation of one parameter over the elite.
fn fitted(values: impl Iterator<Item = f32> + Clone, count: usize) -> (f64, f64) {
    let mean = values.clone().map(f64::from).sum::<f64>() / count as f64;
    let variance = values.map(|x| (f64::from(x) - mean).powi(2)).sum::<f64>() / count as f64;
    (mean, variance.sqrt())
}

impl Search for CemSearch {
    fn candidates(&self) -> usize {
        self.population
    }

    fn candidate(&self, mean: &[f32], iteration: u64, candidate: usize, params: &mut [f32]) {
        let extra = self.extra_variance(iteration);
        self.directions.visit(iteration, candidate, |at, noise| {
            let std = (f64::from(self.std[at]).powi(2) + extra).sqrt();
            params[at] = mean[at] + (std * f64::from(noise)) as f32;
        });
    }

    fn update(&mut self, mean: &mut Params, played: Iteration<'_>, context: &mut UpdateContext<'_>) -> Learned {
        let Iteration { number: iteration, scores } = played;
        let before = mean.as_slice().to_vec();
        let elite: Vec<Vec<f32>> = best(scores, self.elite)
            .into_iter()
            .map(|candidate| {
                let mut params = vec![0.0; before.len()];
                self.candidate(&before, iteration, candidate, &mut params);
                params
            })
            .collect();
        for (at, (mean, std)) in mean.make_mut().iter_mut().zip(&mut self.std).enumerate() {
            let (middle, deviation) = fitted(elite.iter().map(|params| params[at]), elite.len());
            (*mean, *std) = (middle as f32, deviation as f32);
        }

        let step: Vec<f32> = mean.as_slice().iter().zip(&before).map(|(after, before)| after - before).collect();
        let stds = self.std.iter().map(|&s| f64::from(s)).sum::<f64>();
        context.metrics.set("step_norm", norm(&step));
        context.metrics.set("search_std", stds / self.std.len() as f64);
        Ok(())
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.floats("search.std", &mut self.std)
    }
}
