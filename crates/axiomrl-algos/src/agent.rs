//! What the training loop sees of an algorithm.

use crate::by_hand::{Refused, Replay};
use crate::parts::checks::BuildError;
use crate::parts::statistics::ObsScaling;
use crate::policy::{ActInput, Policy};
use crate::state::{StateError, StateIo};
use axiomrl_core::{Dataset, Metrics, RewardScale, StoreError};
use axiomrl_envs::{EnvError, ObsRef, Rng, Seeding, Space, Spaces, TaskRules, VecState};
use std::error::Error;
use std::ops::Range;
use std::sync::Arc;

/// Where a run stands. Schedules follow the fraction, so a resumed run never jumps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Environment steps taken.
    pub env_steps: u64,
    /// Gradient updates made.
    pub updates: u64,
    /// What totals, intervals and schedules count: environment steps, and before them the updates of a phase without.
    pub at: u64,
    pub total: u64,
}

impl Clock {
    /// From 0 at the start to 1 at the end.
    pub fn fraction(&self) -> f64 {
        if self.total == 0 { 1.0 } else { (self.at as f64 / self.total as f64).min(1.0) }
    }

    pub fn is_over(&self) -> bool {
        self.at >= self.total
    }
}

/// What a run consists of: updates without any environment, then environment steps with the updates they call for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    pub updates: u64,
    pub steps: u64,
}

/// What an agent needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Another round of environment steps.
    Steps,
    /// Another update.
    Update,
    /// Nothing: all steps were taken and learned from.
    Done,
}

/// A number that stopped being one. The run stops here; the last good checkpoint stays.
#[derive(Debug, thiserror::Error)]
#[error("{what} became {value} at update {update}. {}", remedy())]
pub struct Diverged {
    pub what: String,
    pub value: f32,
    pub update: u64,
}

fn remedy() -> &'static str {
    "Try a lower learning rate, gradient clipping, or reward normalisation"
}

/// Fails with the name of the thing if `value` is not finite.
pub fn finite(what: &str, value: f32, update: u64) -> Result<f32, Diverged> {
    if value.is_finite() { Ok(value) } else { Err(Diverged { what: what.to_owned(), value, update }) }
}

