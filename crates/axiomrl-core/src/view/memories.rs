//! What a policy remembered where sequences begin: one row for each window, not for each transition.

/// Rows of memory, found by lane and window.
#[derive(Clone, Debug)]
pub struct Memories {
    width: usize,
    slots: usize,
    values: Vec<f32>,
}

impl Memories {
    /// Room for the memories of `slots` windows of each lane.
    pub fn new(width: usize, lanes: usize, slots: usize) -> Self {
        Self { width, slots, values: vec![0.0; width * lanes * slots] }
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn put(&mut self, lane: usize, window: u64, memory: &[f32]) {
        let at = self.at(lane, window);
        self.values[at..at + self.width].copy_from_slice(memory);
    }

    pub fn get(&self, lane: usize, window: u64) -> &[f32] {
        let at = self.at(lane, window);
        &self.values[at..at + self.width]
    }

    fn at(&self, lane: usize, window: u64) -> usize {
        (lane * self.slots + (window % self.slots as u64) as usize) * self.width
    }
}
