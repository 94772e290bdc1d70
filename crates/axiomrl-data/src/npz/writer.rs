//! Episodes to an archive. An archive holds one array after the other, and episodes come with all of them at once: so each
//! array is first collected in a file of its own, and none in memory.

use super::header::{self, Header};
use crate::element::Element;
use crate::episode::next_checked;
use crate::files::Staging;
use crate::flat::{DESCRIBED, Described, part_key};
use crate::{DataError, Ending, EpisodeBuf, EpisodeReader};
use axiomrl_envs::{Kind, ObsSpace, Part, Space, Spaces};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const ARCHIVE: &str = "archive.npz";

pub(super) fn write(path: &Path, reader: &mut dyn EpisodeReader) -> Result<(), DataError> {
    let spaces = reader.spaces().clone();
    let staging = Staging::beside(path)?;
    let mut columns = Columns::new(&spaces, &staging)?;
    let (mut rows, mut episodes) = (0, 0);
    while let Some(episode) = next_checked(reader, &spaces, episodes)? {
        columns.push(&episode)?;
        rows += episode.steps();
        episodes += 1;
    }
    if rows == 0 {
        return Err(DataError::Empty { name: reader.name().to_owned() });
    }
    let described = Described { spaces, metadata: reader.metadata().clone() };
    let archive = staging.path(ARCHIVE);
    pack(&archive, rows, columns.finish()?, &described).map_err(|error| DataError::io(path, error))?;
    staging.publish(ARCHIVE)
}

/// One array in the making.
struct Spool {
    key: String,
    shape: Vec<usize>,
    element: Element,
    path: PathBuf,
    file: BufWriter<File>,
}

impl Spool {
    fn new(
        staging: &Staging,
        number: usize,
        key: String,
        shape: Vec<usize>,
        element: Element,
    ) -> Result<Self, DataError> {
        let path = staging.path(&format!("{number}.column"));
        let file = File::create(&path).map_err(|error| DataError::io(&path, error))?;
        Ok(Self { key, shape, element, path, file: BufWriter::new(file) })
    }

    fn numbers(&mut self, values: &[f32]) -> Result<(), DataError> {
        let outcome = match self.element {
            Element::I64 => values.iter().try_for_each(|&value| self.file.write_all(&(value as i64).to_le_bytes())),
            Element::I8 => values.iter().try_for_each(|&value| self.file.write_all(&(value as i8).to_le_bytes())),
            _ => values.iter().try_for_each(|value| self.file.write_all(&value.to_le_bytes())),
        };
        outcome.map_err(|error| DataError::io(&self.path, error))
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), DataError> {
        self.file.write_all(bytes).map_err(|error| DataError::io(&self.path, error))
    }
}

/// All arrays: the observations' parts, then what they led to, then the rest.
struct Columns {
    obs: ObsSpace,
    masks: usize,
    seen: Vec<Spool>,
    next: Vec<Spool>,
    actions: Spool,
    rewards: Spool,
    terminations: Spool,
    truncations: Spool,
    mask_spools: Option<[Spool; 2]>,
}

impl Columns {
    fn new(spaces: &Spaces, staging: &Staging) -> Result<Self, DataError> {
        let obs = spaces.obs();
        let mut count = 0;
        let mut spool = |key: String, shape: Vec<usize>, element: Element| {
            count += 1;
            Spool::new(staging, count, key, shape, element)
        };
        let mut parts = |key: &str| -> Result<Vec<Spool>, DataError> {
            obs.parts.iter().map(|part| spool(part_key(key, part), part_shape(part), part_element(part))).collect()
        };
        let (seen, next) = (parts("obs")?, parts("next_obs")?);
        let (shape, element) = match &spaces.action {
            Space::Box(b) => (b.shape.clone(), Element::F32),
            Space::Discrete { .. } => (vec![], Element::I64),
            Space::MultiDiscrete { nvec } => (vec![nvec.len()], Element::I64),
            Space::MultiBinary { n } => (vec![*n], Element::I8),
            Space::Dict { .. } => return Err(DataError::Invalid("Dict actions cannot be written".into())),
        };
        let mask_spools = if spaces.masks > 0 {
            let mut mask = |key: &str| spool(key.into(), vec![spaces.masks], Element::Bool);
            Some([mask("action_masks")?, mask("next_action_masks")?])
        } else {
            None
        };
        Ok(Self {
            masks: spaces.masks,
            seen,
            next,
            actions: spool("actions".into(), shape, element)?,
            rewards: spool("rewards".into(), vec![], Element::F32)?,
            terminations: spool("terminations".into(), vec![], Element::Bool)?,
            truncations: spool("truncations".into(), vec![], Element::Bool)?,
            mask_spools,
            obs,
        })
    }

