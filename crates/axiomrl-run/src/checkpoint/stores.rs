//! The stores of a checkpoint, each in files of its own.

use super::Checkpoint;
use axiomrl_algos::{StoreIo, Streamed};
use axiomrl_core::PagedStore;
use std::fs::File;
use std::io::{self, BufReader, Read};

/// Largest head of a store: it only says how far each environment has come.
const LARGEST_HEAD: u64 = 1 << 28;

pub(super) fn head_name(store: &str) -> String {
    format!("{store}.head.zst")
}

pub(super) fn page_name(store: &str, page: u64) -> String {
    format!("{store}.{page}.zst")
}

pub(super) fn stream_name(store: &str) -> String {
    format!("{store}.zst")
}

/// Gives the stores of a checkpoint back. Its files have been verified when it was loaded.
pub struct StoreReader<'a>(pub &'a Checkpoint);

impl StoreReader<'_> {
    fn open(&self, name: &str) -> io::Result<Box<dyn Read>> {
        if !self.0.files.contains_key(name) {
            return Err(io::Error::new(io::ErrorKind::NotFound, format!("the checkpoint has no {name}")));
        }
        // The decoder emits large blocks; callers read a few bytes at a time.
        let decoder = zstd::Decoder::new(File::open(self.0.dir.join(name))?)?;
        Ok(Box::new(BufReader::with_capacity(1 << 16, decoder)))
    }
}

impl StoreIo for StoreReader<'_> {
    fn paged(&mut self, name: &str, store: &mut dyn PagedStore) -> io::Result<()> {
        let mut head = Vec::new();
        self.open(&head_name(name))?.take(LARGEST_HEAD).read_to_end(&mut head)?;
        store.read(&head, &mut |page| self.open(&page_name(name, page)))
    }

    fn streamed(&mut self, name: &str, store: &mut dyn Streamed) -> io::Result<()> {
        store.read(&mut *self.open(&stream_name(name))?)
    }
}
