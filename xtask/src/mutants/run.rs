//! Building the copy's tests once, and running parts of them.

use super::Target;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::env;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A group of tests.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tests {
    pub package: &'static str,
    pub target: Target,
    pub filter: &'static str,
}

#[derive(Debug, PartialEq)]
pub enum Outcome {
    /// How many tests there were.
    Passed(usize),
    /// What failed, in the order of the alphabet.
    Failed(Vec<String>),
    /// It did not end in time.
    Hangs,
    /// It ended in the middle.
    Died,
}

impl Outcome {
    pub fn caught(&self) -> bool {
        !matches!(self, Self::Passed(_))
    }
}

/// The programs of the tests, and the folders they expect to run in.
pub struct Binaries(BTreeMap<(String, Target), (PathBuf, PathBuf)>);

impl Binaries {
    pub fn build(folder: &Path, tests: &[Tests]) -> Result<Self> {
        let mut args = vec!["test", "--no-run", "--message-format", "json-render-diagnostics"];
        let (mut packages, mut targets): (Vec<_>, Vec<_>) = tests.iter().map(|t| (t.package, t.target)).unzip();
        packages.sort_unstable();
        packages.dedup();
        targets.sort_unstable();
        targets.dedup();
        packages.iter().for_each(|package| args.extend(["--package", *package]));
        for target in targets {
            match target {
                Target::Lib => args.push("--lib"),
                Target::Test(name) => args.extend(["--test", name]),
            }
        }
        eprintln!("$ cargo {}", args.join(" "));
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        // The variable of this package would lead programs in the copy back to us.
        command.args(args).current_dir(folder).env_remove("CARGO_MANIFEST_DIR");
        command.env("CARGO_TARGET_DIR", folder.join("target")).stderr(Stdio::inherit());
        let built = command.output().context("cannot run cargo")?;
        ensure!(built.status.success(), "the copy with all errors in it, {}, cannot be built", folder.display());
        Ok(Self(String::from_utf8_lossy(&built.stdout).lines().filter_map(program).collect()))
    }

    /// Runs the tests with an error switched on, for so long at most.
    pub fn run(&self, tests: &Tests, mutant: Option<&str>, limit: Duration) -> Result<(Outcome, Duration)> {
        let Tests { package, target, filter } = tests;
        let found = self.0.get(&((*package).to_owned(), *target));
        let (program, folder) = found.with_context(|| format!("{package} has no tests in {target:?}"))?;
        let mut command = Command::new(program);
        command.args(filter.split_whitespace()).args(["--test-threads", "1"]).current_dir(folder);
        command.env("RAYON_NUM_THREADS", "1").env("CARGO_MANIFEST_DIR", folder).env_remove("AXIOMRL_MUTANT");
        if let Some(mutant) = mutant {
            command.env("AXIOMRL_MUTANT", mutant);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let begun = Instant::now();
        let mut child = command.spawn().with_context(|| format!("cannot run {}", program.display()))?;
        let mut pipe = child.stdout.take().context("no output")?;
        let reader = thread::spawn(move || {
            let mut said = Vec::new();
            let _ = pipe.read_to_end(&mut said);
            String::from_utf8_lossy(&said).into_owned()
        });
        let status = ended_within(&mut child, limit)?;
        let said = reader.join().unwrap_or_default();
        Ok((judged(status, &said), begun.elapsed()))
    }
}

/// Whose tests a message of cargo is about, their program and its folder.
fn program(line: &str) -> Option<((String, Target), (PathBuf, PathBuf))> {
    let message: Value = serde_json::from_str(line).ok()?;
    let executable = message["executable"].as_str().filter(|_| message["profile"]["test"] == true)?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let target = match message["target"]["kind"][0].as_str()? {
        "lib" => Target::Lib,
        // Names live as long as the tables do, and this program does.
        "test" => Target::Test(message["target"]["name"].as_str()?.to_owned().leak()),
        _ => return None,
    };
    Some(((folder.file_name()?.to_str()?.to_owned(), target), (executable.into(), folder.to_owned())))
}

/// How it ended; nothing where it had to be stopped.
fn ended_within(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begun.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn judged(status: Option<ExitStatus>, said: &str) -> Outcome {
    let Some(status) = status else { return Outcome::Hangs };
    let lines = || said.lines().filter_map(|line| line.strip_prefix("test "));
    let mut failed: Vec<String> =
        lines().filter_map(|line| line.strip_suffix(" ... FAILED")).map(str::to_owned).collect();
    failed.sort();
    if !failed.is_empty() {
        Outcome::Failed(failed)
    } else if status.success() {
        Outcome::Passed(lines().filter(|line| line.ends_with(" ... ok")).count())
    } else {
        Outcome::Died
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(code: &str) -> Option<ExitStatus> {
        Command::new("sh").args(["-c", &format!("exit {code}")]).status().ok()
    }

    #[test]
    fn what_a_run_of_tests_says_is_read() {
        let said = "running 2 tests\ntest b::two ... FAILED\ntest a::one ... FAILED\ntest c ... ok\n\nfailures:\n";
        assert_eq!(judged(ended("101"), said), Outcome::Failed(vec!["a::one".into(), "b::two".into()]));
        assert_eq!(judged(ended("0"), "test a ... ok\ntest b ... ignored\n"), Outcome::Passed(1));
        assert_eq!(judged(ended("134"), "test a ... "), Outcome::Died);
        assert_eq!(judged(None, ""), Outcome::Hangs);
    }

    #[test]
    fn programs_of_tests_are_found_in_what_cargo_says() {
        let of = |kind: &str, test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/x/crates/a/Cargo.toml","executable":"/x/a-1","target":{{"kind":["{kind}"],"name":"suite"}},"profile":{{"test":{test}}}}}"#
            )
        };
        let paths = (PathBuf::from("/x/a-1"), PathBuf::from("/x/crates/a"));
        assert_eq!(program(&of("lib", true)), Some((("a".into(), Target::Lib), paths.clone())));
        assert_eq!(program(&of("test", true)), Some((("a".into(), Target::Test("suite")), paths)));
        assert_eq!(program(&of("bin", false)), None);
        assert_eq!(program("warning: unused"), None);
    }
}
