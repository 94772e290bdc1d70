//! # OpenAI-ES: evolution strategies
//!
//! **What it does.** Estimates the gradient of the return, smoothed by noise in the parameters, from the ranks of many perturbed
//! candidates, and follows it with Adam. Nothing is differentiated and no values are learned.
//!
//! **When to use it.** With very many cheap environments, long horizons or rewards that come late: only the ranks of whole episodes
//! count. It needs more episodes than `ars` with few directions and copes better with larger networks and with outliers among the
//! returns.
//!
//! **The update.** With n pairs of candidates and noise σ:
//! ```text
//! epsilon_j ~ N(0, I)                     j = 1 .. n
//! returns of theta + sigma * epsilon_j and of theta - sigma * epsilon_j
//! c = rank / (2n - 1) - 1/2               over all 2n returns; equals share their mean rank
//! g = sum over j of (c+_j - c-_j) * epsilon_j / 2n
//! theta = Adam step along g - weight_decay * theta
//! ```
//!
//! **Details that matter.**
//! - Ranks do not depend on the scale of rewards, and one lucky candidate counts as no more than the best. If all returns are
//!   equal the estimate is exactly 0.
//! - The estimate is not divided by σ: Adam does not mind.
//! - `weight_decay` pulls the parameters to 0 and goes through Adam with the rest of the gradient. Without any pull the weights grow, and
//!   noise of the same size changes less and less.
//! - `observation_statistics` standardises observations by all that the candidates have seen, with a deviation of 0.1 at least, clipped
//!   to ±5. The statistics stand still within an iteration.
//! - The hidden layers begin with weights of unit norm for each unit, the outputs with a hundredth of that; without `hidden_sizes` the
//!   policy is linear, with a bias, and begins at 0. Box actions of a network are squashed, those of a linear policy clipped.
//! - The noise is drawn again where it is needed: there is no table. Both candidates of a pair meet the same start state and the
//!   same chances.
//! - What is evaluated, and saved, is θ, never the best candidate. `num_envs` changes how fast a run is, and nothing that it learns.
//! - An iteration that the run is too short for is dropped. `minimize` and `permute_scores` are for comparisons that must fail.
//! - Logged are `return_mean`, `return_std` and `return_max` of the candidates, `step_norm`, `weight_norm` and `update_ratio`, the
//!   one over the other.
//!
//! **What is left out.** Virtual batch normalisation, noise in the actions, images and a memory.
//!
//! **Reference.** Salimans, Ho, Chen, Sidor and Sutskever, Evolution strategies as a scalable alternative to reinforcement learning,
//! 2017.

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
use axiomrl_nn::{Activation, AdamConfig, Init, MlpSpec, Optimizer, OptimizerConfig, Params};

#[cfg(test)]
mod tests;

/// The least variance that an observation is divided by, and the most that is left of it.
const RULE: Rule = Rule::Floored { floor: 0.01, clip: 5.0 };

/// Norm of the weights of an output.
const HEAD_NORM: f64 = 0.01;

settings! {
    /// Settings of OpenAI-ES.
    pub struct OpenAiEsConfig {
        ..search,
        ..learning_rate,
        /// How far candidates are from the mean: the standard deviation of each parameter.
        #[garde(range(min = 0.0, max = 1000.0))]
        pub noise_std: f32,
        /// Directions of an iteration, each with a candidate on either side.
        #[garde(range(min = 1, max = 100_000))]
        pub num_directions: usize,
        /// Pull of the parameters to 0, as part of the gradient.
        #[garde(range(min = 0.0, max = 10.0))]
        pub weight_decay: f32,
        /// Standardise observations by what the candidates have seen.
        pub observation_statistics: bool,
    }
}

impl Default for OpenAiEsConfig {
    fn default() -> Self {
        Self {
            hidden_sizes: vec![64, 64],
            activation: Activation::Tanh,
            episodes_per_candidate: 1,
            reward_shift: 0.0,
            minimize: false,
            permute_scores: false,
            learning_rate: Schedule::Constant(0.01),
            noise_std: 0.02,
            num_directions: 32,
            weight_decay: 0.005,
            observation_statistics: true,
        }
    }
}

pub struct OpenAiEs;

impl Algorithm for OpenAiEs {
    type Config = OpenAiEsConfig;

