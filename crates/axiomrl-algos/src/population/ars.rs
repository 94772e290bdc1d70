//! # ARS: augmented random search
//!
//! **What it does.** Perturbs the parameters of a deterministic policy in random directions, plays an episode on either side of
//! each, and moves along the directions by how much better one side was than the other. There is no gradient and no value function.
//!
//! **When to use it.** For control from a few numbers, where a linear policy or a small network is enough and episodes are cheap: it has
//! few settings, uses any number of environments, and does not mind delayed rewards. Where every step must teach something,
//! `ppo` and the actor-critic methods need far fewer steps.
//!
//! **The update.** With N directions, the b best of them kept, noise ν and step size α:
//! ```text
//! delta_j ~ N(0, I)                       j = 1 .. N
//! r+_j, r-_j = returns of theta + nu * delta_j and theta - nu * delta_j
//! keep the b directions with the largest max(r+_j, r-_j)
//! sigma_R = standard deviation of the 2b returns that are kept
//! theta += alpha / (b * sigma_R) * sum over the kept of (r+_j - r-_j) * delta_j
//! ```
//!
//! **Details that matter.**
//! - `observation_statistics: false` is ARS-V1 and acts on raw observations; `true`, the default, is V2, which standardises them by
//!   all that the candidates have seen so far. Within an iteration the statistics stand still, or candidates could not be compared.
//!   A number that never varies becomes 0.
//! - `num_top_directions` below `num_directions` gives the variants that their authors mark with a t.
//! - Without `hidden_sizes` the policy is linear, without a bias, and begins at 0. With them it begins like any other network;
//!   Box actions are then squashed, and those of a linear policy clipped.
//! - Both sides of a direction meet the same start state and the same chances.
//! - If all kept returns are equal there is nothing to learn from and no step is made.
//! - `reward_shift` takes the pay for staying alive from every step before candidates are compared, where a task has one; logged returns
//!   still have it.
//! - What is evaluated, and saved, is θ, never the best candidate. `num_envs` is how many candidates are played at once: it
//!   changes how fast a run is, and nothing that it learns.
//! - An iteration that the run is too short for is dropped. `minimize` and `permute_scores` are for comparisons that must fail.
//! - Logged are `return_mean`, `return_std` and `return_max` of the candidates, `return_deviation` (σ_R), `step_norm` and
//!   `weight_norm`.
//!
//! **What is left out.** Images and a memory.
//!
//! **Reference.** Mania, Guy and Recht, Simple random search of static linear policies is competitive for reinforcement learning,
//! 2018.

use super::SearchPolicy;
use super::checks::{check_noise, check_setup, linear};
use super::directions::Directions;
use super::input_scale::Rule;
use super::mirrored::{Follow, Mirrored, Pairs};
use crate::agent::{Learned, Setup, UpdateContext};
use crate::config::{Idle, Problem, settings};
use crate::parts::checks::BuildError;
use crate::regimes::{Learner, Searcher, norm, population_settings};
use crate::registry::Algorithm;
use crate::state::{StateError, StateIo};
use axiomrl_core::Schedule;
use axiomrl_nn::{Activation, Init, Params};

#[cfg(test)]
mod tests;

settings! {
    /// Settings of ARS.
    pub struct ArsConfig {
        ..search,
        /// Step size.
        #[garde(custom(axiomrl_core::Schedule::range_ok(0.0, 100.0)))]
        pub learning_rate: Schedule,
        /// How far candidates are from the mean: the standard deviation of each parameter.
        #[garde(range(min = 0.0, max = 1000.0))]
        pub noise_std: f32,
        /// Directions that are tried in an iteration, each with a candidate on either side.
        #[garde(range(min = 1, max = 100_000))]
        pub num_directions: usize,
        /// Directions that are kept: those with the best candidates.
        #[garde(range(min = 1, max = 100_000))]
        pub num_top_directions: usize,
        /// Standardise observations by what the candidates have seen: V2; `false` is V1.
        pub observation_statistics: bool,
    }
}

