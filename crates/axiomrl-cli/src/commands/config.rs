//! `axiomrl config`: a run file as the program understands it.

use crate::catalogue;
use crate::failure::Failure;
use crate::options::Overrides;
use crate::output::{print, print_pretty};
use axiomrl_run::{configs, yaml};
use clap::{Args, ValueEnum};

/// Shows a run file with every default filled in, or what training would refuse of it
#[derive(Args)]
pub struct Config {
    /// A packaged config or the path of a run file
    #[arg(value_name = "CONFIG")]
    source: String,
    #[command(flatten)]
    overrides: Overrides,
    #[arg(long, value_enum, default_value_t = Format::Yaml)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Yaml,
    Json,
}

impl Config {
    pub fn run(self) -> Result<(), Failure> {
        let config = configs::read(catalogue(), &self.source, &self.overrides.assignments())?.config;
        let value = serde_json::to_value(&config).map_err(Failure::other)?;
        match self.format {
            Format::Yaml => print(&yaml::to_yaml(&value)),
            Format::Json => print_pretty(&value),
        }
    }
}
