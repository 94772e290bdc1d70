//! Episodes in memory, in the environment's units.

use crate::{DataError, EpisodeBuf, EpisodeReader, LoadOptions, Metadata, Report, load};
use axiomrl_core::Dataset;
use axiomrl_envs::Spaces;

/// What was recorded, all of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// What messages call it.
    pub name: String,
    pub spaces: Spaces,
    pub metadata: Metadata,
    pub episodes: Vec<EpisodeBuf>,
}

impl Recording {
    pub fn new(name: impl Into<String>, spaces: Spaces) -> Self {
        Self { name: name.into(), spaces, metadata: Metadata::default(), episodes: Vec::new() }
    }

    /// Reads to the end.
    pub fn read(reader: &mut dyn EpisodeReader) -> Result<Self, DataError> {
        let mut recording = Self::new(reader.name(), reader.spaces().clone());
        recording.metadata = reader.metadata().clone();
        while let Some(episode) = reader.next_episode()? {
            recording.episodes.push(episode);
        }
        Ok(recording)
    }

    pub fn transitions(&self) -> u64 {
        self.episodes.iter().map(|episode| episode.steps() as u64).sum()
    }

    /// A store to learn from. Episodes are given up as they are taken over. See [`load`].
    pub fn into_dataset(self, target: &Spaces, options: &LoadOptions) -> Result<(Dataset, Report), DataError> {
        load(&mut self.into_reader(), Some(target), options)
    }

    /// Hands its episodes over.
    pub fn into_reader(self) -> impl EpisodeReader {
        let transitions = self.transitions();
        let Self { name, spaces, metadata, episodes } = self;
        Replay { name, spaces, metadata, transitions, episodes: episodes.into_iter() }
    }

    /// Hands copies of its episodes out.
    pub fn reader(&self) -> impl EpisodeReader + '_ {
        Replay {
            name: self.name.clone(),
            spaces: self.spaces.clone(),
            metadata: self.metadata.clone(),
            transitions: self.transitions(),
            episodes: self.episodes.iter().cloned(),
        }
    }
}

struct Replay<I> {
    name: String,
    spaces: Spaces,
    metadata: Metadata,
    transitions: u64,
    episodes: I,
}

impl<I: Iterator<Item = EpisodeBuf>> EpisodeReader for Replay<I> {
    fn name(&self) -> &str {
        &self.name
    }

    fn spaces(&self) -> &Spaces {
        &self.spaces
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn transitions(&self) -> Option<u64> {
        Some(self.transitions)
    }

    fn next_episode(&mut self) -> Result<Option<EpisodeBuf>, DataError> {
        Ok(self.episodes.next())
    }
}
