//! What runs of several seeds amount to.

use crate::failure::{Failure, INTERRUPTED};
use crate::output::{grouped, pairs, print, print_json, table};
use axiomrl_core::score::{iqm, mean, std};
use serde_json::{Value, json};

/// One seed that has ended, for those who wait.
pub fn line(seed: u64, result: &Result<Value, Failure>) -> String {
    match result {
        Ok(run) => format!("seed {seed}: {} after {}s", score(run, "eval_mean_reward"), score(run, "wall_seconds")),
        Err(failure) => format!("seed {seed}: {}", failure.message),
    }
}

/// A table of the runs with mean, interquartile mean and spread of their final evaluations.
pub fn show(runs: &[&Value], as_json: bool) -> Result<(), Failure> {
    let rewards: Vec<f64> = runs.iter().filter_map(|run| run["eval_mean_reward"].as_f64()).collect();
    let whole = !rewards.is_empty();
    let least = rewards.iter().copied().min_by(f64::total_cmp);
    let greatest = rewards.iter().copied().max_by(f64::total_cmp);
    let summary = |statistic: fn(&[f64]) -> f64| whole.then(|| statistic(&rewards));
    let statistics = [
        ("mean_reward", summary(mean)),
        ("iqm_reward", summary(iqm)),
        ("std_reward", summary(std)),
        ("min_reward", least),
        ("max_reward", greatest),
    ];
    if as_json {
        let mut object = json!({ "runs": runs });
        for (name, value) in statistics {
            object[name] = value.into();
        }
        return print_json(&object);
    }
    let columns = ["seed", "evaluation", "std", "best", "steps", "steps/s", "run folder"];
    let rows: Vec<Vec<String>> = runs.iter().map(|run| row(run)).collect();
    let labels = ["mean", "IQM", "std", "min", "max"];
    let shown = statistics.map(|(_, value)| value.map_or("-".to_owned(), |value| format!("{value:.1}")));
    let pair_rows: Vec<(&str, String)> = labels.into_iter().zip(shown).collect();
    print(&format!("{}\n\n{}", table(&columns, &rows), pairs(&pair_rows)))
}

/// Some seeds were stopped, or never begun.
pub fn interrupted(stopped: &[(u64, Failure)], not_begun: usize) -> Failure {
    let mut lines: Vec<String> =
        stopped.iter().map(|(seed, failure)| format!("seed {seed}: {}", failure.message)).collect();
    if not_begun > 0 {
        lines.push(format!("{not_begun} more seeds were not begun"));
    }
    Failure::new(INTERRUPTED, lines.join("\n"))
}

fn row(run: &Value) -> Vec<String> {
    vec![
        run["seed"].to_string(),
        score(run, "eval_mean_reward"),
        score(run, "eval_std_reward"),
        score(run, "best_eval_mean_reward"),
        grouped(run["steps"].as_u64().unwrap_or(0)),
        grouped(run["steps_per_second"].as_f64().unwrap_or(0.0).round() as u64),
        run["run_dir"].as_str().unwrap_or("").to_owned(),
    ]
}

fn score(run: &Value, key: &str) -> String {
    run[key].as_f64().map_or("-".to_owned(), |value| format!("{value:.1}"))
}
