//! A copy of the repository in `target`, in which a command may change what it likes.

use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Copies the files that git knows, those not yet committed included, as `change` makes them: it is given a file's name and its
/// text. What comes out as in an earlier copy keeps its date, so that only what changed is compiled.
pub fn copy(from: &Path, to: &Path, change: impl Fn(&str, &str) -> Result<Option<String>>) -> Result<()> {
    let args = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
    let listed = Command::new("git").args(args).current_dir(from).output().context("cannot run git")?;
    ensure!(listed.status.success(), "`git ls-files` failed: the copy is made of what git knows");
    let mut there = BTreeSet::new();
    for name in String::from_utf8_lossy(&listed.stdout).split('\0').filter(|name| !name.is_empty()) {
        // A file that was removed and not committed so is still listed.
        let Ok(mut bytes) = fs::read(from.join(name)) else { continue };
        if let Some(changed) = std::str::from_utf8(&bytes).ok().map(|text| change(name, text)).transpose()?.flatten() {
            bytes = changed.into_bytes();
        }
        write(&to.join(name), &bytes)?;
        there.insert(to.join(name));
    }
    // Cargo finds tests and packages by their places: what is gone here must be gone there.
    remove_others(&to.join("crates"), &there)
}

/// Writes a file with the folders above it, unless it is already so.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let folder = path.parent().map(PathBuf::from).unwrap_or_default();
    fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

fn remove_others(folder: &Path, there: &BTreeSet<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(&path, there)?;
            // Only where nothing is left.
            let _ = fs::remove_dir(&path);
        } else if !there.contains(&path) {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}
