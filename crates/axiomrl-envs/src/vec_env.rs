//! Many environments in step.

use crate::action_map::ActionMap;
use crate::rng::RngState;
use crate::wrappers::Normalizer;
use crate::{Env, EnvError, Frame, GoalTask, ObsBuf, Rng, Space, snapshot};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::Range;

/// An episode that has just ended. The return is the plain sum of raw rewards.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpisodeEnd {
    pub env: usize,
    pub episode_return: f64,
    pub length: u64,
}

/// Outcome of the last step of each environment: row `i` of everything belongs to environment `i`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VecState {
    /// What to act on next. Where an episode ended this is already the first observation of the next one.
    pub obs: ObsBuf,
    /// The last observation of the episode, valid where one ended in the environment's latest step.
    pub final_obs: ObsBuf,
    pub reward: Vec<f32>,
    pub terminated: Vec<bool>,
    /// Never true together with `terminated`.
    pub truncated: Vec<bool>,
    /// Allowed choices that go with `obs`, [`Space::mask_width`] per environment; empty when there are no masks.
    pub masks: Vec<bool>,
    /// Allowed choices that go with `final_obs`.
    pub final_masks: Vec<bool>,
    /// Episodes that ended in the latest call of `step`.
    pub episodes: Vec<EpisodeEnd>,
}

/// A batch of environments with same-step auto-reset.
pub trait VecEnv: Send {
    fn num_envs(&self) -> usize;
    fn observation_space(&self) -> &Space;
    fn action_space(&self) -> &Space;

    /// Starts a new episode everywhere.
    fn reset(&mut self);

    /// Steps environments `range` only. `actions` holds rows for ALL environments; Box actions are in [−1, 1] and are
    /// clipped and mapped to the box here, and only here.
    fn step(&mut self, range: Range<usize>, actions: &[f32]);

    fn state(&self) -> &VecState;

    /// Everything, so that stepping on after `restore` gives the same bits.
    fn snapshot(&self) -> Value;
    fn restore(&mut self, snapshot: &Value) -> Result<(), EnvError>;

    fn render(&self, env: usize) -> Option<Frame>;

    /// As [`Env::goal_task`]; the same for all environments.
    fn goal_task(&self) -> Option<GoalTask> {
        None
    }

    /// The statistics to freeze for evaluation, where there are any.
    fn normalizer(&self) -> Option<&Normalizer> {
        None
    }

    /// Replaces the statistics, from the next `reset` or `step` on.
    fn set_normalizer(&mut self, _normalizer: Normalizer) {}
}

/// Steps environments one after the other on the calling thread: for native ones, cheaper than any hand-over.
pub struct SyncVecEnv {
    envs: Vec<Box<dyn Env>>,
    rngs: Vec<Rng>,
    state: VecState,
    running: Vec<Running>,
    action_map: Option<ActionMap>,
    obs_width: usize,
    action_width: usize,
    mask_width: usize,
}

/// The episode under way.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Running {
    episode_return: f64,
    length: u64,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    envs: Vec<Value>,
    rngs: Vec<RngState>,
    state: VecState,
    running: Vec<Running>,
}

impl SyncVecEnv {
    /// Environment `i` draws from `rngs[i]`. All environments must have the same spaces, and Box actions finite bounds.
    pub fn new(envs: Vec<Box<dyn Env>>, rngs: Vec<Rng>) -> Result<Self, EnvError> {
        let bad = |problem: String| EnvError::BadOption { env: "SyncVecEnv".into(), problem };
        let first = envs.first().ok_or_else(|| bad("at least one environment is needed; set num_envs".into()))?;
        if rngs.len() != envs.len() {
            return Err(bad(format!("{} environments need as many generators, not {}", envs.len(), rngs.len())));
        }
        let (observation, action) = (first.observation_space(), first.action_space());
        if envs.iter().any(|e| e.observation_space() != observation || e.action_space() != action) {
            return Err(bad("all environments of a batch must have the same spaces".into()));
        }
        let n = envs.len();
        let (obs_width, action_width) = (observation.width(), action.width());
        let mask_width = if first.has_action_mask() { action.mask_width() } else { 0 };
        let obs = ObsBuf::zeros(observation.dtype(), n * obs_width);
        let action_map = ActionMap::of(action).map_err(bad)?;
        let state = VecState {
            final_obs: obs.clone(),
            obs,
            reward: vec![0.0; n],
            terminated: vec![false; n],
            truncated: vec![false; n],
            masks: vec![true; n * mask_width],
            final_masks: vec![true; n * mask_width],
            episodes: Vec::with_capacity(n),
        };
        let running = vec![Running::default(); n];
        Ok(Self { envs, rngs, state, running, action_map, obs_width, action_width, mask_width })
    }

    /// Writes what environment `env` shows now.
    fn observe(&mut self, env: usize) {
        self.envs[env].observe(self.state.obs.row_mut(env, self.obs_width));
        if self.mask_width > 0 {
            self.envs[env].action_mask(&mut self.state.masks[env * self.mask_width..][..self.mask_width]);
        }
    }

