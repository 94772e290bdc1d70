//! Bringing what is observed to scale by statistics that stand still within an iteration.

use crate::export::{Graph, UNTOUCHED, Value, standardised};
use crate::state::{StateError, StateIo};
use axiomrl_envs::RunningStats;

/// How a number becomes one on a common scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// `(x − mean) / (std + 1e-8)` with the deviation of a sample; a number that never varies becomes 0.
    Sample,
    /// `(x − mean) / √max(var, floor)`, clipped.
    Floored { floor: f64, clip: f32 },
}

/// A deviation below this is none.
const CONSTANT: f64 = 1e-7;

/// Statistics of the inputs that are numbers on a scale, and what is made of them.
#[derive(Clone, Debug)]
pub struct InputScale {
    rule: Rule,
    columns: Vec<usize>,
    running: RunningStats,
}

impl InputScale {
    /// `scaled` says of each input whether it is on a scale: choices are left as they are.
    pub fn new(rule: Rule, scaled: &[bool]) -> Self {
        let columns: Vec<usize> = (0..scaled.len()).filter(|&at| scaled[at]).collect();
        Self { rule, running: RunningStats::new(columns.len()), columns }
    }

    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// The numbers of a row that are counted.
    pub fn counted<'a>(&'a self, row: &'a [f32]) -> impl Iterator<Item = f64> + 'a {
        self.columns.iter().map(|&column| f64::from(row[column]))
    }

    pub fn count(&mut self, seen: &RunningStats) {
        self.running.merge(seen);
    }

    /// Scales rows of `width` numbers in place. Before anything was counted they stay as they are.
    pub fn scale(&self, rows: &mut [f32], width: usize) {
        if self.running.count() == 0 {
            return;
        }
        for (at, &column) in self.columns.iter().enumerate() {
            let (mean, factor, clip) = self.column(at);
            for x in rows.iter_mut().skip(column).step_by(width) {
                *x = (((f64::from(*x) - mean) * factor) as f32).clamp(-clip, clip);
            }
        }
    }

    /// Mean and factor of a counted column, and where it is clipped.
    fn column(&self, at: usize) -> (f64, f64, f32) {
        let (mean, variance) = (self.running.mean()[at], self.running.variance(at));
        match self.rule {
            Rule::Sample => {
                let n = self.running.count() as f64;
                // One row alone has no deviation; it counts as 1.
                let std = if n < 2.0 { 1.0 } else { (variance * n / (n - 1.0)).sqrt() };
                (mean, if std < CONSTANT { 0.0 } else { 1.0 / (std + 1e-8) }, f32::INFINITY)
            }
            Rule::Floored { floor, clip } => (mean, 1.0 / variance.max(floor).sqrt(), clip),
        }
    }

    /// As [`InputScale::scale`], as nodes of a graph.
    pub fn onnx(&self, graph: &mut Graph, rows: Value, width: usize) -> Value {
        if self.running.count() == 0 {
            return rows;
        }
        let mut columns = vec![UNTOUCHED; width];
        for (at, &column) in self.columns.iter().enumerate() {
            columns[column] = self.column(at);
        }
        standardised(graph, rows, &columns)
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.statistics("input_statistics", &mut self.running)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(rule: Rule) -> InputScale {
        let mut scale = InputScale::new(rule, &[true, false, true]);
        let mut seen = RunningStats::new(2);
        seen.push(scale.counted(&[1.0, 9.0, 5.0]));
        seen.push(scale.counted(&[3.0, 9.0, 5.0]));
        scale.count(&seen);
        scale
    }

    #[test]
    fn ars_divides_by_the_deviation_of_a_sample_and_drops_what_never_varies() {
        // Mean 2, deviation √2; then 5 and none.
        let mut rows = [4.0, 7.0, 6.0];
        scale(Rule::Sample).scale(&mut rows, 3);
        assert!((rows[0] - 2.0 / 2.0f32.sqrt()).abs() < 1e-6, "{rows:?}");
        assert_eq!(rows[1..], [7.0, 0.0]);
        // Nothing is clipped.
        let mut far = [2002.0, 0.0, 5.0];
        scale(Rule::Sample).scale(&mut far, 3);
        assert!((far[0] - 2000.0 / 2.0f32.sqrt()).abs() < 0.1);
    }

    #[test]
    fn es_has_a_floor_and_clips() {
        // Variances 1 and 0; the floor of .01 is a deviation of .1.
        let mut rows = [4.0, 7.0, 5.3, 90.0, 7.0, 5.0];
        scale(Rule::Floored { floor: 0.01, clip: 5.0 }).scale(&mut rows, 3);
        assert_eq!((rows[0], rows[1], rows[3], rows[5]), (2.0, 7.0, 5.0, 0.0));
        assert!((rows[2] - 3.0).abs() < 1e-5, "{rows:?}");
    }

    #[test]
    fn nothing_seen_changes_nothing() {
        let mut rows = [4.0, 7.0, 1e6];
        InputScale::new(Rule::Sample, &[true; 3]).scale(&mut rows, 3);
        assert_eq!(rows, [4.0, 7.0, 1e6]);
    }
}
