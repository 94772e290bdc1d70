//! `metrics.jsonl`: one JSON object per log, for programs that follow a run.

use super::lines::Lines;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

#[derive(Serialize)]
struct Row<'a> {
    step: u64,
    /// By name, so that the same metrics always give the same bytes. JSON has no NaN or infinity: they become `null`.
    metrics: BTreeMap<&'a str, f64>,
}

/// All that cutting back needs to know of a row.
#[derive(Deserialize)]
struct Step {
    step: u64,
}

/// Lines of the form `{"step":1000,"metrics":{"rollout/ep_rew_mean":21.5}}`.
#[derive(Debug)]
pub struct MetricsJsonl {
    lines: Lines,
}

impl MetricsJsonl {
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { lines: Lines::open(path, "")? })
    }

    pub fn log(&mut self, step: u64, metrics: &[(String, f64)]) -> io::Result<()> {
        let metrics = metrics.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        self.lines.push(&serde_json::to_string(&Row { step, metrics })?)
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.lines.flush()
    }

    pub fn sync(&mut self) -> io::Result<()> {
        self.lines.sync()
    }

    /// Drops the rows past `step`.
    pub fn truncate_after(&mut self, step: u64) -> io::Result<()> {
        self.lines.rewrite(|line| {
            let row: Option<Step> = serde_json::from_str(line).ok();
            row.is_some_and(|row| row.step <= step).then(|| line.to_owned())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn rows_are_json_sorted_by_name_and_can_be_cut_back() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("metrics.jsonl");
        let mut log = MetricsJsonl::open(&path).unwrap();
        for step in [10, 20, 30] {
            log.log(step, &[("b".to_owned(), step as f64 / 4.0), ("a".to_owned(), f64::NAN)]).unwrap();
        }
        log.flush().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().next(), Some(r#"{"step":10,"metrics":{"a":null,"b":2.5}}"#));
        fs::write(&path, text + r#"{"step":40,"metr"#).unwrap();
        let mut log = MetricsJsonl::open(&path).unwrap();
        log.truncate_after(20).unwrap();
        log.log(21, &[]).unwrap();
        log.flush().unwrap();
        let steps: Vec<u64> = fs::read_to_string(&path)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str::<Step>(line).unwrap().step)
            .collect();
        assert_eq!(steps, [10, 20, 21]);
    }
}
