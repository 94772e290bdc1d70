//! `cargo xtask toy`: is adding an algorithm as short as CONTRIBUTING.md says?

use crate::copy::{copy, write};
use crate::shell::{root, succeeded};
use anyhow::{Context, Result, ensure};
use std::env;
use std::fs;
use std::process::Command;

const SOURCE: &str = include_str!("toy/toy_q.rs");
const CONFIG: &str = include_str!("toy/cartpole.yaml");

/// A line of a file that another line is put before.
struct Insertion {
    file: &'static str,
    before: &'static str,
    line: &'static str,
}

/// What CONTRIBUTING.md asks for besides the new files.
const INSERTIONS: &[Insertion] = &[
    Insertion {
        file: "crates/axiomrl-algos/src/q_learning/mod.rs",
        before: "#[cfg(test)]\nmod tests;",
        line: "mod toy_q;",
    },
    Insertion {
        file: "crates/axiomrl-algos/src/q_learning/mod.rs",
        before: "pub use naf::",
        line: "pub use toy_q::{ToyQ, ToyQConfig};",
    },
    Insertion {
        file: "crates/axiomrl-algos/src/registry.rs",
        before: "    q_learning::NafConfig =>",
        line: "    q_learning::ToyQConfig => q_learning::ToyQ, \"toy_q\";",
    },
    Insertion {
        file: "crates/axiomrl-algos/src/registry.rs",
        before: "        entry::<q_learning::Naf>(",
        line: "        entry::<q_learning::ToyQ>(\"toy_q\", \"Toy Q-learning\", include_str!(\"q_learning/toy_q.rs\"), DISCRETE),",
    },
];

/// What then has to follow by itself: tests of this name alone, then the binary.
const COMMANDS: &[&[&str]] = &[
    &["test", "--package", "axiomrl-algos", "--lib", "registry"],
    &["test", "--package", "axiomrl-run", "--test", "guards", "--test", "exact", "--test", "probes"],
    &["run", "--package", "axiomrl-cli", "--", "explain", "toy_q"],
    &["run", "--package", "axiomrl-cli", "--", "train", "toy_q/cartpole", "--run-dir", "run"],
    &["run", "--package", "axiomrl-cli", "--", "eval", "run"],
];

/// Adds a toy algorithm to a copy of the repository as CONTRIBUTING.md says, and tests and trains it there.
pub fn toy() -> Result<()> {
    let folder = root().join("target").join("toy");
    let _ = fs::remove_dir_all(folder.join("run"));
    copy(&root(), &folder, with_insertions)?;
    write(&folder.join("crates/axiomrl-algos/src/q_learning/toy_q.rs"), SOURCE.as_bytes())?;
    write(&folder.join("configs/toy_q/cartpole.yaml"), CONFIG.as_bytes())?;
    for args in COMMANDS {
        println!("$ cargo {}", args.join(" "));
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        // The variable of this package would lead programs in the copy back to us.
        command.args(*args).current_dir(&folder).env_remove("CARGO_MANIFEST_DIR");
        command.env("CARGO_TARGET_DIR", folder.join("target")).env("AXIOMRL_TEST_ONLY", "toy_q");
        succeeded("cargo", command.status().context("cannot run cargo")?)?;
    }
    println!("the toy was listed, explained, tested, trained and evaluated");
    Ok(())
}

/// A file's text with all its new lines; nothing where it has none.
fn with_insertions(file: &str, text: &str) -> Result<Option<String>> {
    let mut insertions = INSERTIONS.iter().filter(|insertion| insertion.file == file).peekable();
    if insertions.peek().is_none() {
        return Ok(None);
    }
    insertions.try_fold(text.to_owned(), |text, insertion| inserted(&text, insertion)).map(Some)
}

/// The text with the new line, once, before the line that begins as asked for.
fn inserted(text: &str, insertion: &Insertion) -> Result<String> {
    let Insertion { file, before, line } = insertion;
    let places = text.matches(before).count();
    ensure!(places == 1, "{file} has `{before}` {places} times: put `xtask/src/toy.rs` right");
    Ok(text.replacen(before, &format!("{line}\n{before}"), 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_still_there() {
        for insertion in INSERTIONS {
            let text = fs::read_to_string(root().join(insertion.file)).unwrap();
            let new = inserted(&text, insertion).unwrap();
            assert_eq!(new.lines().count(), text.lines().count() + 1);
        }
    }

    #[test]
    fn a_place_that_is_gone_or_there_twice_is_named() {
        let insertion = Insertion { file: "a.rs", before: "x;", line: "y;" };
        assert_eq!(inserted("w;\nx;\n", &insertion).unwrap(), "w;\ny;\nx;\n");
        for text in ["w;", "x;\nx;"] {
            assert!(inserted(text, &insertion).unwrap_err().to_string().contains("a.rs"));
        }
    }
}
