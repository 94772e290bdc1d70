//! `axiomrl explain`: an algorithm's page and its settings.

use crate::failure::Failure;
use crate::output::{print, table};
use crate::settings::settings;
use clap::Args;

/// Explains an algorithm and its settings
#[derive(Args)]
pub struct Explain {
    /// Name of an algorithm; `axiomrl algos` lists them
    algo: String,
}

impl Explain {
    pub fn run(self) -> Result<(), Failure> {
        let entry = super::algorithm(&self.algo)?;
        let rows: Vec<Vec<String>> = settings(&entry.schema())
            .into_iter()
            .map(|setting| vec![setting.name, setting.kind, setting.default, setting.range, setting.doc])
            .collect();
        let columns = ["setting", "type", "default", "range", "meaning"];
        print(&format!("{}\n\n# Settings (`algo_kwargs`)\n\n{}", entry.page().trim_end(), table(&columns, &rows)))
    }
}
