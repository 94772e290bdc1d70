//! `axiomrl configs`: the run files that come with the program.

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
            let [algo, env_id, steps] = ["algo", "env_id", "total_timesteps"].map(|key| packaged.value_of(key));
            let steps: u64 = steps.parse().unwrap_or_default();
            objects.push(json!({
                "name": packaged.name,
                "algo": algo,
                "env_id": env_id,
                "total_timesteps": steps,
                "summary": packaged.summary(),
            }));
            rows.push(vec![packaged.name.to_owned(), env_id.to_owned(), grouped(steps), packaged.summary().to_owned()]);
        }
        if self.json {
            print_pretty(&Value::Array(objects))
        } else {
            print(&table(&["name", "environment", "steps", "summary"], &rows))
        }
    }
}
