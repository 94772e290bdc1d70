//! `metadata.json`: where a run came from, how far it is, and how good it got.

mod git;

use crate::{clock, files};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What is worth knowing of a run besides its configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    pub schema_version: u32,
    /// `axiomrl`, and whatever else takes part (a Python environment's packages, say).
    pub versions: BTreeMap<String, String>,
    /// The commit checked out where the run was started.
    pub git_commit: Option<String>,
    pub machine: Machine,
    /// The command line, word by word.
    pub command: Vec<String>,
    /// UTC, RFC 3339.
    pub created_at: String,
    /// The same in seconds since 1970: what `monitor.csv` counts from.
    pub created_at_unix: f64,
    /// The free words of the run file.
    #[serde(default)]
    pub tags: Vec<String>,
    pub progress: RunProgress,
    pub best: Option<Best>,
}

/// Where the run was started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    pub os: String,
    pub arch: String,
    pub cpu: Option<String>,
    /// Cores this process may use, which in a container can be fewer than there are.
    pub cores: usize,
}

/// How far a run is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunProgress {
    pub status: RunStatus,
    pub timesteps: u64,
    pub total_timesteps: u64,
    pub episodes: u64,
    /// Seconds of training, summed over resumes.
    pub elapsed_seconds: f64,
}

/// What became of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Under way, or killed: only a living process holds the lock.
    #[default]
    Running,
    Finished,
    /// Stopped on request, with a checkpoint.
    Interrupted,
    /// Ended by an error.
    Failed,
}

/// The best evaluation so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Best {
    pub step: u64,
    pub mean_reward: f64,
    pub std_reward: f64,
}

impl Metadata {
    /// Describes this process, this machine and the current folder. Never fails: what cannot be found out is left out.
    pub fn collect(total_timesteps: u64) -> Self {
        let now = SystemTime::now();
        Self {
            schema_version: 1,
            versions: [("axiomrl".to_owned(), env!("CARGO_PKG_VERSION").to_owned())].into(),
            git_commit: std::env::current_dir().ok().and_then(|dir| git::commit_of(&dir)),
            machine: Machine {
                os: std::env::consts::OS.to_owned(),
                arch: std::env::consts::ARCH.to_owned(),
                cpu: fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| cpu_model(&text)),
                cores: std::thread::available_parallelism().map_or(1, |cores| cores.get()),
            },
            // Not `args`, which panics on names that are not Unicode.
            command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
            created_at: clock::rfc3339(now),
            created_at_unix: clock::unix_seconds(now),
            tags: Vec::new(),
            progress: RunProgress { total_timesteps, ..RunProgress::default() },
            best: None,
        }
    }

    /// The same for a run that is known to have begun earlier, in seconds since 1970.
    #[must_use]
    pub fn created(mut self, at: Option<f64>) -> Self {
        let time = at.and_then(|at| Duration::try_from_secs_f64(at).ok()).and_then(|at| UNIX_EPOCH.checked_add(at));
        if let (Some(at), Some(time)) = (at, time) {
            (self.created_at, self.created_at_unix) = (clock::rfc3339(time), at);
        }
        self
    }

    /// Rewrites the file as a whole.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        files::write_atomic(path, &bytes)
    }

    pub fn read(path: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&fs::read(path)?)?)
    }
}

fn cpu_model(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survives_writing_and_reading() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("metadata.json");
        let mut metadata = Metadata::collect(1000);
        assert_eq!(metadata.progress.status, RunStatus::Running);
        metadata.write(&path).unwrap();
        metadata.progress.timesteps = 500;
        metadata.progress.status = RunStatus::Interrupted;
        metadata.best = Some(Best { step: 400, mean_reward: 1.0 / 3.0, std_reward: 0.0 });
        metadata.write(&path).unwrap();
        assert_eq!(Metadata::read(&path).unwrap(), metadata);
        assert!(fs::read_to_string(&path).unwrap().contains(r#""status": "interrupted""#));
    }

    #[test]
    fn describes_this_process() {
        let metadata = Metadata::collect(1);
        assert_eq!(metadata.versions["axiomrl"], env!("CARGO_PKG_VERSION"));
        assert!(metadata.machine.cores >= 1);
        assert!(metadata.command[0].contains("axiomrl"), "{:?}", metadata.command);
        assert!(metadata.created_at.starts_with("20") && metadata.created_at.ends_with('Z'));
    }

    #[test]
    fn the_cpu_is_the_first_model_name() {
        let text = "processor\t: 0\nmodel name\t: Fast: CPU @ 3 GHz\nprocessor\t: 1\nmodel name\t: Other\n";
        assert_eq!(cpu_model(text).as_deref(), Some("Fast: CPU @ 3 GHz"));
        assert_eq!(cpu_model("processor : 0"), None);
    }

    #[test]
    fn a_damaged_file_is_an_error_and_not_a_panic() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("metadata.json");
        fs::write(&path, "{").unwrap();
        assert!(Metadata::read(&path).is_err());
    }
}
