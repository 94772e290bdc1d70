//! An archive of arrays. Each array is opened by itself, so that all can be read side by side, row by row.

use super::header;
use crate::DataError;
use crate::element::Element;
use crate::flat::{ColumnInfo, Rows, Table};
use flate2::CrcReader;
use flate2::read::DeflateDecoder;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Take};
use std::path::{Path, PathBuf};
use zip::{CompressionMethod, ZipArchive};

/// No stream of deflate is longer than this many times what it is packed to. What claims to be is damaged, and is found out
/// before memory is taken for it.
const MOST_DENSE: u64 = 1040;

pub(super) struct Archive {
    path: PathBuf,
    keys: Vec<String>,
    entries: Vec<Entry>,
}

/// Where an array lies.
#[derive(Clone, Copy)]
struct Entry {
    start: u64,
    packed: u64,
    size: u64,
    crc: u32,
    method: CompressionMethod,
    encrypted: bool,
}

impl Archive {
    pub fn open(path: &Path) -> Result<Self, DataError> {
        let file = File::open(path).map_err(|error| DataError::io(path, error))?;
        let damaged = |error| DataError::file(path, format!("is no whole archive of numpy (.npz): {error}"));
        let mut archive = ZipArchive::new(BufReader::new(file)).map_err(damaged)?;
        let (mut keys, mut entries) = (Vec::new(), Vec::new());
        for index in 0..archive.len() {
            let file = archive.by_index_raw(index).map_err(damaged)?;
            let Some(start) = file.data_start() else { continue };
            let name = String::from_utf8_lossy(file.name_raw()).into_owned();
            keys.push(name.strip_suffix(".npy").unwrap_or(&name).to_owned());
            entries.push(Entry {
                start,
                packed: file.compressed_size(),
                size: file.size(),
                crc: file.crc32(),
                method: file.compression(),
                encrypted: file.encrypted(),
            });
        }
        Ok(Self { path: path.to_owned(), keys, entries })
    }
}

impl Table for Archive {
    fn path(&self) -> &Path {
        &self.path
    }

    fn keys(&self) -> &[String] {
        &self.keys
    }

    fn column(&self, key: &str) -> Result<Box<dyn Rows>, DataError> {
        let fault = |problem: String| DataError::key(&self.path, key, problem);
        let entry = self.keys.iter().position(|known| known == key).map(|index| self.entries[index]);
        let entry = entry.ok_or_else(|| fault("is missing".into()))?;
        let packed = match entry.method {
            _ if entry.encrypted => return Err(fault("is encrypted".into())),
            CompressionMethod::Stored => false,
            CompressionMethod::Deflated => true,
            _ => {
                return Err(fault("is packed in an unknown way; use `numpy.savez` or `numpy.savez_compressed`".into()));
            }
        };
        let mut file = File::open(&self.path).map_err(|error| DataError::io(&self.path, error))?;
        let length = file.metadata().map_err(|error| DataError::io(&self.path, error))?.len();
        let most = if packed { entry.packed.saturating_mul(MOST_DENSE).saturating_add(64) } else { entry.packed };
        if entry.start.saturating_add(entry.packed) > length || entry.size > most {
            return Err(fault("is cut short".into()));
        }
        file.seek(SeekFrom::Start(entry.start)).map_err(|error| DataError::io(&self.path, error))?;
        let limited = file.take(entry.packed);
        let source = if packed {
            Source::Packed(Box::new(DeflateDecoder::new(BufReader::with_capacity(1 << 16, limited))))
        } else {
            Source::Plain(BufReader::with_capacity(1 << 16, limited))
        };
        let mut source = CrcReader::new(Counted { source, read: 0 });
        let head = header::read(&mut source).map_err(fault)?;
        let numbers = head.len().and_then(|numbers| numbers.checked_mul(head.element.size()));
        let there = entry.size.saturating_sub(source.get_ref().read);
        if numbers.is_none_or(|bytes| bytes as u64 != there) {
            return Err(fault(format!(
                "has a head that speaks of shape {:?} and {}, and {there} bytes of numbers",
                head.shape,
                head.element.name()
            )));
        }
        let (rows, shape) = head.shape.split_first().ok_or_else(|| fault("is a single number, not an array".into()))?;
        let info = ColumnInfo { key: key.to_owned(), rows: *rows, shape: shape.to_vec(), element: head.element };
        Ok(Box::new(Column { path: self.path.clone(), info, source, crc: entry.crc, left: *rows, buffer: Vec::new() }))
    }
}

enum Source {
    Plain(BufReader<Take<File>>),
    Packed(Box<DeflateDecoder<BufReader<Take<File>>>>),
}

/// Knows how many bytes were read.
struct Counted {
    source: Source,
    read: u64,
}

impl Read for Counted {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = match &mut self.source {
            Source::Plain(source) => source.read(to),
            Source::Packed(source) => source.read(to),
        }?;
        self.read += count as u64;
        Ok(count)
    }
}

struct Column {
    path: PathBuf,
    info: ColumnInfo,
    source: CrcReader<Counted>,
    crc: u32,
    /// Rows to come.
    left: usize,
    buffer: Vec<u8>,
}

impl Column {
    /// Reads to the end of `to`, after which its sum is checked once all rows were read.
    fn fill(&mut self, rows: usize, to: &mut [u8]) -> Result<(), DataError> {
        let fault = |problem: String| DataError::key(&self.path, &self.info.key, problem);
        self.source.read_exact(to).map_err(|error| fault(format!("is damaged: {error}")))?;
        self.left = self.left.saturating_sub(rows);
        if self.left == 0 && self.source.crc().sum() != self.crc {
            return Err(fault("is damaged: its checksum is not that of its numbers".into()));
        }
        Ok(())
    }
}

impl Rows for Column {
    fn info(&self) -> &ColumnInfo {
        &self.info
    }

    fn floats(&mut self, rows: usize, to: &mut Vec<f32>) -> Result<(), DataError> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(rows * self.info.width() * self.info.element.size(), 0);
        let outcome = self.fill(rows, &mut buffer);
        if outcome.is_ok() {
            self.info.element.decode(&buffer, to);
        }
        self.buffer = buffer;
        outcome
    }

    fn bytes(&mut self, rows: usize, to: &mut Vec<u8>) -> Result<(), DataError> {
        debug_assert_eq!(self.info.element, Element::U8);
        let start = to.len();
        to.resize(start + rows * self.info.width(), 0);
        self.fill(rows, &mut to[start..])
    }
}
