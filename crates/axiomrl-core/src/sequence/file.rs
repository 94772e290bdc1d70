//! The store as a stream of bytes: the header, the chunks from oldest to newest, then those under way.

use super::{Lane, SequenceStore};
use crate::bytes::*;
use std::io::{self, Read, Write};

/// No run counts further, and counting on from here never overflows.
const MOST_CHUNKS: u64 = 1 << 48;

impl SequenceStore {
    /// Writes the whole state. Two stores that would give the same samples give the same bytes.
    pub fn write(&self, w: &mut dyn Write) -> io::Result<()> {
        write_shape(w, &self.shape())?;
        write_u64(w, self.completed)?;
        if let Some(priorities) = &self.priorities {
            write_f64(w, priorities.max())?;
        }
        let (rows, width) = (self.spec.length + 1, self.spec.state_width);
        for slot in self.in_order() {
            self.chunks.write(&self.spec, slot * rows..(slot + 1) * rows, w)?;
            write_f32s(w, &self.states[slot * width..(slot + 1) * width])?;
            if let Some(priorities) = &self.priorities {
                write_f64(w, priorities.get(slot))?;
            }
        }
        self.lanes.iter().try_for_each(|lane| self.write_lane(lane, w))
    }

    /// Takes over what [`SequenceStore::write`] wrote for a store of the same spec. After an error the store is as before.
    pub fn read(&mut self, r: &mut dyn Read) -> io::Result<()> {
        check_shape(r, "sequence store", &self.shape())?;
        let mut fresh = SequenceStore::new(self.spec.clone());
        fresh.completed = read_u64(r)?;
        if fresh.completed > MOST_CHUNKS {
            return Err(damaged(format!("{} chunks were never completed", fresh.completed)));
        }
        if let Some(priorities) = &mut fresh.priorities {
            let max = read_f64(r)?;
            if !priorities.restore_max(max) {
                return Err(damaged(format!("{max} is no largest priority")));
            }
        }
        let (rows, width) = (self.spec.length + 1, self.spec.state_width);
        for slot in fresh.in_order() {
            fresh.chunks.read(&self.spec, slot * rows..(slot + 1) * rows, r)?;
            read_f32s(r, &mut fresh.states[slot * width..(slot + 1) * width])?;
            if let Some(priorities) = &mut fresh.priorities {
                let value = read_f64(r)?;
                if !priorities.restore(slot, value) {
                    return Err(damaged(format!("a chunk has {value} as its priority")));
                }
            }
        }
        for lane in 0..fresh.lanes.len() {
            fresh.read_lane(lane, r)?;
        }
        *self = fresh;
        Ok(())
    }

    fn shape(&self) -> [(&'static str, u64); 11] {
        let spec = &self.spec;
        [
            ("format", 2),
            ("num_envs", spec.lanes as u64),
            ("sequence_length", spec.length as u64),
            ("overlap", spec.overlap as u64),
            ("room for sequences", self.slots as u64),
            ("observed numbers", spec.widths.floats as u64),
            ("observed bytes", spec.widths.bytes as u64),
            ("action width", spec.action_width as u64),
            ("mask width", spec.mask_width as u64),
            ("state width", spec.state_width as u64),
            ("prioritised replay", u64::from(spec.prioritized.is_some())),
        ]
    }

    /// Slots in use, from the oldest chunk to the newest.
    fn in_order(&self) -> Vec<usize> {
        let oldest = self.completed - self.ready() as u64;
        (oldest..self.completed).map(|number| (number % self.slots as u64) as usize).collect()
    }

    fn write_lane(&self, lane: &Lane, w: &mut dyn Write) -> io::Result<()> {
        write_u64(w, lane.filled as u64)?;
        write_bools(w, &[lane.open, lane.fresh])?;
        lane.rows.write(&self.spec, 0..lane.filled, w)?;
        write_f32s(w, &lane.states[..lane.filled * self.spec.state_width])
    }

    fn read_lane(&mut self, lane: usize, r: &mut dyn Read) -> io::Result<()> {
        let at = &mut self.lanes[lane];
        let filled = usize::try_from(read_u64(r)?).ok().filter(|&n| n <= self.spec.length);
        at.filled = filled.ok_or_else(|| damaged(format!("environment {lane} has more steps than a chunk")))?;
        let mut marks = [false; 2];
        read_bools(r, &mut marks)?;
        [at.open, at.fresh] = marks;
        if at.open && at.filled == 0 {
            return Err(damaged(format!("environment {lane} waits for a step it has not begun")));
        }
        at.rows.read(&self.spec, 0..at.filled, r)?;
        read_f32s(r, &mut at.states[..at.filled * self.spec.state_width])
    }
}
