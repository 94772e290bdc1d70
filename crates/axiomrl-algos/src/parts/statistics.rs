//! Brings observations and rewards to unit scale, with statistics gathered on the way.

use crate::export::{Graph, UNTOUCHED, Value, standardised};
use crate::state::{StateError, StateIo};
use axiomrl_core::{Batch, Dataset, RewardScale};
use axiomrl_envs::{EnvError, Kind, ObsBuf, ObsRef, RunningStats, Spaces, VecState};
use std::ops::Range;

/// Keeps a constant column from dividing by zero.
const EPSILON: f64 = 1e-8;

/// Standardised observations and rewards are clipped to ±this, unless said otherwise.
const CLIP: f32 = 10.0;

/// Running mean and variance of the numbers of an observation. Choices and images are left as they are: they have no scale.
#[derive(Clone, Debug, PartialEq)]
pub struct ObsStats {
    /// Columns of the block of floats that are scaled.
    columns: Vec<usize>,
    running: RunningStats,
    /// Added to the deviations of statistics that were fitted once and stay as they are.
    fixed: Option<f64>,
    /// Scaled numbers are clipped to ±this.
    clip: f32,
}

/// Where the scale of observations comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ObsScaling {
    /// They stay as they are.
    #[default]
    Raw,
    /// From all that was seen so far.
    Running,
    /// From recorded transitions, once: the deviation of a column is divided by after this much was added to it.
    Fitted(f64),
}

impl ObsStats {
    /// Fails where nothing of an observation has a scale.
    pub fn new(spaces: &Spaces, scaling: ObsScaling) -> Result<Option<Self>, EnvError> {
        let fixed = match scaling {
            ObsScaling::Raw => return Ok(None),
            ObsScaling::Running => None,
            ObsScaling::Fitted(floor) => Some(floor),
        };
        let obs = spaces.obs();
        let scaled = obs.parts.iter().filter(|part| part.kind == Kind::F32);
        let columns: Vec<usize> = scaled.flat_map(|part| part.at.clone()).collect();
        if columns.is_empty() {
            let problem = format!(
                "{} observations have no scale; switch normalize_observation off",
                if obs.widths.bytes > 0 { "image" } else { spaces.observation.kind() }
            );
            let key = "normalize_observation".to_owned();
            return Err(EnvError::BadSetting { env: "its observation".into(), key, problem });
        }
        Ok(Some(Self { running: RunningStats::new(columns.len()), columns, fixed, clip: CLIP }))
    }

    /// The same with another limit to what is scaled.
    pub fn clipped_at(self, clip: f32) -> Self {
        Self { clip, ..self }
    }

    /// Takes mean and deviation from what was observed in recorded transitions, where that is where they come from.
    pub fn fit(&mut self, data: &Dataset) {
        if self.fixed.is_none() {
            return;
        }
        let (numbers, mut batch): (Vec<u64>, _) = ((0..data.len() as u64).collect(), Batch::default());
        for numbers in numbers.chunks(4096) {
            // The window of a dataset's own transitions cannot be refused.
            if data.gather(numbers, 1.0, RewardScale::IDENTITY, &mut batch).is_ok() {
                self.push(batch.obs());
            }
        }
    }

    /// Statistics of these rows, to stay as they are; `floor` is added to every deviation.
    pub fn of_rows(spaces: &Spaces, floor: f64, obs: ObsRef<'_>) -> Result<Option<Self>, EnvError> {
        let mut stats = Self::new(spaces, ObsScaling::Fitted(floor))?;
        if let Some(stats) = &mut stats {
            stats.push(obs);
        }
        Ok(stats)
    }

    pub fn running(&self) -> &RunningStats {
        &self.running
    }

    /// Counts rows, one after the other, unless the statistics are fixed.
    pub fn count(&mut self, obs: ObsRef<'_>) {
        if self.fixed.is_none() {
            self.push(obs);
        }
    }

    fn push(&mut self, obs: ObsRef<'_>) {
        for row in 0..obs.rows {
            let row = obs.row(row).floats;
            self.running.push(self.columns.iter().map(|&column| f64::from(row[column])));
        }
    }

