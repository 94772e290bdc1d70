//! `benchmarks/learn.json`: one object for each run ever asked of this version.

use super::matrix::{MATRIX, Row};
use super::seeds;
use crate::binary::TrainSummary;
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    pub algo: String,
    pub env_id: String,
    pub config: String,
    pub seed: u64,
    pub steps: u64,
    pub eval_mean_reward: f64,
    pub eval_std_reward: f64,
    /// For tasks with goals: the part of the episodes that reached theirs, which is what the mark is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eval_success_rate: Option<f64>,
    pub mark: f64,
    /// Whether the mark was met. For a control it must be false.
    pub passed: bool,
    /// What was broken on purpose, if anything.
    pub control: Option<String>,
    pub steps_per_second: f64,
    /// Steps (or updates) at the first evaluation that met the mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps_to_mark: Option<u64>,
    /// How long the run took, evaluations included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

impl Record {
    pub fn new(row: &Row, summary: &TrainSummary) -> Result<Self> {
        ensure!(
            summary.env_id == row.env_id,
            "{} trains on {}, not on {}: put the matrix right",
            row.config,
            summary.env_id,
            row.env_id
        );
        let measured = summary.sampled.or(summary.eval_mean_reward.zip(summary.eval_std_reward));
        let (mean, std) = measured.context("the run ended without an evaluation")?;
        // What is learned from recorded data takes no steps: there the limit is one of updates.
        let length = if summary.steps == 0 { summary.updates } else { summary.steps };
        Ok(Self {
            algo: summary.algo.clone(),
            env_id: summary.env_id.clone(),
            config: row.config.to_owned(),
            seed: summary.seed,
            steps: length,
            eval_mean_reward: mean,
            eval_std_reward: std,
            eval_success_rate: summary.eval_success_rate,
            mark: row.mark,
            passed: summary.eval_success_rate.unwrap_or(mean) >= row.mark && length <= row.max_steps,
            control: row.control.map(|control| control.name.to_owned()),
            steps_per_second: summary.steps_per_second.round(),
            steps_to_mark: None,
            seconds: None,
        })
    }

    /// What the mark is about.
    pub fn measure(&self) -> f64 {
        self.eval_success_rate.unwrap_or(self.eval_mean_reward)
    }

    /// The last evaluation in words.
    pub fn score(&self) -> String {
        match self.eval_success_rate {
            Some(rate) => format!("{:.0} % reached", 100.0 * rate),
            None => format!("{:.1} ± {:.1}", self.eval_mean_reward, self.eval_std_reward),
        }
    }

    /// Two runs of the same thing have the same key.
    fn key(&self) -> (usize, String, Option<String>, u64) {
        let place = MATRIX.iter().position(|row| row.config == self.config).unwrap_or(usize::MAX);
        (place, self.config.clone(), self.control.clone(), self.seed)
    }
}

/// Of a run's log, the step of the first evaluation that met `mark`.
pub fn first_met(log: &str, mark: f64) -> Option<u64> {
    log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).find_map(|row| {
        let metrics = &row["metrics"];
        let success = metrics["eval/success_rate"].as_f64();
        let measure = success.or(metrics["eval/mean_reward"].as_f64())?;
        (measure >= mark).then(|| row["step"].as_u64())?
    })
}

/// The whole file.
pub struct Records {
    path: PathBuf,
    rows: Vec<Record>,
}

impl Records {
    /// What has been recorded so far; nothing if there is no such file yet.
    pub fn read(path: &Path) -> Result<Self> {
        let rows = match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .with_context(|| format!("{} is not a list of runs; mend or remove it", path.display()))?,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        Ok(Self { path: path.to_path_buf(), rows })
    }

