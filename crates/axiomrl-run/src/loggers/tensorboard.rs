//! `tensorboard/`: scalars for TensorBoard.

mod wire;

use crate::files;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// TensorBoard recognises event files by this.
const PREFIX: &str = "events.out.tfevents.";

/// The event file of a run. There is one at a time: cutting back copies it to a new one with the next number, which a
/// TensorBoard that is open goes over to by itself.
#[derive(Debug)]
pub struct TensorBoard {
    path: PathBuf,
    writer: BufWriter<File>,
}

impl TensorBoard {
    /// Opens the newest event file in `dir`, or makes one for a run that began at `started` (seconds since 1970).
    pub fn open(dir: &Path, started: f64) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        let path = match event_files(dir)?.pop() {
            Some(newest) => newest,
            None => {
                let path = dir.join(format!("{PREFIX}{:010}.axiomrl.0000", started as u64));
                files::replace_with(&path, |file| wire::write_record(file, &wire::version_event(started)))?;
                path
            }
        };
        Ok(Self { writer: append_to(&path)?, path })
    }

    /// Like SB3, leaves out what TensorBoard shows anyway: of `time/…` only `time/fps` is of interest there.
    pub fn log(&mut self, step: u64, wall_time: f64, metrics: &[(String, f64)]) -> io::Result<()> {
        let shown = |name: &str| name == "time/fps" || !name.starts_with("time/");
        let scalars = metrics.iter().filter(|(name, _)| shown(name)).map(|(name, value)| (name.as_str(), *value));
        let mut scalars = scalars.peekable();
        if scalars.peek().is_none() {
            return Ok(());
        }
        wire::write_record(&mut self.writer, &wire::scalar_event(step, wall_time, scalars))
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    pub fn sync(&mut self) -> io::Result<()> {
        self.writer.flush()?;
        self.writer.get_ref().sync_data()
    }

    /// Copies the events up to `step` into a new file and removes the old one.
    pub fn truncate_after(&mut self, step: u64) -> io::Result<()> {
        self.writer.flush()?;
        let dir = files::parent_of(&self.path).to_path_buf();
        let next = next_name(&self.path);
        files::replace_with(&next, |copy| {
            let mut events = BufReader::new(File::open(&self.path)?);
            while let Some(event) = wire::read_record(&mut events)? {
                if wire::step_of(&event).is_some_and(|at| at <= step) {
                    wire::write_record(copy, &event)?;
                }
            }
            Ok(())
        })?;
        self.writer = append_to(&next)?;
        self.path = next;
        // All others, in case an earlier process was killed right here: the newest one is complete.
        for other in event_files(&dir)?.into_iter().filter(|other| *other != self.path) {
            fs::remove_file(other)?;
        }
        Ok(())
    }
}

/// The event files of a folder in the order of their names, which is that of their making.
fn event_files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

fn next_name(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (stem, number) = name.rsplit_once('.').unwrap_or((&name, ""));
    path.with_file_name(match number.parse::<u64>() {
        Ok(number) => format!("{stem}.{:04}", number + 1),
        Err(_) => format!("{name}.0001"),
    })
}

fn append_to(path: &Path) -> io::Result<BufWriter<File>> {
    Ok(BufWriter::new(File::options().append(true).open(path)?))
}

#[cfg(test)]
mod tests {
    use super::wire::{Field, fields};
    use super::*;

