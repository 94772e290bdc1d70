//! The folder of a run: its name, the files in it, and the lock that keeps a second process out.

mod lock;

pub use lock::RunLock;

use crate::clock;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Why a run folder cannot be made, opened or locked.
#[derive(Debug, thiserror::Error)]
pub enum RunDirError {
    #[error(
        "cannot create the run folder {}: {source}; choose a folder you may write to with `output_dir`",
        .path.display()
    )]
    Create { path: PathBuf, source: io::Error },

    #[error("cannot write into the run folder {}: {source}; choose another folder with `output_dir`", .path.display())]
    NotWritable { path: PathBuf, source: io::Error },

    #[error("{} is not empty; resume the run in it, or choose a new folder", .path.display())]
    NotEmpty { path: PathBuf },

    #[error("{} is not a run folder: {found}", .path.display())]
    NotARun { path: PathBuf, found: &'static str },

    #[error("run folder {} is in use by process {process}; wait for it, or stop it first", .path.display())]
    InUse { path: PathBuf, process: String },

    #[error("cannot lock {}: {source}", .path.display())]
    Lock { path: PathBuf, source: io::Error },
}

/// A run folder that exists.
#[derive(Clone, Debug, PartialEq)]
pub struct RunDir {
    path: PathBuf,
}

impl RunDir {
    /// Makes the folder of a new run: exactly `explicit` if given, otherwise
    /// `<output_dir>/<algo>__<env>__seed<k>__<UTC time>`, with `-2`, `-3` … behind if that name is taken.
    pub fn create(
        output_dir: &Path,
        algo: &str,
        env_id: &str,
        seed: u64,
        explicit: Option<&Path>,
    ) -> Result<Self, RunDirError> {
        let run = match explicit {
            Some(path) => Self::create_exactly(path)?,
            None => {
                let time = clock::compact(SystemTime::now());
                Self::create_named(output_dir, &format!("{}__{}__seed{seed}__{time}", tame(algo), tame(env_id)))?
            }
        };
        run.check_writable()?;
        Ok(run)
    }

    /// Opens the folder of a run that was started before.
    pub fn open(path: &Path) -> Result<Self, RunDirError> {
        let refuse = |found| Err(RunDirError::NotARun { path: path.to_path_buf(), found });
        let run = Self { path: path.to_path_buf() };
        if !path.exists() {
            refuse("there is nothing at that path")
        } else if !path.is_dir() {
            refuse("it is a file; give the folder it is in")
        } else if !run.config().is_file() && !run.metadata().is_file() {
            refuse("it has neither config.yaml nor metadata.json")
        } else {
            Ok(run)
        }
    }

    /// Keeps other processes out of this run until the guard is dropped or this process ends.
    pub fn lock(&self) -> Result<RunLock, RunDirError> {
        RunLock::take(&self.path)
    }

    fn create_exactly(path: &Path) -> Result<Self, RunDirError> {
        let create = |source| RunDirError::Create { path: path.to_path_buf(), source };
        fs::create_dir_all(path).map_err(create)?;
        match fs::read_dir(path).map_err(create)?.next() {
            None => Ok(Self { path: path.to_path_buf() }),
            Some(_) => Err(RunDirError::NotEmpty { path: path.to_path_buf() }),
        }
    }

    fn create_named(output_dir: &Path, name: &str) -> Result<Self, RunDirError> {
        let create = |path: &Path, source| RunDirError::Create { path: path.to_path_buf(), source };
        fs::create_dir_all(output_dir).map_err(|source| create(output_dir, source))?;
        for attempt in 1u32.. {
            let suffix = if attempt == 1 { String::new() } else { format!("-{attempt}") };
            let path = output_dir.join(format!("{name}{suffix}"));
            // Not `create_dir_all`: of two processes started in the same second only one may get the name.
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(create(&path, source)),
            }
        }
        Err(create(output_dir, io::ErrorKind::AlreadyExists.into()))
    }

    /// Finds out now rather than at the first checkpoint, which may be hours away.
    fn check_writable(&self) -> Result<(), RunDirError> {
        let probe = self.path.join(".write-test");
        fs::write(&probe, b"x")
            .and_then(|()| fs::remove_file(&probe))
            .map_err(|source| RunDirError::NotWritable { path: self.path.clone(), source })
    }
}

/// Where things are in a run folder.
impl RunDir {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The resolved configuration.
    pub fn config(&self) -> PathBuf {
        self.path.join("config.yaml")
    }

