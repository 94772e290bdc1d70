//! Large stores in files, page by page.

use crate::bytes::{read_f32s, write_f32s};
use std::io::{self, Read, Write};
use std::ops::Range;

/// A store that is saved as a small head and pages of about a megabyte.
///
/// What belongs to a page follows from its name alone, not from when it is written. So a page that is final has the same
/// bytes whenever it is written, and a checkpoint can take it over from the one before.
pub trait PagedStore {
    /// What changes all the time: how far the store has come.
    fn head(&self) -> Vec<u8>;

    /// The pages there are, in ascending order.
    fn pages(&self) -> Vec<u64>;

    /// Whether the bytes of this page will never change as long as it exists.
    fn is_final(&self, page: u64) -> bool;

    fn write_page(&self, page: u64, to: &mut dyn Write) -> io::Result<()>;

    /// Takes over what was written for a store of the same spec. `open` gives the bytes of a page. After an error the store
    /// is as before.
    fn read(&mut self, head: &[u8], open: &mut dyn FnMut(u64) -> io::Result<Box<dyn Read>>) -> io::Result<()>;
}

/// How the numbers of some lanes lie on pages: page `k` of a lane has its numbers `k * size..(k + 1) * size`.
pub(crate) struct Paging {
    pub lanes: usize,
    pub size: u64,
}

impl Paging {
    /// The lane of a page and its first number, if numbers go so far.
    pub fn place(&self, page: u64) -> Option<(usize, u64)> {
        let lanes = self.lanes as u64;
        Some(((page % lanes) as usize, (page / lanes).checked_mul(self.size)?))
    }

    /// The pages of these numbers of each lane, in ascending order.
    pub fn pages(&self, numbers: impl Iterator<Item = Range<u64>>) -> Vec<u64> {
        let (lanes, size) = (self.lanes as u64, self.size);
        let of_lane = |(at, numbers): (usize, Range<u64>)| {
            (numbers.start / size..numbers.end.div_ceil(size)).map(move |number| number * lanes + at as u64)
        };
        let mut pages: Vec<u64> = numbers.enumerate().flat_map(of_lane).collect();
        pages.sort_unstable();
        pages
    }
}

/// `count` rows of a lane from row `start` on, as at most two stretches of memory: the lane goes round in `ring` rows from
/// `first`.
pub(crate) fn stretches(first: usize, ring: usize, start: usize, count: usize) -> [Range<usize>; 2] {
    let until_wrap = (first + ring - start).min(count);
    [start..start + until_wrap, first..first + count - until_wrap]
}

/// Writes stretches of a column of `width` numbers to a row.
pub(crate) fn write_rows(w: &mut dyn Write, column: &[f32], width: usize, rows: &[Range<usize>]) -> io::Result<()> {
    rows.iter().try_for_each(|rows| write_f32s(w, &column[rows.start * width..rows.end * width]))
}

/// Reads them back.
pub(crate) fn read_rows(r: &mut dyn Read, column: &mut [f32], width: usize, rows: &[Range<usize>]) -> io::Result<()> {
    rows.iter().try_for_each(|rows| read_f32s(r, &mut column[rows.start * width..rows.end * width]))
}
