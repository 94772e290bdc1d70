//! Where episodes begin and end in a flat file.

use super::block::{Block, ObsColumns, ROWS};
use super::columns::{Rows, Table};
use super::spaces::{action_column, number_column, obs_columns, resolve};
use crate::{DataError, Ending, EpisodeBuf, EpisodeReader, Metadata, OpenOptions};
use axiomrl_envs::{ObsBuf, ObsRef, Spaces};

/// Rows that differ by more than this in length belong to different episodes.
const SAME: f64 = 1e-6;

/// Reads the episodes of a flat file.
pub(crate) struct FlatReader {
    name: String,
    spaces: Spaces,
    metadata: Metadata,
    block: Block,
    ends: Ends,
    rows: usize,
    /// The row to be looked at next.
    at: usize,
    /// What the last step of the episode under way led to.
    next: ObsBuf,
    next_mask: Vec<bool>,
    notes: Vec<String>,
    dropped: usize,
    cuts: usize,
}

/// The last steps, as far as they are marked.
struct Ends {
    terminated: Vec<bool>,
    truncated: Vec<bool>,
    /// An end after this many steps, where time limits are not marked.
    limit: Option<u64>,
}

impl Ends {
    /// Whether the clock stopped the episode with this step of it, counted from 1.
    fn times_out(&self, row: usize, step: usize) -> bool {
        self.truncated[row] || self.limit == Some(step as u64)
    }

    fn of(&self, row: usize, step: usize) -> Option<Ending> {
        match (self.terminated[row], self.times_out(row, step)) {
            (true, _) => Some(Ending::Terminated),
            (false, true) => Some(Ending::Truncated),
            (false, false) => None,
        }
    }
}

impl FlatReader {
    pub fn open(table: &dyn Table, options: &OpenOptions) -> Result<Self, DataError> {
        let is = |key: &str| table.has(key) || table.keys().iter().any(|known| known.starts_with(&format!("{key}/")));
        let d4rl = !is("obs") && is("observations");
        let (obs, next) = if d4rl { ("observations", "next_observations") } else { ("obs", "next_obs") };
        if !d4rl && !is("obs") && !is("observations") {
            // The error names what is there instead.
            table.require(obs)?;
        }
        let (mut spaces, metadata, mut notes) = resolve(table, obs, options)?;
        let parts = spaces.obs();
        let obs_rows = obs_columns(table, obs, &parts)?;
        let next_rows = if is(next) || !d4rl { Some(obs_columns(table, next, &parts)?) } else { None };
        let action = action_column(table, &spaces.action)?;
        let reward = number_column(table, "rewards")?;
        let masks = mask_columns(table, &mut spaces)?;
        let first = obs_rows.first().map(|column| column.info().clone());
        let (rows, first) = first.map_or((0, String::new()), |info| (info.rows, info.key));
        let all =
            obs_rows.iter().chain(next_rows.iter().flatten()).chain([&action, &reward]).chain(masks.iter().flatten());
        for info in all.map(|column| column.info()) {
            if info.rows != rows {
                let problem = format!("has {} rows, where `{first}` has {rows}", info.rows);
                return Err(DataError::key(table.path(), &info.key, problem));
            }
        }
        let ends = read_ends(table, d4rl, rows, &first, options, &mut notes)?;
        if !ends.terminated.iter().chain(&ends.truncated).any(|&end| end) && ends.limit.is_none() && rows > 0 {
            if next_rows.is_none() {
                let problem = "is never set, and without `timeouts` or `next_observations` nothing says where episodes end; \
                    give the most steps of an episode (`max_episode_steps`), or add one of the two";
                return Err(DataError::key(table.path(), "terminals", problem));
            }
            notes.push(format!("no row is marked as an end: episodes end where `{next}` is not the following `{obs}`"));
        }
        Ok(Self {
            name: table.path().display().to_string(),
            block: Block {
                obs_columns: ObsColumns::new(parts.clone(), obs_rows),
                next_columns: next_rows.map(|columns| ObsColumns::new(parts.clone(), columns)),
                action_column: action,
                reward_column: reward,
                mask_columns: masks,
                obs: ObsBuf::default(),
                next: ObsBuf::default(),
                actions: Vec::new(),
                rewards: Vec::new(),
                masks: Default::default(),
                held: 0..0,
            },
            next: ObsBuf::zeros(parts.widths, 1),
            next_mask: Vec::new(),
            spaces,
            metadata,
            ends,
            rows,
            at: 0,
            notes,
            dropped: 0,
            cuts: 0,
        })
    }

