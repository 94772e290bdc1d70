//! A folder for each episode, with an Arrow file in it. All columns have a row for each observation: in those of steps the last
//! is padding.

use super::episode::Arrays;
use super::metadata::{Head, METADATA};
use super::spaces::Place;
use crate::rows::Values;
use crate::{DataError, EpisodeBuf, EpisodeReader, Metadata};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_schema::DataType;
use axiomrl_envs::{Kind, ObsSpace, Spaces};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

pub(super) struct Reader {
    name: String,
    data: PathBuf,
    head: Head,
    space: ObsSpace,
    at: usize,
}

impl Reader {
    pub fn open(data: &Path, mut head: Head) -> Result<Self, DataError> {
        let space = head.spaces.obs();
        let width = head.spaces.action.mask_width();
        if width > 0 && head.episodes > 0 {
            let first = batches(&data.join("0"))?;
            let mask = first.first().and_then(|(_, batch)| column(batch, "infos", &["action_mask".to_owned()]).ok());
            if mask
                .is_some_and(|mask| matches!(mask.data_type(), DataType::FixedSizeList(_, n) if *n as usize == width))
            {
                head.spaces.masks = width;
            }
        }
        Ok(Self { name: data.display().to_string(), data: data.to_owned(), head, space, at: 0 })
    }

    fn read(&self) -> Result<EpisodeBuf, DataError> {
        let folder = self.data.join(self.at.to_string());
        let batches = batches(&folder)?;
        let rows: usize = batches.iter().map(|(_, batch)| batch.num_rows()).sum();
        if rows == 0 {
            return Err(DataError::file(&folder, "has no rows"));
        }
        let floats = |key: &str, way: &[String], width: usize| {
            let mut values = Vec::with_capacity(rows * width);
            for (path, batch) in &batches {
                let shown = shown(key, way);
                let fault = |problem: String| DataError::key(path, &shown, problem);
                let array = column(batch, key, way).map_err(fault)?;
                check(&array, width).map_err(fault)?;
                append_floats(array.as_ref(), &mut values).map_err(fault)?;
            }
            Ok::<_, DataError>(values)
        };
        // All but the padding.
        let steps = |key: &str, way: &[String], width: usize| {
            let mut values = floats(key, way, width)?;
            values.truncate((rows - 1) * width);
            Ok::<_, DataError>(values)
        };
        let observed = |(place, part): (&Place, &axiomrl_envs::Part)| {
            if part.kind != Kind::U8 {
                return Ok(Values::Floats(floats("observations", &place.arrow, part.at.len())?));
            }
            let mut bytes = Vec::with_capacity(rows * part.at.len());
            for (path, batch) in &batches {
                let fault = |problem: String| DataError::key(path, &shown("observations", &place.arrow), problem);
                let array = column(batch, "observations", &place.arrow).map_err(fault)?;
                check(&array, part.at.len()).map_err(fault)?;
                append_bytes(array.as_ref(), &mut bytes).map_err(fault)?;
            }
            Ok(Values::Bytes(bytes))
        };
        let observations = self.head.observation.iter().zip(&self.space.parts).map(observed);
        let masks = self.head.spaces.masks;
        let arrays = Arrays {
            observations: observations.collect::<Result<_, DataError>>()?,
            actions: steps("actions", &[], self.head.spaces.action.width())?,
            rewards: steps("rewards", &[], 1)?,
            terminations: steps("terminations", &[], 1)?,
            truncations: steps("truncations", &[], 1)?,
            masks: if masks > 0 { floats("infos", &["action_mask".to_owned()], masks)? } else { Vec::new() },
        };
        arrays.finish(&self.head, &self.space).map_err(|(step, problem)| DataError::Content {
            name: self.name.clone(),
            episode: self.at,
            step: Some(step),
            problem,
        })
    }
}

impl EpisodeReader for Reader {
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
        // No more than a line of text can be trusted with: the store grows past it.
        Some(self.head.steps.min(1 << 24))
    }

    fn next_episode(&mut self) -> Result<Option<EpisodeBuf>, DataError> {
        if self.at == self.head.episodes {
            return Ok(None);
        }
        let episode = self.read()?;
        self.at += 1;
        Ok(Some(episode))
    }
}