    /// Writes scaled rows; what has no scale is copied.
    pub fn scale_into(&self, obs: ObsRef<'_>, out: &mut ObsBuf) {
        out.reshape(obs.widths(), obs.rows);
        out.as_mut().copy_from(obs);
        self.scale(&mut out.floats, obs.widths().floats);
    }

    /// Scales rows of the block of floats, each `width` numbers, in place.
    pub fn scale(&self, floats: &mut [f32], width: usize) {
        for (at, &column) in self.columns.iter().enumerate() {
            let (mean, scale) = (self.running.mean()[at], self.factor(at));
            for x in floats.iter_mut().skip(column).step_by(width) {
                *x = (((f64::from(*x) - mean) * scale) as f32).clamp(-self.clip, self.clip);
            }
        }
    }

    /// What centred numbers are multiplied with.
    fn factor(&self, at: usize) -> f64 {
        let variance = self.running.variance(at);
        match self.fixed {
            None => 1.0 / (variance + EPSILON).sqrt(),
            Some(floor) => 1.0 / (variance.sqrt() + floor),
        }
    }

    /// The scaled block of floats, `width` numbers in each row.
    pub fn onnx(&self, graph: &mut Graph, floats: Value, width: usize) -> Value {
        let mut columns = vec![UNTOUCHED; width];
        for (at, &column) in self.columns.iter().enumerate() {
            columns[column] = (self.running.mean()[at], self.factor(at), self.clip);
        }
        standardised(graph, floats, &columns)
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.statistics("observation_statistics", &mut self.running)
    }
}

/// Divides rewards by the running standard deviation of the discounted return.
#[derive(Clone, Debug)]
pub struct RewardStats {
    running: RunningStats,
    gamma: f64,
    /// The running discounted return of each environment.
    returns: Vec<f64>,
}

impl RewardStats {
    pub fn new(num_envs: usize, gamma: f32) -> Self {
        Self { running: RunningStats::new(1), gamma: f64::from(gamma), returns: vec![0.0; num_envs] }
    }

    /// Takes in the rewards of a step, before any of them is scaled.
    pub fn count(&mut self, envs: Range<usize>, state: &VecState) {
        for env in envs.filter(|env| state.stepped[*env]) {
            self.add(env, state.reward[env]);
            if state.terminated[env] || state.truncated[env] {
                self.returns[env] = 0.0;
            }
        }
    }

    /// Takes in the reward of one step.
    pub fn add(&mut self, env: usize, reward: f32) {
        self.returns[env] = self.returns[env] * self.gamma + f64::from(reward);
        self.running.push([self.returns[env]]);
    }

    /// Takes in the reward of a step of an episode that no environment of the run's own plays; `so_far` is its running return.
    pub fn add_given(&mut self, so_far: &mut f64, reward: f32) {
        *so_far = *so_far * self.gamma + f64::from(reward);
        self.running.push([*so_far]);
    }

    /// Returns begin anew in these environments.
    pub fn restarted(&mut self, envs: Range<usize>) {
        self.returns[envs].fill(0.0);
    }

    pub fn scaled(&self, reward: f32) -> f32 {
        let scaled = f64::from(reward) / (self.running.variance(0) + EPSILON).sqrt();
        scaled.clamp(-f64::from(CLIP), f64::from(CLIP)) as f32
    }

