//! A folder for each episode, with an Arrow file in it. All columns have a row for each observation: in those of steps the last
//! is padding.

use super::episode::Arrays;
use super::metadata::{Head, METADATA};
use super::reader::Files;
use super::spaces::Place;
use crate::DataError;
use crate::rows::Values;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_schema::DataType;
use axiomrl_envs::{Kind, ObsSpace, Part};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

pub(super) struct Folders {
    data: PathBuf,
}

impl Folders {
    /// Sees, too, whether there are masks, which only the data says.
    pub fn open(data: &Path, head: &mut Head) -> Result<Self, DataError> {
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
        Ok(Self { data: data.to_owned() })
    }
}

impl Files for Folders {
    fn arrays(&self, number: usize, head: &Head, space: &ObsSpace) -> Result<Arrays, DataError> {
        let folder = self.data.join(number.to_string());
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
        let observed = |(place, part): (&Place, &Part)| {
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
        let observations = head.observation.iter().zip(&space.parts).map(observed);
        let masks = head.spaces.masks;
        Ok(Arrays {
            observations: observations.collect::<Result<_, DataError>>()?,
            actions: steps("actions", &[], head.spaces.action.width())?,
            rewards: steps("rewards", &[], 1)?,
            terminations: steps("terminations", &[], 1)?,
            truncations: steps("truncations", &[], 1)?,
            masks: if masks > 0 { floats("infos", &["action_mask".to_owned()], masks)? } else { Vec::new() },
        })
    }

    fn most_transitions(&self) -> u64 {
        // The store grows past it.
        1 << 24
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
