//! A folder for runs that nobody keeps.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Removed with all it holds when it goes out of scope.
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// In memory where there is such a folder: a disk's speed is not what is measured here.
    pub fn new(purpose: &str) -> Result<Self> {
        let shared_memory = Path::new("/dev/shm");
        let parent = if shared_memory.is_dir() { shared_memory.to_path_buf() } else { std::env::temp_dir() };
        Self::within(&parent, purpose)
    }

    /// For programs: memory folders often refuse to run them.
    pub fn on_disk(purpose: &str) -> Result<Self> {
        Self::within(&std::env::temp_dir(), purpose)
    }

    fn within(parent: &Path, purpose: &str) -> Result<Self> {
        let path = parent.join(format!("axiomrl-{purpose}-{}", std::process::id()));
        fs::create_dir_all(&path).with_context(|| format!("cannot make the folder {}", path.display()))?;
        Ok(Self { path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left behind costs space, not the result.
        let _ = fs::remove_dir_all(&self.path);
    }
}