    fn push(&mut self, episode: &EpisodeBuf) -> Result<(), DataError> {
        let steps = episode.steps();
        for (spools, first) in [(&mut self.seen, 0), (&mut self.next, 1)] {
            for row in first..first + steps {
                let row = episode.obs.row(row);
                for (part, spool) in self.obs.parts.iter().zip(spools.iter_mut()) {
                    match part.kind {
                        Kind::U8 => spool.bytes(&row.bytes[part.at.clone()])?,
                        _ => spool.numbers(&row.floats[part.at.clone()])?,
                    }
                }
            }
        }
        self.actions.numbers(&episode.actions)?;
        self.rewards.numbers(&episode.rewards)?;
        for t in 0..steps {
            let last = t + 1 == steps;
            self.terminations.bytes(&[u8::from(last && episode.ending == Ending::Terminated)])?;
            self.truncations.bytes(&[u8::from(last && episode.ending != Ending::Terminated)])?;
        }
        if let Some(spools) = &mut self.mask_spools {
            for (spool, first) in spools.iter_mut().zip([0, 1]) {
                let rows = &episode.masks[first * self.masks..(first + steps) * self.masks];
                spool.bytes(&rows.iter().map(|&mask| u8::from(mask)).collect::<Vec<u8>>())?;
            }
        }
        Ok(())
    }

    /// All arrays in the order of the archive.
    fn finish(self) -> Result<Vec<Spool>, DataError> {
        let Self { seen, next, actions, rewards, terminations, truncations, mask_spools, .. } = self;
        let head = seen.into_iter().chain([actions, rewards]).chain(next).chain([terminations, truncations]);
        let mut spools: Vec<Spool> = head.chain(mask_spools.into_iter().flatten()).collect();
        for spool in &mut spools {
            spool.file.flush().map_err(|error| DataError::io(&spool.path, error))?;
        }
        Ok(spools)
    }
}

/// One choice is one number, without an axis of its own.
fn part_shape(part: &Part) -> Vec<usize> {
    match &part.kind {
        Kind::OneHot(sizes) if sizes.len() == 1 => vec![],
        _ => part.shape.clone(),
    }
}

fn part_element(part: &Part) -> Element {
    match part.kind {
        Kind::U8 => Element::U8,
        Kind::F32 => Element::F32,
        Kind::OneHot(_) => Element::I64,
    }
}

fn pack(path: &Path, rows: usize, spools: Vec<Spool>, described: &Described) -> io::Result<()> {
    let mut archive = ZipWriter::new(BufWriter::new(File::create(path)?));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    for spool in spools {
        archive.start_file(format!("{}.npy", spool.key), options)?;
        let shape = [&[rows], spool.shape.as_slice()].concat();
        header::write(&mut archive, &Header { element: spool.element, shape })?;
        drop(spool.file);
        io::copy(&mut BufReader::with_capacity(1 << 16, File::open(&spool.path)?), &mut archive)?;
        std::fs::remove_file(&spool.path)?;
    }
    archive.start_file(format!("{DESCRIBED}.npy"), options)?;
    let text = serde_json::to_vec(described)?;
    header::write(&mut archive, &Header { element: Element::U8, shape: vec![text.len()] })?;
    archive.write_all(&text)?;
    archive.finish()?.into_inner().map_err(|error| error.into_error())?.sync_all()
}
