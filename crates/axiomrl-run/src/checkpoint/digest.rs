//! SHA-256 of files, taken while they are written and again before they are read.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// What the manifest remembers of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct FileDigest {
    pub sha256: String,
    pub bytes: u64,
    /// Whether whoever writes the file again would write the same bytes.
    #[serde(default, rename = "final", skip_serializing_if = "is_false")]
    pub is_final: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// A writer that digests what passes through it.
pub(super) struct DigestWriter<W> {
    inner: W,
    hash: Sha256,
    bytes: u64,
}

impl<W: Write> DigestWriter<W> {
    pub fn new(inner: W) -> Self {
        Self { inner, hash: Sha256::new(), bytes: 0 }
    }

    pub fn finish(self) -> (W, FileDigest) {
        (self.inner, FileDigest { sha256: hex(&self.hash.finalize()), bytes: self.bytes, is_final: false })
    }
}

impl<W: Write> Write for DigestWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

pub(super) fn of_bytes(bytes: &[u8]) -> FileDigest {
    FileDigest { sha256: hex(&Sha256::digest(bytes)), bytes: bytes.len() as u64, is_final: false }
}

/// Reads a whole file in pieces: a replay store may be larger than the memory left.
pub(super) fn of_file(path: &Path) -> io::Result<FileDigest> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut bytes = 0;
    let mut piece = vec![0; 1 << 20];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(FileDigest { sha256: hex(&hash.finalize()), bytes, is_final: false }),
            Ok(n) => {
                hash.update(&piece[..n]);
                bytes += n as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Why a file found is not the file written, if it is not.
pub(super) fn difference(expected: &FileDigest, found: &FileDigest) -> Option<String> {
    let other_bytes = || (found.sha256 != expected.sha256).then(|| "sha256 differs".to_owned());
    size_difference(expected.bytes, found.bytes).or_else(other_bytes)
}

/// The same by its size alone, for which it need not be read.
pub(super) fn size_difference(expected: u64, found: u64) -> Option<String> {
    match found.cmp(&expected) {
        Ordering::Less => Some(format!("truncated: expected {expected} bytes, found {found}")),
        Ordering::Greater => Some(format!("too long: expected {expected} bytes, found {found}")),
        Ordering::Equal => None,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_ways_agree_with_the_published_value() {
        // The FIPS 180 example for "abc".
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of_bytes(b"abc"), FileDigest { sha256: expected.to_owned(), bytes: 3, is_final: false });

        let mut writer = DigestWriter::new(Vec::new());
        writer.write_all(b"a").unwrap();
        writer.write_all(b"bc").unwrap();
        let (written, digest) = writer.finish();
        assert_eq!((written.as_slice(), digest.sha256.as_str(), digest.bytes), (&b"abc"[..], expected, 3));

        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"abc").unwrap();
        assert_eq!(of_file(file.path()).unwrap(), of_bytes(b"abc"));
    }
}
