//! # PETS: probabilistic ensembles with trajectory sampling
//!
//! **What it does.** Learns a model of the environment and nothing else. To act, it draws plans, lets particles follow each of them
//! through the model, keeps the plans that cost least, and does the first step of where they agree.
//!
//! **When to use it.** Continuous actions of few numbers, vectors of numbers to observe, steps so expensive that a decision
//! may take milliseconds to seconds, and a reward that can be written down. A few episodes are often enough.
//!
//! **The update.** After each episode the ensemble of Gaussian networks goes over all transitions for `model_epochs` epochs, each
//! network over rows of its own, drawn with replacement:
//! ```text
//! model:     sum over networks of mean [(mu(s, a) - y)^2 e^-lv(s, a) + lv(s, a)] + decay,   y = s' - s, or [r, s' - s]
//! decision:  plans ~ N(m, v), cost = mean over particles of -sum of rewards;
//!            m, v <- 0.1 m, 0.1 v + 0.9 of mean and variance of the cheapest `plan_elites`;  do the first action of m
//! ```
//!
//! **Details that matter.**
//! - A plan is `planning_horizon` actions; nothing is counted beyond it. Where reward lies further off it has to be longer: on
//!   `Pendulum-v1` the true world needs 20 to 25 steps.
//! - The next decision begins with the rest of the last plan, which is the memory of the episode, and as wide as the first.
//! - Draws stay inside the bounds of the actions by themselves: their deviation is at most half of the way to the nearer bound,
//!   and normal numbers beyond two deviations are drawn again.
//! - Each plan is followed by `planning_particles` particles, dealt evenly to the networks: so their number is a multiple of
//!   `num_ensembles`. `propagation: ts_inf` leaves a particle in its network, so that what the networks disagree about adds up;
//!   `propagation: ts1` deals them anew at every step. A particle whose numbers are lost costs a million.
//! - `reward: known` prices steps by the environment's rules (`Pendulum-v1`, `PointMass-v0`, `MountainCarContinuous-v0`), and the
//!   saved policy then needs an environment to act; with `reward: learned` the model predicts rewards, too.
//! - `project` brings imagined observations back to possible ones, where the environment's rules know how. Plans of many steps need it:
//!   a sine and a cosine drift off their circle.
//! - The first `learning_starts` steps are random, and then there is no noise: planning with an unsure model is exploration enough.
//! - A decision costs `planning_candidates` · `planning_particles` · `planning_horizon` · `planning_iterations` rows of the networks.
//!   Evaluation plans, too: it is as expensive as training.
//! - `model_updates` is the fewest gradient steps of a fit, for the first episodes, in which epochs are short.
//! - `random_model` leaves the model as it begins, to compare with.
//!
//! **What is left out.** Rows held out: fits have a fixed length. Values beyond the horizon. Images and choices in the observation.
//!
//! **Reference.** Chua, Calandra, McAllister and Levine, Deep reinforcement learning in a handful of trials using probabilistic
//! dynamics models, 2018.

mod cem;
mod learner;
mod planner;

use super::dyna::check_numbers;
use super::{LogVarBounds, Termination};
use crate::agent::Setup;
use crate::config::{Problem, settings};
use crate::parts::checks::BuildError;
use crate::parts::statistics::ObsScaling;
use crate::regimes::{Learner, ReplaySettings};
use crate::registry::Algorithm;
use axiomrl_core::Schedule;
use cem::Cem;
use learner::PetsLearner;
use planner::Planner;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the rewards of imagined steps come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RewardSource {
    /// From the environment's rules.
    Known,
    /// From the model, which then predicts them.
    Learned,
}

/// Which network a particle is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Propagation {
    /// The same throughout a plan.
    TsInf,
    /// Another at every step.
    Ts1,
}

settings! {
    /// Settings of PETS.
    pub struct PetsConfig {
        ..learning_rate,
        ..dynamics,
        /// Transitions kept.
        #[garde(range(min = 1, max = 100_000_000))]
        pub buffer_capacity: usize,
        /// Random steps before the first plan.
        #[garde(range(min = 1, max = 1_000_000_000_000_000_u64))]
        pub learning_starts: u64,
        /// Passes over all transitions after each episode.
        #[garde(range(min = 1, max = 10_000))]
        pub model_epochs: u64,
        /// Fewest gradient steps after each episode.
        #[garde(range(max = 1_000_000_000_u64))]
        pub model_updates: u64,
        /// Leaves the model as it begins, to compare with.
        pub random_model: bool,
        /// Where the rewards of imagined steps come from.
        pub reward: RewardSource,
        /// Who says where imagined episodes end.
        pub termination: Termination,
        /// Brings imagined observations back to possible ones, where the environment's rules know how.
        pub project: bool,
        /// Which network a particle is in.
        pub propagation: Propagation,
        /// Steps of a plan.
        #[garde(range(min = 1, max = 1000))]
        pub planning_horizon: usize,
        /// Plans drawn in each iteration.
        #[garde(range(min = 2, max = 100_000))]
        pub planning_candidates: usize,
        /// Plans that the next iteration is drawn around.
        #[garde(range(min = 1, max = 100_000))]
        pub plan_elites: usize,
        /// Iterations of a decision.
        #[garde(range(min = 1, max = 1000))]
        pub planning_iterations: usize,
        /// Particles that follow each plan.
        #[garde(range(min = 1, max = 10_000))]
        pub planning_particles: usize,
    }
}

