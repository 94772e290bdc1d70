//! Many environments in step.

use crate::snapshot::{self, Reader, Writer};
use crate::{Env, EnvError, Frame, GoalParts, ObsBuf, ObsSpace, Rng, Seeding, Space, TaskRules};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// An episode that has just ended. The return is the plain sum of raw rewards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpisodeEnd {
    pub env: usize,
    pub episode_return: f64,
    pub length: u64,
    /// Whether the task was done, where the environment says so.
    pub success: Option<bool>,
}

/// What observations, actions, masks and info columns look like: all that an agent must know of an environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spaces {
    pub observation: Space,
    pub action: Space,
    /// Entries of an action mask; 0 where every action is always allowed.
    pub masks: usize,
    /// Names of the info columns.
    pub info: Vec<String>,
}

impl Spaces {
    /// Of environments without masks and info columns.
    pub fn new(observation: Space, action: Space) -> Self {
        Self { observation, action, masks: 0, info: Vec::new() }
    }

    pub fn of(env: &dyn Env) -> Self {
        let action = env.action_space().clone();
        let masks = if env.has_action_mask() { action.mask_width() } else { 0 };
        Self { observation: env.observation_space().clone(), action, masks, info: env.info_names() }
    }

    /// Where the parts of an observation lie.
    pub fn obs(&self) -> ObsSpace {
        ObsSpace::of(&self.observation)
    }

    /// Where goals lie, for observations that have them.
    pub fn goal(&self) -> Option<GoalParts> {
        GoalParts::of(&self.obs())
    }
}

/// Outcome of the last step of each environment: row `i` of everything belongs to environment `i`.
#[derive(Clone, Debug, PartialEq)]
pub struct VecState {
    /// What to act on next. Where an episode ended this is already the first observation of the next one.
    pub obs: ObsBuf,
    /// The last observation of the episode, valid where one ended in the environment's latest step.
    pub final_obs: ObsBuf,
    pub reward: Vec<f32>,
    pub terminated: Vec<bool>,
    /// Never true together with `terminated`.
    pub truncated: Vec<bool>,
    /// False where nothing was done and `obs` begins an episode: an environment that resets in a step of its own, or one
    /// that had to be restarted. Such a row is not counted and not learned from.
    pub stepped: Vec<bool>,
    /// Allowed choices that go with `obs`, [`Space::mask_width`] per environment; empty when there are no masks.
    pub masks: Vec<bool>,
    /// Allowed choices that go with `final_obs`.
    pub final_masks: Vec<bool>,
    /// Info columns of the latest step, row by row.
    pub info: Vec<f32>,
    /// Episodes that ended in the latest call of `step`.
    pub episodes: Vec<EpisodeEnd>,
}

impl VecState {
    /// Room for `n` environments.
    pub fn new(spaces: &Spaces, n: usize) -> Self {
        let obs = ObsBuf::zeros(spaces.obs().widths, n);
        Self {
            final_obs: obs.clone(),
            obs,
            reward: vec![0.0; n],
            terminated: vec![false; n],
            truncated: vec![false; n],
            stepped: vec![true; n],
            masks: vec![true; n * spaces.masks],
            final_masks: vec![true; n * spaces.masks],
            info: vec![0.0; n * spaces.info.len()],
            episodes: Vec::with_capacity(n),
        }
    }

    /// Forgets outcomes, as after a reset.
    pub fn clear_outcomes(&mut self) {
        self.reward.fill(0.0);
        self.terminated.fill(false);
        self.truncated.fill(false);
        self.stepped.fill(true);
        self.info.fill(0.0);
        self.final_obs.floats.fill(0.0);
        self.final_obs.bytes.fill(0);
        self.final_masks.fill(true);
        self.episodes.clear();
    }

    fn write(&self, to: &mut Writer) {
        to.obs(self.obs.as_ref()).obs(self.final_obs.as_ref()).floats(&self.reward);
        to.bools(&self.terminated).bools(&self.truncated).bools(&self.stepped);
        to.bools(&self.masks).bools(&self.final_masks).floats(&self.info);
    }

    fn read(&mut self, from: &mut Reader<'_>) -> Result<(), EnvError> {
        from.obs(self.obs.as_mut())?;
        from.obs(self.final_obs.as_mut())?;
        from.floats("rewards", &mut self.reward)?;
        from.bools("terminations", &mut self.terminated)?;
        from.bools("truncations", &mut self.truncated)?;
        from.bools("marks of steps", &mut self.stepped)?;
        from.bools("mask entries", &mut self.masks)?;
        from.bools("final mask entries", &mut self.final_masks)?;
        from.floats("info numbers", &mut self.info)?;
        self.episodes.clear();
        Ok(())
    }
}