    /// Adds the step of a row, without what it led to.
    fn push(&self, row: usize, episode: &mut EpisodeBuf) {
        let width = self.spaces.action.width();
        episode.actions.extend_from_slice(&self.block.actions[row * width..(row + 1) * width]);
        episode.rewards.push(self.block.rewards[row]);
    }

    fn push_obs(&self, row: usize, episode: &mut EpisodeBuf) {
        append(&mut episode.obs, self.block.obs.row(row));
        let width = self.spaces.masks;
        if self.block.mask_columns.is_some() {
            episode.masks.extend(self.block.masks[0][row * width..(row + 1) * width].iter().map(|&mask| mask != 0.0));
        }
    }

    /// With what its last step led to.
    fn close(&self, mut episode: EpisodeBuf, ending: Ending) -> EpisodeBuf {
        append(&mut episode.obs, self.next.row(0));
        episode.masks.extend_from_slice(&self.next_mask);
        episode.ending = ending;
        episode
    }

    /// Every row has its next observation.
    fn next_linked(&mut self, mut episode: EpisodeBuf) -> Result<Option<EpisodeBuf>, DataError> {
        while self.at < self.rows {
            let row = self.block.reach(self.at, self.rows)?;
            if episode.steps() > 0 && !same(self.next.row(0), self.block.obs.row(row)) {
                self.cuts += 1;
                return Ok(Some(self.close(episode, Ending::Stopped)));
            }
            self.push_obs(row, &mut episode);
            self.push(row, &mut episode);
            self.next.row_mut(0).copy_from(self.block.next.row(row));
            if self.block.mask_columns.is_some() {
                let width = self.spaces.masks;
                let mask = &self.block.masks[1][row * width..(row + 1) * width];
                self.next_mask.clear();
                self.next_mask.extend(mask.iter().map(|&mask| mask != 0.0));
            }
            let end = self.ends.of(self.at, episode.steps());
            self.at += 1;
            if let Some(ending) = end {
                return Ok(Some(self.close(episode, ending)));
            }
        }
        Ok(if episode.steps() > 0 { Some(self.close(episode, Ending::Stopped)) } else { None })
    }

    /// The next row has what a row led to, except at ends.
    fn next_unlinked(&mut self, mut episode: EpisodeBuf) -> Result<Option<EpisodeBuf>, DataError> {
        while self.at < self.rows {
            let row = self.block.reach(self.at, self.rows)?;
            self.push_obs(row, &mut episode);
            let (timeout, last) = (self.ends.times_out(self.at, episode.steps() + 1), self.at + 1 == self.rows);
            let terminated = self.ends.terminated[self.at];
            self.at += 1;
            if timeout || last {
                self.dropped += 1;
                if episode.steps() > 0 {
                    episode.ending = if timeout { Ending::Truncated } else { Ending::Stopped };
                    return Ok(Some(episode));
                }
                episode = self.empty();
                continue;
            }
            self.push(row, &mut episode);
            if terminated {
                self.push_obs(row, &mut episode);
                episode.ending = Ending::Terminated;
                return Ok(Some(episode));
            }
        }
        Ok(None)
    }

    fn empty(&self) -> EpisodeBuf {
        EpisodeBuf {
            obs: ObsBuf::zeros(self.next.widths(), 0),
            masks: Vec::new(),
            actions: Vec::new(),
            rewards: Vec::new(),
            ending: Ending::Stopped,
        }
    }
}

impl EpisodeReader for FlatReader {
    fn name(&self) -> &str {
        &self.name
    }