    fn only_file(dir: &Path) -> PathBuf {
        let files = event_files(dir).unwrap();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].clone()
    }

    fn events(path: &Path) -> Vec<Vec<u8>> {
        let mut file = File::open(path).unwrap();
        std::iter::from_fn(|| wire::read_record(&mut file).unwrap()).collect()
    }

    /// (step, tag, value) of all scalars, by a reader that knows nothing of the writer but the format.
    fn scalars(path: &Path) -> Vec<(u64, String, f32)> {
        let mut found = Vec::new();
        for event in events(path) {
            let step = wire::step_of(&event).unwrap();
            for summary in bytes_of(&event, 5) {
                for value in bytes_of(summary, 1) {
                    let tag = String::from_utf8(bytes_of(value, 1)[0].to_vec()).unwrap();
                    let simple = fields(value).unwrap().into_iter().find_map(|(number, field)| match field {
                        Field::Fixed32(bytes) if number == 2 => Some(f32::from_le_bytes(bytes)),
                        _ => None,
                    });
                    found.push((step, tag, simple.unwrap()));
                }
            }
        }
        found
    }

    fn bytes_of(message: &[u8], wanted: u64) -> Vec<&[u8]> {
        let matching = |(number, field)| match field {
            Field::Bytes(bytes) if number == wanted => Some(bytes),
            _ => None,
        };
        fields(message).unwrap().into_iter().filter_map(matching).collect()
    }

    fn metrics(value: f64) -> Vec<(String, f64)> {
        [("rollout/ep_rew_mean", value), ("time/fps", 9.0), ("time/time_elapsed", 1.0)]
            .map(|(name, value)| (name.to_owned(), value))
            .to_vec()
    }

    #[test]
    fn the_first_bytes_are_those_of_tensorflow() {
        let mut file = Vec::new();
        wire::write_record(&mut file, &wire::version_event(1.0)).unwrap();
        // 24 bytes of event; its length and the checksum of that are what every TensorFlow event file begins with.
        assert_eq!(file[..12], [0x18, 0, 0, 0, 0, 0, 0, 0, 0xa3, 0x7f, 0x4b, 0x22]);
        assert_eq!(&file[12..21], b"\x09\0\0\0\0\0\0\xf0\x3f");
        assert_eq!(&file[21..36], b"\x1a\x0dbrain.Event:2");
    }

    #[test]
    fn what_is_logged_can_be_read() {
        let root = tempfile::tempdir().unwrap();
        let mut board = TensorBoard::open(root.path(), 1_700_000_000.0).unwrap();
        board.log(300, 1_700_000_001.5, &metrics(-21.5)).unwrap();
        board.log(u64::MAX >> 1, 1_700_000_002.0, &metrics(f64::NAN)).unwrap();
        board.log(400, 1.0, &[("time/iterations".to_owned(), 1.0)]).unwrap();
        board.flush().unwrap();
        let found = scalars(&only_file(root.path()));
        assert_eq!(found[..2], [(300, "rollout/ep_rew_mean".to_owned(), -21.5), (300, "time/fps".to_owned(), 9.0)]);
        assert_eq!((found.len(), found[2].0), (4, u64::MAX >> 1));
        assert!(found[2].2.is_nan());
    }

    #[test]
    fn cutting_back_continues_in_a_new_file_with_the_same_bytes() {
        let root = tempfile::tempdir().unwrap();
        let (whole, cut) = (root.path().join("whole"), root.path().join("cut"));
        for dir in [&whole, &cut] {
            let mut board = TensorBoard::open(dir, 1.0).unwrap();
            (1..=4).for_each(|step| board.log(step * 100, step as f64, &metrics(step as f64)).unwrap());
        }
        let first = only_file(&cut);
        let mut bytes = fs::read(&first).unwrap();
        bytes.truncate(bytes.len() - 3);
        fs::write(&first, bytes).unwrap();
        let mut board = TensorBoard::open(&cut, 99.0).unwrap();
        board.truncate_after(200).unwrap();
        (3..=4).for_each(|step| board.log(step * 100, step as f64, &metrics(step as f64)).unwrap());
        board.flush().unwrap();
        let second = only_file(&cut);
        assert!(second > first, "TensorBoard goes on to later names only");
        assert_eq!(fs::read(second).unwrap(), fs::read(only_file(&whole)).unwrap());
    }

    #[test]
    fn reading_stops_at_the_first_damaged_event() {
        let root = tempfile::tempdir().unwrap();
        let mut board = TensorBoard::open(root.path(), 1.0).unwrap();
        board.log(1, 1.0, &metrics(1.0)).unwrap();
        board.log(2, 1.0, &metrics(2.0)).unwrap();
        board.flush().unwrap();
        let path = only_file(root.path());
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        let last = flipped.len() - 10;
        flipped[last] ^= 1;
        fs::write(&path, flipped).unwrap();
        assert_eq!(events(&path).len(), 2);
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            assert!(events(&path).len() < 3, "cut to {cut}");
        }
    }
}
