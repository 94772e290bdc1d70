//! The last observations of episodes, which have no place in a lane.

use axiomrl_envs::{ObsBuf, ObsRef, ObsWidths};

/// Rows that are given back when their transition is overwritten, so the pool is never larger than the greatest number
/// of episode ends that were in the store at once.
#[derive(Clone, Debug)]
pub(super) struct Finals {
    pub obs: ObsBuf,
    pub masks: Vec<bool>,
    free: Vec<u32>,
    rows: usize,
    mask_width: usize,
}

impl Finals {
    pub fn new(widths: ObsWidths, mask_width: usize) -> Self {
        Self { obs: ObsBuf::zeros(widths, 0), masks: Vec::new(), free: Vec::new(), rows: 0, mask_width }
    }

    pub fn insert(&mut self, obs: ObsRef<'_>, mask: &[bool]) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.rows += 1;
            self.obs.reshape(self.obs.widths(), self.rows);
            self.masks.resize(self.rows * self.mask_width, true);
            u32::try_from(self.rows - 1).expect("fewer than 2^32 episode ends in the store")
        });
        let row = slot as usize;
        self.obs.row_mut(row).copy_from(obs);
        if self.mask_width > 0 {
            self.masks[row * self.mask_width..(row + 1) * self.mask_width].copy_from_slice(mask);
        }
        slot
    }

    pub fn release(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// Rows that exist, in use or not.
    #[cfg(test)]
    pub fn rows(&self) -> usize {
        self.rows
    }
}
