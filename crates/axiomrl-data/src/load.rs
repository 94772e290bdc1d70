//! From recorded episodes to a store to learn from.

#[cfg(test)]
mod tests;

use crate::episode::next_checked;
use crate::fit::Fit;
use crate::{DataError, Ending, EpisodeReader};
use axiomrl_core::{Dataset, DatasetBuilder, Episode};
use axiomrl_envs::{ActionMap, Spaces};
use serde::Serialize;
use std::fmt;

/// What is let pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadOptions {
    /// Take actions of a Box with other bounds than the environment's; what lies outside is clipped and counted as always.
    pub any_action_bounds: bool,
}

/// How many episodes ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Endings {
    pub terminated: usize,
    pub truncated: usize,
    pub stopped: usize,
}

impl Endings {
    pub(crate) fn count(&mut self, ending: Ending) {
        match ending {
            Ending::Terminated => self.terminated += 1,
            Ending::Truncated => self.truncated += 1,
            Ending::Stopped => self.stopped += 1,
        }
    }
}

impl fmt::Display for Endings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} terminated, {} truncated, {} just stop", self.terminated, self.truncated, self.stopped)
    }
}

/// What became of the data on its way into the store. `Display` gives lines for people.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    pub name: String,
    pub episodes: usize,
    pub transitions: u64,
    pub endings: Endings,
    /// Numbers of actions that lay out of bounds and were clipped.
    pub clipped: u64,
    /// Numbers of actions altogether.
    pub action_numbers: u64,
    /// What its reader did to the data, and what to know of it.
    pub notes: Vec<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, episodes, transitions, endings, clipped, action_numbers, notes } = self;
        write!(f, "{name}: {transitions} transitions in {episodes} episodes ({endings})")?;
        if endings.stopped > 0 {
            write!(f, "\n  episodes that just stop are taken for truncated")?;
        }
        if *clipped > 0 {
            let share = 100.0 * *clipped as f64 / *action_numbers as f64;
            write!(
                f,
                "\n  {clipped} of {action_numbers} numbers of actions ({share:.2} %) lay out of bounds and were clipped"
            )?;
        }
        notes.iter().try_for_each(|note| write!(f, "\n  {note}"))
    }
}

/// Reads all episodes into a store. Box actions are mapped to [−1, 1] by the bounds of `target`, the spaces of the environment
/// (without one, by the data's own); what lies outside is clipped and counted. Refused are data that does not fit, numbers that
/// are not finite, and data without a step.
///
/// Beside the store there is never more than one episode and a few thousand rows of the file in memory.
pub fn load(
    reader: &mut dyn EpisodeReader,
    target: Option<&Spaces>,
    options: &LoadOptions,
) -> Result<(Dataset, Report), DataError> {
    let name = reader.name().to_owned();
    let misfit = |problem: String| DataError::Spaces { name: name.clone(), problem };
    let data = reader.spaces().clone();
    let spaces = target.cloned().unwrap_or_else(|| data.clone());
    let fit = Fit::new(&data, &spaces, options.any_action_bounds).map_err(misfit)?;
    let map = ActionMap::of(&spaces.action).map_err(|error| misfit(error.to_string()))?;
    let width = spaces.action.width();
    let room = reader.transitions().unwrap_or(0).try_into().unwrap_or(0);
    let mut builder = DatasetBuilder::with_capacity(spaces, room).map_err(|error| DataError::store(&name, error))?;
    let mut report = Report { name: name.clone(), ..Report::default() };
    let (mut units, mut flags) = (Vec::new(), Vec::new());
    while let Some(mut episode) = next_checked(reader, &data, report.episodes)? {
        let (number, steps) = (report.episodes, episode.steps());
        if let Some(at) = episode.actions.iter().position(|value| !value.is_finite()) {
            let problem = format!("the action is {}", episode.actions[at]);
            return Err(DataError::Content { name, episode: number, step: Some(at / width.max(1)), problem });
        }
        units.clear();
        units.resize(episode.actions.len(), 0.0);
        report.clipped += map.to_unit(&episode.actions, &mut units) as u64;
        report.action_numbers += units.len() as u64;
        report.endings.count(episode.ending);
        report.episodes += 1;
        report.transitions += steps as u64;
        if fit.drops_masks {
            episode.masks.clear();
        }
        let obs = fit.arrange(episode.obs);
        // False everywhere, with a last mark that is the ending's.
        flags.clear();
        flags.resize(2 * steps, false);
        let (terminated, truncated) = flags.split_at_mut(steps);
        if steps > 0 {
            terminated[steps - 1] = episode.ending == Ending::Terminated;
            truncated[steps - 1] = episode.ending == Ending::Truncated;
        }
        let (terminated, truncated) = (&*terminated, &*truncated);
        let episode = Episode {
            obs: obs.as_ref(),
            masks: &episode.masks,
            action: &units,
            reward: &episode.rewards,
            terminated,
            truncated,
        };
        builder.push(&episode).map_err(|error| DataError::store(&name, error))?;
    }
    if report.transitions == 0 {
        return Err(DataError::Empty { name });
    }
    report.notes = reader.notes();
    if fit.drops_masks {
        report.notes.push("the environment asks for no masks of actions, so those of the data are left out".into());
    }
    let dataset = builder.build().map_err(|error| DataError::store(&name, error))?;
    Ok((dataset, report))
}
