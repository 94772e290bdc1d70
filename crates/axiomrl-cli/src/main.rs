//! The binary `axiomrl`: one file per command, and the few things they share.

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

use clap::Parser;
use std::process::ExitCode;

/// Trains, evaluates, resumes and records reinforcement-learning agents.
#[derive(Parser)]
#[command(name = "axiomrl", version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "First steps: `axiomrl train ppo/cartpole`, then `axiomrl eval <run folder>`.\n\n\
    Exit codes: 0 done, 1 failure, 2 bad input, 3 bad checkpoint, 4 diverged, 130 interrupted (saved).")]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    match Cli::parse().command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
