//! The store as a head and pages of bytes.
//!
//! Page `k` of a lane holds its rows `k * S..(k + 1) * S`, column by column, as far as they are still stored; the head holds
//! the counters, the queue and the rows that wait for their actions.

use super::queue::Queue;
use super::{FIRST, LAST, Lane, SequenceSpec, SequenceStore, TERMINAL};
use crate::PagedStore;
use crate::bytes::*;
use crate::pages::{Paging, read_rows, stretches, write_rows};
use std::io::{self, Read, Write};
use std::ops::Range;

const FORMAT: u64 = 1;

/// A page is as large as this or half as large.
const PAGE_BYTES: usize = 2 << 20;

/// Numbers are below this: nothing that is computed with them overflows.
const MOST_ROWS: u64 = 1 << 48;

pub(super) fn rows_per_page(spec: &SequenceSpec) -> u64 {
    let bytes = 4 * (spec.widths.floats + spec.action_width + 1) + spec.widths.bytes + 1;
    1 << (PAGE_BYTES / bytes).max(1).ilog2()
}

impl PagedStore for SequenceStore {
    fn head(&self) -> Vec<u8> {
        let mut head = Vec::new();
        self.write_head(&mut head).expect("a vector takes all that is written");
        head
    }

    fn pages(&self) -> Vec<u64> {
        self.paging().pages(self.lanes.iter().map(|lane| lane.oldest..lane.next))
    }

    /// A complete row never changes; but the oldest leave one by one.
    fn is_final(&self, page: u64) -> bool {
        let Some((lane, first)) = self.paging().place(page) else { return false };
        let lane = self.lanes[lane];
        lane.oldest <= first && first.saturating_add(self.page) <= lane.next
    }

    fn write_page(&self, page: u64, w: &mut dyn Write) -> io::Result<()> {
        let Some((lane, numbers)) = self.page(page) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("the store has no page {page}")));
        };
        for value in [page, numbers.start, numbers.end] {
            write_u64(w, value)?;
        }
        let (rows, actions) = (self.stretches(lane, &numbers), self.spec.action_width);
        for rows in &rows {
            write_f32s(w, self.obs.range(rows.clone()).floats)?;
        }
        for rows in &rows {
            w.write_all(self.obs.range(rows.clone()).bytes)?;
        }
        write_rows(w, &self.action, actions, &rows)?;
        write_rows(w, &self.reward, 1, &rows)?;
        for rows in &rows {
            w.write_all(&self.flags[rows.clone()])?;
        }
        Ok(())
    }

    fn read(&mut self, head: &[u8], open: &mut dyn FnMut(u64) -> io::Result<Box<dyn Read>>) -> io::Result<()> {
        let mut fresh = SequenceStore { page: self.page, ..SequenceStore::new(self.spec.clone()) };
        fresh.read_head(head)?;
        for page in fresh.pages() {
            let mut bytes = open(page)?;
            fresh.read_page(page, &mut *bytes)?;
            end_of(&mut *bytes, &format!("page {page}"))?;
        }
        *self = fresh;
        Ok(())
    }
}

