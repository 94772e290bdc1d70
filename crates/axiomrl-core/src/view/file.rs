//! The priorities of a view as a stream of bytes. They change long after their transitions were stored, so they are kept
//! apart from the store.

use super::{Seen, View};
use crate::bytes::*;
use crate::{Priorities, Ring};
use std::io::{self, Read, Write};
use std::ops::Deref;

impl<S: Deref<Target = Ring>> View<S> {
    /// Writes the priorities, if there are any, from the oldest window to the newest.
    pub fn write_priorities(&mut self, w: &mut dyn Write) -> io::Result<()> {
        self.catch_up();
        write_shape(w, &self.file_shape())?;
        let Some(priorities) = &self.priorities else { return Ok(()) };
        write_f64(w, priorities.max())?;
        for (lane, seen) in self.lanes.iter().enumerate() {
            write_u64(w, seen.oldest)?;
            write_u64(w, seen.admitted)?;
            for number in seen.oldest..seen.admitted {
                write_f64(w, priorities.get(self.slot(lane, number)))?;
            }
        }
        Ok(())
    }

    /// Takes over what [`View::write_priorities`] wrote, once the store is again what it was then. After an error the view is
    /// as before.
    pub fn read_priorities(&mut self, r: &mut dyn Read) -> io::Result<()> {
        check_shape(r, "replay store", &self.file_shape())?;
        let store: &Ring = &self.store;
        let mut fresh = match &self.priorities {
            None => return end_of(r, "priorities"),
            Some(priorities) => Priorities::new(priorities.spec(), self.window.slots(store) * store.lanes().len()),
        };
        let max = read_f64(r)?;
        if !fresh.restore_max(max) {
            return Err(damaged(format!("{max} is no largest priority")));
        }
        let (mut lanes, mut most_cut_offs) = (Vec::with_capacity(self.lanes.len()), 0);
        for (at, lane) in store.lanes().iter().enumerate() {
            let (oldest, complete) = (self.window.oldest(lane), self.window.complete(lane));
            if [read_u64(r)?, read_u64(r)?] != [oldest, complete] {
                return Err(damaged(format!("the priorities of environment {at} belong to other transitions")));
            }
            for number in oldest..complete {
                let value = read_f64(r)?;
                if !fresh.restore(self.slot(at, number), value) {
                    return Err(damaged(format!("environment {at} has {value} as a priority")));
                }
            }
            most_cut_offs = most_cut_offs.max(self.window.most_cut_offs(store, at, oldest..complete));
            lanes.push(Seen { oldest, oldest_row: lane.oldest_row, admitted: complete });
        }
        end_of(r, "priorities")?;
        (self.priorities, self.lanes, self.most_cut_offs) = (Some(fresh), lanes, most_cut_offs);
        Ok(())
    }

    /// Writes the memories that sequences begin with, from the oldest sequence to the one that the next transition may begin.
    pub fn write_memories(&mut self, w: &mut dyn Write) -> io::Result<()> {
        write_shape(w, &self.file_shape())?;
        for lane in 0..self.lanes.len() {
            for window in self.remembered(lane) {
                write_f32s(w, self.memories.get(lane, window))?;
            }
        }
        Ok(())
    }

    /// Takes over what [`View::write_memories`] wrote, once the store is again what it was then.
    pub fn read_memories(&mut self, r: &mut dyn Read) -> io::Result<()> {
        check_shape(r, "replay store", &self.file_shape())?;
        let mut memory = vec![0.0; self.memories.width()];
        for lane in 0..self.lanes.len() {
            for window in self.remembered(lane) {
                read_f32s(r, &mut memory)?;
                self.memories.put(lane, window, &memory);
            }
        }
        end_of(r, "memories")
    }

    /// Windows of `lane` whose memory may still be asked for.
    fn remembered(&self, lane: usize) -> std::ops::RangeInclusive<u64> {
        self.window.oldest(&self.store.lanes()[lane])..=self.store.next(lane) / self.window.stride as u64
    }

    fn file_shape(&self) -> [(&'static str, u64); 7] {
        [
            ("format", 2),
            ("num_envs", self.lanes.len() as u64),
            ("n_step", self.window.n_step as u64),
            ("sequence length", self.window.length as u64),
            ("steps between sequences", self.window.stride as u64),
            ("memory width", self.memories.width() as u64),
            ("prioritised replay", u64::from(self.priorities.is_some())),
        ]
    }
}
