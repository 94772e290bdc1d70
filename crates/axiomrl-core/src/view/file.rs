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
                write_f64(w, priorities.get(self.store.row(lane, number)))?;
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
            Some(priorities) => Priorities::new(priorities.spec(), store.ring * store.lanes().len()),
        };
        let max = read_f64(r)?;
        if !fresh.restore_max(max) {
            return Err(damaged(format!("{max} is no largest priority")));
        }
        let mut lanes = Vec::with_capacity(self.lanes.len());
        for (at, lane) in store.lanes().iter().enumerate() {
            let complete = self.window.complete(lane);
            if [read_u64(r)?, read_u64(r)?] != [lane.oldest, complete] {
                return Err(damaged(format!("the priorities of environment {at} belong to other transitions")));
            }
            for number in lane.oldest..complete {
                let value = read_f64(r)?;
                if !fresh.restore(store.row(at, number), value) {
                    return Err(damaged(format!("environment {at} has {value} as a priority")));
                }
            }
            lanes.push(Seen { oldest: lane.oldest, oldest_row: lane.oldest_row, admitted: complete });
        }
        end_of(r, "priorities")?;
        (self.priorities, self.lanes) = (Some(fresh), lanes);
        Ok(())
    }

    fn file_shape(&self) -> [(&'static str, u64); 4] {
        [
            ("format", 1),
            ("num_envs", self.lanes.len() as u64),
            ("n_step", self.window.n_step as u64),
            ("prioritised replay", u64::from(self.priorities.is_some())),
        ]
    }
}
