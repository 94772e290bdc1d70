//! Running the binary as a user would, in a folder of its own.

// Every test file uses some of these, none uses all.
#![allow(dead_code)]

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A folder to work in; it goes away at the end of the test.
pub struct Workshop {
    root: TempDir,
}

/// What a command left behind.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Workshop {
    pub fn new() -> Self {
        Self { root: TempDir::new().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Writes a file and gives its name, relative to the folder commands run in.
    pub fn write<'a>(&self, name: &'a str, text: &str) -> &'a str {
        fs::write(self.path(name), text).unwrap();
        name
    }

    /// Everything in the folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.root.path()).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_axiomrl"));
        command.args(args).current_dir(self.root.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// As [`Workshop::run`], below a limit that the shell sets (`ulimit -v 1000000`).
    pub fn run_limited(&self, limit: &str, args: &[&str]) -> Ended {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{limit}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_axiomrl")]).args(args);
        command.current_dir(self.root.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ended::of(command.spawn().unwrap())
    }

    pub fn run(&self, args: &[&str]) -> Ended {
        Ended::of(self.start(args))
    }

    pub fn start(&self, args: &[&str]) -> Child {
        self.command(args).spawn().unwrap()
    }

    /// Runs a command with this on its standard input.
    pub fn feed(&self, args: &[&str], input: &str) -> Ended {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let written = pipe.write_all(input.as_bytes());
        drop(pipe);
        let ended = Ended::of(child);
        // A command that refuses its input need not read all of it.
        assert!(written.is_ok() || ended.code != 0, "{ended:?}");
        ended
    }

    /// Trains in the folder `run`.
    pub fn trained(text: &str) -> Self {
        let shop = Self::new();
        shop.write("run.yaml", text);
        shop.succeed(&["train", "run.yaml", "--run-dir", "run", "--quiet"]);
        shop
    }

    /// Runs a command that must succeed.
    pub fn succeed(&self, args: &[&str]) -> Ended {
        let ended = self.run(args);
        assert_eq!(ended.code, 0, "{args:?}: {ended:?}");
        ended
    }

    /// Runs a command that must fail with this code, and whose complaint must contain all of these words.
    pub fn refused(&self, args: &[&str], code: i32, words: &[&str]) {
        let ended = self.run(args);
        assert_eq!(ended.code, code, "{args:?}: {ended:?}");
        assert_eq!(ended.stderr.matches("error: ").count(), 1, "told once: {ended:?}");
        for word in words {
            assert!(ended.stderr.contains(word), "{args:?} should mention {word:?}: {}", ended.stderr);
        }
        assert!(!ended.stderr.contains("panicked") && !ended.stderr.contains("backtrace"), "{}", ended.stderr);
    }
}

impl Ended {
    pub fn of(child: Child) -> Self {
        let output = child.wait_with_output().unwrap();
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The only line of standard output, which must be JSON.
    pub fn json_line(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "{self:?}");
        self.json()
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }
}

/// Sends a signal by name, e.g. `INT`.
pub fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Waits until `ready`, at most half a minute. False when the child ends first.
pub fn wait_until(child: &mut Child, ready: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while !ready() {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "nothing happened");
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

/// The files that make up what has been learned, byte for byte: tensors, stores and environments.
pub fn learned(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(run.join("checkpoints/last")).unwrap().map(|entry| entry.unwrap());
    let named = files.map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap()));
    // The manifest tells the time.
    named.filter(|(name, _)| !name.starts_with("manifest.")).collect()
}

/// Asserts that two runs learned the same, without printing megabytes when they did not.
pub fn assert_same(what: &str, run: &Path, reference: &Path) {
    let (found, expected) = (learned(run), learned(reference));
    assert!(found.keys().eq(expected.keys()), "{what}: {:?}, not {:?}", found.keys(), expected.keys());
    for (name, found) in found {
        assert!(found == expected[&name], "{what}: {name} differs");
    }
    assert_eq!(logged(run), logged(reference), "{what}: the logs differ");
}

/// The metrics of a run without those that tell the time.
pub fn logged(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let timeless = |line: &str| {
        let mut row: Value = serde_json::from_str(line).unwrap();
        row["metrics"].as_object_mut().unwrap().retain(|key, _| !key.starts_with("time/"));
        row.as_object_mut().unwrap().remove("wall_time");
        row
    };
    text.lines().map(timeless).collect()
}