    fn check(config: &OpenAiEsConfig) -> Result<(), Problem> {
        check_noise("noise_std", config.noise_std, "0.02")
    }

    fn check_setup(_config: &OpenAiEsConfig, setup: &Setup) -> Result<(), Problem> {
        check_setup(setup, Some("observation_statistics"))
    }

    fn idle(config: &OpenAiEsConfig) -> Vec<Idle> {
        vec![linear(&config.hidden_sizes)]
    }

    fn build(config: OpenAiEsConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let rule = config.observation_statistics.then_some(RULE);
        let init = Init::Normal { std: 1.0 };
        let mut policy = SearchPolicy::new(&config.hidden_sizes, config.activation, &init, rule, setup)?;
        if !config.hidden_sizes.is_empty() {
            let net = policy.net_mut();
            unit_columns(&net.spec, net.params.make_mut());
        }
        let settings = population_settings!(config);
        let count = policy.params().len();
        let rule = EsRule {
            weight_decay: config.weight_decay,
            learning_rate: config.learning_rate,
            adam: Optimizer::new(&OptimizerConfig::Adam(AdamConfig::default()), count),
        };
        let (directions, pairs) = (Directions::new(setup.seed, count), config.num_directions);
        let search = Mirrored { directions, pairs, noise_std: config.noise_std, rule };
        Ok(Learner::Population(Searcher { policy, search: Box::new(search) }, settings))
    }
}

/// Scales the weights into each unit to norm 1, and into each output to a hundredth.
fn unit_columns(spec: &MlpSpec, params: &mut [f32]) {
    let weights: Vec<_> = spec.layout().into_iter().filter(|tensor| tensor.name.ends_with("weight")).collect();
    for (layer, tensor) in weights.iter().enumerate() {
        let wanted = if layer + 1 == weights.len() { HEAD_NORM } else { 1.0 };
        let (outputs, inputs) = (tensor.shape[0], tensor.shape[1]);
        for unit in 0..outputs {
            let places = (0..inputs).map(|input| tensor.offset + input * outputs + unit);
            let length = places.clone().map(|at| f64::from(params[at]).powi(2)).sum::<f64>().sqrt();
            places.for_each(|at| params[at] = (f64::from(params[at]) * wanted / length) as f32);
        }
    }
}

struct EsRule {
    weight_decay: f32,
    learning_rate: Schedule,
    adam: Optimizer,
}

/// Ranks from −½ to ½; equals share their mean rank.
fn centred_ranks(scores: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let mut ranks = vec![0.0; scores.len()];
    let mut first = 0;
    while first < order.len() {
        let equals = order[first..].iter().take_while(|&&at| scores[at] == scores[order[first]]).count();
        let shared = first as f64 + (equals - 1) as f64 / 2.0;
        for &at in &order[first..first + equals] {
            ranks[at] = shared / (scores.len() - 1) as f64 - 0.5;
        }
        first += equals;
    }
    ranks
}

impl Follow for EsRule {
    fn follow(&mut self, mean: &mut Params, pairs: Pairs<'_>, context: &mut UpdateContext<'_>) -> Learned {
        let rate = self.learning_rate.at(context.fraction());
        let mut ascent = vec![0.0; mean.per_member()];
        for (pair, ranks) in centred_ranks(pairs.scores).chunks_exact(2).enumerate() {
            let weight = (ranks[0] - ranks[1]) / pairs.scores.len() as f64;
            pairs.add_to(&mut ascent, pair, weight);
        }
        let before = mean.as_slice().to_vec();
        let decay = f64::from(self.weight_decay);
        // Adam descends.
        let gradient: Vec<f32> =
            ascent.iter().zip(&before).map(|(g, &theta)| (decay * f64::from(theta) - g) as f32).collect();
        self.adam.step(mean, &gradient, rate as f32, 1.0);

        let step: Vec<f32> = mean.as_slice().iter().zip(&before).map(|(after, before)| after - before).collect();
        context.metrics.set("step_norm", norm(&step));
        context.metrics.set("update_ratio", norm(&step) / norm(&before).max(1e-12));
        context.metrics.set("learning_rate", rate);
        Ok(())
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.optimizer("search", &mut self.adam)
    }
}
