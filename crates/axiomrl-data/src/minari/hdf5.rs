//! `main_data.hdf5`: a group for each episode.

use super::episode::Arrays;
use super::metadata::Head;
use super::reader::Files;
use crate::DataError;
use crate::flat::ColumnInfo;
use crate::hdf5::{column_info, open_file};
use crate::rows::Values;
use axiomrl_envs::{Kind, ObsSpace, Space};
use hdf5_pure::{Dataset, FormatError, Group};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub(super) const MAIN: &str = "main_data.hdf5";

pub(super) struct File {
    path: PathBuf,
    /// By their number: the file lists them in an order of its own.
    groups: HashMap<usize, Group>,
    size: u64,
}

impl File {
    /// Sees, too, whether there are masks, which only the data says.
    pub fn open(data: &Path, head: &mut Head) -> Result<Self, DataError> {
        let path = data.join(MAIN);
        let file = open_file(&path)?;
        let damaged = |error| DataError::file(&path, format!("is damaged: {error}"));
        let number = |name: &str| name.strip_prefix("episode_")?.parse::<usize>().ok();
        let members = file.root().iter_groups().map_err(damaged)?;
        let groups: HashMap<usize, Group> = members.filter_map(|(name, group)| Some((number(&name)?, group))).collect();
        if groups.is_empty() && head.episodes > 0 {
            return Err(DataError::file(&path, "is not Minari's: there is no group `episode_0` in it"));
        }
        let size = file.file_size();
        let width = head.spaces.action.mask_width();
        if let (true, Some(first)) = (width > 0, groups.get(&0)) {
            let mask = first.dataset("infos/action_mask");
            let info = mask.ok().and_then(|mask| column_info(&mask, size, &path, "infos/action_mask").ok());
            if info.is_some_and(|info| info.shape == [width]) {
                head.spaces.masks = width;
            }
        }
        Ok(Self { path, groups, size })
    }

    fn floats(
        &self,
        dataset: &Dataset,
        info: &ColumnInfo,
        rows: usize,
        shape: &[usize],
    ) -> Result<Vec<f32>, DataError> {
        self.check(info, rows, shape)?;
        dataset.read_f32().map_err(|error| self.damaged(info, error))
    }

    fn check(&self, info: &ColumnInfo, rows: usize, shape: &[usize]) -> Result<(), DataError> {
        let fault = |problem: String| Err(DataError::key(&self.path, &info.key, problem));
        if !info.has_rows_of(shape) {
            return fault(format!("has rows of shape {:?}, where its space has {shape:?}", info.shape));
        }
        if info.rows != rows {
            return fault(format!(
                "has {} rows, where there should be {rows}: one for each step, and one more observation than steps, the last \
                 being what the last step led to",
                info.rows
            ));
        }
        Ok(())
    }

    fn damaged(&self, info: &ColumnInfo, error: hdf5_pure::Error) -> DataError {
        DataError::key(&self.path, &info.key, format!("is damaged: {error}"))
    }
}

impl Files for File {
    fn arrays(&self, number: usize, head: &Head, space: &ObsSpace) -> Result<Arrays, DataError> {
        let Some(group) = self.groups.get(&number) else {
            let problem = format!("is missing, and {} speaks of {} episodes", super::METADATA, head.episodes);
            return Err(DataError::key(&self.path, &format!("episode_{number}"), problem));
        };
        let open = |key: &str| -> Result<(Dataset, ColumnInfo), DataError> {
            let shown = format!("episode_{number}/{key}");
            let dataset = group.dataset(key).map_err(|error| match error {
                hdf5_pure::Error::Format(FormatError::PathNotFound(_)) => {
                    DataError::key(&self.path, &shown, "is missing")
                }
                other => DataError::key(&self.path, &shown, format!("cannot be read: {other}")),
            })?;
            let info = column_info(&dataset, self.size, &self.path, &shown)?;
            Ok((dataset, info))
        };
        let (rewards, steps) = {
            let (dataset, info) = open("rewards")?;
            (self.floats(&dataset, &info, info.rows, &[])?, info.rows)
        };
        let floats = |key: &str, rows: usize, shape: &[usize]| {
            let (dataset, info) = open(key)?;
            self.floats(&dataset, &info, rows, shape)
        };
        let mut observations = Vec::with_capacity(space.parts.len());
        for (place, part) in head.observation.iter().zip(&space.parts) {
            let way = [&["observations".to_owned()], place.hdf5.as_slice()].concat().join("/");
            observations.push(if part.kind == Kind::U8 {
                let (dataset, info) = open(&way)?;
                self.check(&info, steps + 1, &part.shape)?;
                Values::Bytes(dataset.read_u8().map_err(|error| self.damaged(&info, error))?)
            } else {
                Values::Floats(floats(&way, steps + 1, &part.shape)?)
            });
        }
        let shape = match &head.action.leaf.space {
            Space::Box(b) => b.shape.clone(),
            other => vec![other.width()],
        };
        let masks = head.spaces.masks;
        Ok(Arrays {
            observations,
            actions: floats("actions", steps, &shape)?,
            terminations: floats("terminations", steps, &[])?,
            truncations: floats("truncations", steps, &[])?,
            masks: if masks > 0 { floats("infos/action_mask", steps + 1, &[masks])? } else { Vec::new() },
            rewards,
        })
    }

    fn most_transitions(&self) -> u64 {
        // A file of a few bytes has no more steps.
        self.size
    }

    fn notes(&self, head: &Head) -> Vec<String> {
        let further = self.groups.keys().filter(|&&number| number >= head.episodes).count();
        match further {
            0 => Vec::new(),
            n => vec![format!("{n} episodes of the file are left out, as `{}` does not count them", super::METADATA)],
        }
    }
}
