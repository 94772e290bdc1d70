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
mod report;
mod seeds;
mod settings;
mod signals;

use axiomrl_run::catalogue::Catalogue;
use clap::Parser;
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
}

static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();

/// What this binary knows by name.
fn catalogue() -> &'static Catalogue {
    CATALOGUE.get_or_init(Catalogue::builtin)
}

/// The whole program, for a `main` that adds rows of its own to the built-in ones.
pub fn main_with(catalogue: Catalogue) -> ExitCode {
    // Called twice, the first catalogue stays.
    let _ = CATALOGUE.set(catalogue);
    match Cli::parse().command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
