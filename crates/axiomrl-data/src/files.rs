//! What is written is there as a whole or not at all: it is made beside its place and then renamed.

use crate::DataError;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A hidden folder beside a target, in which the target is made. It goes when this is dropped, and so do the folders that had
/// to be made for it, unless the target is there.
pub(crate) struct Staging {
    folder: PathBuf,
    target: PathBuf,
    /// Outermost first.
    made: Vec<PathBuf>,
}

impl Staging {
    pub fn beside(target: &Path) -> Result<Self, DataError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = target.file_name().ok_or_else(|| DataError::file(target, "is no name that can be written to"))?;
        let parent = parent_of(target);
        let missing: Vec<PathBuf> = parent
            .ancestors()
            .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
            .map(Path::to_owned)
            .collect();
        let made: Vec<PathBuf> = missing.into_iter().rev().collect();
        let unique =
            format!(".{}.tmp-{}-{}", name.to_string_lossy(), std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let staging = Self { folder: parent.join(unique), target: target.to_owned(), made };
        fs::create_dir_all(&staging.folder).map_err(|error| DataError::io(parent, error))?;
        Ok(staging)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Puts a file or folder that was made in here in the target's place.
    pub fn publish(mut self, made: &str) -> Result<(), DataError> {
        let made = self.path(made);
        sync(&made)?;
        fs::rename(&made, &self.target).map_err(|error| DataError::io(&self.target, error))?;
        self.made.clear();
        sync_folder(parent_of(&self.target))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Best effort: an error worth reporting has been reported.
        let _ = fs::remove_dir_all(&self.folder);
        for folder in self.made.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// A file, or a folder with all that is in it, is on the disk after this.
fn sync(path: &Path) -> Result<(), DataError> {
    let io = |error| DataError::io(path, error);
    if !path.is_dir() {
        return File::open(path).and_then(|file| file.sync_all()).map_err(io);
    }
    for entry in fs::read_dir(path).map_err(io)? {
        sync(&entry.map_err(io)?.path())?;
    }
    sync_folder(path)
}

fn sync_folder(path: &Path) -> Result<(), DataError> {
    // Only Unix lets a folder be opened and synced; elsewhere the rename itself is all there is.
    if cfg!(unix) {
        File::open(path).and_then(|folder| folder.sync_all()).map_err(|error| DataError::io(path, error))?;
    }
    Ok(())
}

/// The folder a path lies in; `.` for a bare name.
fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_target_appears_whole_and_nothing_stays_beside_it() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("a/b/data.bin");
        let staging = Staging::beside(&target).unwrap();
        fs::write(staging.path("made"), b"new").unwrap();
        assert!(!target.exists());
        staging.publish("made").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert_eq!(names(&root.path().join("a/b")), ["data.bin"]);
    }

    #[test]
    fn what_is_given_up_leaves_nothing_and_keeps_what_was_there() {
        let root = tempfile::tempdir().unwrap();
        let staging = Staging::beside(&root.path().join("a/b/data.bin")).unwrap();
        fs::write(staging.path("made"), b"half").unwrap();
        drop(staging);
        assert!(names(root.path()).is_empty());
        let old = root.path().join("old.bin");
        fs::write(&old, b"old").unwrap();
        drop(Staging::beside(&old).unwrap());
        assert_eq!((fs::read(&old).unwrap(), names(root.path())), (b"old".to_vec(), vec!["old.bin".to_owned()]));
    }
}
