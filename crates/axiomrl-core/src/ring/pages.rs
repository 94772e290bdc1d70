//! The store as a head and pages of bytes.
//!
//! Page `k` of a lane holds its transitions `k * S..(k + 1) * S`, column by column, as far as they are still stored; the
//! head holds the counters and the observations that wait for their actions. Nothing depends on where a row or a pool slot
//! happens to lie in memory, so two stores that would give the same samples give the same bytes.

use super::{Lane, Ring, RingSpec, TERMINATED, TRUNCATED};
use crate::PagedStore;
use crate::bytes::*;
use crate::pages::{Paging, read_rows, stretches, write_rows};
use axiomrl_envs::ObsBuf;
use std::io::{self, Read, Write};
use std::ops::Range;

const FORMAT: u64 = 3;

/// A page is as large as this or half as large, not counting the last observations of episodes.
const PAGE_BYTES: usize = 2 << 20;

/// Numbers are below this: no name of a transition overflows.
const MOST_TRANSITIONS: u64 = 1 << 48;

pub(super) fn transitions_per_page(spec: &RingSpec) -> u64 {
    let obs = spec.stored_widths();
    let bytes = 4 * (obs.floats + spec.action_width + 1) + obs.bytes + spec.mask_width + 2;
    1 << (PAGE_BYTES / bytes).max(1).ilog2()
}

/// What a page holds of its lane.
struct Page {
    lane: usize,
    /// Numbers whose frames are there: a few more than the transitions, where the oldest still show older frames.
    frames: Range<u64>,
    transitions: Range<u64>,
}

impl PagedStore for Ring {
    fn head(&self) -> Vec<u8> {
        let mut head = Vec::new();
        self.write_head(&mut head).expect("a vector takes all that is written");
        head
    }

    fn pages(&self) -> Vec<u64> {
        self.paging().pages(self.lanes.iter().map(|lane| self.first_needed(lane.oldest)..lane.next))
    }

    /// Only when the transition after it exists: until then a restart may still mark its last one as truncated. And only
    /// while it has all its transitions: the oldest leave one by one.
    fn is_final(&self, page: u64) -> bool {
        let Some((lane, first)) = self.paging().place(page) else { return false };
        let lane = self.lanes[lane];
        lane.oldest <= first && first.saturating_add(self.page) < lane.next
    }

    fn write_page(&self, page: u64, w: &mut dyn Write) -> io::Result<()> {
        let Some(Page { lane, frames, transitions }) = self.page(page) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("the store has no page {page}")));
        };
        for value in page_header(page, &frames, &transitions) {
            write_u64(w, value)?;
        }
        let (masks, actions) = (self.spec.mask_width, self.spec.action_width);
        let rows = self.stretches(lane, &transitions);
        for rows in &rows {
            write_f32s(w, self.obs.range(rows.clone()).floats)?;
        }
        for rows in self.stretches(lane, &frames) {
            w.write_all(self.obs.range(rows).bytes)?;
        }
        for rows in &rows {
            w.write_all(self.age.get(rows.clone()).unwrap_or_default())?;
        }
        for rows in &rows {
            write_bools(w, &self.masks[rows.start * masks..rows.end * masks])?;
        }
        write_rows(w, &self.action, actions, &rows)?;
        write_rows(w, &self.reward, 1, &rows)?;
        for rows in &rows {
            w.write_all(&self.flags[rows.clone()])?;
        }
        for row in rows.into_iter().flatten().filter(|&row| self.flags[row] != 0) {
            let slot = self.final_slot[row] as usize;
            write_obs(w, self.finals.obs.row(slot))?;
            write_bools(w, &self.finals.masks[slot * masks..(slot + 1) * masks])?;
        }
        Ok(())
    }

    fn read(&mut self, head: &[u8], open: &mut dyn FnMut(u64) -> io::Result<Box<dyn Read>>) -> io::Result<()> {
        let mut fresh = Ring { page: self.page, ..Ring::new(self.spec.clone()) };
        fresh.read_head(head)?;
        for page in fresh.pages() {
            let mut bytes = open(page)?;
            fresh.read_page(page, &mut *bytes)?;
            end_of(&mut *bytes, &format!("page {page}"))?;
        }
        for lane in 0..fresh.lanes.len() {
            fresh.find_ends(lane)?;
        }
        *self = fresh;
        Ok(())
    }
}

fn page_header(page: u64, frames: &Range<u64>, transitions: &Range<u64>) -> [u64; 4] {
    [page, frames.start, transitions.start, transitions.end]
}

