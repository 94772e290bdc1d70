//! `axiomrl resume`: goes on where a run stopped.

use crate::failure::Failure;
use crate::options::Running;
use crate::output::grouped;
use crate::{catalogue, pool, report, signals};
use axiomrl_run::train::{TrainOptions, Trainer};
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

/// Goes on with a run that was stopped, or makes a finished one longer
#[derive(Args)]
pub struct Resume {
    /// A run folder, or its last checkpoint
    #[arg(value_name = "RUN|CHECKPOINT")]
    path: PathBuf,
    /// Environment steps to train for in all, if not those of the run file
    #[arg(long, value_name = "STEPS")]
    total_timesteps: Option<u64>,
    #[command(flatten)]
    running: Running,
}

impl Resume {
    pub fn run(self) -> Result<(), Failure> {
        let stop = signals::stop_flag()?;
        if self.running.stop_on_eof {
            signals::stop_on_eof(&stop);
        }
        let options = TrainOptions { quiet: self.running.quiet, stop, ..TrainOptions::default() };
        let (config, outcome) = pool::run(self.running.threads, || {
            let mut trainer = Trainer::resume(catalogue(), &self.path, self.total_timesteps, options, Vec::new())?;
            let config = trainer.config().clone();
            let outcome = match trainer.already_finished()? {
                Some(outcome) => {
                    if !self.running.quiet {
                        // Nobody may be listening.
                        let _ = writeln!(std::io::stderr(), "{}", nothing_left(outcome.steps));
                    }
                    outcome
                }
                None => trainer.run()?,
            };
            Ok((config, outcome))
        })?;
        report::finished(&config, &outcome, self.running.json)
    }
}

fn nothing_left(steps: u64) -> String {
    format!("nothing is left to do: all {} steps are done; --total-timesteps makes the run longer", grouped(steps))
}
