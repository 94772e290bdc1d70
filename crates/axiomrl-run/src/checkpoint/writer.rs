//! Writing a checkpoint: its files beside, then all at once in the place of the previous one.

use super::digest::{DigestWriter, FileDigest};
use super::stores::{head_name, page_name, stream_name};
use super::{
    CheckpointError, ENVIRONMENTS, KIND, MANIFEST, MANIFEST_DIGEST, Manifest, POLICY, SCHEMA_VERSION, TRAINING, digest,
    is_file_name, locate, plain, read_manifest, swap, tensors,
};
use crate::files::{parent_of, sync_dir};
use axiomrl_algos::{Snapshot, StoreIo, Streamed};
use axiomrl_core::PagedStore;
use axiomrl_envs::Spaces;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A checkpoint that is being written. Whatever goes wrong, the one that was there stays usable.
pub struct CheckpointWriter {
    dir: PathBuf,
    temporary: PathBuf,
    files: BTreeMap<String, FileDigest>,
    /// Files of the checkpoint that is to be replaced: pages that are final are taken over from it.
    before: BTreeMap<String, FileDigest>,
    done: bool,
}

impl CheckpointWriter {
    /// Begins a checkpoint that will stand at `dir` (say `run/checkpoints/last`).
    pub fn begin(dir: &Path) -> Result<Self, CheckpointError> {
        refuse_foreign(dir)?;
        let parent = parent_of(dir);
        fs::create_dir_all(parent).map_err(CheckpointError::io(parent))?;
        swap::remove_leftovers(dir)?;
        let temporary = swap::temporary(dir);
        fs::create_dir(&temporary).map_err(CheckpointError::io(&temporary))?;
        // One that cannot be read is replaced like any other.
        let before = read_manifest(dir).map(|manifest| manifest.files).unwrap_or_default();
        Ok(Self { dir: dir.to_path_buf(), temporary, files: BTreeMap::new(), before, done: false })
    }

    /// Writes the rest and puts the checkpoint in its place. Without `environments` they will be reset by whoever goes on;
    /// `policy_only` leaves out all that acting does not need.
    pub fn finish(
        mut self,
        config: &Value,
        counters: &Value,
        spaces: &Spaces,
        snapshot: &Snapshot,
        environments: Option<&[u8]>,
        policy_only: bool,
    ) -> Result<(), CheckpointError> {
        self.add(POLICY, &tensors::encode(&snapshot.policy.tensors)?)?;
        if !policy_only {
            self.add(TRAINING, &tensors::encode(&snapshot.training.tensors)?)?;
            if let Some(bytes) = environments {
                self.add(ENVIRONMENTS, bytes)?;
            }
        }
        let manifest = Manifest {
            schema_version: SCHEMA_VERSION,
            kind: KIND.to_owned(),
            axiomrl_version: env!("CARGO_PKG_VERSION").to_owned(),
            config: config.clone(),
            counters: counters.clone(),
            spaces: Some(spaces.clone()),
            policy: snapshot.policy.values.clone(),
            state: if policy_only { BTreeMap::new() } else { snapshot.training.values.clone() },
            files: self.files.clone(),
        };
        let path = self.temporary.join(MANIFEST);
        let bytes = serde_json::to_vec_pretty(&manifest).map_err(|error| CheckpointError::io(&path)(error.into()))?;
        let digest = write_file(&path, &bytes).map_err(CheckpointError::io(&path))?;
        let seal = self.temporary.join(MANIFEST_DIGEST);
        let line = format!("{}  {MANIFEST}\n", digest.sha256);
        write_file(&seal, line.as_bytes()).map_err(CheckpointError::io(&seal))?;
        sync_dir(&self.temporary).map_err(CheckpointError::io(&self.temporary))?;
        swap::put_in_place(&self.temporary, &self.dir)?;
        self.done = true;
        Ok(())
    }

    fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), CheckpointError> {
        let path = self.temporary.join(name);
        let digest = write_file(&path, bytes).map_err(CheckpointError::io(&path))?;
        self.files.insert(name.to_owned(), digest);
        Ok(())
    }

    /// Takes a file over from the previous checkpoint, if it is there as it was written.
    fn take_over(&mut self, name: &str) -> bool {
        // What was not final then may have grown since.
        let Some(digest) = self.before.get(name).filter(|digest| digest.is_final) else { return false };
        if plain::check_size(&self.dir, name, digest.bytes).is_err() {
            return false;
        }
        let (from, to) = (self.dir.join(name), self.temporary.join(name));
        // Where a file system has no links, a copy is as good.
        if fs::hard_link(&from, &to).is_err() && fs::copy(&from, &to).is_err() {
            let _ = fs::remove_file(&to);
            return false;
        }
        self.files.insert(name.to_owned(), digest.clone());
        true
    }

    fn compressed(&mut self, name: &str, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        if !is_file_name(name) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} is no name for a store")));
        }
        let mut encoder = zstd::Encoder::new(DigestWriter::new(File::create(self.temporary.join(name))?), 1)?;
        encoder.include_checksum(true)?;
        // Stores write number by number; the encoder wants more at once.
        let mut buffered = BufWriter::with_capacity(1 << 16, encoder);
        write(&mut buffered)?;
        let encoder = buffered.into_inner().map_err(|error| error.into_error())?;
        let (file, digest) = encoder.finish()?.finish();
        file.sync_all()?;
        self.files.insert(name.to_owned(), digest);
        Ok(())
    }
}

impl StoreIo for CheckpointWriter {
    fn paged(&mut self, name: &str, store: &mut dyn PagedStore) -> io::Result<()> {
        self.compressed(&head_name(name), &mut |to| to.write_all(&store.head()))?;
        for page in store.pages() {
            let file = page_name(name, page);
            let is_final = store.is_final(page);
            if !(is_final && self.take_over(&file)) {
                self.compressed(&file, &mut |to| store.write_page(page, to))?;
                if let Some(digest) = self.files.get_mut(&file) {
                    digest.is_final = is_final;
                }
            }
        }
        Ok(())
    }

    fn streamed(&mut self, name: &str, store: &mut dyn Streamed) -> io::Result<()> {
        self.compressed(&stream_name(name), &mut |to| store.write(to))
    }
}

impl Drop for CheckpointWriter {
    fn drop(&mut self) {
        if !self.done {
            // Gives a full disk its space back. A failure here hides nothing: the error to report is the first one.
            let _ = fs::remove_dir_all(&self.temporary);
        }
    }
}

fn write_file(path: &Path, bytes: &[u8]) -> io::Result<FileDigest> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(digest::of_bytes(bytes))
}

/// Saving replaces a folder, and must not replace one that holds something else.
fn refuse_foreign(dir: &Path) -> Result<(), CheckpointError> {
    let is_empty = || fs::read_dir(dir).map(|mut entries| entries.next().is_none()).unwrap_or(false);
    if dir.exists() && !dir.join(MANIFEST).is_file() && !is_empty() {
        let found = format!("it holds {}, which saving would replace", locate::describe(dir));
        return Err(CheckpointError::NotACheckpoint { path: dir.to_path_buf(), found });
    }
    Ok(())
}
