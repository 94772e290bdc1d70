//! `cargo xtask toy`: is adding an algorithm as short as CONTRIBUTING.md says?

use crate::shell::{root, succeeded};
use anyhow::{Context, Result, ensure};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
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
    let copy = root().join("target").join("toy");
    copy_sources(&root(), &copy)?;
    write(&copy.join("crates/axiomrl-algos/src/q_learning/toy_q.rs"), SOURCE)?;
    write(&copy.join("configs/toy_q/cartpole.yaml"), CONFIG)?;
    for insertion in INSERTIONS {
        let file = copy.join(insertion.file);
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        write(&file, &inserted(&text, insertion)?)?;
    }
    for args in COMMANDS {
        println!("$ cargo {}", args.join(" "));
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        // The variable of this package would lead programs in the copy back to us.
        command.args(*args).current_dir(&copy).env_remove("CARGO_MANIFEST_DIR");
        command.env("CARGO_TARGET_DIR", copy.join("target")).env("AXIOMRL_TEST_ONLY", "toy_q");
        succeeded("cargo", command.status().context("cannot run cargo")?)?;
    }
    println!("the toy was listed, explained, tested, trained and evaluated");
    Ok(())
}

/// The files that git knows, those not yet committed included. Files of an earlier copy that did not change keep their dates, so that
/// only what changed is compiled.
fn copy_sources(from: &Path, to: &Path) -> Result<()> {
    let args = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
    let listed = Command::new("git").args(args).current_dir(from).output().context("cannot run git")?;
    ensure!(listed.status.success(), "`git ls-files` failed: the copy is made of what git knows");
    let _ = fs::remove_dir_all(to.join("run"));
    for name in String::from_utf8_lossy(&listed.stdout).split('\0').filter(|name| !name.is_empty()) {
        let (source, copy) = (from.join(name), to.join(name));
        // A file that was removed and not committed so is still listed.
        let Ok(bytes) = fs::read(&source) else { continue };
        let patched = INSERTIONS.iter().any(|insertion| insertion.file == name);
        if patched || fs::read(&copy).ok().as_ref() != Some(&bytes) {
            parent_of(&copy)?;
            fs::write(&copy, bytes).with_context(|| format!("cannot write {}", copy.display()))?;
        }
    }
    Ok(())
}

fn parent_of(path: &Path) -> Result<()> {
    let folder = path.parent().map(PathBuf::from).unwrap_or_default();
    fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    parent_of(path)?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
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
