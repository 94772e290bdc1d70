//! `axiomrl algos`: what can be trained.

use crate::catalogue;
use crate::failure::Failure;
use crate::output::{print, print_pretty, table};
use clap::Args;
use serde_json::{Value, json};

/// Lists the algorithms
#[derive(Args)]
pub struct Algos {
    /// Prints a JSON list
    #[arg(long)]
    json: bool,
}

impl Algos {
    pub fn run(self) -> Result<(), Failure> {
        let (mut rows, mut objects) = (Vec::new(), Vec::new());
        for entry in catalogue().algorithms() {
            let actions: Vec<&str> = entry.actions.iter().map(|kind| kind.name()).collect();
            rows.push(vec![entry.name.to_owned(), entry.summary.to_owned(), actions.join(", ")]);
            objects.push(json!({ "name": entry.name, "summary": entry.summary, "actions": actions }));
        }
        if self.json {
            print_pretty(&Value::Array(objects))
        } else {
            print(&table(&["name", "algorithm", "actions"], &rows))
        }
    }
}
