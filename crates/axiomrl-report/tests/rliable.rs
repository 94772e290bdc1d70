//! The statistics of comparisons against those of the `rliable` package (`scripts/record_rliable.py`).

use axiomrl_core::score::{bootstrap_ci, iqm};
use axiomrl_report::{compare, profiles};
use serde_json::Value;

/// Of numbers that nobody draws.
const TOLERANCE: f64 = 1e-6;
/// Of the ends of an interval of 10,000 resamples, in parts of its width.
const RESAMPLED: f64 = 0.05;

fn recorded() -> Value {
    serde_json::from_str(include_str!("fixtures/rliable.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// The scores of each task.
fn tasks(matrix: &Value) -> Vec<Vec<f64>> {
    let runs: Vec<Vec<f64>> = matrix.as_array().unwrap().iter().map(numbers).collect();
    (0..runs[0].len()).map(|task| runs.iter().map(|run| run[task]).collect()).collect()
}

fn assert_same(ours: f64, theirs: f64, what: &str) {
    assert!((ours - theirs).abs() < TOLERANCE, "{what}: {ours}, rliable has {theirs}");
}

fn assert_ends(ours: (f64, f64), theirs: &Value, what: &str) {
    let theirs = numbers(theirs);
    let room = RESAMPLED * (theirs[1] - theirs[0]);
    let near = (ours.0 - theirs[0]).abs() < room && (ours.1 - theirs[1]).abs() < room;
    assert!(near, "{what}: {ours:?}, rliable has {theirs:?}");
}

#[test]
fn interquartile_means_and_their_stratified_intervals() {
    for (name, pair) in recorded().as_object().unwrap() {
        for (at, side) in ["x", "y"].into_iter().enumerate() {
            let what = format!("{name}, {side}");
            let tasks = tasks(&pair[side]);
            assert_same(iqm(&tasks.concat()), pair["iqm"][at].as_f64().unwrap(), &what);
            let strata: Vec<&[f64]> = tasks.iter().map(Vec::as_slice).collect();
            assert_ends(bootstrap_ci(&strata, iqm, 10_000, 1), &pair["iqm_intervals"][at], &what);
        }
    }
}

#[test]
fn probabilities_of_improvement_with_ties() {
    for (name, pair) in recorded().as_object().unwrap() {
        let (x, y) = (tasks(&pair["x"]), tasks(&pair["y"]));
        let found: Vec<f64> = x.iter().zip(&y).map(|(x, y)| compare(x, y, 1).improvement.value).collect();
        for (task, (ours, theirs)) in found.iter().zip(numbers(&pair["improvement_by_task"])).enumerate() {
            assert_same(*ours, theirs, &format!("{name}, task {task}"));
        }
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        assert_same(mean, pair["improvement"].as_f64().unwrap(), name);
    }
}

#[test]
fn a_comparison_of_one_task_has_their_means_and_intervals() {
    let recorded = recorded();
    let pair = &recorded["one task"];
    let found = compare(&tasks(&pair["x"])[0], &tasks(&pair["y"])[0], 1);
    for (at, ours) in [found.first, found.second].into_iter().enumerate() {
        assert_same(ours.value, pair["iqm"][at].as_f64().unwrap(), "mean");
        assert_ends(ours.interval.unwrap(), &pair["iqm_intervals"][at], "mean");
    }
    assert_ends(found.improvement.interval.unwrap(), &pair["improvement_interval"], "improvement");
}

#[test]
fn performance_profiles_with_scores_at_thresholds() {
    for (name, pair) in recorded().as_object().unwrap() {
        let sets = ["x", "y"].map(|side| tasks(&pair[side]).concat());
        let thresholds = numbers(&pair["thresholds"]);
        let found = profiles(&[&sets[0], &sets[1]], thresholds.len());
        for (profile, theirs) in found.iter().zip(pair["profiles"].as_array().unwrap()) {
            for (((at, share), threshold), theirs) in profile.points.iter().zip(&thresholds).zip(numbers(theirs)) {
                assert_same(*at, *threshold, name);
                assert_same(*share, theirs, &format!("{name} above {at}"));
            }
        }
    }
}
