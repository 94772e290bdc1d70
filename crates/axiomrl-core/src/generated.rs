//! Transitions that nobody took: what a learned model made up.
//!
//! Unlike those of an environment they do not follow each other: each has both of its observations. The oldest make room for
//! new ones, and there may be more or less room later.

use crate::bytes::*;
use crate::random::below;
use crate::{Batch, BatchShape, BatchSource, NO_INDEX, PagedStore, SampleOptions, StoreError};
use axiomrl_envs::ObsWidths;
use std::io::{self, Read, Write};
use std::ops::Range;

const FORMAT: u64 = 1;

/// Pages have at most this many bytes, and at least half as many.
const PAGE_BYTES: usize = 1 << 20;

/// What belongs to one transition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Generation<'a> {
    pub obs: &'a [f32],
    pub action: &'a [f32],
    pub reward: f32,
    pub next_obs: &'a [f32],
    pub terminated: bool,
}

/// A ring of made-up transitions. Number `i` lies in slot `i % capacity`.
#[derive(Clone, Debug)]
pub struct Generated {
    width: usize,
    action_width: usize,
    /// Discount of a step that does not end the world.
    gamma: f32,
    capacity: usize,
    /// Number of the next transition.
    next: u64,
    /// Number of the oldest one still stored.
    oldest: u64,
    /// Rows of observation, action, reward, next observation and end: read and written as a whole.
    rows: Vec<f32>,
}

impl Generated {
    /// # Panics
    /// Without room for one transition.
    pub fn new(width: usize, action_width: usize, gamma: f32, capacity: usize) -> Self {
        assert!(capacity > 0, "a store needs capacity");
        Self { width, action_width, gamma, capacity, next: 0, oldest: 0, rows: Vec::new() }
    }

    fn row_width(&self) -> usize {
        2 * self.width + self.action_width + 2
    }

    pub fn len(&self) -> usize {
        (self.next - self.oldest) as usize
    }

    pub fn is_empty(&self) -> bool {
        self.next == self.oldest
    }

    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Room for so many transitions from now on: of more than those, the newest stay.
    pub fn set_capacity(&mut self, capacity: usize) {
        if capacity == self.capacity {
            return;
        }
        let before = self.clone();
        let oldest = before.next.saturating_sub(capacity.min(before.len()) as u64);
        *self = Self { capacity: capacity.max(1), oldest, rows: Vec::new(), ..*self };
        for number in oldest..before.next {
            self.slot_mut(number).copy_from_slice(before.slot(number));
        }
    }

    pub fn push(&mut self, row: Generation<'_>) {
        let (width, number) = (self.width, self.next);
        let slot = self.slot_mut(number);
        let (obs, rest) = slot.split_at_mut(width);
        let (next_obs, rest) = rest.split_at_mut(width);
        obs.copy_from_slice(row.obs);
        next_obs.copy_from_slice(row.next_obs);
        (rest[0], rest[1]) = (row.reward, if row.terminated { 1.0 } else { 0.0 });
        rest[2..].copy_from_slice(row.action);
        self.next += 1;
        self.oldest = self.oldest.max(self.next.saturating_sub(self.capacity as u64));
    }

    /// The transition with this number, if it is there.
    pub fn get(&self, number: u64) -> Option<Generation<'_>> {
        if !(self.oldest..self.next).contains(&number) {
            return None;
        }
        let (obs, rest) = self.slot(number).split_at(self.width);
        let (next_obs, rest) = rest.split_at(self.width);
        Some(Generation { obs, next_obs, reward: rest[0], terminated: rest[1] != 0.0, action: &rest[2..] })
    }

    /// Numbers of the transitions that are stored.
    pub fn numbers(&self) -> Range<u64> {
        self.oldest..self.next
    }

    fn place(&self, number: u64) -> Range<usize> {
        let (at, width) = ((number % self.capacity as u64) as usize, self.row_width());
        at * width..(at + 1) * width
    }

    fn slot(&self, number: u64) -> &[f32] {
        &self.rows[self.place(number)]
    }

    /// Memory is taken as it is needed.
    fn slot_mut(&mut self, number: u64) -> &mut [f32] {
        let place = self.place(number);
        if self.rows.len() < place.end {
            self.rows.resize(place.end, 0.0);
        }
        &mut self.rows[place]
    }

    fn per_page(&self) -> u64 {
        1 << (PAGE_BYTES / (4 * self.row_width())).max(1).ilog2()
    }

    fn shape_of_rows(&self) -> [(&'static str, u64); 3] {
        [("format", FORMAT), ("observed numbers", self.width as u64), ("action width", self.action_width as u64)]
    }

    fn of_page(&self, page: u64) -> Range<u64> {
        let first = page.saturating_mul(self.per_page());
        first.max(self.oldest)..first.saturating_add(self.per_page()).min(self.next)
    }
}

impl BatchSource for Generated {
    fn ready(&mut self) -> usize {
        self.len()
    }

    fn shape(&mut self) -> BatchShape {
        let widths = ObsWidths { floats: self.width, bytes: 0 };
        BatchShape { steps: 1, widths, action_width: self.action_width, mask_width: 0, state_width: 0 }
    }

