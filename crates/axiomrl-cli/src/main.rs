//! The binary `axiomrl`.

use axiomrl_run::catalogue::Catalogue;
use std::process::ExitCode;

fn main() -> ExitCode {
    axiomrl_cli::main_with(Catalogue::builtin())
}
