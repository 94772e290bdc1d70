//! `axiomrl completions`: for the shell.

use crate::Cli;
use crate::failure::Failure;
use crate::output::print;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

/// Prints a completion script, e.g. for bash: source <(axiomrl completions bash)
#[derive(Args)]
pub struct Completions {
    shell: Shell,
}

impl Completions {
    pub fn run(self) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "axiomrl", &mut script);
        print(&String::from_utf8_lossy(&script))
    }
}
