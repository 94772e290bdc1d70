//! What is told of the errors, and kept.

use super::Mutant;
use super::run::Outcome;
use crate::shell::root;
use anyhow::{Context, Result};
use std::fs;
use std::time::Duration;

pub fn verdict(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Passed(_) => "SURVIVES".to_owned(),
        Outcome::Hangs => "hangs".to_owned(),
        Outcome::Died => "ends the tests".to_owned(),
        Outcome::Failed(tests) => {
            let others = if tests.len() > 1 { format!(" and {} more", tests.len() - 1) } else { String::new() };
            format!("{}{others}", tests[0])
        }
    }
}

pub fn write(results: &[(&Mutant, Outcome, Duration)]) -> Result<()> {
    let path = root().join("benchmarks").join("mutants.md");
    fs::write(&path, page(results)).with_context(|| format!("cannot write {}", path.display()))
}

fn page(results: &[(&Mutant, Outcome, Duration)]) -> String {
    let caught = results.iter().filter(|(_, outcome, _)| outcome.caught()).count();
    let mut page = format!(
        "# Errors that tests must notice\n\n\
         Written by `cargo xtask mutants`, which makes one error after the other in a copy of the repository and runs the tests whose\n\
         job it is to notice. The errors stand in `xtask/src/mutants/`. **{caught} of {} are caught.**\n\n\
         | name | what is wrong | where | caught by | seconds |\n|---|---|---|---|---:|\n",
        results.len()
    );
    for (mutant, outcome, time) in results {
        let by = match outcome {
            Outcome::Failed(tests) => verdict(outcome).replacen(tests[0].as_str(), &format!("`{}`", tests[0]), 1),
            other => verdict(other),
        };
        let Mutant { name, what, file, .. } = mutant;
        // A bar would end the column.
        let what = what.replace('|', "\\|");
        page += &format!("| `{name}` | {what} | `{file}` | {by} | {:.1} |\n", time.as_secs_f64());
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::EXPRESSION;

    #[test]
    fn the_page_says_what_caught_each_and_what_nothing_caught() {
        let mutant = Mutant { name: "minus", what: "|a| is a", file: "a/src/b.rs", ..EXPRESSION };
        let second = Duration::from_secs(1);
        let failed = Outcome::Failed(vec!["sums".into(), "terms".into()]);
        let page = page(&[(&mutant, failed, second), (&mutant, Outcome::Passed(3), second)]);
        assert!(page.contains("**1 of 2 are caught.**"), "{page}");
        assert!(page.contains("| `minus` | \\|a\\| is a | `a/src/b.rs` | `sums` and 1 more | 1.0 |"), "{page}");
        assert!(page.contains("| SURVIVES | 1.0 |"), "{page}");
    }
}
