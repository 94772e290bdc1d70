//! `axiomrl dataset mix`: several into one.

use super::target::{Choice, Root, Target};
use super::{EnvOption, with_share};
use crate::failure::Failure;
use crate::output::{grouped, print};
use axiomrl_data::{MixOptions, Share, mix};
use clap::Args;
use std::num::NonZeroU64;
use std::path::Path;

/// Draws whole episodes from several datasets, by share
#[derive(Args)]
pub struct Mix {
    /// A file, a Minari folder or a Minari id, and its share of the transitions (1 if none is given)
    #[arg(value_name = "DATASET:SHARE", required = true, value_parser = with_share)]
    from: Vec<(String, f64)>,
    /// Transitions to draw; as episodes stay whole, a few more
    #[arg(long, value_name = "N")]
    size: NonZeroU64,
    /// Which episodes are drawn follows from it
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Lets a dataset that is too small for its share give its episodes again
    #[arg(long)]
    repeats: bool,
    #[command(flatten)]
    target: Choice,
    #[command(flatten)]
    root: Root,
    #[command(flatten)]
    env: EnvOption,
}

impl Mix {
    pub fn run(self) -> Result<(), Failure> {
        let mut shares = Vec::new();
        for (path, weight) in &self.from {
            shares.push(Share { reader: self.env.open(Path::new(path))?, weight: *weight });
        }
        let target = Target::of(self.target, &self.root)?;
        let options = MixOptions { size: self.size.get(), seed: self.seed, repeats: self.repeats };
        let mixed = mix(shares, &options)?;
        let path = target.write(&mut mixed.reader())?;
        let (episodes, transitions) = (grouped(mixed.episodes.len() as u64), grouped(mixed.transitions()));
        print(&format!("{}: {transitions} transitions in {episodes} episodes", path.display()))
    }
}
