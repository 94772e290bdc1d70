//! A case run with one program.

use super::cases::Case;
use super::compare::{Record, Row};
use crate::binary::Binary;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;

/// Fixed observations that `predict` is asked about.
const OBSERVATIONS: usize = 32;
/// Episodes of the evaluation after the run.
const EPISODES: &str = "2";

/// What is different about the settings of the second program.
#[derive(Default)]
pub struct Changes {
    renamed: Vec<(String, String)>,
    added: Vec<String>,
}

impl Changes {
    pub fn new(renamed: &[String], added: &[String]) -> Result<Self> {
        let pair = |text: &String| {
            let (old, new) = text.split_once('=').with_context(|| format!("--rename {text}: expected OLD=NEW"))?;
            Ok((old.to_owned(), new.to_owned()))
        };
        Ok(Self { renamed: renamed.iter().map(pair).collect::<Result<_>>()?, added: added.to_vec() })
    }

    /// `--set` and its value for each of `settings`, as this program is to be told.
    pub fn arguments(&self, settings: &[&str]) -> Vec<String> {
        let named = |setting: &&str| {
            let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
            let key = self.renamed.iter().find(|(old, _)| old == key).map_or(key, |(_, new)| new);
            format!("{key}={value}")
        };
        let all = settings.iter().map(named).chain(self.added.iter().cloned());
        all.flat_map(|setting| ["--set".to_owned(), setting]).collect()
    }
}

/// Trains `case` in `folder`, asks the result, and removes it.
pub fn record(binary: &Binary, case: &Case, changes: &Changes, folder: &Path) -> Result<Record> {
    train(binary, case, changes, folder)?;
    let record = Record {
        metrics: metrics(folder)?,
        evaluation: evaluation(binary, folder)?,
        actions: if case.observation > 0 { actions(binary, folder, case.observation)? } else { Vec::new() },
    };
    // There are many cases, and memory holds them all.
    fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    Ok(record)
}

fn train(binary: &Binary, case: &Case, changes: &Changes, folder: &Path) -> Result<()> {
    let half = format!("eval_interval={}", case.steps / 2);
    let mut settings = vec!["log_interval=50", "eval_episodes=2", "keep_checkpoints=1", &half];
    settings.extend(case.groups.iter().copied().flatten());
    if case.stops_halfway {
        // Whatever the first evaluation says is enough to stop there.
        settings.push("early_stopping={target_reward: -1e9}");
    }
    let mut args = vec![case.config.to_owned(), "--total-timesteps".into(), case.steps.to_string()];
    args.extend(changes.arguments(&settings));
    args.extend(["--threads".into(), "1".into(), "--run-dir".into(), folder.display().to_string()]);
    let summary = binary.train(&args)?;
    if case.stops_halfway {
        ensure!(summary.steps < case.steps, "the run was to stop half-way, and went on to {}", summary.steps);
        let run = folder.display().to_string();
        binary.json(&["resume", &run, "--threads", "1", "--json", "--quiet"])?;
    }
    Ok(())
}

fn metrics(folder: &Path) -> Result<Vec<Row>> {
    let path = folder.join("metrics.jsonl");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let rows: Vec<Row> = text
        .lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("{} holds `{line}`", path.display())))
        .collect::<Result<_>>()?;
    // Nothing would be the same as nothing.
    ensure!(rows.iter().any(|row| row.metrics.keys().any(|name| name.starts_with("train/"))), "no update was logged");
    Ok(rows)
}

fn evaluation(binary: &Binary, folder: &Path) -> Result<Vec<Value>> {
    let run = folder.display().to_string();
    let said = binary.json(&["eval", &run, "--checkpoint", "last", "--episodes", EPISODES, "--json"])?;
    let list = |key: &str| said[key].as_array().cloned().with_context(|| format!("`eval --json` has no list `{key}`"));
    Ok([list("returns")?, list("lengths")?].concat())
}

fn actions(binary: &Binary, folder: &Path, width: usize) -> Result<Vec<Value>> {
    let input = folder.join("observations.txt");
    fs::write(&input, observations(width)).with_context(|| format!("cannot write {}", input.display()))?;
    let mut command = binary.command();
    command.arg("predict").arg(folder).args(["--checkpoint", "last", "--input"]).arg(&input);
    let output = command.stdin(Stdio::null()).output().context("cannot start `axiomrl predict`")?;
    if !output.status.success() {
        bail!("`axiomrl predict` ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let actions: Vec<Value> = said.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    ensure!(actions.len() == OBSERVATIONS, "`axiomrl predict` gave {} actions for {OBSERVATIONS}", actions.len());
    Ok(actions)
}

/// Numbers in [-1, 1] without a pattern that a policy could be blind to, one observation per line.
fn observations(width: usize) -> String {
    let number = |row: usize, column: usize| ((row * 31 + column * 17 + row * column * 7) % 201) as f64 / 100.0 - 1.0;
    let line = |row| (0..width).map(|column| format!("{:.2}", number(row, column))).collect::<Vec<_>>().join(",");
    (0..OBSERVATIONS).map(|row| line(row) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_renamed_for_the_second_program_and_added_last() {
        let changes = Changes::new(&["algo_kwargs.tau=algo_kwargs.polyak".into()], &["seed=7".into()]).unwrap();
        let told = changes.arguments(&["algo_kwargs.tau=0.5", "num_envs=3"]);
        assert_eq!(told, ["--set", "algo_kwargs.polyak=0.5", "--set", "num_envs=3", "--set", "seed=7"]);
        assert_eq!(Changes::default().arguments(&["a=b=c"]), ["--set", "a=b=c"]);
        assert!(Changes::new(&["tau".into()], &[]).is_err());
    }

    #[test]
    fn observations_are_many_and_different() {
        let text = observations(4);
        let mut lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().all(|line| line.split(',').count() == 4));
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), OBSERVATIONS);
    }
}