/// Why an agent could not act or learn.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    #[error(transparent)]
    Diverged(#[from] Diverged),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The environment's rules gave up.
    #[error(transparent)]
    Env(#[from] EnvError),
    /// It was asked for what it does not do: nothing has changed.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// A reason of the algorithm's own.
    #[error(transparent)]
    Other(#[from] Box<dyn Error + Send + Sync>),
}

/// What acting and learning come to.
pub type Learned<T = ()> = Result<T, LearnError>;

/// Somebody who knows what to do: a trained policy, or rules that were written down. Nothing is remembered between calls.
pub trait Expert: Send {
    /// The best action for each row of raw observations; Box actions in [−1, 1].
    fn act(&mut self, input: ActInput<'_>, actions: &mut [f32]) -> Result<(), LearnError>;
}

/// Makes an expert for each agent.
pub type ExpertSource = Arc<dyn Fn() -> Result<Box<dyn Expert>, BuildError> + Send + Sync>;

/// What an agent is built for.
#[derive(Clone)]
pub struct Setup {
    pub spaces: Spaces,
    pub num_envs: usize,
    pub seed: u64,
    /// Rewards and ends as a function of rows, where the environment has one.
    pub rules: Option<Arc<dyn TaskRules>>,
    /// Whether it is to learn in that environment; where it only acts, rules may come with the environment it acts in.
    pub to_train: bool,
    /// Where the scale of observations comes from.
    pub scaling: ObsScaling,
    /// Whether rewards are divided by the running deviation of the return.
    pub normalize_reward: bool,
    /// Transitions that somebody recorded, for algorithms that learn from them too.
    pub prior: Option<Dataset>,
    /// What becomes of recorded rewards, and of a run's own beside them, when they are drawn.
    pub reward: RewardScale,
    /// Whom to ask what to do, for algorithms that learn from answers.
    pub expert: Option<ExpertSource>,
    /// What the run file says of the run's length.
    pub total: u64,
}

impl Setup {
    /// One environment with these spaces, and nothing besides.
    pub fn new(spaces: Spaces) -> Self {
        Self {
            spaces,
            num_envs: 1,
            seed: 0,
            rules: None,
            to_train: false,
            scaling: ObsScaling::Raw,
            normalize_reward: false,
            prior: None,
            reward: RewardScale::IDENTITY,
            expert: None,
            total: 0,
        }
    }

    pub fn observation_space(&self) -> &Space {
        &self.spaces.observation
    }

    pub fn action_space(&self) -> &Space {
        &self.spaces.action
    }

    pub fn action_width(&self) -> usize {
        self.spaces.action.width()
    }

    pub fn mask_width(&self) -> usize {
        self.spaces.masks
    }

    pub fn rng(&self, stream: &str) -> Rng {
        axiomrl_core::stream(self.seed, stream)
    }
}

/// An algorithm at work: a data regime round a learner.
///
/// Between any two calls an agent can be saved, and one that is loaded goes on as if nothing had happened.
pub trait Agent: Send {
    /// What to do next: asked between rounds and at the end, never inside of one, for it closes the steps that were learned
    /// from. Asking twice changes nothing more.
    fn need(&mut self, clock: Clock) -> Need;

    /// Environments `envs` begin anew with what `state` shows: after the first reset, and where they had to be restarted. An
    /// episode that was under way counts as cut off where it stood.
    fn restarted(&mut self, envs: Range<usize>, state: &VecState) -> Result<(), LearnError>;

    /// Environments that are to begin an episode of the agent's own choosing before the next round, and what their chances are.
    /// Asked once before each round. Where a batch begins as a whole, an environment goes on with the episode that it shows.
    fn begins(&mut self) -> Vec<(usize, Seeding)> {
        Vec::new()
    }

    /// Whether environment `env` has nothing to do in the round: it is left out, where a batch can be stepped in parts.
    fn rests(&self, _env: usize) -> bool {
        false
    }

    /// Chooses an exploring action for every environment, in [−1, 1] for Box actions.
    fn act(&mut self, state: &VecState, clock: Clock, actions: &mut [f32]) -> Result<(), LearnError>;

    /// Takes in what the step of environments `envs` brought; `actions` are the rows for all environments, as chosen.
    fn observe(&mut self, envs: Range<usize>, actions: &[f32], state: &VecState) -> Result<(), LearnError>;

    /// At most one step of an optimiser, or a fraction of a second of other work. Says how many updates were made: 0 or 1.
    fn update(&mut self, clock: Clock, metrics: &mut Metrics) -> Result<u64, LearnError>;

    /// Whether an update can be made though [`Agent::need`] asks for none: for loops that somebody else writes.
    fn check_spare_update(&mut self, _clock: Clock) -> Result<(), Refused> {
        Err(Refused::NotYet("there is nothing to learn from now; `collect` first: it stops where there is".into()))
    }

    /// Somebody wants to step on without the updates that were called for: they are called for no more, where the agent can do
    /// without. Asked between rounds.
    fn waive(&mut self, _clock: Clock) {}

    /// The store of single steps, for agents that have one.
    fn replay(&mut self) -> Result<&mut dyn Replay, Refused> {
        let problem = "keeps no replay of single steps, as it learns from what its own `collect` gathers; use one that does, such as \
                       dqn, sac or td3, or a dataset with one that learns from recorded steps";
        Err(Refused::Unsupported(problem.into()))
    }

    /// What acts.
    fn policy(&mut self) -> &mut dyn Policy;

    /// What the agent thinks each observation is worth if it acts by its best actions from there on; for agents that think
    /// of values at all. Says whether it does.
    fn values(&mut self, _input: ActInput<'_>, _values: &mut [f32]) -> bool {
        false
    }

    /// What the agent would pay for actions (in [−1, 1] for a Box) on raw observations, for agents that learn a reward. Says
    /// whether it does.
    fn rewards(&mut self, _obs: ObsRef<'_>, _actions: &[f32], _rewards: &mut [f32]) -> bool {
        false
    }

    /// What a run of `total` environment steps consists of.
    fn phases(&self, total: u64) -> Phases {
        Phases { updates: 0, steps: total }
    }

    /// After loading: whether the state belongs to a run of `env_steps` steps in whose current round `round` environments
    /// have stepped (0 between rounds). What contradicts itself would otherwise be found out by a panic.
    fn check_place(&self, _env_steps: u64, _round: usize) -> Result<(), StateError> {
        Ok(())
    }

    /// Saves or loads everything, policy and stores included: one function for both directions, so they cannot drift apart.
    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;
}

/// What an update may use besides its data.
pub struct UpdateContext<'a> {
    pub clock: Clock,
    /// Whether it is the last update of its burst: the place for what is done once per burst.
    pub closes_burst: bool,
    pub rng: &'a mut Rng,
    pub metrics: &'a mut Metrics,
    /// To be filled with one absolute error per row where priorities are in use: of a whole sequence, where the learner remembers.
    pub errors: Vec<f32>,
}

impl<'a> UpdateContext<'a> {
    /// An update that is a burst of its own.
    pub fn new(clock: Clock, rng: &'a mut Rng, metrics: &'a mut Metrics) -> Self {
        Self { clock, closes_burst: true, rng, metrics, errors: Vec::new() }
    }

    /// The number of this update, from 1.
    pub fn number(&self) -> u64 {
        self.clock.updates + 1
    }

    /// How much of the run is over, for schedules.
    pub fn fraction(&self) -> f64 {
        self.clock.fraction()
    }
}
