//! `axiomrl explain`: an algorithm's page and its settings.

use crate::failure::Failure;
use crate::output::{print, print_pretty, table};
use crate::settings::{Setting, settings};
use clap::Args;
use serde_json::{Value, json};

/// Explains an algorithm and its settings
#[derive(Args)]
pub struct Explain {
    /// Name of an algorithm; `axiomrl algos` lists them
    algo: String,
    /// Prints a JSON object
    #[arg(long)]
    json: bool,
}

impl Explain {
    pub fn run(self) -> Result<(), Failure> {
        let entry = super::algorithm(&self.algo)?;
        let settings = settings(&entry.schema());
        if self.json {
            let settings: Vec<Value> = settings.iter().map(Setting::to_json).collect();
            let (page, name) = (entry.page(), entry.name);
            return print_pretty(&json!({
                "name": name, "summary": entry.summary, "page": page, "settings": settings
            }));
        }
        let rows: Vec<Vec<String>> = settings.into_iter().map(Setting::row).collect();
        let columns = ["setting", "type", "default", "range", "meaning"];
        print(&format!("{}\n\n# Settings (`algo_kwargs`)\n\n{}", entry.page().trim_end(), table(&columns, &rows)))
    }
}
