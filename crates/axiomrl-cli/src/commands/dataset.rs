//! `axiomrl dataset`: episodes to learn from, recorded, looked at, converted and mixed.

mod collect;
mod convert;
mod info;
mod make;
mod mix;
mod target;

use crate::catalogue;
use crate::failure::Failure;
use axiomrl_data::{EpisodeReader, OpenOptions};
use axiomrl_envs::Wrapping;
use clap::{Args, Subcommand};
use serde_json::Map;
use std::path::Path;

/// Records, describes, converts and mixes episodes to learn from
#[derive(Args)]
pub struct Dataset {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Collect(collect::Collect),
    Info(info::Info),
    Convert(convert::Convert),
    Mix(mix::Mix),
    Make(make::Make),
}

impl Dataset {
    pub fn run(self) -> Result<(), Failure> {
        match self.command {
            Command::Collect(command) => command.run(),
            Command::Info(command) => command.run(),
            Command::Convert(command) => command.run(),
            Command::Mix(command) => command.run(),
            Command::Make(command) => command.run(),
        }
    }
}

/// What a file does not say of its environment.
#[derive(Args)]
struct EnvOption {
    /// The environment that it was recorded in, for files that do not say (npz, D4RL): gives spaces and time limit
    #[arg(long, value_name = "ENV")]
    env: Option<String>,
}

impl EnvOption {
    /// Opens a file, a folder or a Minari id.
    fn open(&self, path: &Path) -> Result<Box<dyn EpisodeReader>, Failure> {
        let options = match &self.env {
            None => OpenOptions::default(),
            Some(name) => {
                let source = catalogue().source(name, &Map::new(), Wrapping::default())?;
                let max_episode_steps = catalogue().find_environment(name).and_then(|entry| entry.max_steps);
                OpenOptions { spaces: Some(source.spaces()?), max_episode_steps }
            }
        };
        Ok(axiomrl_data::open(path, &options)?)
    }
}

/// `what:share`; without a share it is 1.
fn with_share(text: &str) -> Result<(String, f64), String> {
    let Some((what, share)) = text.rsplit_once(':') else { return Ok((text.to_owned(), 1.0)) };
    if what.is_empty() {
        return Err("there is nothing before the colon; give what:share".to_owned());
    }
    match share.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok((what.to_owned(), number)),
        _ => Err(format!("`{share}` is no share; give a number above 0 after the colon, as in {what}:0.5")),
    }
}