/// All batches of all files of an episode, in the order of their names.
fn batches(folder: &Path) -> Result<Vec<(PathBuf, RecordBatch)>, DataError> {
    let io = |error| DataError::io(folder, error);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name != METADATA && !name.starts_with(['_', '.']) {
            paths.push(path);
        }
    }
    paths.sort();
    let mut batches = Vec::new();
    for path in paths {
        let damaged = |error| DataError::file(&path, format!("is no Arrow file that can be read: {error}"));
        let file = File::open(&path).map_err(|error| DataError::io(&path, error))?;
        for batch in FileReader::try_new_buffered(file, None).map_err(damaged)? {
            batches.push((path.clone(), batch.map_err(damaged)?));
        }
    }
    Ok(batches)
}

fn shown(key: &str, way: &[String]) -> String {
    [&[key.to_owned()], way].concat().join("/")
}

/// A column, or a field of a field of it.
fn column(batch: &RecordBatch, key: &str, way: &[String]) -> Result<ArrayRef, String> {
    let mut array = batch.column_by_name(key).ok_or("is missing")?.clone();
    for name in way {
        let fields = array.as_struct_opt().ok_or("has no fields, where its space is a Dict or a Tuple")?;
        array = fields.column_by_name(name).ok_or("is missing")?.clone();
    }
    Ok(array)
}

fn check(array: &ArrayRef, width: usize) -> Result<(), String> {
    if array.null_count() > 0 {
        return Err("has gaps".into());
    }
    let found = match array.data_type() {
        DataType::FixedSizeList(_, n) => *n as usize,
        DataType::Binary | DataType::LargeBinary => {
            return Err("holds images packed as JPEG, which cannot be read".into());
        }
        DataType::Utf8 | DataType::LargeUtf8 => return Err("holds text, not numbers".into()),
        _ => 1,
    };
    if found != width {
        return Err(format!("has rows of {found} numbers, where its space has {width}"));
    }
    Ok(())
}

fn append_floats(array: &dyn Array, to: &mut Vec<f32>) -> Result<(), String> {
    match array.data_type() {
        DataType::FixedSizeList(..) => return append_floats(array.as_fixed_size_list().values(), to),
        DataType::Float32 => to.extend_from_slice(array.as_primitive::<Float32Type>().values()),
        DataType::Float64 => to.extend(array.as_primitive::<Float64Type>().values().iter().map(|&value| value as f32)),
        DataType::Int8 => to.extend(array.as_primitive::<Int8Type>().values().iter().map(|&value| f32::from(value))),
        DataType::Int16 => to.extend(array.as_primitive::<Int16Type>().values().iter().map(|&value| f32::from(value))),
        DataType::Int32 => to.extend(array.as_primitive::<Int32Type>().values().iter().map(|&value| value as f32)),
        DataType::Int64 => to.extend(array.as_primitive::<Int64Type>().values().iter().map(|&value| value as f32)),
        DataType::UInt8 => to.extend(array.as_primitive::<UInt8Type>().values().iter().map(|&value| f32::from(value))),
        DataType::UInt16 => {
            to.extend(array.as_primitive::<UInt16Type>().values().iter().map(|&value| f32::from(value)))
        }
        DataType::UInt32 => to.extend(array.as_primitive::<UInt32Type>().values().iter().map(|&value| value as f32)),
        DataType::UInt64 => to.extend(array.as_primitive::<UInt64Type>().values().iter().map(|&value| value as f32)),
        DataType::Boolean => to.extend(array.as_boolean().values().iter().map(|value| f32::from(u8::from(value)))),
        other => return Err(format!("holds {other}, not numbers")),
    }
    Ok(())
}

fn append_bytes(array: &dyn Array, to: &mut Vec<u8>) -> Result<(), String> {
    match array.data_type() {
        DataType::FixedSizeList(..) => append_bytes(array.as_fixed_size_list().values(), to),
        DataType::UInt8 => {
            to.extend_from_slice(array.as_primitive::<UInt8Type>().values());
            Ok(())
        }
        other => Err(format!("holds {other}, where the observation is uint8")),
    }
}
