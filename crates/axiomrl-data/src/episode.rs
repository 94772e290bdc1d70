//! One recorded episode in the environment's units, and what hands them out.

use crate::DataError;
use axiomrl_envs::{ObsBuf, Spaces};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How an episode ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The world ended: nothing comes after.
    Terminated,
    /// A clock or somebody stopped it, and the file says so.
    Truncated,
    /// The recording stops without a mark. Learning treats it as truncated.
    Stopped,
}

/// An episode of `n` steps, column by column.
#[derive(Clone, Debug, PartialEq)]
pub struct EpisodeBuf {
    /// `n + 1` rows: what was seen before each step, and what the last one led to
    pub obs: ObsBuf,
    /// `n + 1` rows of [`Spaces::masks`] entries: the choices that were allowed; empty without masks
    pub masks: Vec<bool>,
    /// `n` rows in the environment's units; choices count from 0
    pub actions: Vec<f32>,
    pub rewards: Vec<f32>,
    pub ending: Ending,
}

impl EpisodeBuf {
    /// Steps, which is one less than observations.
    pub fn steps(&self) -> usize {
        self.rewards.len()
    }

    /// The plain sum of rewards.
    pub fn episode_return(&self) -> f64 {
        self.rewards.iter().map(|&reward| f64::from(reward)).sum()
    }

    /// Refuses columns that are not as long as the spaces ask for.
    pub fn check(&self, spaces: &Spaces) -> Result<(), String> {
        let (steps, widths) = (self.steps(), spaces.obs().widths);
        for (what, found, expected) in [
            ("observed numbers", self.obs.floats.len(), (steps + 1) * widths.floats),
            ("observed bytes", self.obs.bytes.len(), (steps + 1) * widths.bytes),
            ("mask entries", self.masks.len(), (steps + 1) * spaces.masks),
            ("numbers of actions", self.actions.len(), steps * spaces.action.width()),
        ] {
            if found != expected {
                return Err(format!("{found} {what} for {steps} steps, where its spaces ask for {expected}"));
            }
        }
        if self.obs.widths() != widths {
            return Err(format!("rows of observations of {:?}, where its spaces have {widths:?}", self.obs.widths()));
        }
        Ok(())
    }
}

/// Where data comes from, as far as its file says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// `(namespace/)*name-v<number>`
    pub dataset_id: Option<String>,
    pub env_id: Option<String>,
    pub env_kwargs: Map<String, Value>,
    pub max_episode_steps: Option<u64>,
    pub algorithm: Option<String>,
    pub author: Vec<String>,
    pub author_email: Vec<String>,
    pub code_permalink: Option<String>,
    pub description: Option<String>,
}

/// The next episode of a reader, whose columns are as long as they should be.
pub(crate) fn next_checked(
    reader: &mut dyn EpisodeReader,
    spaces: &Spaces,
    number: usize,
) -> Result<Option<EpisodeBuf>, DataError> {
    let Some(episode) = reader.next_episode()? else { return Ok(None) };
    let name = || reader.name().to_owned();
    episode.check(spaces).map_err(|problem| DataError::Content {
        name: name(),
        episode: number,
        step: None,
        problem,
    })?;
    Ok(Some(episode))
}

/// Hands out episodes one after the other, so that no file need be held whole.
pub trait EpisodeReader {
    /// What messages call it: mostly a path.
    fn name(&self) -> &str;

    fn spaces(&self) -> &Spaces;

    fn metadata(&self) -> &Metadata;

    /// Transitions at most, where that is known before reading: room for them is taken once.
    fn transitions(&self) -> Option<u64> {
        None
    }

    /// `None` after the last.
    fn next_episode(&mut self) -> Result<Option<EpisodeBuf>, DataError>;

    /// What was done to the data on the way, for people: dropped rows, guesses. Complete after the last episode.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

impl<R: EpisodeReader + ?Sized> EpisodeReader for Box<R> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn spaces(&self) -> &Spaces {
        (**self).spaces()
    }

    fn metadata(&self) -> &Metadata {
        (**self).metadata()
    }

    fn transitions(&self) -> Option<u64> {
        (**self).transitions()
    }

    fn next_episode(&mut self) -> Result<Option<EpisodeBuf>, DataError> {
        (**self).next_episode()
    }

    fn notes(&self) -> Vec<String> {
        (**self).notes()
    }
}
