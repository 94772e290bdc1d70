//! The chores of the project: `cargo xtask <test|lint|same|learn|parity|bench|docs|toy|mutants|browser>`, one file per command.

mod bench;
mod binary;
mod browser;
mod copy;
mod docs;
mod learn;
mod mutants;
mod parity;
mod python;
mod queue;
mod same;
mod scratch;
mod shell;
mod test;
mod toy;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Tests, learning runs, benchmarks and generated documentation
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Format, clippy, all tests, doc tests, the wheel and its tests: what must pass before a change goes in
    Test,
    /// Format and clippy alone
    Lint,
    Same(same::Same),
    Learn(learn::Learn),
    Parity(parity::Parity),
    Bench(bench::Bench),
    Docs(docs::Docs),
    /// Adds a toy algorithm to a copy of the repository as CONTRIBUTING.md says, and tests and trains it there
    Toy,
    Mutants(mutants::Mutants),
    Browser(browser::Browser),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Test => test::test(),
        Command::Lint => test::lint(),
        Command::Same(command) => command.run(),
        Command::Learn(command) => command.run(),
        Command::Parity(command) => command.run(),
        Command::Bench(command) => command.run(),
        Command::Docs(command) => command.run(),
        Command::Toy => toy::toy(),
        Command::Mutants(command) => command.run(),
        Command::Browser(command) => command.run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            error.downcast_ref::<shell::Failed>().map_or(ExitCode::FAILURE, |failed| ExitCode::from(failed.code))
        }
    }
}