impl Default for ArsConfig {
    fn default() -> Self {
        Self {
            hidden_sizes: Vec::new(),
            activation: Activation::Relu,
            episodes_per_candidate: 1,
            reward_shift: 0.0,
            minimize: false,
            permute_scores: false,
            learning_rate: Schedule::Constant(0.02),
            noise_std: 0.05,
            num_directions: 8,
            num_top_directions: 8,
            observation_statistics: true,
        }
    }
}

pub struct Ars;

impl Algorithm for Ars {
    type Config = ArsConfig;

    fn check(config: &ArsConfig) -> Result<(), Problem> {
        check_noise("noise_std", config.noise_std, "0.05")?;
        let (tried, kept) = (config.num_directions, config.num_top_directions);
        Problem::when(kept > tried, &["num_top_directions", "num_directions"], || {
            format!("`num_top_directions` {kept} cannot be kept of `num_directions` {tried}; keep fewer, or try more")
        })
    }

    fn check_setup(_config: &ArsConfig, setup: &Setup) -> Result<(), Problem> {
        check_setup(setup, Some("observation_statistics"))
    }

    fn idle(config: &ArsConfig) -> Vec<Idle> {
        vec![linear(&config.hidden_sizes)]
    }

    fn build(config: ArsConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let rule = config.observation_statistics.then_some(Rule::Sample);
        let policy = SearchPolicy::new(&config.hidden_sizes, config.activation, &Init::pytorch(), rule, setup)?;
        let settings = population_settings!(config);
        let search = Mirrored {
            directions: Directions::new(setup.seed, policy.without_linear_bias()),
            pairs: config.num_directions,
            noise_std: config.noise_std,
            rule: ArsRule { kept: config.num_top_directions, learning_rate: config.learning_rate },
        };
        Ok(Learner::Population(Searcher { policy, search: Box::new(search) }, settings))
    }
}

struct ArsRule {
    kept: usize,
    learning_rate: Schedule,
}

/// The directions to follow, best first, each with what is gained along it; and the deviation of their returns.
struct Kept {
    gains: Vec<(usize, f64)>,
    deviation: f64,
}

impl Kept {
    /// `scores` are those of the candidates, + and − of each direction in turn.
    fn of(scores: &[f64], count: usize) -> Self {
        let pairs: Vec<&[f64]> = scores.chunks_exact(2).collect();
        let best = |direction: usize| pairs[direction][0].max(pairs[direction][1]);
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        // A stable sort: of equals, the first stays first.
        order.sort_by(|&a, &b| best(b).total_cmp(&best(a)));
        order.truncate(count);
        let returns: Vec<f64> = order.iter().flat_map(|&direction| pairs[direction].iter().copied()).collect();
        let n = returns.len() as f64;
        let mean = returns.iter().sum::<f64>() / n;
        let deviation = (returns.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / n).sqrt();
        let gains = order.iter().map(|&direction| (direction, pairs[direction][0] - pairs[direction][1])).collect();
        Self { gains, deviation }
    }

    /// What a direction's gain is multiplied by. Equal returns say nothing.
    fn step_size(&self, rate: f64) -> f64 {
        if self.deviation == 0.0 { 0.0 } else { rate / (self.gains.len() as f64 * self.deviation + 1e-6) }
    }
}

impl Follow for ArsRule {
    fn follow(&mut self, mean: &mut Params, pairs: Pairs<'_>, context: &mut UpdateContext<'_>) -> Learned {
        let rate = self.learning_rate.at(context.fraction());
        let kept = Kept::of(pairs.scores, self.kept);
        let size = kept.step_size(rate);
        let mut step = vec![0.0; mean.per_member()];
        for &(direction, gain) in &kept.gains {
            pairs.add_to(&mut step, direction, size * gain);
        }
        let step: Vec<f32> = step.into_iter().map(|x| x as f32).collect();
        mean.make_mut().iter_mut().zip(&step).for_each(|(theta, step)| *theta += step);

        context.metrics.set("return_deviation", kept.deviation);
        context.metrics.set("step_norm", norm(&step));
        context.metrics.set("learning_rate", rate);
        Ok(())
    }

    fn visit_state(&mut self, _io: &mut StateIo<'_>) -> Result<(), StateError> {
        Ok(())
    }
}