    /// Adds a run, in place of an earlier one of the same config, control and seed, and writes the file.
    pub fn put(&mut self, record: Record) -> Result<()> {
        self.rows.retain(|row| row.key() != record.key());
        self.rows.push(record);
        self.rows.sort_by_key(Record::key);
        let text = serde_json::to_string_pretty(&self.rows)? + "\n";
        fs::create_dir_all(self.path.parent().unwrap_or(Path::new(".")))?;
        fs::write(&self.path, text).with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// The runs of one row that count: those with test seeds; where there are none, those that settings were tuned by.
    pub fn shown(&self, row: &Row) -> Vec<&Record> {
        let (tests, tuning): (Vec<_>, Vec<_>) = self.of(row).into_iter().partition(|run| seeds::is_test(run.seed));
        if tests.is_empty() { tuning } else { tests }
    }

    /// The runs of one row of the matrix, by seed.
    pub fn of(&self, row: &Row) -> Vec<&Record> {
        let control = row.control.map(|control| control.name);
        self.rows.iter().filter(|r| r.config == row.config && r.control.as_deref() == control).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(seed: u64, mean: f64, steps: u64) -> TrainSummary {
        TrainSummary {
            algo: "dqn".into(),
            env_id: "CartPole-v1".into(),
            seed,
            steps,
            updates: steps,
            sampled: None,
            steps_per_second: 1.4,
            eval_mean_reward: Some(mean),
            eval_std_reward: Some(0.0),
            eval_success_rate: None,
        }
    }

    #[test]
    fn a_mark_is_met_by_reaching_it_in_time() {
        let row = &MATRIX[0];
        let passed = |mean, steps| Record::new(row, &summary(1, mean, steps)).unwrap().passed;
        assert!(passed(475.0, 50_000));
        assert!(!passed(474.9, 50_000));
        assert!(!passed(500.0, 50_001));
    }

    #[test]
    fn the_first_evaluation_that_met_the_mark_is_found_in_the_log() {
        let log = "{\"step\":1,\"metrics\":{\"train/loss\":900}}\n{\"step\":2,\"metrics\":{\"eval/mean_reward\":474}}\n\
                   {\"step\":3,\"metrics\":{\"eval/mean_reward\":476}}\n{\"step\":4,\"metrics\":{\"eval/mean_reward\":500}}\n{\"st";
        assert_eq!(first_met(log, 475.0), Some(3));
        assert_eq!(first_met(log, 501.0), None);
        let goals = "{\"step\":7,\"metrics\":{\"eval/mean_reward\":5,\"eval/success_rate\":0.5}}";
        assert_eq!((first_met(goals, 0.6), first_met(goals, 0.5)), (None, Some(7)));
    }

    #[test]
    fn tuning_seeds_count_only_where_there_are_no_test_seeds() {
        let folder = crate::scratch::Scratch::new("shown").unwrap();
        let mut records = Records::read(&folder.path().join("learn.json")).unwrap();
        let put = |records: &mut Records, seed| {
            records.put(Record::new(&MATRIX[0], &summary(seed, 1.0, 1)).unwrap()).unwrap();
            records.shown(&MATRIX[0]).iter().map(|run| run.seed).collect::<Vec<_>>()
        };
        assert_eq!(put(&mut records, 1), [1]);
        assert_eq!(put(&mut records, 2), [1, 2]);
        assert_eq!(put(&mut records, 123_456), [123_456]);
    }

    #[test]
    fn a_run_replaces_the_earlier_one_and_only_that() {
        let folder = crate::scratch::Scratch::new("records").unwrap();
        let path = folder.path().join("learn.json");
        let control = MATRIX.iter().find(|row| row.control.is_some() && row.config == MATRIX[0].config).unwrap();
        let mut records = Records::read(&path).unwrap();
        for (row, seed, mean) in [(&MATRIX[0], 2, 1.0), (&MATRIX[0], 1, 2.0), (control, 1, 3.0), (&MATRIX[0], 1, 4.0)] {
            records.put(Record::new(row, &summary(seed, mean, 50_000)).unwrap()).unwrap();
        }
        let again = Records::read(&path).unwrap();
        let means = |row| again.of(row).iter().map(|r| r.eval_mean_reward).collect::<Vec<_>>();
        assert_eq!(means(&MATRIX[0]), [4.0, 1.0]);
        assert_eq!(means(control), [3.0]);
    }
}
