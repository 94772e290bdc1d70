//! The runs of a group as one line with an interval.

use crate::chart::{Band, Line};
use crate::groups::Group;
use axiomrl_core::score::{bootstrap_ci, iqm};

/// Points of a line that had to be interpolated.
const GRID: usize = 200;
const RESAMPLES: usize = 1000;

/// The interquartile mean of what the group's runs logged under a name, and its 95 % interval where there are runs enough for one.
/// `None` where nobody logged it.
pub fn curve(group: &Group, metric: &str) -> Option<Line> {
    let series: Vec<Vec<(f64, f64)>> =
        group.runs.iter().map(|run| run.series(metric)).filter(|series| !series.is_empty()).collect();
    let first = series.first()?;
    let label = group.label.clone();
    if series.len() == 1 {
        return Some(Line { label, points: first.clone(), band: None });
    }
    let steps = steps(&series);
    let (mut points, mut low, mut high) = (Vec::new(), Vec::new(), Vec::new());
    for (number, &step) in steps.iter().enumerate() {
        let values: Vec<f64> = series.iter().filter_map(|series| at(series, step)).collect();
        if values.is_empty() {
            continue;
        }
        let interval = bootstrap_ci(&[&values], iqm, RESAMPLES, number as u64);
        points.push((step, iqm(&values)));
        low.push(interval.0);
        high.push(interval.1);
    }
    Some(Line { label, points, band: Some(Band { low, high }) })
}

/// The steps that all runs logged at, or a grid over what they have in common.
fn steps(series: &[Vec<(f64, f64)>]) -> Vec<f64> {
    let steps_of = |series: &Vec<(f64, f64)>| series.iter().map(|(step, _)| *step).collect::<Vec<f64>>();
    let shortest = series.iter().min_by_key(|series| series.len()).map(steps_of).unwrap_or_default();
    let shared = series.iter().all(|series| shortest.iter().zip(series).all(|(step, point)| *step == point.0));
    if shared {
        return shortest;
    }
    let start = series.iter().map(|series| series[0].0).fold(f64::MIN, f64::max);
    let end = series.iter().map(|series| series[series.len() - 1].0).fold(f64::MAX, f64::min);
    if end <= start {
        return shortest;
    }
    (0..GRID).map(|i| start + (end - start) * i as f64 / (GRID - 1) as f64).collect()
}

/// The value at a step, between its neighbours; nothing outside.
fn at(series: &[(f64, f64)], step: f64) -> Option<f64> {
    let after = series.partition_point(|(other, _)| *other < step);
    let next = series.get(after)?;
    if next.0 == step {
        return Some(next.1);
    }
    let before = series[after.checked_sub(1)?];
    Some(before.1 + (next.1 - before.1) * (step - before.0) / (next.0 - before.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{SCORE, testing::run};

    #[test]
    fn a_line_is_the_interquartile_mean_and_a_single_run_has_no_interval() {
        let scores = [[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [100.0, -900.0]];
        let runs: Vec<_> =
            scores.iter().enumerate().map(|(i, scores)| run("dqn", "A-v0", i as u64, "", scores)).collect();
        let line = curve(&Group { label: "dqn".into(), runs: runs.clone() }, SCORE).unwrap();
        // Without the lowest and the highest of four.
        assert_eq!(line.points, [(100.0, 2.5), (200.0, 15.0)]);
        let band = line.band.unwrap();
        assert!(band.low[0] <= 2.5 && band.high[0] >= 2.5 && band.low[0] < band.high[0]);
        let single = Group { label: "dqn".into(), runs: runs[..1].to_vec() };
        assert!(curve(&single, SCORE).unwrap().band.is_none());
        assert!(curve(&single, "nothing").is_none());
    }

    #[test]
    fn runs_logged_at_other_steps_meet_on_a_grid() {
        assert_eq!(at(&[(0.0, 0.0), (10.0, 5.0)], 4.0), Some(2.0));
        assert_eq!((at(&[(1.0, 0.0)], 0.5), at(&[(1.0, 0.0)], 2.0)), (None, None));
        let grid = steps(&[vec![(0.0, 0.0), (10.0, 1.0)], vec![(5.0, 0.0), (20.0, 1.0)]]);
        assert_eq!((grid.len(), grid[0], grid[GRID - 1]), (GRID, 5.0, 10.0));
    }
}