    fn fill(&mut self, rows: Range<usize>, options: &mut SampleOptions<'_>, out: &mut Batch) -> Result<(), StoreError> {
        let (needed, found) = (self.shape(), out.shape());
        if needed != found {
            return Err(StoreError::Shape(format!("the batch has {found:?}, the store has {needed:?}")));
        }
        if self.is_empty() && !rows.is_empty() {
            return Err(StoreError::NothingReady);
        }
        for row in rows {
            let number = self.oldest + below(options.rng, self.len()) as u64;
            let Some(drawn) = self.get(number) else { continue };
            let next = row + out.rows;
            out.obs.row_mut(row).write(drawn.obs);
            out.obs.row_mut(next).write(drawn.next_obs);
            out.action[row * self.action_width..(row + 1) * self.action_width].copy_from_slice(drawn.action);
            out.reward[row] = options.reward.apply(drawn.reward);
            out.discount[row] = if drawn.terminated { 0.0 } else { self.gamma };
            (out.weight[row], out.index[row], out.next[row], out.valid[row]) = (1.0, NO_INDEX, 1, true);
            (out.starts[row], out.starts[next]) = (false, false);
        }
        Ok(())
    }
}

impl PagedStore for Generated {
    fn head(&self) -> Vec<u8> {
        let mut head = Vec::new();
        let counters = [self.capacity as u64, self.oldest, self.next];
        write_shape(&mut head, &self.shape_of_rows()).expect("a vector takes all that is written");
        counters.iter().for_each(|&c| write_u64(&mut head, c).expect("a vector takes all that is written"));
        head
    }

    fn pages(&self) -> Vec<u64> {
        let per_page = self.per_page();
        (self.oldest / per_page..self.next.div_ceil(per_page)).filter(|&page| !self.of_page(page).is_empty()).collect()
    }

    fn is_final(&self, page: u64) -> bool {
        let first = page.saturating_mul(self.per_page());
        self.oldest <= first && first.saturating_add(self.per_page()) <= self.next
    }

    fn write_page(&self, page: u64, to: &mut dyn Write) -> io::Result<()> {
        self.of_page(page).try_for_each(|number| write_f32s(to, self.slot(number)))
    }

    fn read(&mut self, head: &[u8], open: &mut dyn FnMut(u64) -> io::Result<Box<dyn Read>>) -> io::Result<()> {
        let r = &mut &*head;
        check_shape(r, "store of made-up transitions", &self.shape_of_rows())?;
        let [capacity, oldest, next] = [read_u64(r)?, read_u64(r)?, read_u64(r)?];
        end_of(r, "the head of a store")?;
        let possible =
            (1..=1 << 40).contains(&capacity) && oldest <= next && next - oldest <= capacity && next < 1 << 48;
        if !possible {
            return Err(damaged("the store of made-up transitions has impossible counters".to_owned()));
        }
        let mut fresh = Self { capacity: capacity as usize, oldest, next, rows: Vec::new(), ..*self };
        for page in fresh.pages() {
            let mut bytes = open(page)?;
            for number in fresh.of_page(page) {
                read_f32s(&mut *bytes, fresh.slot_mut(number))?;
            }
            end_of(&mut *bytes, &format!("page {page}"))?;
        }
        *self = fresh;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RewardScale, stream};

    fn push(store: &mut Generated, value: f32) {
        let (obs, next_obs) = ([value, -value], [value + 0.5, 0.0]);
        store.push(Generation {
            obs: &obs,
            action: &[value],
            reward: value,
            next_obs: &next_obs,
            terminated: value == 3.0,
        });
    }

    fn rewards(store: &Generated) -> Vec<f32> {
        store.numbers().map(|number| store.get(number).unwrap().reward).collect()
    }

    fn store(capacity: usize, values: Range<u8>) -> Generated {
        let mut store = Generated::new(2, 1, 0.9, capacity);
        values.for_each(|value| push(&mut store, f32::from(value)));
        store
    }

    #[test]
    fn the_oldest_make_room_and_ages_are_kept_when_the_room_changes() {
        let mut store = store(4, 0..6);
        assert_eq!(rewards(&store), [2.0, 3.0, 4.0, 5.0]);
        store.set_capacity(6);
        (6..9).for_each(|value| push(&mut store, value as f32));
        assert_eq!(rewards(&store), [3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        store.set_capacity(2);
        assert_eq!(rewards(&store), [7.0, 8.0]);
    }

    #[test]
    fn draws_have_the_discount_of_their_ends_and_scaled_rewards() {
        let mut store = store(4, 2..4);
        let (mut batch, mut rng) = (Batch::default(), stream(1, "draw"));
        batch.resize(&store.shape(), 40);
        let reward = RewardScale { scale: 2.0, ..RewardScale::IDENTITY };
        store.fill(0..40, &mut SampleOptions { rng: &mut rng, beta: 1.0, reward }, &mut batch).unwrap();
        let mut seen = [false; 2];
        for row in 0..40 {
            let value = batch.action[row];
            seen[value as usize - 2] = true;
            assert_eq!((batch.reward[row], batch.discount[row]), (2.0 * value, if value == 3.0 { 0.0 } else { 0.9 }));
            assert_eq!(batch.obs().row(row).floats, [value, -value]);
            assert_eq!(batch.next_obs().row(row).floats, [value + 0.5, 0.0]);
        }
        assert_eq!(seen, [true; 2]);
    }

    #[test]
    fn a_store_is_the_same_after_a_file_and_nonsense_is_refused() {
        let before = store(5, 0..9);
        let head = before.head();
        let mut open = |page: u64| -> io::Result<Box<dyn Read>> {
            let mut bytes = Vec::new();
            before.write_page(page, &mut bytes)?;
            Ok(Box::new(io::Cursor::new(bytes)))
        };
        let mut back = store(3, 0..1);
        back.read(&head, &mut open).unwrap();
        assert_eq!((rewards(&back), back.capacity(), back.head()), (rewards(&before), 5, head.clone()));
        let damaged = [&head[..head.len() - 8], &[0xff; 8][..]].concat();
        assert!(back.read(&damaged, &mut open).is_err());
        assert_eq!(rewards(&back), rewards(&before), "and nothing was changed");
    }
}
