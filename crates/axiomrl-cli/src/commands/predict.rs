//! `axiomrl predict`: observations in, actions out, line by line.

mod actor;
mod layout;
mod rows;

use crate::failure::Failure;
use crate::options::PolicySource;
use crate::output::{checked, pairs, print, print_json};
use crate::{policy, pool};
use actor::Actor;
use clap::Args;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

/// Reads observations, one per line, and prints an action for each
///
/// A line is a JSON list, [0.1, 0.2], numbers separated by commas, or a JSON object
/// {"obs": [0.1, 0.2], "start": true, "mask": [1, 0]}, of which only obs is needed: start begins an episode, mask says
/// which choices are allowed (all, unless told otherwise; only policies trained with masks take one). Actions are printed
/// as JSON, in the environment's own units.
///
/// Observations are what the environment gives: not normalised, pixels as whole numbers from 0 to 255 (height, width,
/// channels). The parts of a goal observation follow each other as observation, achieved goal, desired goal, or are
/// named: {"obs": {"observation": [...], "achieved_goal": [...], "desired_goal": [...]}}. --layout shows all that for one
/// policy.
///
/// Rows are one episode until told otherwise: a policy with a memory (drqn, r2d2, recurrent_ppo) carries it from row to
/// row. --reset-each, --episode-starts and "start": true begin with an empty one. All other policies answer each row by
/// itself.
#[derive(Args)]
pub struct Predict {
    #[command(flatten)]
    source: PolicySource,
    /// Where observations are read from: a file, a pipe, or - for standard input [default: standard input]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Empties the policy's memory before every row: each is an episode of its own
    #[arg(long, conflicts_with = "episode_starts")]
    reset_each: bool,
    /// Rows that begin an episode, counted from 0 without empty lines; the first always does
    #[arg(long, value_name = "N,M", value_delimiter = ',')]
    episode_starts: Vec<u64>,
    /// Draws actions as in training instead of taking the best
    #[arg(long)]
    stochastic: bool,
    /// What drawn actions follow from [default: the seed of the run]
    #[arg(long)]
    seed: Option<u64>,
    /// Shows what a row holds and what is answered, and reads nothing
    #[arg(long, conflicts_with = "input")]
    layout: bool,
    /// With --layout: prints one JSON object
    #[arg(long, requires = "layout")]
    json: bool,
}

impl Predict {
    pub fn run(self) -> Result<(), Failure> {
        if self.layout {
            let actor = pool::run(None, || self.actor())?;
            return if self.json { print_json(&actor.json()) } else { print(&pairs(&actor.words())) };
        }
        let (name, input) = open(self.input.as_deref())?;
        pool::run(None, || self.answer(self.actor()?, &name, input))
    }

    fn actor(&self) -> Result<Actor, Failure> {
        let (policy, _) = policy::open(&self.source)?;
        let seed = self.seed.unwrap_or(policy.config.seed);
        Ok(Actor::new(policy, seed, !self.stochastic))
    }

    fn answer(&self, mut actor: Actor, name: &str, input: impl BufRead) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        let mut starts: BTreeSet<u64> = self.episode_starts.iter().copied().collect();
        let mut count = 0;
        for (index, line) in input.lines().enumerate() {
            let place =
                |failure: Failure| Failure::new(failure.code, format!("{name}:{}: {}", index + 1, failure.message));
            let line = line.map_err(|error| place(Failure::bad_input(error)))?;
            if line.trim().is_empty() {
                continue;
            }
            let row = rows::parse(&line, &actor.layout).map_err(|problem| place(Failure::bad_input(problem)))?;
            let start = starts.remove(&count) || row.start || self.reset_each || count == 0;
            let action = actor.act(row, start).map_err(place)?;
            // At once: whoever asks may be waiting for the answer before asking again.
            checked(writeln!(out, "{action}").and_then(|()| out.flush()))?;
            count += 1;
        }
        match starts.first() {
            Some(row) => Err(Failure::bad_input(format!(
                "--episode-starts names row {row}, and {name} has {count}; rows are counted from 0"
            ))),
            None => Ok(()),
        }
    }
}

type Input = Box<dyn BufRead + Send>;

/// The input and its name.
fn open(path: Option<&Path>) -> Result<(String, Input), Failure> {
    match path {
        Some(path) if path.as_os_str() != "-" => {
            let name = path.display().to_string();
            let file = File::open(path).map_err(|error| Failure::bad_input(format!("cannot read {name}: {error}")))?;
            Ok((name, Box::new(BufReader::new(file))))
        }
        _ => Ok(("standard input".to_owned(), Box::new(BufReader::new(io::stdin())))),
    }
}