    /// Writes what it shows at the end of an episode.
    fn observe_final(&mut self, env: usize) {
        self.envs[env].observe(self.state.final_obs.row_mut(env, self.obs_width));
        if self.mask_width > 0 {
            self.envs[env].action_mask(&mut self.state.final_masks[env * self.mask_width..][..self.mask_width]);
        }
    }

    fn start_episode(&mut self, env: usize) {
        self.envs[env].reset(&mut self.rngs[env]);
        self.running[env] = Running::default();
    }
}

impl VecEnv for SyncVecEnv {
    fn num_envs(&self) -> usize {
        self.envs.len()
    }

    fn observation_space(&self) -> &Space {
        self.envs[0].observation_space()
    }

    fn action_space(&self) -> &Space {
        self.envs[0].action_space()
    }

    fn reset(&mut self) {
        for env in 0..self.envs.len() {
            self.start_episode(env);
            self.observe(env);
        }
        self.state.reward.fill(0.0);
        self.state.terminated.fill(false);
        self.state.truncated.fill(false);
        self.state.episodes.clear();
    }

    fn step(&mut self, range: Range<usize>, actions: &[f32]) {
        self.state.episodes.clear();
        for env in range {
            let action = &actions[env * self.action_width..][..self.action_width];
            let action = self.action_map.as_mut().map_or(action, |map| map.apply(action));
            let step = self.envs[env].step(action, &mut self.rngs[env]);
            let running = &mut self.running[env];
            running.episode_return += step.reward;
            running.length += 1;
            if step.terminated || step.truncated {
                let Running { episode_return, length } = *running;
                self.state.episodes.push(EpisodeEnd { env, episode_return, length });
                self.observe_final(env);
                self.start_episode(env);
            }
            self.observe(env);
            self.state.reward[env] = step.reward as f32;
            self.state.terminated[env] = step.terminated;
            // A world that ends on the clock's last tick has ended: there is nothing left to bootstrap from.
            self.state.truncated[env] = step.truncated && !step.terminated;
        }
    }

    fn state(&self) -> &VecState {
        &self.state
    }

    fn snapshot(&self) -> Value {
        snapshot::to_value(&Saved {
            envs: self.envs.iter().map(|env| env.snapshot()).collect(),
            rngs: self.rngs.iter().map(RngState::of).collect(),
            state: self.state.clone(),
            running: self.running.clone(),
        })
    }

    fn restore(&mut self, snapshot: &Value) -> Result<(), EnvError> {
        let name = "SyncVecEnv";
        let saved: Saved = snapshot::parse(name, snapshot)?;
        let n = self.envs.len();
        snapshot::check_len(name, "environments", saved.envs.len(), n)?;
        snapshot::check_len(name, "generators", saved.rngs.len(), n)?;
        snapshot::check_len(name, "episodes under way", saved.running.len(), n)?;
        saved.state.check_like(name, &self.state)?;
        let rngs = saved.rngs.iter().map(RngState::to_rng).collect::<Result<_, _>>()?;
        let before: Vec<Value> = self.envs.iter().map(|env| env.snapshot()).collect();
        let restored = self.envs.iter_mut().zip(&saved.envs).try_for_each(|(env, snapshot)| env.restore(snapshot));
        if let Err(refused) = restored {
            // All or nothing: those already restored go back to where they were.
            self.envs.iter_mut().zip(&before).try_for_each(|(env, snapshot)| env.restore(snapshot))?;
            return Err(refused);
        }
        self.rngs = rngs;
        self.running = saved.running;
        self.state = saved.state;
        // Reading a list back leaves it no room to grow, and `step` must not allocate.
        self.state.episodes.reserve(n);
        Ok(())
    }

    fn goal_task(&self) -> Option<GoalTask> {
        self.envs[0].goal_task()
    }

    fn render(&self, env: usize) -> Option<Frame> {
        self.envs.get(env)?.render()
    }
}

impl VecState {
    /// Refuses a snapshot whose buffers are not of the same kind and size.
    pub(crate) fn check_like(&self, name: &str, needed: &VecState) -> Result<(), EnvError> {
        snapshot::check_dtype(name, self.obs.dtype(), needed.obs.dtype())?;
        snapshot::check_dtype(name, self.final_obs.dtype(), needed.final_obs.dtype())?;
        for (what, found, needed) in [
            ("observation numbers", self.obs.len(), needed.obs.len()),
            ("final observation numbers", self.final_obs.len(), needed.final_obs.len()),
            ("rewards", self.reward.len(), needed.reward.len()),
            ("terminations", self.terminated.len(), needed.terminated.len()),
            ("truncations", self.truncated.len(), needed.truncated.len()),
            ("mask entries", self.masks.len(), needed.masks.len()),
            ("final mask entries", self.final_masks.len(), needed.final_masks.len()),
        ] {
            snapshot::check_len(name, what, found, needed)?;
        }
        Ok(())
    }
}
