//! Runs that differ in nothing but chance belong together.

use crate::run::{ReportError, Run};
use std::collections::{BTreeMap, BTreeSet};

/// Settings that are no part of an experiment: chance, and where things are kept.
const APART: &[&str] = &["seed", "output_dir", "run_name", "tags", "device", "keep_checkpoints", "checkpoint_interval"];

/// Words of a label that still tell something.
const MOST_WORDS: usize = 3;

/// Runs of one experiment.
#[derive(Clone, Debug)]
pub struct Group {
    /// The algorithm, and what tells it from others of the same name.
    pub label: String,
    pub runs: Vec<Run>,
}

impl Group {
    /// The last number that each run logged under a name.
    pub fn scores(&self, metric: &str) -> Vec<f64> {
        self.runs.iter().filter_map(|run| run.last(metric)).collect()
    }
}

fn experiment(run: &Run) -> BTreeMap<&str, &str> {
    let is_part = |name: &&String| !APART.contains(&name.as_str());
    run.settings.iter().filter(|(name, _)| is_part(name)).map(|(name, value)| (&name[..], &value[..])).collect()
}

/// Puts runs together that differ in their seeds alone. Runs in different environments are refused unless `any_task`.
pub fn group(runs: Vec<Run>, any_task: bool) -> Result<Vec<Group>, ReportError> {
    let tasks: BTreeSet<&str> = runs.iter().map(|run| run.env_id.as_str()).collect();
    if tasks.len() > 1 && !any_task {
        let tasks: Vec<&str> = tasks.into_iter().collect();
        return Err(ReportError::Misfit(format!(
            "these runs are of different tasks ({}), whose returns cannot be compared; give the runs of one, or add --any-task",
            tasks.join(", ")
        )));
    }
    let several = tasks.len() > 1;
    let mut found: Vec<Vec<Run>> = Vec::new();
    for run in runs {
        match found.iter_mut().find(|group| experiment(&group[0]) == experiment(&run)) {
            Some(group) => group.push(run),
            None => found.push(vec![run]),
        }
    }
    let labels: Vec<String> = found.iter().map(|group| label(&group[0], &found, several)).collect();
    let mut groups: Vec<Group> = Vec::new();
    for (label, runs) in labels.into_iter().zip(found) {
        let number = groups
            .iter()
            .filter(|group| group.label == label || group.label.starts_with(&format!("{label} #")))
            .count();
        let label = if number > 0 { format!("{label} #{}", number + 1) } else { label };
        groups.push(Group { label, runs });
    }
    Ok(groups)
}

/// The algorithm's name, and the settings in which it differs from its namesakes.
fn label(run: &Run, groups: &[Vec<Run>], several_tasks: bool) -> String {
    let own = experiment(run);
    let namesakes = groups.iter().map(|group| &group[0]).filter(|other| other.algo == run.algo);
    let mut differing = BTreeSet::new();
    for other in namesakes.map(experiment) {
        let names = own.keys().chain(other.keys());
        differing.extend(names.filter(|name| own.get(*name) != other.get(*name)).map(|name| name.to_string()));
    }
    differing.remove("env_id");
    let short = |name: &String| {
        let value = own.get(name.as_str()).copied().unwrap_or("-");
        format!("{}={value}", name.rsplit('.').next().unwrap_or(name))
    };
    let words: Vec<String> = differing.iter().take(MOST_WORDS).map(short).collect();
    let task = if several_tasks { format!(" on {}", run.env_id) } else { String::new() };
    if words.is_empty() { format!("{}{task}", run.algo) } else { format!("{}{task} ({})", run.algo, words.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::testing::run;

    #[test]
    fn seeds_come_together_and_settings_tell_namesakes_apart() {
        let gamma = |value: f64| format!("algo_kwargs:\n  gamma: {value}\n");
        let runs = vec![
            run("dqn", "A-v0", 1, &gamma(0.9), &[1.0]),
            run("ppo", "A-v0", 1, "", &[2.0]),
            run("dqn", "A-v0", 2, &gamma(0.9), &[3.0]),
            run("dqn", "A-v0", 1, &gamma(0.5), &[4.0]),
        ];
        let groups = group(runs, false).unwrap();
        let labels: Vec<_> = groups.iter().map(|group| (group.label.as_str(), group.runs.len())).collect();
        assert_eq!(labels, [("dqn (gamma=0.9)", 2), ("ppo", 1), ("dqn (gamma=0.5)", 1)]);
        assert_eq!(groups[0].scores(crate::SCORE), [1.0, 3.0]);
    }

    #[test]
    fn different_tasks_are_refused_unless_asked_for() {
        let runs = || vec![run("dqn", "A-v0", 1, "", &[1.0]), run("dqn", "B-v0", 1, "", &[1.0])];
        let refused = group(runs(), false).unwrap_err().to_string();
        assert!(refused.contains("A-v0, B-v0") && refused.contains("--any-task"), "{refused}");
        let labels: Vec<String> = group(runs(), true).unwrap().into_iter().map(|group| group.label).collect();
        assert_eq!(labels, ["dqn on A-v0", "dqn on B-v0"]);
    }
}
