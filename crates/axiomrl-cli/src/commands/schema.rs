//! `axiomrl schema`: what editors and other programs need to know of a run file.

use crate::failure::Failure;
use crate::output::print_pretty;
use clap::Args;

/// Prints the JSON Schema of an algorithm's run files
#[derive(Args)]
pub struct Schema {
    /// Name of an algorithm; `axiomrl algos` lists them
    algo: String,
}

impl Schema {
    pub fn run(self) -> Result<(), Failure> {
        print_pretty(&super::algorithm(&self.algo)?.schema())
    }
}
