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

use axiomrl_gymnasium::{GymResolver, PYTHON_VARIABLE};
use axiomrl_run::catalogue::Catalogue;
use clap::Parser;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
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
/// The words that start this program again, where it is not its own executable.
static RESTART: OnceLock<Vec<OsString>> = OnceLock::new();

/// What this binary knows by name.
fn catalogue() -> &'static Catalogue {
    CATALOGUE.get_or_init(Catalogue::builtin)
}

/// The Python that the user named, or that this program runs in.
fn python() -> Option<&'static Path> {
    PYTHON.get().map(PathBuf::as_path)
}

/// This program, to be run in a process of its own.
fn restart() -> std::io::Result<Command> {
    let mut words = RESTART.get().into_iter().flatten();
    match words.next() {
        Some(program) => {
            let mut command = Command::new(program);
            command.args(words);
            Ok(command)
        }
        None => Ok(Command::new(std::env::current_exe()?)),
    }
}

/// The whole program, for a `main` that adds rows of its own to the built-in ones.
pub fn main_with(catalogue: Catalogue) -> ExitCode {
    ExitCode::from(run(catalogue, Cli::parse()))
}

/// The whole program within a Python: `words` are what a shell would call it with, its name first, and `restart` those that
/// start it in a process of its own, that Python first. Gives the exit code.
pub fn run_within(catalogue: Catalogue, words: Vec<OsString>, restart: Vec<OsString>) -> u8 {
    // A Python that can run this has what its environments need, unless another one was named.
    let own = restart.first().map(PathBuf::from).filter(|_| std::env::var_os(PYTHON_VARIABLE).is_none());
    let _ = RESTART.set(restart);
    match Cli::try_parse_from(words) {
        Ok(cli) => run(catalogue, Cli { python: cli.python.or(own), ..cli }),
        Err(error) => {
            // Nobody may be listening.
            let _ = error.print();
            u8::try_from(error.exit_code()).unwrap_or(failure::BAD_INPUT)
        }
    }
}

fn run(mut catalogue: Catalogue, Cli { command, python }: Cli) -> u8 {
    let known = catalogue.all_environments().iter().map(|entry| entry.name.clone()).collect();
    catalogue.resolver(GymResolver::new(python.clone(), known));
    // Called twice, the first catalogue and the first Python stay.
    let _ = CATALOGUE.set(catalogue);
    let _ = python.map(|python| PYTHON.set(python));
    match command.run() {
        Ok(()) => 0,
        Err(failure) => failure.report(),
    }
}
