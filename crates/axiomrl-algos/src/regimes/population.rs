//! Searching in the parameters of a policy: candidates are played, scored, and moved from.
//!
//! An iteration has so many candidates with so many episodes each. A lane plays one of them after the other, with the parameters
//! of its candidate, and all lanes are evaluated as one ensemble. Neither which lane plays an episode nor when is of any
//! consequence: its chances follow from its number, its candidate's noise from the iteration's, and what it has seen is taken in
//! in the order of numbers. So the number of environments changes how fast a run is and nothing that is learned.

mod trials;

#[cfg(test)]
mod tests;

use crate::agent::{Agent, Clock, Diverged, LearnError, Learned, Need, Setup, UpdateContext};
use crate::export::{Answer, Graph, NoGraph, Shown};
use crate::parts::checks::BuildError;
use crate::policy::{ActContext, ActInput, Acting, Actor, Policy};
use crate::population::SearchPolicy;
use crate::state::{StateError, StateIo};
use axiomrl_core::{Metrics, random, stream};
use axiomrl_envs::{Seeding, VecState};
use axiomrl_nn::{Mlp, Params};
use std::ops::Range;
use trials::Trials;

/// What an iteration came to.
#[derive(Clone, Copy)]
pub struct Iteration<'a> {
    pub number: u64,
    /// Of each candidate: the higher the better.
    pub scores: &'a [f64],
}

/// The part that is particular to an algorithm: where to look, and where to go.
pub trait Search: Send {
    /// Candidates of an iteration.
    fn candidates(&self) -> usize;

    /// Candidates with the same number here meet the same start states and the same chances.
    fn luck(&self, candidate: usize) -> usize {
        candidate
    }

    /// Writes the parameters of a candidate. They follow from `mean`, what the search has come to, and from the two numbers.
    fn candidate(&self, mean: &[f32], iteration: u64, candidate: usize, params: &mut [f32]);

    /// Moves `mean` on.
    fn update(&mut self, mean: &mut Params, played: Iteration<'_>, context: &mut UpdateContext<'_>) -> Learned;

    /// Saves or loads what is not the mean.
    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;
}

/// A policy that is searched for. It acts by the mean: a candidate that was lucky once is not what was learned.
pub struct Searcher {
    pub policy: SearchPolicy,
    pub search: Box<dyn Search>,
}

impl Actor for Searcher {
    fn act(&mut self, input: ActInput<'_>, _context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        self.policy.act(input, actions);
        Ok(())
    }

    fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Answer, NoGraph> {
        self.policy.onnx(graph, shown)
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.policy.visit_state(io)
    }
}

/// How candidates are scored.
#[derive(Clone, Debug)]
pub struct PopulationSettings {
    /// Episodes of each candidate.
    pub episodes: usize,
    /// Taken from the reward of every step, so that staying alive is worth nothing in itself.
    pub reward_shift: f64,
    /// Looks for the lowest return instead of the highest.
    pub minimize: bool,
    /// Deals the scores out at random, so that nothing can be learned from them.
    pub permute_scores: bool,
}

/// Reads them from the settings of any algorithm that has the group `..search`.
macro_rules! population_settings {
    ($config:expr) => {
        $crate::regimes::PopulationSettings {
            episodes: $config.episodes_per_candidate,
            reward_shift: $config.reward_shift,
            minimize: $config.minimize,
            permute_scores: $config.permute_scores,
        }
    };
}
pub(crate) use population_settings;

/// Iterations of playing and moving on round a search.
pub struct Population {
    acting: Acting<Searcher>,
    settings: PopulationSettings,
    seed: u64,
    iteration: u64,
    trials: Trials,
    /// The parameters of the candidates that are being played, a member for each lane.
    crowd: Mlp,
}

impl Population {
    pub fn new(searcher: Searcher, settings: PopulationSettings, setup: &Setup) -> Result<Self, BuildError> {
        let acting = Acting::new(Box::new(searcher), setup.spaces.clone(), setup.scaling)?;
        let Searcher { policy, search } = &*acting.learner;
        let (lanes, count, mean) = (setup.num_envs, search.candidates() * settings.episodes, policy.net());
        let weights = mean.params.as_slice().repeat(lanes);
        let crowd = Mlp { params: Params::from_vec(lanes, mean.params.per_member(), weights), spec: mean.spec.clone() };
        let trials = Trials::new(count, lanes, policy.statistics_width());
        Ok(Self { acting, settings, seed: setup.seed, iteration: 0, trials, crowd })
    }

    fn candidate_of(&self, trial: usize) -> usize {
        trial / self.settings.episodes
    }

    /// Gives a lane the parameters of the candidate that it plays.
    fn equip(&mut self, lane: usize, trial: usize) {
        let (width, candidate) = (self.crowd.params.per_member(), self.candidate_of(trial));
        let Searcher { policy, search } = &*self.acting.learner;
        let params = &mut self.crowd.params.make_mut()[lane * width..(lane + 1) * width];
        search.candidate(policy.params(), self.iteration, candidate, params);
    }

    /// What the learner is told of each candidate, given the mean score of its episodes.
    fn told(&self, mut scores: Vec<f64>) -> Vec<f64> {
        if self.settings.minimize {
            scores.iter_mut().for_each(|score| *score = -*score);
        }
        if self.settings.permute_scores {
            let mut rng = stream(self.seed, &format!("permute/{}", self.iteration));
            for last in (1..scores.len()).rev() {
                scores.swap(last, random::below(&mut rng, last + 1));
            }
        }
        scores
    }
}

