//! Files that are either the old ones or the new ones, never something between.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Between the name of what is being written and the number of the process that writes it.
pub(crate) const TEMPORARY: &str = ".tmp-";

/// Replaces the content of `path` by `bytes`. After an error (a full disk, say) the old file is as it was.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_with(path, |file| file.write_all(bytes))
}

/// Like [`write_atomic`] for content that is produced piece by piece.
pub fn replace_with(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let partial = partial_name(path)?;
    let outcome = write_and_rename(&partial, path, write);
    if outcome.is_err() {
        // Best effort: the error worth reporting is the first one.
        let _ = fs::remove_file(&partial);
    }
    outcome
}

fn write_and_rename(
    partial: &Path,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut writer = BufWriter::new(File::create(partial)?);
    write(&mut writer)?;
    // `into_inner` reports a failed last write, which dropping the writer would swallow.
    let file = writer.into_inner().map_err(|error| error.into_error())?;
    file.sync_all()?;
    drop(file);
    fs::rename(partial, path)?;
    sync_dir(parent_of(path))
}

/// Removes what processes that are gone were killed while writing: everything named `….tmp-<process>`. Best effort, as
/// a leftover costs nothing but space. Only for whoever holds the run's lock.
pub fn sweep(dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let writer = name.rsplit_once(TEMPORARY).and_then(|(_, process)| process.parse::<u32>().ok());
        if writer.is_some_and(|process| !is_another_process(process)) {
            let path = entry.path();
            let _ = if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                fs::remove_dir_all(path)
            } else {
                fs::remove_file(path)
            };
        }
    }
}

/// Whether a process other than this one lives under that number. Where that cannot be told, the lock has said it.
fn is_another_process(process: u32) -> bool {
    process != std::process::id() && Path::new("/proc").join(process.to_string()).exists()
}

/// Makes renames and new names in a folder survive a power cut.
pub fn sync_dir(dir: &Path) -> io::Result<()> {
    // Only Unix lets a folder be opened and synced; elsewhere the rename itself is all there is.
    if cfg!(unix) { File::open(dir)?.sync_all() } else { Ok(()) }
}

/// The folder a path lies in (`.` for a bare file name, whose parent is the empty path).
pub(crate) fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Beside the target, so that the rename never crosses a file system; hidden, so that a leftover is not taken for data.
fn partial_name(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut partial = std::ffi::OsString::from(".");
    partial.push(name);
    partial.push(format!("{TEMPORARY}{}", std::process::id()));
    Ok(path.with_file_name(partial))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn writes_and_replaces_leaving_nothing_beside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        write_atomic(&path, b"one").unwrap();
        write_atomic(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(names(dir.path()), ["a.txt"]);
    }

    #[test]
    fn an_error_half_way_keeps_the_old_file_and_removes_the_partial_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        write_atomic(&path, b"old").unwrap();
        let error = replace_with(&path, |file| {
            // More than the buffer holds, so that part of it is really on disk when the error comes.
            file.write_all(&[7; 100_000])?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        });
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(dir.path()), ["a.txt"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_what_the_dead_left_is_swept() {
        let dir = tempfile::tempdir().unwrap();
        let gone = {
            let mut child = std::process::Command::new("true").spawn().unwrap();
            child.wait().unwrap();
            child.id()
        };
        let living = std::os::unix::process::parent_id();
        for name in [format!(".metadata.json.tmp-{gone}"), format!(".a.tmp-{living}"), "notes.tmp-mine".to_owned()] {
            fs::write(dir.path().join(name), "x").unwrap();
        }
        fs::create_dir_all(dir.path().join(format!("step_9.tmp-{gone}/inner"))).unwrap();
        sweep(dir.path());
        assert_eq!(names(dir.path()), [format!(".a.tmp-{living}"), "notes.tmp-mine".to_owned()]);
        sweep(&dir.path().join("not there"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_disk_that_is_really_full_is_reported() {
        // /dev/full accepts no byte; writing through the same path proves that buffered errors are not swallowed.
        let mut writer = BufWriter::new(File::options().write(true).open("/dev/full").unwrap());
        writer.write_all(b"small enough to stay in the buffer").unwrap();
        let error = writer.into_inner().map_err(|error| error.into_error()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn a_rename_onto_a_folder_fails_and_cleans_up() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("taken");
        fs::create_dir(&path).unwrap();
        assert!(write_atomic(&path, b"x").is_err());
        assert_eq!(names(dir.path()), ["taken"]);
    }
}
