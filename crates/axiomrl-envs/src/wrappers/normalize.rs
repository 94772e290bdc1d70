//! Brings observations and rewards to unit scale, with statistics gathered on the way.

use crate::wrappers::RunningStats;
use crate::{BoxSpace, DType, EnvError, Frame, ObsBuf, ObsMut, ObsRef, Space, VecEnv, VecState, snapshot};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ops::Range;

/// Keeps a constant column from dividing by zero.
const EPSILON: f64 = 1e-8;

/// What [`Normalized`] has learned about the scale of a task. Evaluation uses a frozen copy of the training run's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Normalizer {
    /// Of every element of the observation; `None` leaves observations as they are.
    pub obs: Option<RunningStats>,
    /// Of the running discounted return; `None` leaves rewards as they are.
    pub ret: Option<RunningStats>,
    pub gamma: f64,
    pub clip_obs: f32,
    pub clip_reward: f64,
    /// A frozen normaliser scales but does not learn.
    pub frozen: bool,
}

impl Normalizer {
    /// For observations `width` numbers wide, clipping both observations and rewards at ±10.
    pub fn new(width: usize, observation: bool, reward: bool, gamma: f64) -> Self {
        Self {
            obs: observation.then(|| RunningStats::new(width)),
            ret: reward.then(|| RunningStats::new(1)),
            gamma,
            clip_obs: 10.0,
            clip_reward: 10.0,
            frozen: false,
        }
    }

    /// Scales one raw observation as the environments do, for policies that act on rows from elsewhere.
    pub fn scale_observation(&self, row: &mut [f32]) {
        let Some(stats) = &self.obs else { return };
        for (i, x) in row.iter_mut().enumerate() {
            *x = scaled(*x, shift_scale(stats, i), self.clip_obs);
        }
    }

    /// Refuses one that is of another environment or other settings than `needed`, or that nothing could be scaled with.
    pub fn check_like(&self, needed: &Normalizer) -> Result<(), EnvError> {
        let width = |stats: &Option<RunningStats>| stats.as_ref().map_or(0, RunningStats::width);
        snapshot::check_len("Normalized", "observation statistics", width(&self.obs), width(&needed.obs))?;
        snapshot::check_len("Normalized", "return statistics", width(&self.ret), width(&needed.ret))?;
        if self.clip_obs >= 0.0 && self.clip_reward >= 0.0 && self.gamma.is_finite() {
            return Ok(());
        }
        let problem = "it clips at, or discounts by, a number that makes no sense".to_owned();
        Err(EnvError::BadSnapshot { env: "Normalized".into(), problem })
    }

    fn scaled_reward(&self, reward: f32) -> f32 {
        let Some(stats) = &self.ret else { return reward };
        let scaled = f64::from(reward) / (stats.variance(0) + EPSILON).sqrt();
        scaled.clamp(-self.clip_reward, self.clip_reward) as f32
    }
}

/// A [`VecEnv`] whose observations are shifted and scaled to mean 0 and variance 1, and whose rewards are divided by the
/// standard deviation of the running discounted return.
///
/// A `final_obs` is scaled by the same statistics as the `obs` of its step but is not counted. Episode returns stay raw.
pub struct Normalized {
    inner: Box<dyn VecEnv>,
    space: Space,
    normalizer: Normalizer,
    state: VecState,
    /// The running discounted return of each environment.
    returns: Vec<f64>,
    /// Mean and 1/deviation of each element, computed once per step rather than once per row.
    shift_scale: Vec<(f64, f64)>,
}

#[derive(Deserialize)]
struct Saved {
    normalizer: Normalizer,
    state: VecState,
    returns: Vec<f64>,
    inner: Value,
}

impl Normalized {
    /// Fails when observations are to be normalised and are not numbers on a scale (such as Discrete ones).
    pub fn new(inner: Box<dyn VecEnv>, normalizer: Normalizer) -> Result<Self, EnvError> {
        let raw = inner.observation_space();
        let space = match &normalizer.obs {
            Some(_) => scaled_space(raw, normalizer.clip_obs).ok_or_else(|| EnvError::BadOption {
                env: "Normalized".into(),
                problem: format!("{} observations have no scale; switch normalize_observation off", raw.kind()),
            })?,
            None => raw.clone(),
        };
        let mut state = inner.state().clone();
        state.obs = ObsBuf::zeros(space.dtype(), state.obs.len());
        state.final_obs = state.obs.clone();
        let (n, width) = (inner.num_envs(), space.width());
        // Room for as many ends as there can be, since `step` must not allocate.
        state.episodes.reserve(n);
        Ok(Self { inner, space, normalizer, state, returns: vec![0.0; n], shift_scale: vec![(0.0, 1.0); width] })
    }

    /// Learns from the rows just stepped, before any of them is scaled.
    fn learn(&mut self, range: Range<usize>) {
        let raw = self.inner.state();
        for env in range.clone() {
            self.returns[env] = self.returns[env] * self.normalizer.gamma + f64::from(raw.reward[env]);
        }
        if self.normalizer.frozen {
            return;
        }
        if let Some(stats) = &mut self.normalizer.ret {
            range.clone().for_each(|env| stats.push([self.returns[env]]));
        }
        self.count_observations(range);
    }

    fn count_observations(&mut self, range: Range<usize>) {
        let Some(stats) = self.normalizer.obs.as_mut().filter(|_| !self.normalizer.frozen) else { return };
        let width = stats.width();
        for env in range {
            match self.inner.state().obs.rows(env, env + 1, width) {
                ObsRef::F32(row) => stats.push(row.iter().map(|&x| f64::from(x))),
                ObsRef::U8(row) => stats.push(row.iter().map(|&x| f64::from(x))),
            }
        }
    }

