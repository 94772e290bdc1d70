//! The commit that is checked out, read from git's own files: no program to run, nothing to go wrong.

use std::fs;
use std::path::{Path, PathBuf};

/// The commit checked out in `dir` or the nearest folder above it that is a git checkout.
pub(super) fn commit_of(dir: &Path) -> Option<String> {
    let git = dir.ancestors().find_map(git_folder)?;
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    match head.trim().strip_prefix("ref: ") {
        None => commit(&head),
        Some(reference) => {
            // Linked working trees keep HEAD for themselves and share the branches.
            let shared = match fs::read_to_string(git.join("commondir")) {
                Ok(common) => git.join(common.trim()),
                Err(_) => git,
            };
            let loose = fs::read_to_string(shared.join(reference)).ok();
            loose.and_then(|text| commit(&text)).or_else(|| packed(&shared, reference))
        }
    }
}

/// The `.git` of a checkout: a folder, or a file that says where the folder is (linked trees, submodules).
fn git_folder(checkout: &Path) -> Option<PathBuf> {
    let git = checkout.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let text = fs::read_to_string(&git).ok()?;
    Some(checkout.join(text.strip_prefix("gitdir:")?.trim()))
}

fn packed(git: &Path, reference: &str) -> Option<String> {
    let text = fs::read_to_string(git.join("packed-refs")).ok()?;
    text.lines().find_map(|line| line.strip_suffix(reference)?.strip_suffix(' ').and_then(commit))
}

fn commit(text: &str) -> Option<String> {
    let text = text.trim();
    let looks_right = text.len() >= 40 && text.chars().all(|c| c.is_ascii_hexdigit());
    looks_right.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "0123456789abcdef0123456789abcdef01234567";
    const B: &str = "89abcdef0123456789abcdef0123456789abcdef";

    fn write(path: PathBuf, text: String) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn finds_branches_packed_branches_and_bare_commits_from_below() {
        let root = tempfile::tempdir().unwrap();
        let git = root.path().join(".git");
        let below = root.path().join("src/deep");
        fs::create_dir_all(&below).unwrap();
        write(git.join("HEAD"), "ref: refs/heads/main\n".to_owned());
        assert_eq!(commit_of(&below), None, "a repository without a commit");
        write(git.join("packed-refs"), format!("# pack-refs\n{B} refs/heads/other/main\n{A} refs/heads/main\n"));
        assert_eq!(commit_of(&below).as_deref(), Some(A));
        write(git.join("refs/heads/main"), format!("{B}\n"));
        assert_eq!(commit_of(&below).as_deref(), Some(B), "a loose branch is newer than a packed one");
        write(git.join("HEAD"), format!("{A}\n"));
        assert_eq!(commit_of(&below).as_deref(), Some(A));
    }

    #[test]
    fn follows_a_linked_working_tree() {
        let root = tempfile::tempdir().unwrap();
        let git = root.path().join("main/.git");
        write(git.join("refs/heads/feature"), A.to_owned());
        write(git.join("worktrees/linked/HEAD"), "ref: refs/heads/feature".to_owned());
        write(git.join("worktrees/linked/commondir"), "../..".to_owned());
        write(root.path().join("linked/.git"), format!("gitdir: {}\n", git.join("worktrees/linked").display()));
        assert_eq!(commit_of(&root.path().join("linked")).as_deref(), Some(A));
    }
}
