//! What acts, and nothing more: input statistics, network, memory and action map, with the spaces they were made for.

use crate::agent::{LearnError, Learned};
use crate::export::{Answer, Graph, NoGraph, Shown, graph_of};
use crate::parts::actions::random_actions;
use crate::parts::statistics::{ObsScaling, ObsStats};
use crate::state::{StateError, StateIo};
use axiomrl_core::Dataset;
use axiomrl_envs::{ActionMap, EnvError, ObsBuf, ObsRef, Rng, Spaces, TaskRules, VecState};
use std::ops::Range;
use std::sync::Arc;

/// What is acted on: rows of observations and which choices are allowed in each.
#[derive(Clone, Copy, Debug)]
pub struct ActInput<'a> {
    pub obs: ObsRef<'a>,
    /// Entries for every choice of every row; empty where everything is always allowed.
    pub masks: &'a [bool],
}

impl<'a> ActInput<'a> {
    /// Rows where every action is allowed.
    pub fn of(obs: ObsRef<'a>) -> Self {
        Self { obs, masks: &[] }
    }

    pub fn rows(&self) -> usize {
        self.obs.rows
    }

    /// The choices allowed in one row; empty for all.
    pub fn mask(&self, row: usize) -> &'a [bool] {
        let width = self.masks.len() / self.obs.rows.max(1);
        &self.masks[row * width..(row + 1) * width]
    }
}

/// What policies remember within episodes: a row for each environment. Memoryless ones have rows of no numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    width: usize,
    pub state: Vec<f32>,
    /// Environments whose next observation begins an episode.
    pub starts: Vec<bool>,
}

impl Memory {
    /// Empty memories of `rows` environments that begin an episode.
    pub fn new(rows: usize, width: usize) -> Self {
        Self { width, state: vec![0.0; rows * width], starts: vec![true; rows] }
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn row(&self, row: usize) -> &[f32] {
        &self.state[row * self.width..(row + 1) * self.width]
    }

    /// Empties the memory of every environment that begins an episode.
    pub fn empty_at_starts(&mut self) {
        for (row, _) in self.starts.iter().enumerate().filter(|(_, start)| **start) {
            self.state[row * self.width..(row + 1) * self.width].fill(0.0);
        }
    }

    /// Memory is part of a run: without it a resumed episode would go on with an empty mind.
    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.floats("memory", &mut self.state)?;
        io.flags("memory.starts", &mut self.starts)
    }
}

/// How actions are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The action thought best.
    Best,
    /// Drawn from the policy, where it is stochastic.
    Sample,
}

/// What acting may use besides what is seen.
pub struct ActContext<'a> {
    /// It moves on with every observation.
    pub memory: &'a mut Memory,
    pub mode: Mode,
    pub rng: &'a mut Rng,
}

impl<'a> ActContext<'a> {
    pub fn new(memory: &'a mut Memory, mode: Mode, rng: &'a mut Rng) -> Self {
        Self { memory, mode, rng }
    }
}

/// An image of numbers from 0 to 1, channels last.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Height, width and channels.
    pub shape: [usize; 3],
    pub pixels: Vec<f32>,
}

/// What has a model of the world, which can be watched.
pub trait Imagines {
    /// What the first image of an observation looks like in the state that a row of memory holds; `None` where no image is seen.
    fn believed(&self, memory: &[f32]) -> Option<Picture>;

    /// The first image of an observation, in the same form.
    fn shown(&self, obs: ObsRef<'_>) -> Option<Picture>;

    /// Goes on without seeing anything, by the actions that are remembered.
    fn foresee(&self, memory: &mut Memory, rng: &mut Rng);
}

/// The acting half of a learner. Observations come in as networks take them: standardised where the run asks for it.
pub trait Actor: Send {
    /// Numbers of a row of memory.
    fn memory_width(&self) -> usize {
        0
    }

    /// Statistics of its own that observations are standardised by, whatever the run says of running ones. Where it is made to
    /// be loaded they come with the policy.
    fn fixed_statistics(&self) -> Option<ObsStats> {
        None
    }

    /// Chooses an action for every row. The memory was emptied where an episode begins.
    fn act(&mut self, input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError>;

    /// What was really done and what it brought, for policies that act on it: chance may have overruled their choice.
    fn feedback(&mut self, _memory: &mut Memory, _envs: Range<usize>, _actions: &[f32], _rewards: &[f32]) {}

    /// The rules of the environment that it is to act in, for policies that plan by them.
    fn know_rules(&mut self, _rules: Option<Arc<dyn TaskRules>>) {}
    /// The model that it acts by, where it has one that can be watched.
    fn imagination(&self) -> Option<&dyn Imagines> {
        None
    }

    /// The best action as nodes of a graph; the reason, where no graph can say it.
    fn onnx(&self, _graph: &mut Graph, _shown: Shown) -> Result<Answer, NoGraph> {
        Err(NoGraph::because("its learner does not say how it acts as a graph (`Actor::onnx`)"))
    }

    /// Saves or loads what acting needs, and no more.
    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;
}

/// A policy on its own: it loads and acts without environment, store or optimiser.
pub trait Policy: Send {
    fn spaces(&self) -> &Spaces;

    /// From the actions it chooses to those of the environment.
    fn action_map(&self) -> &ActionMap;

