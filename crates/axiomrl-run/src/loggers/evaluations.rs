//! `evaluations.npz`: every evaluation, in the layout of SB3's `EvalCallback`.

use super::npz;
use crate::files;
use axiomrl_data::npz::npy;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const TIMESTEPS: &str = "timesteps.npy";
const RESULTS: &str = "results.npy";
const LENGTHS: &str = "ep_lengths.npy";

/// One row per evaluation. Arrays: `timesteps (n,)`, `results (n, episodes)`, `ep_lengths (n, episodes)`. An
/// evaluation of fewer episodes than another is filled up with NaN and 0.
#[derive(Debug)]
pub struct Evaluations {
    path: PathBuf,
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
struct Row {
    step: u64,
    returns: Vec<f64>,
    lengths: Vec<u64>,
}

impl Evaluations {
    pub fn open(path: &Path) -> io::Result<Self> {
        let rows = match fs::read(path) {
            Ok(archive) => decode(&archive)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(Self { path: path.to_path_buf(), rows })
    }

    /// Adds an evaluation and rewrites the file.
    pub fn append(&mut self, step: u64, returns: &[f64], lengths: &[u64]) -> io::Result<()> {
        self.rows.push(Row { step, returns: returns.to_vec(), lengths: lengths.to_vec() });
        self.write()
    }

    /// Drops the evaluations past `step`.
    pub fn truncate_after(&mut self, step: u64) -> io::Result<()> {
        let before = self.rows.len();
        self.rows.retain(|row| row.step <= step);
        if self.rows.is_empty() {
            // A run that has not been evaluated has no such file.
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        if self.rows.len() < before { self.write() } else { Ok(()) }
    }

    fn write(&self) -> io::Result<()> {
        files::write_atomic(&self.path, &encode(&self.rows)?)
    }
}

fn encode(rows: &[Row]) -> io::Result<Vec<u8>> {
    let episodes = rows.iter().map(|row| row.returns.len().max(row.lengths.len())).max().unwrap_or(0);
    let table = [rows.len(), episodes];
    let padded = |n: usize| 0..episodes - n;
    let returns = rows.iter().flat_map(|row| {
        row.returns.iter().copied().chain(padded(row.returns.len()).map(|_| f64::NAN)).collect::<Vec<_>>()
    });
    let lengths = rows.iter().flat_map(|row| {
        row.lengths.iter().map(|length| *length as i64).chain(padded(row.lengths.len()).map(|_| 0)).collect::<Vec<_>>()
    });
    npz::pack(&[
        (TIMESTEPS, npy::array(&table[..1], rows.iter().map(|row| row.step as i64))?),
        (RESULTS, npy::array(&table, returns)?),
        (LENGTHS, npy::array(&table, lengths)?),
    ])
}

fn decode(archive: &[u8]) -> io::Result<Vec<Row>> {
    let files = npz::unpack(archive)?;
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "its arrays do not fit together");
    let read =
        |name: &str| files.iter().find(|(found, _)| found == name).map(|(_, file)| file.as_slice()).ok_or_else(damaged);
    let (_, steps) = npy::read::<i64>(read(TIMESTEPS)?)?;
    let (_, returns) = npy::read::<f64>(read(RESULTS)?)?;
    let (_, lengths) = npy::read::<i64>(read(LENGTHS)?)?;
    let episodes = returns.len().checked_div(steps.len()).unwrap_or(0);
    if returns.len() != lengths.len() || episodes * steps.len() != returns.len() {
        return Err(damaged());
    }
    let row = |(i, step): (usize, &i64)| {
        let cells = i * episodes..(i + 1) * episodes;
        // What `encode` filled up is taken off again, so that cutting back also narrows the table.
        let is_filling = |cell: &usize| returns[*cell].is_nan() && lengths[*cell] == 0;
        let real = cells.clone().rev().skip_while(is_filling).count();
        let cells = cells.start..cells.start + real;
        Row {
            step: *step as u64,
            returns: returns[cells.clone()].to_vec(),
            lengths: lengths[cells].iter().map(|length| *length as u64).collect(),
        }
    };
    Ok(steps.iter().enumerate().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(path: &Path) -> Vec<(String, Vec<usize>)> {
        let files = npz::unpack(&fs::read(path).unwrap()).unwrap();
        let shape = |name: &str, file: &[u8]| match name {
            RESULTS => npy::read::<f64>(file).unwrap().0,
            _ => npy::read::<i64>(file).unwrap().0,
        };
        files.iter().map(|(name, file)| (name.clone(), shape(name, file))).collect()
    }

    #[test]
    fn has_sb3s_layout() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("evaluations.npz");
        let mut evaluations = Evaluations::open(&path).unwrap();
        evaluations.append(1000, &[1.0, 2.5, -3.0], &[10, 20, 30]).unwrap();
        Evaluations::open(&path).unwrap().append(2000, &[4.0, 5.0, 6.0], &[40, 50, 60]).unwrap();
        let expected = [(TIMESTEPS, vec![2]), (RESULTS, vec![2, 3]), (LENGTHS, vec![2, 3])];
        assert_eq!(shapes(&path), expected.map(|(name, shape)| (name.to_owned(), shape)));
        let rows = decode(&fs::read(&path).unwrap()).unwrap();
        assert_eq!((rows[0].step, rows[1].step), (1000, 2000));
        assert_eq!(rows[0].returns, [1.0, 2.5, -3.0]);
        assert_eq!(rows[1].lengths, [40, 50, 60]);
    }

    #[test]
    fn cutting_back_gives_the_bytes_of_before() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("evaluations.npz");
        let mut evaluations = Evaluations::open(&path).unwrap();
        evaluations.append(10, &[1.0], &[1]).unwrap();
        let before = fs::read(&path).unwrap();
        // Wider, so that the first row was filled up in between.
        evaluations.append(20, &[2.0, 3.0], &[2, 3]).unwrap();
        assert_ne!(fs::read(&path).unwrap(), before);
        let mut reopened = Evaluations::open(&path).unwrap();
        reopened.truncate_after(19).unwrap();
        assert_eq!(fs::read(&path).unwrap(), before);
        reopened.truncate_after(9).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_damaged_file_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("evaluations.npz");
        fs::write(&path, "not an archive").unwrap();
        assert_eq!(Evaluations::open(&path).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
