//! The command line: one file per command, and the few things they share.
//!
//! [`main_with`] makes a binary of it that knows a user's own algorithms and environments, too.

mod commands;
mod failure;
mod gif_file;
mod options;
mod output;
mod policy;
mod pool;
mod quick;
mod report;
mod seeds;
mod settings;
mod signals;

use axiomrl_gymnasium::GymResolver;
use axiomrl_run::catalogue::Catalogue;
use clap::Parser;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;

/// Trains, evaluates, resumes and records reinforcement-learning agents.
#[derive(Parser)]
#[command(name = "axiomrl", version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "First steps: `axiomrl train ppo/cartpole`, then `axiomrl eval <run folder>`.\n\n\
    Exit codes: 0 done, 1 failure, 2 bad input, 3 bad checkpoint, 4 diverged, 130 interrupted (saved).")]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
    /// The Python with gymnasium, for environments that are not built in [default: AXIOMRL_PYTHON, then python3]
    #[arg(long, value_name = "PATH", global = true)]
    python: Option<PathBuf>,
}

static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
static PYTHON: OnceLock<PathBuf> = OnceLock::new();

/// What this binary knows by name.
fn catalogue() -> &'static Catalogue {
    CATALOGUE.get_or_init(Catalogue::builtin)
}

/// The Python that the user named.
fn python() -> Option<&'static Path> {
    PYTHON.get().map(PathBuf::as_path)
}

/// The whole program, for a `main` that adds rows of its own to the built-in ones.
pub fn main_with(mut catalogue: Catalogue) -> ExitCode {
    let Cli { command, python } = Cli::parse();
    let known = catalogue.all_environments().iter().map(|entry| entry.name.clone()).collect();
    catalogue.resolver(GymResolver::new(python.clone(), known));
    // Called twice, the first catalogue and the first Python stay.
    let _ = CATALOGUE.set(catalogue);
    let _ = python.map(|python| PYTHON.set(python));
    match command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
