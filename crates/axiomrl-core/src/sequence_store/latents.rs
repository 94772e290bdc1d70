//! The state a model had in each row: it begins windows with it, instead of an empty one.
//!
//! It is written when a row is collected and again whenever the row was learned from. Numbers are kept in half precision and
//! choices as bytes: rounding is the same each time, so a resumed run goes on bit for bit.

use super::SequenceStore;
use super::half::{from_half, to_half};
use crate::bytes::*;
use std::io::{self, Read, Write};

/// How large a state is; nothing is kept of one without numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatentSpec {
    /// numbers of the deterministic part
    pub deter: usize,
    /// choices of the stochastic part, each out of at most 256
    pub groups: usize,
}

/// A state for each row of all lanes.
#[derive(Clone, Debug)]
pub(super) struct Latents {
    spec: LatentSpec,
    pub deter: Vec<u16>,
    classes: Vec<u8>,
}

impl Latents {
    pub fn new(spec: LatentSpec, rows: usize) -> Self {
        Self { spec, deter: vec![0; rows * spec.deter], classes: vec![0; rows * spec.groups] }
    }

    pub fn put(&mut self, row: usize, deter: &[f32], classes: &[u8]) {
        let LatentSpec { deter: width, groups } = self.spec;
        let place = &mut self.deter[row * width..(row + 1) * width];
        place.iter_mut().zip(deter).for_each(|(to, &value)| *to = to_half(value));
        self.classes[row * groups..(row + 1) * groups].copy_from_slice(classes);
    }

    pub fn clear(&mut self, row: usize) {
        let LatentSpec { deter: width, groups } = self.spec;
        self.deter[row * width..(row + 1) * width].fill(0);
        self.classes[row * groups..(row + 1) * groups].fill(0);
    }

    pub fn get(&self, row: usize, deter: &mut [f32], classes: &mut [u8]) {
        let LatentSpec { deter: width, groups } = self.spec;
        let place = &self.deter[row * width..(row + 1) * width];
        deter.iter_mut().zip(place).for_each(|(to, &half)| *to = from_half(half));
        classes.copy_from_slice(&self.classes[row * groups..(row + 1) * groups]);
    }
}

impl SequenceStore {
    /// Writes the states of all rows, from the oldest to the open one. They change long after their rows were stored, so they
    /// are kept apart from the pages.
    pub fn write_latents(&self, w: &mut dyn Write) -> io::Result<()> {
        write_shape(w, &self.latent_shape())?;
        let LatentSpec { deter, groups } = self.spec.latents;
        for (at, lane) in self.lanes.iter().enumerate() {
            write_u64(w, lane.oldest)?;
            write_u64(w, lane.next)?;
            for row in (lane.oldest..=lane.next).map(|number| self.row(at, number)) {
                let halves = &self.latents.deter[row * deter..(row + 1) * deter];
                w.write_all(&halves.iter().flat_map(|half| half.to_le_bytes()).collect::<Vec<u8>>())?;
                w.write_all(&self.latents.classes[row * groups..(row + 1) * groups])?;
            }
        }
        Ok(())
    }

    /// Takes over what [`SequenceStore::write_latents`] wrote, once the store is again what it was then. After an error the
    /// store is as before.
    pub fn read_latents(&mut self, r: &mut dyn Read) -> io::Result<()> {
        check_shape(r, "states of the model", &self.latent_shape())?;
        let LatentSpec { deter, groups } = self.spec.latents;
        let mut fresh = Latents::new(self.spec.latents, self.ring * self.spec.lanes);
        let mut bytes = vec![0; 2 * deter];
        for (at, lane) in self.lanes.iter().enumerate() {
            if [read_u64(r)?, read_u64(r)?] != [lane.oldest, lane.next] {
                return Err(damaged(format!("the states of environment {at} belong to other rows")));
            }
            for row in (lane.oldest..=lane.next).map(|number| self.row(at, number)) {
                r.read_exact(&mut bytes)?;
                let halves = &mut fresh.deter[row * deter..(row + 1) * deter];
                halves.iter_mut().zip(bytes.as_chunks::<2>().0).for_each(|(to, two)| *to = u16::from_le_bytes(*two));
                r.read_exact(&mut fresh.classes[row * groups..(row + 1) * groups])?;
            }
        }
        end_of(r, "states of the model")?;
        self.latents = fresh;
        Ok(())
    }

    fn latent_shape(&self) -> [(&'static str, u64); 3] {
        let LatentSpec { deter, groups } = self.spec.latents;
        [("num_envs", self.spec.lanes as u64), ("deterministic numbers", deter as u64), ("choices", groups as u64)]
    }
}
