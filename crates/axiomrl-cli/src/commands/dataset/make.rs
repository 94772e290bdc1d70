//! `axiomrl dataset make`: the ready sets.

use super::target::{Root, Target};
use crate::failure::Failure;
use crate::output::{grouped, print, table};
use axiomrl_run::collect::ready::{self, Ready};
use clap::Args;

/// Makes small ready sets as Minari datasets: the same for everybody, in a few seconds, without a download
#[derive(Args)]
pub struct Make {
    /// Which set, or `all`; without a name they are listed
    #[arg(value_name = "ID|all")]
    name: Option<String>,
    #[command(flatten)]
    root: Root,
}

impl Make {
    pub fn run(self) -> Result<(), Failure> {
        match self.name.as_deref() {
            None => list(),
            Some("all") => self.all(),
            Some(id) => {
                let set = ready::find(id)?;
                print(&write(set, &Target::minari(set.id.to_owned(), &self.root)?)?)
            }
        }
    }

    /// Those that are not there yet.
    fn all(&self) -> Result<(), Failure> {
        let root = self.root.folder()?;
        for set in &ready::SETS {
            if root.join(set.id).exists() {
                print(&format!("{}: there already", root.join(set.id).display()))?;
                continue;
            }
            print(&write(set, &Target::minari(set.id.to_owned(), &self.root)?)?)?;
        }
        Ok(())
    }
}

fn list() -> Result<(), Failure> {
    let row = |set: &Ready| vec![set.id.to_owned(), set.env_id.to_owned(), set.summary.to_owned()];
    print(&table(&["id", "environment", "summary"], &ready::SETS.iter().map(row).collect::<Vec<_>>()))
}

fn write(set: &Ready, target: &Target) -> Result<String, Failure> {
    let recording = set.make()?;
    let path = target.write(&mut recording.reader())?;
    let (episodes, transitions) = (grouped(recording.episodes.len() as u64), grouped(recording.transitions()));
    Ok(format!("{}: {transitions} transitions in {episodes} episodes", path.display()))
}
