//! `benchmarks/parity.json`: one object for each run.

use super::work::Work;
use super::works::WORKS;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    Ours,
    Theirs,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub side: Side,
    pub work: String,
    pub seed: u64,
    /// Of the episodes after training, with raw rewards and the likeliest actions.
    pub mean_reward: f64,
    /// How long training took; ours with start-up and evaluation.
    pub seconds: f64,
    /// Steps in fact taken: theirs are whole rollouts.
    pub steps: u64,
}

impl Run {
    fn key(&self) -> (usize, Side, u64) {
        (WORKS.iter().position(|work| work.id == self.work).unwrap_or(usize::MAX), self.side, self.seed)
    }
}

/// The whole file.
pub struct Runs {
    path: PathBuf,
    runs: Vec<Run>,
}

impl Runs {
    /// What has been recorded so far; nothing if there is no such file yet.
    pub fn read(path: &Path) -> Result<Self> {
        let runs = match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .with_context(|| format!("{} is not a list of runs; mend or remove it", path.display()))?,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        Ok(Self { path: path.to_path_buf(), runs })
    }

    /// Adds a run, in place of an earlier one of the same work, side and seed, and writes the file.
    pub fn put(&mut self, mut run: Run) -> Result<()> {
        run.seconds = (run.seconds * 10.0).round() / 10.0;
        self.runs.retain(|other| (&other.work, other.side, other.seed) != (&run.work, run.side, run.seed));
        self.runs.push(run);
        self.runs.sort_by_key(Run::key);
        let text = serde_json::to_string_pretty(&self.runs)? + "\n";
        // All of it or nothing: whoever stops this at any moment keeps what there was.
        let beside = self.path.with_extension("json.new");
        fs::write(&beside, text)
            .and_then(|()| fs::rename(&beside, &self.path))
            .with_context(|| format!("cannot write {}", self.path.display()))
    }

    pub fn of(&self, work: &Work, side: Side) -> Vec<&Run> {
        self.runs.iter().filter(|run| run.work == work.id && run.side == side).collect()
    }

    pub fn has(&self, work: &Work, side: Side, seed: u64) -> bool {
        self.of(work, side).iter().any(|run| run.seed == seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_run_replaces_the_earlier_one_and_all_are_in_order() {
        let folder = Scratch::new("parity-runs").unwrap();
        let path = folder.path().join("parity.json");
        let mut runs = Runs::read(&path).unwrap();
        for (side, seed, mean_reward) in
            [(Side::Theirs, 1, 3.0), (Side::Ours, 2, 1.0), (Side::Ours, 1, 2.0), (Side::Ours, 2, 4.0)]
        {
            let run = Run { side, work: "sac_pendulum".into(), seed, mean_reward, seconds: 1.26, steps: 5 };
            runs.put(run).unwrap();
        }
        let again = Runs::read(&path).unwrap();
        let work = WORKS.iter().find(|work| work.id == "sac_pendulum").unwrap();
        let ours: Vec<(u64, f64)> = again.of(work, Side::Ours).iter().map(|run| (run.seed, run.mean_reward)).collect();
        assert_eq!(ours, [(1, 2.0), (2, 4.0)]);
        assert!(again.has(work, Side::Theirs, 1) && !again.has(work, Side::Theirs, 2));
        assert_eq!(again.of(work, Side::Theirs)[0].seconds, 1.3);
        fs::write(&path, "{").unwrap();
        assert!(Runs::read(&path).err().expect("broken").to_string().contains("mend or remove it"));
    }
}
