//! HDF5 files: what D4RL's and Minari's have in common, and D4RL's, which are flat.

use crate::element::Element;
use crate::flat::{ColumnInfo, FlatReader, Rows, Table};
use crate::{DataError, EpisodeReader, OpenOptions};
use hdf5_pure::{ChunkCacheConfig, DType, Dataset, File, FileAccessProperties, MetadataCacheConfig};
use std::path::{Path, PathBuf};

/// No filter packs numbers closer than this. What claims more is damaged, and is found out before memory is taken for it.
const MOST_DENSE: u64 = 1040;

/// Opens a file without reading it whole.
pub(crate) fn open_file(path: &Path) -> Result<File, DataError> {
    if !path.is_file() {
        return Err(DataError::io(path, std::io::ErrorKind::NotFound.into()));
    }
    // Chunks cut across rows and columns: a band of rows must fit, or each would be unpacked again and again.
    let access = FileAccessProperties::new()
        .with_metadata_cache(MetadataCacheConfig::new(16 << 20))
        .with_chunk_cache(ChunkCacheConfig::from_h5p_cache(1021, 16 << 20));
    File::open_streaming_with_options(path, access)
        .map_err(|error| DataError::file(path, format!("is no HDF5 file that can be read: {error}")))
}

/// An array of numbers: its shape, and what they are.
pub(crate) fn column_info(dataset: &Dataset, file_size: u64, path: &Path, key: &str) -> Result<ColumnInfo, DataError> {
    let fault = |problem: String| DataError::key(path, key, problem);
    let damaged = |error: hdf5_pure::Error| fault(format!("cannot be read: {error}"));
    let element = match dataset.dtype().map_err(damaged)? {
        DType::F32 => Element::F32,
        DType::F64 => Element::F64,
        DType::I8 => Element::I8,
        DType::I16 => Element::I16,
        DType::I32 => Element::I32,
        DType::I64 => Element::I64,
        DType::U8 => Element::U8,
        DType::U16 => Element::U16,
        DType::U32 => Element::U32,
        DType::U64 => Element::U64,
        // How bool is written.
        DType::Enum(_) => Element::Bool,
        DType::String | DType::VariableLengthString => return Err(fault("holds text, not numbers".into())),
        other => return Err(fault(format!("holds {other}, not numbers"))),
    };
    let shape = dataset.shape().map_err(damaged)?;
    let most = file_size.saturating_mul(MOST_DENSE);
    let bytes = shape.iter().try_fold(element.size() as u64, |product, &n| product.checked_mul(n));
    if bytes.is_none_or(|bytes| bytes > most) {
        return Err(fault(format!("claims a shape of {shape:?}, more than the file can hold")));
    }
    let mut shape = shape.into_iter().map(|n| n as usize);
    let rows = shape.next().ok_or_else(|| fault("is a single number, not an array".into()))?;
    Ok(ColumnInfo { key: key.to_owned(), rows, shape: shape.collect(), element })
}

/// A file of D4RL: one array for each quantity.
pub(crate) fn open_flat(path: &Path, options: &OpenOptions) -> Result<Box<dyn EpisodeReader>, DataError> {
    let file = open_file(path)?;
    let keys = file.root().datasets();
    let keys = keys.map_err(|error| DataError::file(path, format!("is a damaged HDF5 file: {error}")))?;
    if !keys.iter().any(|key| key == "observations" || key == "obs") {
        let groups = file.root().groups().unwrap_or_default();
        let found: Vec<&str> = keys.iter().chain(&groups).map(String::as_str).take(12).collect();
        return Err(DataError::file(
            path,
            format!(
                "is an HDF5 file neither of D4RL, which has `observations`, nor of Minari, which lies beside a `metadata.json`; \
                 at its root are: {}",
                if found.is_empty() { "nothing".into() } else { found.join(", ") }
            ),
        ));
    }
    let table = Flat { path: path.to_owned(), file, keys };
    Ok(Box::new(FlatReader::open(&table, options)?))
}

struct Flat {
    path: PathBuf,
    file: File,
    keys: Vec<String>,
}

impl Table for Flat {
    fn path(&self) -> &Path {
        &self.path
    }

    fn keys(&self) -> &[String] {
        &self.keys
    }

    fn column(&self, key: &str) -> Result<Box<dyn Rows>, DataError> {
        let dataset = self.file.dataset(key);
        let dataset = dataset.map_err(|error| DataError::key(&self.path, key, format!("cannot be read: {error}")))?;
        let info = column_info(&dataset, self.file.file_size(), &self.path, key)?;
        Ok(Box::new(Column { path: self.path.clone(), info, dataset, at: 0 }))
    }
}

struct Column {
    path: PathBuf,
    info: ColumnInfo,
    dataset: Dataset,
    at: u64,
}

impl Column {
    fn next<T>(
        &mut self,
        rows: usize,
        read: impl Fn(&Dataset, u64, u64) -> Result<Vec<T>, hdf5_pure::Error>,
    ) -> Result<Vec<T>, DataError> {
        let fault = |problem: String| DataError::key(&self.path, &self.info.key, problem);
        let values =
            read(&self.dataset, self.at, rows as u64).map_err(|error| fault(format!("is damaged: {error}")))?;
        if values.len() != rows * self.info.width() {
            return Err(fault("is cut short".into()));
        }
        self.at += rows as u64;
        Ok(values)
    }
}

impl Rows for Column {
    fn info(&self) -> &ColumnInfo {
        &self.info
    }

    fn floats(&mut self, rows: usize, to: &mut Vec<f32>) -> Result<(), DataError> {
        to.append(&mut self.next(rows, Dataset::read_f32_rows)?);
        Ok(())
    }

    fn bytes(&mut self, rows: usize, to: &mut Vec<u8>) -> Result<(), DataError> {
        to.append(&mut self.next(rows, Dataset::read_u8_rows)?);
        Ok(())
    }
}
