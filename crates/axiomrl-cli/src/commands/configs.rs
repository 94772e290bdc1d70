//! `axiomrl configs`: the run files that come with the program.

use crate::catalogue;
use crate::failure::Failure;
use crate::output::{grouped, print, print_pretty, table};
use axiomrl_run::configs;
use clap::Args;
use serde_json::{Value, json};

/// Lists the packaged configs
#[derive(Args)]
pub struct Configs {
    /// Prints a JSON list
    #[arg(long)]
    json: bool,
}

impl Configs {
    pub fn run(self) -> Result<(), Failure> {
        let (mut rows, mut objects) = (Vec::new(), Vec::new());
        for packaged in configs::list() {
            let config = configs::read(catalogue(), packaged.name, &[])?.config;
            let steps = config.total_timesteps;
            objects.push(json!({
                "name": packaged.name,
                "algo": config.algo,
                "env_id": config.env_id,
                "total_timesteps": steps,
                "summary": packaged.summary(),
            }));
            rows.push(vec![packaged.name.to_owned(), config.env_id, grouped(steps), packaged.summary().to_owned()]);
        }
        if self.json {
            print_pretty(&Value::Array(objects))
        } else {
            print(&table(&["name", "environment", "steps", "summary"], &rows))
        }
    }
}