/// Which environments of a batch a call of `step` may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stepping {
    /// Any range: each can be stepped alone.
    Each,
    /// All or none.
    Whole,
}

/// A batch of environments with same-step auto-reset; one that resets in a step of its own says so by `stepped`.
pub trait VecEnv: Send {
    fn spaces(&self) -> &Spaces;
    fn num_envs(&self) -> usize;
    fn stepping(&self) -> Stepping;

    /// Starts a new episode everywhere. With a seeding the environments are as newly made with it.
    fn reset(&mut self, seeding: Option<&Seeding>) -> Result<(), EnvError>;

    /// Starts a new episode in environment `env` alone, whose chances, from the first observation to the end, are those of
    /// the first environment of `seeding`. Says whether that was done: a batch that begins as a whole leaves it as it is.
    fn begin(&mut self, _env: usize, _seeding: &Seeding) -> Result<bool, EnvError> {
        Ok(false)
    }

    /// Steps environments `range` only. `actions` holds rows for ALL environments, in the environments' own units.
    fn step(&mut self, range: Range<usize>, actions: &[f32]) -> Result<(), EnvError>;

    fn state(&self) -> &VecState;

    /// Everything, so that stepping on after `restore` gives the same bits; `None` for environments that cannot.
    fn snapshot(&self) -> Option<Vec<u8>> {
        None
    }

    fn restore(&mut self, _snapshot: &[u8]) -> Result<(), EnvError> {
        Err(EnvError::bad_snapshot("this one", "it makes no snapshots; it has to be reset"))
    }

    /// As [`Env::task_rules`]; the same for all environments.
    fn task_rules(&self) -> Option<Arc<dyn TaskRules>> {
        None
    }

    fn render(&self, _env: usize) -> Option<Frame> {
        None
    }
}

/// Steps environments one after the other on the calling thread: for native ones, cheaper than any hand-over.
pub struct SyncVecEnv {
    envs: Vec<Box<dyn Env>>,
    rngs: Vec<Rng>,
    spaces: Spaces,
    state: VecState,
    running: Vec<Running>,
    action_width: usize,
    /// Column of the info that says whether a task was done.
    success: Option<usize>,
    has_goals: bool,
    /// What the environments were before their first episode, for those that will be seeded anew.
    pristine: Option<Vec<Vec<u8>>>,
}

/// The episode under way.
#[derive(Clone, Copy, Default)]
struct Running {
    episode_return: f64,
    length: u64,
}

impl SyncVecEnv {
    /// Environment `i` draws from the generator that `seeding` has for it. All environments must have the same spaces.
    pub fn new(envs: Vec<Box<dyn Env>>, seeding: &Seeding) -> Result<Self, EnvError> {
        let bad = |problem: &str| EnvError::BadOption { env: "SyncVecEnv".into(), problem: problem.into() };
        let first = envs.first().ok_or_else(|| bad("at least one environment is needed; set num_envs"))?;
        let spaces = Spaces::of(first);
        if envs.iter().any(|env| Spaces::of(env) != spaces) {
            return Err(bad("all environments of a batch must have the same spaces"));
        }
        let n = envs.len();
        Ok(Self {
            rngs: (0..n).map(|i| seeding.rng(i)).collect(),
            state: VecState::new(&spaces, n),
            running: vec![Running::default(); n],
            action_width: spaces.action.width(),
            success: spaces.info.iter().position(|name| name == "success"),
            has_goals: spaces.goal().is_some(),
            pristine: None,
            spaces,
            envs,
        })
    }

    /// Makes a reset with a seeding undo whatever else the environments remember of earlier episodes, if they have snapshots.
    pub fn remember_pristine(mut self) -> Self {
        self.pristine = self.envs.iter().map(|env| env.snapshot()).collect();
        self
    }

    /// Writes what environment `env` shows now.
    fn observe(&mut self, env: usize) {
        self.envs[env].observe(self.state.obs.row_mut(env));
        let masks = self.spaces.masks;
        if masks > 0 {
            self.envs[env].action_mask(&mut self.state.masks[env * masks..][..masks]);
        }
    }

    /// Writes what it shows at the end of an episode.
    fn observe_final(&mut self, env: usize) {
        self.envs[env].observe(self.state.final_obs.row_mut(env));
        let masks = self.spaces.masks;
        if masks > 0 {
            self.envs[env].action_mask(&mut self.state.final_masks[env * masks..][..masks]);
        }
    }