    pub fn metadata(&self) -> PathBuf {
        self.path.join("metadata.json")
    }

    pub fn progress_csv(&self) -> PathBuf {
        self.path.join("progress.csv")
    }

    pub fn metrics_jsonl(&self) -> PathBuf {
        self.path.join("metrics.jsonl")
    }

    pub fn monitor_csv(&self) -> PathBuf {
        self.path.join("monitor.csv")
    }

    pub fn evaluations_npz(&self) -> PathBuf {
        self.path.join("evaluations.npz")
    }

    pub fn tensorboard(&self) -> PathBuf {
        self.path.join("tensorboard")
    }

    pub fn checkpoints(&self) -> PathBuf {
        self.path.join("checkpoints")
    }

    /// The most recent checkpoint, with the replay store: what a resume starts from.
    pub fn last_checkpoint(&self) -> PathBuf {
        self.checkpoints().join("last")
    }

    /// The checkpoint with the best evaluation.
    pub fn best_checkpoint(&self) -> PathBuf {
        self.checkpoints().join("best")
    }

    pub fn step_checkpoint(&self, step: u64) -> PathBuf {
        self.checkpoints().join(format!("step_{step}"))
    }
}

/// A part of a folder name that every file system takes: `ALE/Pong-v5` becomes `ALE-Pong-v5`.
fn tame(name: &str) -> String {
    const LONGEST: usize = 80;
    let safe = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let tamed: String = name.trim_start_matches('.').chars().map(safe).take(LONGEST).collect();
    if tamed.is_empty() { "unnamed".to_owned() } else { tamed }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(output: &Path, explicit: Option<&Path>) -> Result<RunDir, RunDirError> {
        RunDir::create(output, "ppo", "ALE/Pong v5", 3, explicit)
    }

    #[test]
    fn names_say_what_the_run_is() {
        let root = tempfile::tempdir().unwrap();
        let run = create(&root.path().join("deep/runs"), None).unwrap();
        let name = run.path().file_name().unwrap().to_str().unwrap();
        let time = name.strip_prefix("ppo__ALE-Pong-v5__seed3__").expect(name);
        assert_eq!(time.len(), "20260131-235959".len());
        assert!(time.chars().all(|c| c.is_ascii_digit() || c == '-'), "{time}");
        assert_eq!(fs::read_dir(run.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_taken_name_gets_a_number() {
        let root = tempfile::tempdir().unwrap();
        let names: Vec<_> = (0..3).map(|_| RunDir::create_named(root.path(), "x").unwrap().path).collect();
        assert_eq!(names, ["x", "x-2", "x-3"].map(|name| root.path().join(name)));
    }

    #[test]
    fn tame_names_are_safe() {
        assert_eq!(tame("../../etc"), "-..-etc");
        assert_eq!(tame("CartPole-v1"), "CartPole-v1");
        assert_eq!(tame(".."), "unnamed");
        assert_eq!(tame(&"é".repeat(500)).len(), 80);
    }

    #[test]
    fn an_explicit_folder_is_used_exactly_and_only_when_empty() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("mine");
        assert_eq!(create(root.path(), Some(&path)).unwrap().path(), path);
        create(root.path(), Some(&path)).expect("still empty");
        fs::write(path.join("notes.txt"), "x").unwrap();
        let error = create(root.path(), Some(&path)).unwrap_err();
        assert!(matches!(error, RunDirError::NotEmpty { .. }));
        assert!(error.to_string().contains("resume the run in it"));
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_a_clear_error() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        fs::write(&file, "x").unwrap();
        for explicit in [None, Some(file.join("run"))] {
            let error = create(&file, explicit.as_deref()).unwrap_err();
            assert!(matches!(error, RunDirError::Create { .. }));
            assert!(error.to_string().contains("output_dir"), "{error}");
        }
    }

    #[test]
    fn opening_takes_only_run_folders() {
        let root = tempfile::tempdir().unwrap();
        let message = |path: &Path| RunDir::open(path).unwrap_err().to_string();
        assert!(message(&root.path().join("no")).contains("nothing at that path"));
        assert!(message(root.path()).contains("neither config.yaml nor metadata.json"));
        let config = root.path().join("config.yaml");
        fs::write(&config, "algo: ppo").unwrap();
        assert!(message(&config).contains("give the folder"));
        assert_eq!(RunDir::open(root.path()).unwrap().config(), config);
    }
}