impl Agent for Population {
    fn need(&mut self, clock: Clock) -> Need {
        match (self.trials.are_done(), clock.is_over()) {
            (true, _) => Need::Update,
            // An iteration that the run is too short for is dropped.
            (false, true) => Need::Done,
            (false, false) => Need::Steps,
        }
    }

    fn restarted(&mut self, envs: Range<usize>, _state: &VecState) -> Result<(), LearnError> {
        // Episodes that were cut off are played again from their beginning.
        self.trials.give_back(envs);
        Ok(())
    }

    fn begins(&mut self) -> Vec<(usize, Seeding)> {
        let mut begun = Vec::new();
        while let Some((lane, trial)) = self.trials.hand_out() {
            self.equip(lane, trial);
            let luck = self.acting.learner.search.luck(self.candidate_of(trial));
            let episode = trial % self.settings.episodes;
            begun.push((lane, Seeding::new(self.seed, format!("episode/{}/{luck}/{episode}", self.iteration))));
        }
        begun
    }

    fn rests(&self, env: usize) -> bool {
        self.trials.played_by(env).is_none()
    }

    fn act(&mut self, state: &VecState, clock: Clock, actions: &mut [f32]) -> Result<(), LearnError> {
        let input = ActInput { obs: state.obs.as_ref(), masks: &state.masks };
        let (crowd, trials) = (&self.crowd, &mut self.trials);
        let policy = &mut self.acting.learner.policy;
        policy.act_as(crowd, input, actions);
        let width = actions.len() / trials.lanes();
        for (lane, seen) in policy.inputs().enumerate() {
            if trials.played_by(lane).is_none() {
                // What a lane that rests would do says which candidate it played last, and that is not kept.
                actions[lane * width..(lane + 1) * width].fill(0.0);
                continue;
            }
            if let Some(&value) = seen.iter().find(|x| !x.is_finite()) {
                let (what, update) =
                    ("an observation, and with it the score of a candidate,".to_owned(), clock.updates + 1);
                return Err(Diverged { what, value, update }.into());
            }
            trials.saw(lane, policy.to_be_counted(seen));
        }
        Ok(())
    }

    fn observe(&mut self, envs: Range<usize>, _actions: &[f32], state: &VecState) -> Result<(), LearnError> {
        for env in envs {
            match state.stepped[env] {
                true => self.trials.stepped(env, state.reward[env], state.terminated[env] || state.truncated[env]),
                false => self.trials.begins_only_now(env),
            }
        }
        Ok(())
    }

    fn update(&mut self, clock: Clock, metrics: &mut Metrics) -> Result<u64, LearnError> {
        let mean_of = |value: &dyn Fn(usize) -> f64| -> Vec<f64> {
            let episodes = self.settings.episodes;
            let mean = |first: usize| (first..first + episodes).map(value).sum::<f64>() / episodes as f64;
            (0..self.trials.count()).step_by(episodes).map(mean).collect()
        };
        let shift = self.settings.reward_shift;
        let returns = mean_of(&|trial| self.trials.outcome(trial).0);
        let scores = mean_of(&|trial| {
            let (total, length) = self.trials.outcome(trial);
            total - shift * length as f64
        });
        log_returns(metrics, &returns);
        metrics.set("iteration", self.iteration as f64);

        let scores = self.told(scores);
        let mut rng = stream(self.seed, &format!("learn/{}", self.iteration));
        let mut context = UpdateContext::new(clock, &mut rng, metrics);
        let Searcher { policy, search } = &mut *self.acting.learner;
        let played = Iteration { number: self.iteration, scores: &scores };
        search.update(&mut policy.net_mut().params, played, &mut context)?;
        // What was seen counts from the next iteration on: within one, all candidates look at the world alike.
        policy.count(self.trials.seen());
        metrics.set("weight_norm", norm(policy.params()));
        self.iteration += 1;
        self.trials.begin_anew();
        Ok(1)
    }

    fn policy(&mut self) -> &mut dyn Policy {
        &mut self.acting
    }

    fn check_place(&self, env_steps: u64, _round: usize) -> Result<(), StateError> {
        if self.trials.steps() <= env_steps { Ok(()) } else { Err(StateError::other_moment("trials")) }
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.acting.visit_state(io)?;
        self.acting.learner.search.visit_state(io)?;
        io.value("iteration", &mut self.iteration)?;
        self.trials.visit_state(io)?;
        if io.loading() {
            for lane in 0..self.trials.lanes() {
                if let Some(trial) = self.trials.played_by(lane) {
                    self.equip(lane, trial);
                }
            }
        }
        Ok(())
    }
}

/// Euclidean length.
pub(crate) fn norm(values: &[f32]) -> f64 {
    values.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt()
}

fn log_returns(metrics: &mut Metrics, returns: &[f64]) {
    let n = returns.len() as f64;
    let mean = returns.iter().sum::<f64>() / n;
    let variance = returns.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / n;
    metrics.set("return_mean", mean);
    metrics.set("return_std", variance.sqrt());
    metrics.set("return_max", returns.iter().copied().fold(f64::NEG_INFINITY, f64::max));
}
