//! Running other programs from the root of the repository.

use crate::python;
use anyhow::{Context, Result};
use std::env;
use std::fmt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

/// A command that did not succeed; its exit code becomes ours.
#[derive(Debug)]
pub struct Failed {
    command: String,
    pub code: u8,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` failed with exit code {}", self.command, self.code)
    }
}

impl std::error::Error for Failed {}

/// The root of the repository: the folder above this package.
pub fn root() -> PathBuf {
    // The variable follows a repository that was moved after this program was built.
    let package = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    package.parent().map(PathBuf::from).unwrap_or(package)
}

/// The cargo that runs us, in the root of the repository.
pub fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    compile_once(&mut command);
    command
}

/// Where everything is compiled once and thrown away, nothing is kept for a next time, and a crate is one unit of code: both
/// would only cost.
pub fn compile_once(command: &mut Command) {
    if env::var_os("CI").is_some() {
        command.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_CODEGEN_UNITS", "1");
    }
}

/// Runs `cargo <args>` with its output shown. What it runs computes with one thread unless it asks for more: tests run beside
/// each other as it is.
pub fn run_cargo(args: &[&str]) -> Result<()> {
    let name = format!("cargo {}", args.join(" "));
    eprintln!("$ {name}");
    let mut command = cargo(args);
    command.env("RAYON_NUM_THREADS", "1").env(python::VARIABLE, python::executable());
    let status = command.status();
    succeeded(&name, status.with_context(|| format!("cannot start `{name}`"))?)
}

/// Turns an unsuccessful end into an error that carries the exit code.
pub fn succeeded(name: &str, status: ExitStatus) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    // A process ended by a signal has no code of its own.
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Err(Failed { command: name.to_owned(), code }.into())
}