impl Default for PetsConfig {
    fn default() -> Self {
        Self {
            learning_rate: Schedule::Constant(1e-3),
            num_ensembles: 5,
            model_hidden_sizes: vec![200; 4],
            model_batch_size: 32,
            model_weight_decay: vec![2.5e-5, 5e-5, 7.5e-5, 1e-4],
            model_max_grad_norm: Some(10.0),
            logvar_bounds: LogVarBounds::Learned,
            standardize_targets: true,
            buffer_capacity: 1_000_000,
            learning_starts: 200,
            model_epochs: 5,
            model_updates: 0,
            random_model: false,
            reward: RewardSource::Learned,
            termination: Termination::Auto,
            project: false,
            propagation: Propagation::TsInf,
            planning_horizon: 25,
            planning_candidates: 400,
            plan_elites: 40,
            planning_iterations: 5,
            planning_particles: 20,
        }
    }
}

impl PetsConfig {
    fn planner(&self) -> Planner {
        let cem = Cem {
            population: self.planning_candidates,
            elites: self.plan_elites,
            iterations: self.planning_iterations,
            smoothing: 0.1,
        };
        Planner { cem, horizon: self.planning_horizon, particles: self.planning_particles }
    }
}

pub struct Pets;

impl Algorithm for Pets {
    type Config = PetsConfig;

    fn check(config: &PetsConfig) -> Result<(), Problem> {
        let (particles, members) = (config.planning_particles, config.num_ensembles);
        Problem::when(!particles.is_multiple_of(members), &["planning_particles", "num_ensembles"], || {
            format!(
                "`planning_particles` {particles} cannot be dealt evenly to `num_ensembles` {members}; make it a multiple, {} say",
                particles.next_multiple_of(members)
            )
        })?;
        let (elites, all) = (config.plan_elites, config.planning_candidates);
        Problem::when(elites > all, &["plan_elites", "planning_candidates"], || {
            format!("`plan_elites` {elites} is more than `planning_candidates` {all}")
        })
    }

    fn check_setup(config: &PetsConfig, setup: &Setup) -> Result<(), Problem> {
        check_numbers(setup)?;
        Problem::when(setup.scaling != ObsScaling::Raw, &[], || {
            "the model brings observations to scale by itself, and plans by raw ones; remove `normalize_observation`"
                .to_owned()
        })?;
        let unknown = config.reward == RewardSource::Known && setup.rules.is_none() && setup.to_train;
        Problem::when(unknown, &["reward"], || {
            "`reward: known` asks the environment's rules, and this one has none; set `reward: learned`".to_owned()
        })
    }

    fn build(config: PetsConfig, setup: &Setup) -> Result<Learner, BuildError> {
        Self::check(&config)?;
        let settings = ReplaySettings {
            capacity: config.buffer_capacity,
            learning_starts: config.learning_starts,
            // Only the model learns, between episodes.
            gradient_steps: Some(0),
            ..ReplaySettings::default()
        };
        Ok(Learner::OffPolicy(Box::new(PetsLearner::new(config, setup)), settings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_envs::{BoxSpace, Space, Spaces};

    #[test]
    fn what_cannot_be_is_refused_with_the_remedy() {
        let refused = |config: PetsConfig, words: &str| {
            let message = Pets::check(&config).unwrap_err().message;
            assert!(message.contains(words), "{message}");
        };
        refused(PetsConfig { planning_particles: 7, ..PetsConfig::default() }, "a multiple, 10 say");
        refused(PetsConfig { plan_elites: 500, ..PetsConfig::default() }, "more than `planning_candidates` 400");
        let spaces = |observation| Spaces::new(observation, Space::Box(BoxSpace::uniform(1, -1.0, 1.0)));
        let setup = Setup { to_train: true, ..Setup::new(spaces(Space::Box(BoxSpace::uniform(3, -1.0, 1.0)))) };
        let known = PetsConfig { reward: RewardSource::Known, ..PetsConfig::default() };
        assert!(Pets::check_setup(&known, &setup).unwrap_err().message.contains("reward: learned"));
        assert!(
            Pets::check_setup(&known, &Setup { to_train: false, ..setup }).is_ok(),
            "acting brings its environment along"
        );
        let image = Setup::new(spaces(Space::Box(BoxSpace::image(4, 4, 1))));
        assert!(Pets::check_setup(&PetsConfig::default(), &image).unwrap_err().message.contains("vectors of numbers"));
    }
}
