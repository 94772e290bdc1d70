//! What a discriminator sees of a step: observation and action side by side, standardised.

use super::InputStatistics;
use crate::parts::input::Flatten;
use crate::state::{StateError, StateIo};
use axiomrl_envs::{ObsRef, RunningStats, Space, Spaces};

/// Keeps a constant column from dividing by zero.
const EPSILON: f64 = 1e-6;

/// Standardised numbers are clipped to ±this: a policy may stray without end from where the expert was.
const CLIP: f32 = 10.0;

/// From raw rows to rows that are standardised. Choices become one column for each, and are left as they are.
#[derive(Clone, Debug)]
pub struct Inputs {
    flatten: Flatten,
    action: Space,
    /// Columns of a row that are standardised, those of the observation first.
    columns: Vec<usize>,
    statistics: RunningStats,
    kind: InputStatistics,
}

impl Inputs {
    pub fn new(spaces: &Spaces, kind: InputStatistics) -> Self {
        let flatten = Flatten::new(&spaces.observation);
        let mut scaled = flatten.on_a_scale();
        scaled.extend(vec![matches!(spaces.action, Space::Box(_)); action_width(&spaces.action)]);
        let columns: Vec<usize> = (0..scaled.len()).filter(|&column| scaled[column]).collect();
        let statistics = RunningStats::new(columns.len());
        Self { flatten, action: spaces.action.clone(), columns, statistics, kind }
    }

    /// Numbers of a row.
    pub fn width(&self) -> usize {
        self.flatten.width() + action_width(&self.action)
    }

    /// Those of them that are the observation's.
    pub fn obs_width(&self) -> usize {
        self.flatten.width()
    }

    /// Rows of observation and action, not yet standardised. Box actions are those that an environment executes: a Gaussian
    /// policy would else be known by the tails that are cut off.
    pub fn join(&self, obs: ObsRef<'_>, actions: &[f32]) -> Vec<f32> {
        let (seen, width) = (self.flatten.encode(obs), self.width());
        let mut joined = vec![0.0; obs.rows * width];
        let each = joined.chunks_exact_mut(width).zip(actions.chunks_exact(self.action.width()));
        for (row, (to, action)) in each.enumerate() {
            let (to_obs, to_action) = to.split_at_mut(self.flatten.width());
            to_obs.copy_from_slice(&seen[row * to_obs.len()..(row + 1) * to_obs.len()]);
            match &self.action {
                Space::Discrete { n } => to_action[(action[0] as usize).min(n - 1)] = 1.0,
                _ => to_action.iter_mut().zip(action).for_each(|(to, a)| *to = a.clamp(-1.0, 1.0)),
            }
        }
        joined
    }

    /// Rows of observations alone, not yet standardised.
    pub fn observations(&self, obs: ObsRef<'_>) -> Vec<f32> {
        self.flatten.encode(obs).into_owned()
    }

    /// Counts the expert's rows, before anything was learned.
    pub fn begin(&mut self, rows: &[f32]) {
        self.statistics = RunningStats::new(self.columns.len());
        self.push(rows);
    }

    /// Counts rows that the discriminator is about to be shown; the expert's statistics stay as they are.
    pub fn count(&mut self, rows: &[f32]) {
        if self.kind == InputStatistics::Running {
            self.push(rows);
        }
    }

    fn push(&mut self, rows: &[f32]) {
        for row in rows.chunks_exact(self.width()) {
            self.statistics.push(self.columns.iter().map(|&column| f64::from(row[column])));
        }
    }

    /// Standardises rows in place: whole ones, or observations alone.
    pub fn standardise(&self, rows: &mut [f32], width: usize) {
        for (at, &column) in self.columns.iter().enumerate().filter(|(_, column)| **column < width) {
            let (mean, scale) = (self.statistics.mean()[at], 1.0 / (self.statistics.variance(at).sqrt() + EPSILON));
            for x in rows.iter_mut().skip(column).step_by(width) {
                *x = (((f64::from(*x) - mean) * scale) as f32).clamp(-CLIP, CLIP);
            }
        }
    }

    #[cfg(test)]
    pub fn counted(&self) -> u64 {
        self.statistics.count()
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.statistics("input_statistics", &mut self.statistics)
    }
}

/// Numbers that an action takes before a discriminator.
fn action_width(space: &Space) -> usize {
    match space {
        Space::Discrete { n } => *n,
        other => other.width(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_envs::BoxSpace;

    fn vector(n: usize) -> Space {
        Space::Box(BoxSpace::uniform(n, -9.0, 9.0))
    }

    #[test]
    fn numbers_are_standardised_clipped_and_choices_are_not() {
        let mut inputs = Inputs::new(&Spaces::new(vector(2), Space::Discrete { n: 2 }), InputStatistics::Expert);
        let mut rows = inputs.join(ObsRef::of_floats(2, &[1.0, 5.0, 3.0, 7.0]), &[1.0, 0.0]);
        assert_eq!(rows, [1.0, 5.0, 0.0, 1.0, 3.0, 7.0, 1.0, 0.0]);
        inputs.begin(&rows);
        inputs.standardise(&mut rows, 4);
        for (found, wanted) in rows.iter().zip([-1.0, -1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0]) {
            assert!((found - wanted).abs() < 1e-5, "{rows:?}");
        }
        let mut far = inputs.observations(ObsRef::of_floats(1, &[500.0, 6.0]));
        inputs.standardise(&mut far, 2);
        assert_eq!((far[0], far[1].abs() < 1e-6), (10.0, true));
    }

    #[test]
    fn box_actions_are_those_that_were_executed() {
        let inputs = Inputs::new(&Spaces::new(vector(1), vector(1)), InputStatistics::Expert);
        assert_eq!(inputs.join(ObsRef::of_floats(2, &[4.0, 4.0]), &[0.5, -1.7]), [4.0, 0.5, 4.0, -1.0]);
        assert_eq!((inputs.width(), inputs.columns.len()), (2, 2));
    }

    #[test]
    fn only_running_statistics_run() {
        for (kind, counted) in [(InputStatistics::Expert, 2), (InputStatistics::Running, 3)] {
            let mut inputs = Inputs::new(&Spaces::new(vector(1), vector(1)), kind);
            inputs.begin(&[1.0, 0.0, 3.0, 0.5]);
            inputs.count(&[9.0, 0.0]);
            assert_eq!(inputs.counted(), counted, "{kind:?}");
        }
    }
}
