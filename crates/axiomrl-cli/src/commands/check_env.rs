//! `axiomrl check-env`: whether an environment of Gymnasium is fit to be learned in.

use super::envs::short;
use crate::failure::{Failure, OTHER};
use crate::output::{pairs, print, print_pretty};
use crate::python;
use clap::Args;
use serde_json::{Map, Value, json};

/// Looks an environment of Gymnasium over: spaces, seeding, numbers, time limit and speed
#[derive(Args)]
pub struct CheckEnv {
    /// Its id, or `module:Id`
    #[arg(value_name = "ID")]
    id: String,
    /// An option of the environment, e.g. --set gravity=-5 (the value is JSON, or text; may be repeated)
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Steps to take
    #[arg(long, value_name = "N", default_value_t = 1000)]
    steps: usize,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

impl CheckEnv {
    pub fn run(self) -> Result<(), Failure> {
        let options = options(&self.set)?;
        let checked = axiomrl_gymnasium::check(python(), &self.id, &options, self.steps).map_err(Failure::bad_input)?;
        if self.json {
            print_pretty(&json!(checked))?;
        } else {
            let mut rows = vec![
                ("observations", short(&checked.spaces.observation)),
                ("actions", short(&checked.spaces.action)),
                ("steps per second", format!("{:.0}", checked.steps_per_second)),
            ];
            if checked.spaces.masks > 0 {
                rows.push(("action masks", format!("{} entries", checked.spaces.masks)));
            }
            print(&pairs(&rows))?;
            for finding in &checked.findings {
                print(&format!("{:<8} {}: {}", finding.level, finding.about, finding.text))?;
            }
        }
        match checked.findings.iter().filter(|finding| finding.level == "problem").count() {
            0 => Ok(()),
            count => Err(Failure::new(OTHER, format!("`{}` has {count} problem(s); see above", self.id))),
        }
    }
}

/// `key=value` pairs; values are JSON, or text.
fn options(set: &[String]) -> Result<Map<String, Value>, Failure> {
    let read = |assignment: &String| -> Option<(String, Value)> {
        let (key, value) = assignment.split_once('=')?;
        Some((key.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| Value::from(value))))
    };
    let bad = |assignment: &String| Failure::bad_input(format!("`--set {assignment}` is no key=value"));
    set.iter().map(|assignment| read(assignment).ok_or_else(|| bad(assignment))).collect()
}