    /// Copies the rows of `range` out of the inner state, scaled.
    fn publish(&mut self, range: Range<usize>) {
        if let Some(stats) = &self.normalizer.obs {
            for (i, entry) in self.shift_scale.iter_mut().enumerate() {
                *entry = shift_scale(stats, i);
            }
        }
        let (raw, state, width) = (self.inner.state(), &mut self.state, self.space.width());
        let scaling = self.normalizer.obs.is_some().then_some((&*self.shift_scale, self.normalizer.clip_obs));
        for env in range.clone() {
            let ended = raw.terminated[env] || raw.truncated[env];
            copy_row(&raw.obs, &mut state.obs, env, width, scaling);
            if ended {
                copy_row(&raw.final_obs, &mut state.final_obs, env, width, scaling);
                self.returns[env] = 0.0;
            }
            state.reward[env] = self.normalizer.scaled_reward(raw.reward[env]);
        }
        state.terminated[range.clone()].copy_from_slice(&raw.terminated[range.clone()]);
        state.truncated[range.clone()].copy_from_slice(&raw.truncated[range.clone()]);
        let per_env = raw.masks.len() / raw.reward.len();
        let masks = range.start * per_env..range.end * per_env;
        state.masks[masks.clone()].copy_from_slice(&raw.masks[masks.clone()]);
        state.final_masks[masks.clone()].copy_from_slice(&raw.final_masks[masks]);
        state.episodes.clear();
        state.episodes.extend_from_slice(&raw.episodes);
    }
}

impl VecEnv for Normalized {
    fn num_envs(&self) -> usize {
        self.inner.num_envs()
    }

    fn observation_space(&self) -> &Space {
        &self.space
    }

    fn action_space(&self) -> &Space {
        self.inner.action_space()
    }

    fn reset(&mut self) {
        self.inner.reset();
        self.returns.fill(0.0);
        let all = 0..self.num_envs();
        self.count_observations(all.clone());
        self.publish(all);
    }

    fn step(&mut self, range: Range<usize>, actions: &[f32]) {
        self.inner.step(range.clone(), actions);
        self.learn(range.clone());
        self.publish(range);
    }

    fn state(&self) -> &VecState {
        &self.state
    }

    fn snapshot(&self) -> Value {
        json!({
            "normalizer": snapshot::to_value(&self.normalizer),
            "state": snapshot::to_value(&self.state),
            "returns": self.returns,
            "inner": self.inner.snapshot(),
        })
    }

    fn restore(&mut self, snapshot: &Value) -> Result<(), EnvError> {
        let saved: Saved = snapshot::parse("Normalized", snapshot)?;
        saved.state.check_like("Normalized", &self.state)?;
        snapshot::check_len("Normalized", "returns", saved.returns.len(), self.returns.len())?;
        saved.normalizer.check_like(&self.normalizer)?;
        self.inner.restore(&saved.inner)?;
        self.normalizer = saved.normalizer;
        self.state = saved.state;
        self.state.episodes.reserve(self.returns.len());
        self.returns = saved.returns;
        Ok(())
    }

    fn render(&self, env: usize) -> Option<Frame> {
        self.inner.render(env)
    }

    fn normalizer(&self) -> Option<&Normalizer> {
        Some(&self.normalizer)
    }

    /// # Panics
    /// When the statistics are of another width: they belong to another environment, and using them would hide that.
    fn set_normalizer(&mut self, normalizer: Normalizer) {
        assert!(
            normalizer.check_like(&self.normalizer).is_ok(),
            "a normaliser can only be replaced by one of the same environment and settings"
        );
        self.normalizer = normalizer;
    }
}

/// The space of scaled observations, for spaces that have a scale.
fn scaled_space(space: &Space, clip: f32) -> Option<Space> {
    match space {
        Space::Box(b) => {
            let n = b.dim();
            let (low, high) = (vec![-clip; n], vec![clip; n]);
            Some(Space::Box(BoxSpace { shape: b.shape.clone(), low, high, dtype: DType::F32 }))
        }
        Space::Dict { entries } => {
            let scaled = |(name, space): &(String, Space)| Some((name.clone(), scaled_space(space, clip)?));
            Some(Space::Dict { entries: entries.iter().map(scaled).collect::<Option<_>>()? })
        }
        Space::Discrete { .. } | Space::MultiDiscrete { .. } | Space::MultiBinary { .. } => None,
    }
}

fn copy_row(from: &ObsBuf, to: &mut ObsBuf, row: usize, width: usize, scaling: Option<(&[(f64, f64)], f32)>) {
    let source = from.rows(row, row + 1, width);
    let mut target = to.row_mut(row, width);
    target.copy_from(source);
    if let (Some((shift_scale, clip)), ObsMut::F32(target)) = (scaling, target) {
        for (x, &shift_scale) in target.iter_mut().zip(shift_scale) {
            *x = scaled(*x, shift_scale, clip);
        }
    }
}

/// Mean and 1/deviation of element `i`.
fn shift_scale(stats: &RunningStats, i: usize) -> (f64, f64) {
    (stats.mean()[i], 1.0 / (stats.variance(i) + EPSILON).sqrt())
}

fn scaled(x: f32, (mean, scale): (f64, f64), clip: f32) -> f32 {
    (((f64::from(x) - mean) * scale) as f32).clamp(-clip, clip)
}
