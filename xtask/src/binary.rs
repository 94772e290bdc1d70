//! The program under test: the release build of `axiomrl`, run as a user would run it.

use crate::scratch::Scratch;
use crate::shell::{cargo, root, succeeded};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub struct Binary {
    path: PathBuf,
    /// Holds `path`.
    _folder: Scratch,
}

/// What `train --json` says at the end; only what is used here.
#[derive(Clone, Debug, Deserialize)]
pub struct TrainSummary {
    pub algo: String,
    pub env_id: String,
    pub seed: u64,
    pub steps: u64,
    pub updates: u64,
    pub steps_per_second: f64,
    pub eval_mean_reward: Option<f64>,
    pub eval_std_reward: Option<f64>,
    pub eval_success_rate: Option<f64>,
    /// Mean and deviation of episodes with sampled actions, where they were asked for.
    #[serde(skip)]
    pub sampled: Option<(f64, f64)>,
}

impl Binary {
    /// Builds it and takes a copy: whoever builds again meanwhile must not change what is being measured.
    pub fn build() -> Result<Self> {
        Self::copy_of(&build_executable(&["--package", "axiomrl-cli"], "axiomrl")?, "binary")
    }

    /// A copy of a program that was built before; `purpose` tells several such copies apart.
    pub fn copy_of(program: &Path, purpose: &str) -> Result<Self> {
        let folder = Scratch::on_disk(purpose)?;
        let path = folder.path().join(program.file_name().unwrap_or_default());
        fs::copy(program, &path).with_context(|| format!("cannot copy {}", program.display()))?;
        Ok(Self { path, _folder: folder })
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        // Ready-made data is made here, and found here.
        command.env("MINARI_DATASETS_PATH", datasets());
        command
    }

    /// Makes the data that packaged configs name, where it is not there yet.
    pub fn make_datasets(&self) -> Result<()> {
        let folder = datasets();
        if folder.join("made").exists() {
            return Ok(());
        }
        let status = self.command().args(["dataset", "make", "all"]).status().context("cannot start the program")?;
        succeeded("axiomrl dataset make all", status)?;
        fs::write(folder.join("made"), "").with_context(|| format!("cannot write below {}", folder.display()))
    }

    /// Writes one of the ready sets as a file of numpy arrays.
    pub fn write_ready_set(&self, id: &str, to: &Path) -> Result<()> {
        if !datasets().join(id).exists() {
            self.quietly(&[OsStr::new("dataset"), OsStr::new("make"), OsStr::new(id)])?;
        }
        self.quietly(&[OsStr::new("dataset"), OsStr::new("convert"), OsStr::new(id), to.as_os_str()]).map(drop)
    }

    /// Runs a command that ends with one JSON document on standard output.
    pub fn json<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Value> {
        serde_json::from_slice(&self.quietly(args)?).context("`axiomrl` printed something that is not JSON")
    }

    /// Runs a command and gives what it printed; what went wrong is in the error.
    fn quietly<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>> {
        let output = self.command().args(args).stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("cannot start {}", self.path.display()))?;
        if !output.status.success() {
            let words: Vec<_> = args.iter().map(|arg| arg.as_ref().to_string_lossy()).collect();
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("`axiomrl {}` ended with {}: {}", words.join(" "), output.status, said.trim());
        }
        Ok(output.stdout)
    }

    /// `axiomrl train <args> --json --quiet`.
    pub fn train(&self, args: &[String]) -> Result<TrainSummary> {
        let fixed = ["--json", "--quiet"].map(str::to_owned);
        let all: Vec<String> = ["train".to_owned()].into_iter().chain(args.iter().cloned()).chain(fixed).collect();
        serde_json::from_value(self.json(&all)?).context("`train --json` lacks a field that is needed here")
    }
}

/// Where ready-made data lies: in the target folder, for it can always be made again.
fn datasets() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from).join("datasets")
}

/// Builds with `cargo build --release <args>` and finds the program called `name`.
pub fn build_executable(args: &[&str], name: &str) -> Result<PathBuf> {
    build(args, name, |_| {})
}

/// The same for this very processor, in a target folder of its own: everything below it is built again.
pub fn build_native_executable(args: &[&str], name: &str) -> Result<PathBuf> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from).join("native");
    build(args, name, |command| {
        command.env("RUSTFLAGS", "-C target-cpu=native").env("CARGO_TARGET_DIR", &target);
    })
}

fn build(args: &[&str], name: &str, prepare: impl FnOnce(&mut Command)) -> Result<PathBuf> {
    let shown = format!("cargo build --release {}", args.join(" "));
    eprintln!("$ {shown}");
    let all = [&["build", "--release", "--message-format", "json-render-diagnostics"], args].concat();
    let mut command = cargo(&all);
    prepare(&mut command);
    let output = command.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    succeeded(&shown, output.status)?;
    // Only cargo knows where the target folder is.
    let built = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == name)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from));
    built.with_context(|| format!("`{shown}` built no `{name}`"))
}
