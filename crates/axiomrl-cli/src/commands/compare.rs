//! `axiomrl compare`: is one better than the other?

use super::plot::nothing_logged;
use crate::failure::Failure;
use crate::output::{print, print_json, table};
use axiomrl_report::{Comparison, Estimate, Group, SCORE, compare, find, group, profiles};
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Thresholds at which profiles are shown.
const THRESHOLDS: usize = 6;

/// Compares two sets of runs by their last scores: difference, interval and chance of improvement
///
/// For example `axiomrl compare runs/dqn -- runs/double_dqn`. Scores are summed up by their interquartile mean; intervals are 95 %
/// bootstrap intervals.
#[derive(Args)]
pub struct Compare {
    /// Run folders, or folders with runs in them, of what is compared with
    #[arg(value_name = "RUN|FOLDER", required = true)]
    first: Vec<PathBuf>,
    /// Those that may be better
    #[arg(value_name = "RUN|FOLDER", required = true, last = true)]
    second: Vec<PathBuf>,
    /// What to compare, by its name in metrics.jsonl
    #[arg(long, value_name = "NAME", default_value = SCORE)]
    metric: String,
    /// Compares runs of different tasks
    #[arg(long)]
    any_task: bool,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

impl Compare {
    pub fn run(self) -> Result<(), Failure> {
        let (first, second) = (find(&self.first)?, find(&self.second)?);
        // Whether they may be compared at all.
        group(first.iter().chain(&second).cloned().collect(), self.any_task)?;
        let sides = [("A", first), ("B", second)].map(|(label, runs)| Group { label: label.into(), runs });
        let scores = sides.each_ref().map(|side| side.scores(&self.metric));
        for (side, scores) in sides.iter().zip(&scores) {
            if scores.is_empty() {
                return Err(nothing_logged(std::slice::from_ref(side), &self.metric));
            }
        }
        let found = compare(&scores[0], &scores[1], 0);
        let profiles = profiles(&[&scores[0], &scores[1]], THRESHOLDS);
        if self.json {
            let profiles: Vec<Value> = profiles.iter().map(|profile| json!(profile.points)).collect();
            return print_json(&json!({
                "metric": self.metric,
                "runs": [scores[0].len(), scores[1].len()],
                "iqm": [number(found.first), number(found.second)],
                "difference": number(found.difference),
                "probability_of_improvement": number(found.improvement),
                "clear": found.is_clear(),
                "profiles": profiles,
            }));
        }
        print(&self.told(&sides, &scores, &found, profiles.iter().map(|profile| &profile.points[..]).collect()))
    }

    fn told(
        &self,
        sides: &[Group; 2],
        scores: &[Vec<f64>; 2],
        found: &Comparison,
        profiles: Vec<&[(f64, f64)]>,
    ) -> String {
        let names = sides.each_ref().map(|side| {
            let mut names: Vec<&str> = side.runs.iter().map(|run| run.algo.as_str()).collect();
            names.dedup();
            names.join(", ")
        });
        let row = |label: &str, what: &str, runs: usize, estimate: Estimate| {
            vec![label.into(), what.into(), runs.to_string(), format!("{:.2}", estimate.value), interval(estimate)]
        };
        let rows =
            [row("A", &names[0], scores[0].len(), found.first), row("B", &names[1], scores[1].len(), found.second)];
        let mut text = format!("{}, last of each run\n\n", self.metric);
        text += &table(&["", "algorithm", "runs", "IQM", "95 % interval"], &rows);
        let [difference, improvement] = [found.difference, found.improvement].map(interval);
        text += &format!("\n\nB - A     {:+.2}  {difference}\n", found.difference.value);
        text += &format!("P(B > A)  {:.2}  {improvement}\n\n", found.improvement.value);
        text += &format!(
            "share of runs above   {}\n",
            profiles[0].iter().map(|p| format!("{:>9.1}", p.0)).collect::<String>()
        );
        for (label, profile) in ["A", "B"].iter().zip(profiles) {
            let shares: String = profile.iter().map(|point| format!("{:>9.2}", point.1)).collect();
            text += &format!("{label:<22}{shares}\n");
        }
        text += match (found.difference.interval, found.is_clear()) {
            (None, _) => "\nA single run on one side has no interval: nothing can be said about chance.\n",
            (_, true) => "\nThe interval of the difference leaves out 0: chance alone hardly explains it.\n",
            (_, false) => "\nThe interval of the difference holds 0: it may be chance.\n",
        };
        text
    }
}

fn interval(estimate: Estimate) -> String {
    estimate.interval.map_or_else(|| "-".into(), |(low, high)| format!("{low:.2} to {high:.2}"))
}

fn number(estimate: Estimate) -> Value {
    json!({"value": estimate.value, "interval": estimate.interval.map(|(low, high)| [low, high])})
}
