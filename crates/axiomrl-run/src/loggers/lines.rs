//! A text file that grows line by line and can be cut back.

use crate::files;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct Lines {
    path: PathBuf,
    writer: BufWriter<File>,
}

impl Lines {
    /// Opens the file for appending. A new one begins with `head` (complete lines, or nothing).
    pub fn open(path: &Path, head: &str) -> io::Result<Self> {
        let is_new = match path.metadata() {
            Ok(metadata) => metadata.len() == 0,
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(error) => return Err(error),
        };
        if is_new {
            // As a whole: a kill must not leave half a head, which nothing could repair later.
            files::write_atomic(path, head.as_bytes())?;
        }
        Ok(Self { path: path.to_path_buf(), writer: append_to(path)? })
    }

    pub fn push(&mut self, line: &str) -> io::Result<()> {
        self.writer.write_all(line.as_bytes())?;
        self.writer.write_all(b"\n")
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    pub fn sync(&mut self) -> io::Result<()> {
        self.writer.flush()?;
        self.writer.get_ref().sync_data()
    }

    /// Calls `visit` with each complete line. A last line without its end was cut off by a kill and is left out.
    pub fn each(&mut self, mut visit: impl FnMut(&str) -> io::Result<()>) -> io::Result<()> {
        self.writer.flush()?;
        let mut reader = BufReader::new(File::open(&self.path)?);
        let mut line = Vec::new();
        loop {
            line.clear();
            reader.read_until(b'\n', &mut line)?;
            match line.strip_suffix(b"\n") {
                Some(complete) => visit(&String::from_utf8_lossy(complete))?,
                None => return Ok(()),
            }
        }
    }

    /// Replaces every line by what `change` makes of it, or drops it.
    pub fn rewrite(&mut self, mut change: impl FnMut(&str) -> Option<String>) -> io::Result<()> {
        let path = self.path.clone();
        files::replace_with(&path, |file| {
            self.each(|line| match change(line) {
                Some(changed) => writeln!(file, "{changed}"),
                None => Ok(()),
            })
        })?;
        self.writer = append_to(&path)?;
        Ok(())
    }
}

fn append_to(path: &Path) -> io::Result<BufWriter<File>> {
    Ok(BufWriter::new(File::options().append(true).open(path)?))
}