    fn start_episode(&mut self, env: usize) -> Result<(), EnvError> {
        self.running[env] = Running::default();
        self.envs[env].reset(&mut self.rngs[env]).map_err(|error| error.of_env(env))
    }

    fn succeeded(&self, env: usize, terminated: bool) -> Option<bool> {
        match self.success {
            Some(column) => Some(self.state.info[env * self.spaces.info.len() + column] > 0.5),
            None => self.has_goals.then_some(terminated),
        }
    }
}

impl VecEnv for SyncVecEnv {
    fn spaces(&self) -> &Spaces {
        &self.spaces
    }

    fn num_envs(&self) -> usize {
        self.envs.len()
    }

    fn stepping(&self) -> Stepping {
        Stepping::Each
    }

    fn reset(&mut self, seeding: Option<&Seeding>) -> Result<(), EnvError> {
        if let Some(seeding) = seeding {
            self.rngs.iter_mut().enumerate().for_each(|(i, rng)| *rng = seeding.rng(i));
            for (env, pristine) in self.envs.iter_mut().zip(self.pristine.iter().flatten()) {
                env.restore(pristine)?;
            }
        }
        for env in 0..self.envs.len() {
            self.start_episode(env)?;
            self.observe(env);
        }
        self.state.clear_outcomes();
        Ok(())
    }

    fn begin(&mut self, env: usize, seeding: &Seeding) -> Result<bool, EnvError> {
        self.rngs[env] = seeding.rng(0);
        self.start_episode(env)?;
        self.observe(env);
        Ok(true)
    }

    fn step(&mut self, range: Range<usize>, actions: &[f32]) -> Result<(), EnvError> {
        self.state.episodes.clear();
        for env in range {
            let action = &actions[env * self.action_width..][..self.action_width];
            let step = self.envs[env].step(action, &mut self.rngs[env]).map_err(|error| error.of_env(env))?;
            let columns = self.spaces.info.len();
            if columns > 0 {
                self.envs[env].info(&mut self.state.info[env * columns..][..columns]);
            }
            let running = &mut self.running[env];
            running.episode_return += step.reward;
            running.length += 1;
            if step.terminated || step.truncated {
                let Running { episode_return, length } = *running;
                let success = self.succeeded(env, step.terminated);
                self.state.episodes.push(EpisodeEnd { env, episode_return, length, success });
                self.observe_final(env);
                self.start_episode(env)?;
            }
            self.observe(env);
            self.state.reward[env] = step.reward as f32;
            self.state.terminated[env] = step.terminated;
            // A world that ends on the clock's last tick has ended: there is nothing left to bootstrap from.
            self.state.truncated[env] = step.truncated && !step.terminated;
        }
        Ok(())
    }

    fn state(&self) -> &VecState {
        &self.state
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        let envs: Vec<Vec<u8>> = self.envs.iter().map(|env| env.snapshot()).collect::<Option<_>>()?;
        let mut to = Writer::default();
        to.whole(envs.len() as u64);
        for ((env, rng), running) in envs.iter().zip(&self.rngs).zip(&self.running) {
            to.bytes(env).rng(rng).real(running.episode_return).whole(running.length);
        }
        self.state.write(&mut to);
        Some(to.finish())
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        let name = "SyncVecEnv";
        let mut from = Reader::new(name, snapshot);
        let n = self.envs.len();
        snapshot::check_len(name, "environments", usize::try_from(from.whole()?).unwrap_or(usize::MAX), n)?;
        let (mut envs, mut rngs, mut running) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..n {
            envs.push(from.blob()?);
            rngs.push(from.rng()?);
            running.push(Running { episode_return: from.real()?, length: from.whole()? });
        }
        let mut state = self.state.clone();
        state.read(&mut from)?;
        from.end()?;
        let before: Option<Vec<Vec<u8>>> = self.envs.iter().map(|env| env.snapshot()).collect();
        let restored = self.envs.iter_mut().zip(&envs).try_for_each(|(env, snapshot)| env.restore(snapshot));
        if let Err(refused) = restored {
            // All or nothing: those already restored go back to where they were.
            for (env, snapshot) in self.envs.iter_mut().zip(before.iter().flatten()) {
                env.restore(snapshot)?;
            }
            return Err(refused);
        }
        (self.rngs, self.running, self.state) = (rngs, running, state);
        // A copied list has no room to grow, and `step` must not allocate.
        self.state.episodes.reserve(n);
        Ok(())
    }

    fn task_rules(&self) -> Option<Arc<dyn TaskRules>> {
        self.envs[0].task_rules()
    }

    fn render(&self, env: usize) -> Option<Frame> {
        self.envs.get(env)?.render()
    }
}