    /// For rewards that are drawn from a store, which keeps them raw.
    pub fn scale(&self) -> RewardScale {
        let scale = (1.0 / (self.running.variance(0) + EPSILON).sqrt()) as f32;
        RewardScale { scale, shift: 0.0, clip: Some((-CLIP, CLIP)) }
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.statistics("reward_statistics", &mut self.running)?;
        let environments = self.returns.len();
        io.value("reward_statistics.returns", &mut self.returns)?;
        if self.returns.len() == environments && self.returns.iter().all(|r| r.is_finite()) {
            return Ok(());
        }
        let problem = format!("{} running returns where {environments} finite ones belong", self.returns.len());
        Err(StateError::Misfit { name: "reward_statistics.returns".to_owned(), problem })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_core::{DatasetBuilder, Episode};
    use axiomrl_envs::{BoxSpace, Space};

    fn spaces(observation: Space) -> Spaces {
        Spaces::new(observation, Space::Discrete { n: 2 })
    }

    fn running(observation: Space) -> Result<ObsStats, EnvError> {
        ObsStats::new(&spaces(observation), ObsScaling::Running).map(Option::unwrap)
    }

    #[test]
    fn fitted_statistics_are_those_of_the_data_and_stay() {
        let shown = Space::Box(BoxSpace::uniform(1, -9.0, 9.0));
        let mut builder = DatasetBuilder::new(spaces(shown.clone())).unwrap();
        let obs = ObsRef::of_floats(3, &[1.0, 5.0, 100.0]);
        let (action, reward, ends) = ([0.0; 2], [0.0; 2], [false; 2]);
        let masks = &[];
        builder
            .push(&Episode { obs, masks, action: &action, reward: &reward, terminated: &ends, truncated: &ends })
            .unwrap();
        let data = builder.build().unwrap();
        let mut stats = ObsStats::new(&spaces(shown), ObsScaling::Fitted(0.5)).unwrap().unwrap();
        stats.fit(&data);
        stats.count(ObsRef::of_floats(1, &[1000.0]));
        // Acted upon were 1 and 5: mean 3, deviation 2. Where the episode ended nothing was done.
        let mut out = ObsBuf::default();
        stats.scale_into(ObsRef::of_floats(2, &[8.0, 1000.0]), &mut out);
        assert_eq!(out.floats, [2.0, 10.0]);
    }

    #[test]
    fn numbers_are_standardised_and_clipped() {
        let mut stats = running(Space::Box(BoxSpace::uniform(2, -9.0, 9.0))).unwrap();
        stats.count(ObsRef::of_floats(2, &[1.0, 5.0, 3.0, 5.0]));
        // Means 2 and 5, variances 1 and 0.
        let mut out = ObsBuf::default();
        stats.scale_into(ObsRef::of_floats(2, &[3.0, 5.0, 0.0, 6.0]), &mut out);
        assert_eq!(out.floats, [1.0, 0.0, -2.0, 10.0]);
    }

    #[test]
    fn choices_and_images_are_left_alone() {
        let entries = vec![
            ("gear".into(), Space::Discrete { n: 4 }),
            ("speed".into(), Space::Box(BoxSpace::uniform(1, -9.0, 9.0))),
            ("camera".into(), Space::Box(BoxSpace::image(1, 1, 2))),
        ];
        let mut stats = running(Space::Dict { entries }).unwrap();
        let rows = ObsRef { rows: 2, floats: &[3.0, 1.0, 2.0, 3.0], bytes: &[9, 8, 7, 6] };
        stats.count(rows);
        let mut out = ObsBuf::default();
        stats.scale_into(rows, &mut out);
        assert_eq!((out.floats, out.bytes), (vec![3.0, -1.0, 2.0, 1.0], vec![9, 8, 7, 6]));
        let refused = running(Space::Discrete { n: 3 }).unwrap_err().to_string();
        assert!(refused.contains("switch normalize_observation off"), "{refused}");
    }

    #[test]
    fn rewards_are_divided_by_the_deviation_of_the_running_return() {
        let mut stats = RewardStats::new(1, 0.5);
        let mut state = VecState::new(&spaces(Space::Discrete { n: 2 }), 1);
        for (reward, ends) in [(2.0, false), (1.0, true), (4.0, false)] {
            state.reward[0] = reward;
            state.terminated[0] = ends;
            stats.count(0..1, &state);
        }
        // Running returns 2, then 2 * 0.5 + 1, then, in a new episode, 4: mean 8/3, variance 8/9.
        let deviation = (8.0f64 / 9.0 + EPSILON).sqrt();
        assert!((f64::from(stats.scaled(3.0)) - 3.0 / deviation).abs() < 1e-6);
        assert_eq!(stats.scaled(1e9), 10.0);
        assert!((f64::from(stats.scale().apply(3.0)) - 3.0 / deviation).abs() < 1e-5);
    }
}