    fn memory_width(&self) -> usize;

    /// Chooses actions on raw observations; Box actions lie in [−1, 1].
    fn act(&mut self, input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError>;

    /// As [`Actor::feedback`].
    fn feedback(&mut self, memory: &mut Memory, envs: Range<usize>, actions: &[f32], rewards: &[f32]);

    /// As [`Actor::know_rules`].
    fn know_rules(&mut self, _rules: Option<Arc<dyn TaskRules>>) {}

    /// The statistics that observations are scaled by, if they are.
    fn statistics(&self) -> Option<&ObsStats>;

    /// As [`Actor::imagination`].
    fn imagination(&self) -> Option<&dyn Imagines> {
        None
    }

    /// The policy as a graph in the ONNX format, from raw observations to the best action in the environment's units.
    fn onnx(&self) -> Result<Graph, NoGraph> {
        Err(NoGraph::because("it does not say how it acts as a graph (`Policy::onnx`)"))
    }

    /// Saves or loads what acting needs: networks and input statistics.
    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;
}

/// A learner with all that stands between it and an environment.
pub struct Acting<L: ?Sized> {
    spaces: Spaces,
    map: ActionMap,
    pub stats: Option<ObsStats>,
    /// Scaled observations, kept to be allocated once.
    scaled: ObsBuf,
    pub learner: Box<L>,
}

impl<L: Actor + ?Sized> Acting<L> {
    /// Fails where actions have no bounds, or observations no scale and one is asked for.
    pub fn new(learner: Box<L>, spaces: Spaces, scaling: ObsScaling) -> Result<Self, EnvError> {
        let stats = match learner.fixed_statistics() {
            Some(fixed) => Some(fixed),
            None => ObsStats::new(&spaces, scaling)?,
        };
        Ok(Self { map: ActionMap::of(&spaces.action)?, spaces, stats, scaled: ObsBuf::default(), learner })
    }

    /// Hands the learner what it takes in the place of raw observations.
    pub fn with_scaled<T>(&mut self, obs: ObsRef<'_>, give: impl FnOnce(&mut L, ObsRef<'_>) -> T) -> T {
        match &self.stats {
            None => give(&mut self.learner, obs),
            Some(stats) => {
                stats.scale_into(obs, &mut self.scaled);
                give(&mut self.learner, self.scaled.as_ref())
            }
        }
    }

    /// Takes the scale of observations from recorded ones, where it is to come from there.
    pub fn fit(&mut self, data: &Dataset) {
        if let Some(stats) = &mut self.stats {
            stats.fit(data);
        }
    }

    /// Counts observations into the statistics, where there are any.
    pub fn count(&mut self, obs: ObsRef<'_>) {
        if let Some(stats) = &mut self.stats {
            stats.count(obs);
        }
    }

    /// Chooses actions by chance. The memory moves on all the same: what was seen was seen.
    pub fn act_by_chance(&mut self, state: &VecState, context: ActContext<'_>, actions: &mut [f32]) -> Learned {
        let ActContext { memory, mode, rng } = context;
        if memory.width() > 0 {
            self.with_scaled(state.obs.as_ref(), |learner, obs| {
                learner.act(ActInput { obs, masks: &state.masks }, ActContext::new(memory, mode, rng), actions)
            })?;
        }
        random_actions(&self.spaces.action, &state.masks, rng, actions);
        Ok(())
    }

    /// Takes in what a step of environments `envs` brought, for all that is counted and for the policy itself.
    pub fn took(&mut self, envs: Range<usize>, actions: &[f32], state: &VecState, memory: &mut Memory) {
        self.count(state.obs.range(envs.clone()));
        self.learner.feedback(memory, envs, actions, &state.reward);
    }
}

impl<L: Actor + ?Sized> Policy for Acting<L> {
    fn spaces(&self) -> &Spaces {
        &self.spaces
    }

    fn action_map(&self) -> &ActionMap {
        &self.map
    }

    fn memory_width(&self) -> usize {
        self.learner.memory_width()
    }

    fn act(&mut self, input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        let ActContext { memory, mode, rng } = context;
        memory.empty_at_starts();
        self.with_scaled(input.obs, |learner, obs| {
            learner.act(ActInput { obs, ..input }, ActContext::new(memory, mode, rng), actions)
        })?;
        memory.starts.fill(false);
        Ok(())
    }

    fn feedback(&mut self, memory: &mut Memory, envs: Range<usize>, actions: &[f32], rewards: &[f32]) {
        self.learner.feedback(memory, envs, actions, rewards);
    }

    fn know_rules(&mut self, rules: Option<Arc<dyn TaskRules>>) {
        self.learner.know_rules(rules);
    }

    fn statistics(&self) -> Option<&ObsStats> {
        self.stats.as_ref()
    }

    fn imagination(&self) -> Option<&dyn Imagines> {
        self.learner.imagination()
    }

    fn onnx(&self) -> Result<Graph, NoGraph> {
        graph_of(&*self.learner, &self.spaces, &self.map, self.stats.as_ref())
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.policy(|io| {
            if let Some(stats) = &mut self.stats {
                stats.visit_state(io)?;
            }
            self.learner.visit_policy(io)
        })
    }
}
