//! `axiomrl dataset convert`: from one format to another.

use super::EnvOption;
use super::target::{Root, Target};
use crate::failure::Failure;
use crate::output::print;
use clap::Args;
use std::path::PathBuf;

/// Writes a dataset in another format
#[derive(Args)]
pub struct Convert {
    /// A file (.npz, D4RL's .hdf5), a Minari folder or a Minari id
    from: PathBuf,
    /// A file that ends in .npz, or a Minari id as `namespace/name-v0`
    to: String,
    #[command(flatten)]
    env: EnvOption,
    #[command(flatten)]
    root: Root,
}

impl Convert {
    pub fn run(self) -> Result<(), Failure> {
        let mut reader = self.env.open(&self.from)?;
        let target = Target::guess(&self.to, &self.root)?;
        let path = target.write(reader.as_mut())?;
        let notes = reader.notes().into_iter().map(|note| format!("note: {note}\n"));
        print(&format!("{}written: {}", notes.collect::<String>(), path.display()))
    }
}
