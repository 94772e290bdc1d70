//! Windows that nobody has learned from yet, in order of arrival.

use std::collections::VecDeque;

/// Every row is in one window of the queue at most: they lie end to end.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Queue {
    /// Lane and first row of each window that waits.
    pub waiting: VecDeque<(usize, u64)>,
    /// For each lane, where its next window begins.
    pub begins: Vec<u64>,
}

impl Queue {
    pub fn new(lanes: usize) -> Self {
        Self { waiting: VecDeque::new(), begins: vec![0; lanes] }
    }

    /// Rows of `lane` before number `next` are complete.
    pub fn grew(&mut self, lane: usize, next: u64, length: u64) {
        let begins = &mut self.begins[lane];
        if next - *begins >= length {
            self.waiting.push_back((lane, *begins));
            *begins += length;
        }
    }

    /// The window that has waited longest and still has all its rows.
    pub fn pop(&mut self, oldest: impl Fn(usize) -> u64) -> Option<(usize, u64)> {
        while let Some((lane, first)) = self.waiting.pop_front() {
            if first >= oldest(lane) {
                return Some((lane, first));
            }
        }
        None
    }
}
