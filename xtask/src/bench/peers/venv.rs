//! Virtual environments, made once for each set of pinned versions.

use crate::shell::root;
use anyhow::{Context, Result, ensure};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub struct Venv {
    folder: PathBuf,
}

impl Venv {
    /// Makes the environment of the first file, or finds it, and installs what is not yet there. Its folder is named after the
    /// contents of that file and the version of Python, so that a change makes another one.
    pub fn ready(python: &str, files: &[PathBuf]) -> Result<Self> {
        let first = files.first().context("a peer without a requirements file")?;
        let version = output_of(Command::new(python).arg("--version"))?;
        let folder = target().join(format!("peers-venv-{:016x}", fingerprint(&(version + &read(first)?))));
        let venv = Self { folder };
        if !venv.python().exists() {
            eprintln!("$ {python} -m venv {}", venv.folder.display());
            output_of(Command::new(python).args(["-m", "venv"]).arg(&venv.folder))?;
        }
        for file in files {
            venv.install(file)?;
        }
        Ok(venv)
    }

    pub fn python(&self) -> PathBuf {
        self.folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
    }

    /// Kept files are not needed for the result.
    pub fn discard(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }

    fn install(&self, file: &Path) -> Result<()> {
        // Written after a complete installation only.
        let note = self.folder.join(format!("installed-{:016x}", fingerprint(&read(file)?)));
        if note.exists() {
            return Ok(());
        }
        eprintln!("$ pip install --requirement {}", file.display());
        let mut pip = Command::new(self.python());
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]).arg(file);
        output_of(&mut pip)?;
        fs::write(&note, "").with_context(|| format!("cannot write {}", note.display()))
    }
}

fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

fn output_of(command: &mut Command) -> Result<String> {
    let shown = format!("{command:?}");
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {shown}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let reason = said.lines().rev().find(|line| line.starts_with("ERROR")).or(said.lines().last()).unwrap_or("");
    ensure!(output.status.success(), "{shown} ended with {}: {reason}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// FNV-1a: the same on every machine and with every compiler, which the standard library does not promise of its own.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprint_is_that_of_the_standard() {
        assert_eq!(fingerprint(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fingerprint("a"), 0xaf63_dc4c_8601_ec8c);
    }

    #[test]
    fn what_does_not_start_is_an_error_that_names_it() {
        let error = output_of(&mut Command::new("no-such-python")).expect_err("there is no such program");
        assert!(format!("{error:#}").contains("no-such-python"));
    }
}