    fn spaces(&self) -> &Spaces {
        &self.spaces
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn transitions(&self) -> Option<u64> {
        Some(self.rows as u64)
    }

    fn next_episode(&mut self) -> Result<Option<EpisodeBuf>, DataError> {
        let episode = self.empty();
        if self.block.next_columns.is_some() { self.next_linked(episode) } else { self.next_unlinked(episode) }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        if self.dropped > 0 {
            notes.push(format!(
                "{} rows were dropped whose next observation is unknown: those with a time-out, and the last",
                self.dropped
            ));
        }
        if self.cuts > 0 {
            notes.push(format!("{} episodes stop without a mark, before a row that does not follow", self.cuts));
        }
        if 2 * self.cuts > self.rows {
            notes.push("most transitions stand alone, so returns and sequences of several steps see little".into());
        }
        notes
    }
}

/// The marks of last steps, whatever they are called.
fn read_ends(
    table: &dyn Table,
    d4rl: bool,
    rows: usize,
    first: &str,
    options: &OpenOptions,
    notes: &mut Vec<String>,
) -> Result<Ends, DataError> {
    let read = |key: &str| {
        let mut column = number_column(table, key)?;
        let found = column.info().rows;
        if found != rows {
            return Err(DataError::key(table.path(), key, format!("has {found} rows, where `{first}` has {rows}")));
        }
        read_marks(column.as_mut(), rows)
    };
    if d4rl {
        let timed = table.has("timeouts");
        let truncated = if timed { read("timeouts")? } else { vec![false; rows] };
        return Ok(Ends {
            terminated: read("terminals")?,
            truncated,
            limit: if timed { None } else { options.max_episode_steps },
        });
    }
    let older = table.has("terminateds") && !table.has("terminations");
    let (terminated, truncated) = if older { ("terminateds", "truncateds") } else { ("terminations", "truncations") };
    if !table.has(terminated) && table.has("dones") {
        notes.push("`dones` does not say how episodes ended: all are taken for ends of the world".into());
        return Ok(Ends { terminated: read("dones")?, truncated: vec![false; rows], limit: None });
    }
    Ok(Ends { terminated: read(terminated)?, truncated: read(truncated)?, limit: None })
}

fn read_marks(column: &mut dyn Rows, rows: usize) -> Result<Vec<bool>, DataError> {
    let (mut marks, mut numbers) = (Vec::with_capacity(rows), Vec::new());
    while marks.len() < rows {
        numbers.clear();
        column.floats(ROWS.min(rows - marks.len()), &mut numbers)?;
        marks.extend(numbers.iter().map(|&number| number != 0.0));
    }
    Ok(marks)
}

/// The choices that were allowed, where the file has them. The spaces say afterwards whether it does.
fn mask_columns(table: &dyn Table, spaces: &mut Spaces) -> Result<Option<[Box<dyn Rows>; 2]>, DataError> {
    spaces.masks = 0;
    let width = spaces.action.mask_width();
    if width == 0 || !table.has("action_masks") {
        return Ok(None);
    }
    spaces.masks = width;
    let columns = [table.require("action_masks")?, table.require("next_action_masks")?];
    for info in columns.iter().map(|column| column.info()) {
        if info.shape != [width] {
            let problem = format!("has rows of shape {:?}, where the action has {width} choices", info.shape);
            return Err(DataError::key(table.path(), &info.key, problem));
        }
    }
    Ok(Some(columns))
}

fn append(to: &mut ObsBuf, row: ObsRef<'_>) {
    to.floats.extend_from_slice(row.floats);
    to.bytes.extend_from_slice(row.bytes);
}

/// Whether one observation follows on the other.
fn same(next: ObsRef<'_>, obs: ObsRef<'_>) -> bool {
    if next.bytes != obs.bytes {
        return false;
    }
    // Mostly they are equal bit for bit, which is quickly seen.
    if next.floats == obs.floats {
        return true;
    }
    let distance: f64 = next.floats.iter().zip(obs.floats).map(|(a, b)| f64::from(a - b).powi(2)).sum();
    // What cannot be compared, NaN, is left to whoever checks the numbers.
    distance.is_nan() || distance.sqrt() <= SAME
}
