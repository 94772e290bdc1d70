//! The commands, one file each.

mod algos;
mod check_env;
mod compare;
mod completions;
mod config;
mod configs;
mod dataset;
mod doctor;
mod envs;
mod eval;
mod explain;
mod export;
mod plot;
mod predict;
mod record;
mod report;
mod resume;
mod schema;
mod train;

use crate::failure::Failure;
use clap::Subcommand;

#[derive(Subcommand)]
pub enum Command {
    Train(train::Train),
    Resume(resume::Resume),
    Eval(eval::Eval),
    Predict(predict::Predict),
    Export(export::Export),
    Record(record::Record),
    Plot(plot::Plot),
    Compare(compare::Compare),
    Report(report::Report),
    Dataset(dataset::Dataset),
    Config(config::Config),
    Configs(configs::Configs),
    Algos(algos::Algos),
    Envs(envs::Envs),
    CheckEnv(check_env::CheckEnv),
    Explain(explain::Explain),
    Schema(schema::Schema),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
}

impl Command {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::Train(command) => command.run(),
            Command::Resume(command) => command.run(),
            Command::Eval(command) => command.run(),
            Command::Predict(command) => command.run(),
            Command::Export(command) => command.run(),
            Command::Record(command) => command.run(),
            Command::Plot(command) => command.run(),
            Command::Compare(command) => command.run(),
            Command::Report(command) => command.run(),
            Command::Dataset(command) => command.run(),
            Command::Config(command) => command.run(),
            Command::Configs(command) => command.run(),
            Command::Algos(command) => command.run(),
            Command::Envs(command) => command.run(),
            Command::CheckEnv(command) => command.run(),
            Command::Explain(command) => command.run(),
            Command::Schema(command) => command.run(),
            Command::Doctor(command) => command.run(),
            Command::Completions(command) => command.run(),
        }
    }
}

/// The algorithm called `name`; the error names the nearest one.
pub(crate) fn algorithm(name: &str) -> Result<&'static axiomrl_algos::AlgoEntry, Failure> {
    let catalogue = crate::catalogue();
    catalogue.find_algorithm(name).map(|entry| entry.as_ref()).ok_or_else(|| {
        let hint = axiomrl_envs::names::suggestion(name, &catalogue.algorithm_names());
        Failure::bad_input(format!("unknown algorithm `{name}`{hint}; `axiomrl algos` lists them"))
    })
}