impl Ring {
    fn shape(&self) -> [(&'static str, u64); 10] {
        let spec = &self.spec;
        [
            ("format", FORMAT),
            ("capacity per environment", spec.per_lane() as u64),
            ("num_envs", spec.lanes as u64),
            ("observed numbers", spec.widths.floats as u64),
            ("observed bytes", spec.widths.bytes as u64),
            ("frame_stack", spec.byte_frames.count as u64),
            ("bytes per frame that stay together", spec.byte_frames.chunk as u64),
            ("action width", spec.action_width as u64),
            ("mask width", spec.mask_width as u64),
            ("transitions per page", self.page),
        ]
    }

    fn paging(&self) -> Paging {
        Paging { lanes: self.lanes.len(), size: self.page }
    }

    /// What this page holds, if there is such a page.
    fn page(&self, page: u64) -> Option<Page> {
        let (lane, first) = self.paging().place(page)?;
        let Lane { oldest, next, .. } = self.lanes[lane];
        let end = first.saturating_add(self.page).min(next);
        let frames = first.max(self.first_needed(oldest))..end;
        let transitions = first.max(oldest).min(end)..end;
        (!frames.is_empty()).then_some(Page { lane, frames, transitions })
    }

    /// The rows that hold these transitions of a lane, as at most two stretches of memory.
    fn stretches(&self, lane: usize, numbers: &Range<u64>) -> [Range<usize>; 2] {
        let first = lane * self.ring;
        let (start, count) = (self.row(lane, numbers.start), (numbers.end - numbers.start) as usize);
        stretches(first, self.ring, start, count)
    }

    /// The first number whose frame is still shown by a stored observation.
    fn first_needed(&self, oldest: u64) -> u64 {
        oldest.saturating_sub(self.spec.byte_frames.history() as u64)
    }

    fn write_head(&self, w: &mut dyn Write) -> io::Result<()> {
        write_shape(w, &self.shape())?;
        for (at, &Lane { begun, next, episode, .. }) in self.lanes.iter().enumerate() {
            for value in [u64::from(begun), next, episode] {
                write_u64(w, value)?;
            }
            // The observation that waits for its action.
            let (row, masks) = (self.row(at, next), self.spec.mask_width);
            if begun {
                write_obs(w, self.obs.row(row))?;
                w.write_all(self.age.get(row..row + 1).unwrap_or_default())?;
                write_bools(w, &self.masks[row * masks..(row + 1) * masks])?;
            }
        }
        Ok(())
    }

    fn read_head(&mut self, head: &[u8]) -> io::Result<()> {
        let r = &mut &*head;
        check_shape(r, "replay store", &self.shape())?;
        for at in 0..self.lanes.len() {
            let [begun, next, episode] = [read_u64(r)?, read_u64(r)?, read_u64(r)?];
            if begun > 1 || episode > next || next > MOST_TRANSITIONS || (next > 0 && begun == 0) {
                return Err(damaged(format!("environment {at} has impossible counters")));
            }
            // A lane drops nothing before it is full.
            let oldest = next.saturating_sub(self.spec.per_lane() as u64);
            let oldest_row = self.row(at, oldest);
            self.lanes[at] = Lane { begun: begun == 1, next, oldest, oldest_row, episode };
            let (row, masks) = (self.row(at, next), self.spec.mask_width);
            if begun == 1 {
                read_obs(r, self.obs.row_mut(row))?;
                self.read_age(at, row..row + 1, r)?;
                read_bools(r, &mut self.masks[row * masks..(row + 1) * masks])?;
            }
        }
        end_of(r, "the head of a store")
    }

    fn read_age(&mut self, lane: usize, rows: Range<usize>, r: &mut dyn Read) -> io::Result<()> {
        let Some(age) = self.age.get_mut(rows) else { return Ok(()) };
        r.read_exact(age)?;
        if age.iter().any(|&age| usize::from(age) > self.spec.byte_frames.history()) {
            return Err(damaged(format!("environment {lane} has an impossible count of frames")));
        }
        Ok(())
    }

    /// A page that the head speaks of.
    fn read_page(&mut self, page: u64, r: &mut dyn Read) -> io::Result<()> {
        let Some(Page { lane, frames, transitions }) = self.page(page) else { return Ok(()) };
        for expected in page_header(page, &frames, &transitions) {
            if read_u64(r)? != expected {
                return Err(damaged(format!("page {page} does not belong to its head")));
            }
        }
        let (masks, actions) = (self.spec.mask_width, self.spec.action_width);
        let rows = self.stretches(lane, &transitions);
        for rows in &rows {
            read_f32s(r, self.obs.range_mut(rows.clone()).floats)?;
        }
        for rows in self.stretches(lane, &frames) {
            r.read_exact(self.obs.range_mut(rows).bytes)?;
        }
        for rows in &rows {
            self.read_age(lane, rows.clone(), r)?;
        }
        for rows in &rows {
            read_bools(r, &mut self.masks[rows.start * masks..rows.end * masks])?;
        }
        read_rows(r, &mut self.action, actions, &rows)?;
        read_rows(r, &mut self.reward, 1, &rows)?;
        for rows in &rows {
            r.read_exact(&mut self.flags[rows.clone()])?;
        }
        let mut final_obs = ObsBuf::zeros(self.spec.widths, 1);
        let mut final_mask = vec![false; masks];
        for row in rows.into_iter().flatten() {
            match self.flags[row] {
                0 => continue,
                flags if flags > TERMINATED | TRUNCATED => {
                    return Err(damaged(format!("environment {lane} has an unknown kind of episode end")));
                }
                _ => {}
            }
            read_obs(r, final_obs.as_mut())?;
            read_bools(r, &mut final_mask)?;
            self.final_slot[row] = self.finals.insert(final_obs.as_ref(), &final_mask);
        }
        Ok(())
    }

    /// Where episodes ended follows from their last transitions.
    fn find_ends(&mut self, lane: usize) -> io::Result<()> {
        let Lane { oldest, next, episode, .. } = self.lanes[lane];
        self.ends[lane] = (oldest..next).filter(|&n| self.flags[self.row(lane, n)] != 0).map(|n| n + 1).collect();
        let possible = match self.ends[lane].back() {
            Some(&last) => episode == last,
            None => episode <= oldest,
        };
        if possible { Ok(()) } else { Err(damaged(format!("environment {lane} has impossible counters"))) }
    }
}