impl SequenceStore {
    fn shape(&self) -> [(&'static str, u64); 8] {
        let spec = &self.spec;
        [
            ("format", FORMAT),
            ("capacity per environment", spec.per_lane() as u64),
            ("num_envs", spec.lanes as u64),
            ("observed numbers", spec.widths.floats as u64),
            ("observed bytes", spec.widths.bytes as u64),
            ("action width", spec.action_width as u64),
            ("rows of a window", spec.length as u64),
            ("rows per page", self.page),
        ]
    }

    fn paging(&self) -> Paging {
        Paging { lanes: self.lanes.len(), size: self.page }
    }

    /// Lane and numbers of this page, if there is such a page.
    fn page(&self, page: u64) -> Option<(usize, Range<u64>)> {
        let (lane, first) = self.paging().place(page)?;
        let Lane { oldest, next, .. } = self.lanes[lane];
        let numbers = first.max(oldest)..first.saturating_add(self.page).min(next);
        (!numbers.is_empty()).then_some((lane, numbers))
    }

    /// The rows that hold these numbers of a lane, as at most two stretches of memory.
    fn stretches(&self, lane: usize, numbers: &Range<u64>) -> [Range<usize>; 2] {
        let first = lane * self.ring;
        let (start, count) = (self.row(lane, numbers.start), (numbers.end - numbers.start) as usize);
        stretches(first, self.ring, start, count)
    }

    fn write_head(&self, w: &mut dyn Write) -> io::Result<()> {
        write_shape(w, &self.shape())?;
        for (at, &Lane { begun, next, .. }) in self.lanes.iter().enumerate() {
            for value in [u64::from(begun), next, self.queue.begins[at]] {
                write_u64(w, value)?;
            }
            let row = self.row(at, next);
            if begun {
                write_obs(w, self.obs.row(row))?;
                write_f32s(w, &self.reward[row..=row])?;
                w.write_all(&self.flags[row..=row])?;
            }
        }
        write_u64(w, self.queue.waiting.len() as u64)?;
        for &(lane, first) in &self.queue.waiting {
            write_u64(w, lane as u64)?;
            write_u64(w, first)?;
        }
        Ok(())
    }

    fn read_head(&mut self, head: &[u8]) -> io::Result<()> {
        let r = &mut &*head;
        check_shape(r, "sequence store", &self.shape())?;
        let length = self.spec.length as u64;
        for at in 0..self.lanes.len() {
            let [begun, next, begins] = [read_u64(r)?, read_u64(r)?, read_u64(r)?];
            let queued = begins.is_multiple_of(length) && begins <= next && next - begins < length;
            if begun > 1 || next > MOST_ROWS || (next > 0 && begun == 0) || !queued {
                return Err(damaged(format!("environment {at} has impossible counters")));
            }
            let oldest = next.saturating_sub(self.spec.per_lane() as u64);
            self.lanes[at] = Lane { begun: begun == 1, next, oldest };
            self.queue.begins[at] = begins;
            let row = self.row(at, next);
            if begun == 1 {
                read_obs(r, self.obs.row_mut(row))?;
                read_f32s(r, &mut self.reward[row..=row])?;
                r.read_exact(&mut self.flags[row..=row])?;
            }
        }
        self.read_queue(r)?;
        end_of(r, "the head of a store")
    }

    fn read_queue(&mut self, r: &mut dyn Read) -> io::Result<()> {
        let Queue { waiting, begins } = &mut self.queue;
        let (waits, length) = (read_u64(r)?, self.spec.length as u64);
        for _ in 0..waits {
            let (lane, first) = (read_u64(r)?, read_u64(r)?);
            let known = usize::try_from(lane).ok().and_then(|lane| Some((lane, *begins.get(lane)?)));
            match known {
                Some((lane, begins)) if first.is_multiple_of(length) && first < begins => {
                    waiting.push_back((lane, first))
                }
                _ => return Err(damaged("an impossible window waits to be learned from".to_owned())),
            }
        }
        Ok(())
    }

    /// A page that the head speaks of.
    fn read_page(&mut self, page: u64, r: &mut dyn Read) -> io::Result<()> {
        let Some((lane, numbers)) = self.page(page) else { return Ok(()) };
        for expected in [page, numbers.start, numbers.end] {
            if read_u64(r)? != expected {
                return Err(damaged(format!("page {page} does not belong to its head")));
            }
        }
        let (rows, actions) = (self.stretches(lane, &numbers), self.spec.action_width);
        for rows in &rows {
            read_f32s(r, self.obs.range_mut(rows.clone()).floats)?;
        }
        for rows in &rows {
            r.read_exact(self.obs.range_mut(rows.clone()).bytes)?;
        }
        read_rows(r, &mut self.action, actions, &rows)?;
        read_rows(r, &mut self.reward, 1, &rows)?;
        for rows in &rows {
            r.read_exact(&mut self.flags[rows.clone()])?;
        }
        let known = FIRST | LAST | TERMINAL;
        if rows.into_iter().flatten().any(|row| self.flags[row] & !known != 0) {
            return Err(damaged(format!("environment {lane} has a row of an unknown kind")));
        }
        Ok(())
    }
}
