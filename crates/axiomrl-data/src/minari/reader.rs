//! Episode after episode, whichever kind of file they lie in.

use super::episode::Arrays;
use super::metadata::Head;
use crate::{DataError, EpisodeBuf, EpisodeReader, Metadata};
use axiomrl_envs::{ObsSpace, Spaces};
use std::path::Path;

/// The files of a dataset.
pub(super) trait Files {
    /// The arrays of an episode, as they are stored.
    fn arrays(&self, number: usize, head: &Head, space: &ObsSpace) -> Result<Arrays, DataError>;

    /// More transitions than this are not taken room for, whatever the metadata says: that is a line of text.
    fn most_transitions(&self) -> u64;

    /// What is left out, for people.
    fn notes(&self, _head: &Head) -> Vec<String> {
        Vec::new()
    }
}

pub(super) struct Reader<F> {
    name: String,
    head: Head,
    space: ObsSpace,
    files: F,
    at: usize,
}

impl<F: Files> Reader<F> {
    pub fn new(data: &Path, head: Head, files: F) -> Self {
        Self { name: data.display().to_string(), space: head.spaces.obs(), head, files, at: 0 }
    }
}

impl<F: Files> EpisodeReader for Reader<F> {
    fn name(&self) -> &str {
        &self.name
    }

    fn spaces(&self) -> &Spaces {
        &self.head.spaces
    }

    fn metadata(&self) -> &Metadata {
        &self.head.metadata
    }

    fn transitions(&self) -> Option<u64> {
        Some(self.head.steps.min(self.files.most_transitions()))
    }

    fn next_episode(&mut self) -> Result<Option<EpisodeBuf>, DataError> {
        if self.at == self.head.episodes {
            return Ok(None);
        }
        let arrays = self.files.arrays(self.at, &self.head, &self.space)?;
        let episode = arrays.finish(&self.head, &self.space).map_err(|(step, problem)| DataError::Content {
            name: self.name.clone(),
            episode: self.at,
            step: Some(step),
            problem,
        })?;
        self.at += 1;
        Ok(Some(episode))
    }

    fn notes(&self) -> Vec<String> {
        self.files.notes(&self.head)
    }
}
