//! One process per run folder.

use super::RunDirError;
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::Path;

/// Holds a run folder for this process. The operating system lets go of it when the process ends, however it ends, so
/// a killed run never has to be unlocked by hand.
#[derive(Debug)]
pub struct RunLock {
    file: File,
}

impl RunLock {
    pub(super) fn take(run: &Path) -> Result<Self, RunDirError> {
        let path = run.join("run.lock");
        let failed = |source| RunDirError::Lock { path: path.clone(), source };
        // Not truncated on opening: the number in it belongs to whoever holds the lock.
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = fs::read_to_string(&path).unwrap_or_default();
                let process = if holder.trim().is_empty() { "(unknown)" } else { holder.trim() };
                return Err(RunDirError::InUse { path: run.to_path_buf(), process: process.to_owned() });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let mut lock = Self { file };
        lock.sign().map_err(failed)?;
        Ok(lock)
    }

    fn sign(&mut self) -> std::io::Result<()> {
        self.file.set_len(0)?;
        writeln!(self.file, "{}", std::process::id())
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // The file stays: removing it would let two processes lock two files of the same name.
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_lock_names_the_holder_and_the_first_can_be_given_back() {
        let root = tempfile::tempdir().unwrap();
        let held = RunLock::take(root.path()).unwrap();
        let error = RunLock::take(root.path()).unwrap_err();
        assert!(error.to_string().contains(&format!("is in use by process {}", std::process::id())), "{error}");
        drop(held);
        RunLock::take(root.path()).unwrap();
    }

    #[test]
    fn what_a_killed_process_left_does_not_lock() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("run.lock"), "4123456789\n").unwrap();
        let _held = RunLock::take(root.path()).unwrap();
        let signed = fs::read_to_string(root.path().join("run.lock")).unwrap();
        assert_eq!(signed.trim(), std::process::id().to_string());
    }
}
