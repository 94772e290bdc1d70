//! Which entries of a batch are learned from, and where networks spoke of them.

use axiomrl_core::Batch;

/// A transition that is learned from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its place in the batch's columns.
    pub at: usize,
    /// The sequence it belongs to.
    pub row: usize,
    /// Where outcomes speak of its observation.
    pub here: usize,
    /// Where outcomes speak of the observation after its window.
    pub next: usize,
}

/// Finds the entries where something was done.
///
/// Without a memory, networks look at the next observations by themselves. With one, they look at whole sequences: their
/// outcomes begin after the burn-in and hold every time from there on, so what follows a window is among them.
pub fn find_entries(batch: &Batch, burn_in: Option<usize>, entries: &mut Vec<Entry>) {
    let rows = batch.rows;
    let before = burn_in.unwrap_or(0) * rows;
    let before_next = burn_in.unwrap_or(1) * rows;
    entries.clear();
    entries.extend((before..batch.steps * rows).filter(|&at| batch.valid[at]).map(|at| Entry {
        at,
        row: at % rows,
        here: at - before,
        next: place_after(batch, at) - before_next,
    }));
}

/// Where the columns of observations have what follows the window of an entry.
pub fn place_after(batch: &Batch, at: usize) -> usize {
    batch.next[at] as usize * batch.rows + at % batch.rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_steps_and_sequences_by_hand() {
        let mut entries = Vec::new();
        let single = Batch { steps: 1, rows: 2, next: vec![1, 1], valid: vec![true; 2], ..Batch::default() };
        find_entries(&single, None, &mut entries);
        assert_eq!(entries, [0, 1].map(|row| Entry { at: row, row, here: row, next: row }));
        // Two sequences of three steps; the second one's middle step closes an episode.
        let valid = vec![true, true, true, false, true, true];
        let sequences = Batch { steps: 3, rows: 2, next: vec![1, 1, 3, 9, 3, 3], valid, ..Batch::default() };
        find_entries(&sequences, Some(1), &mut entries);
        let (first, second) = (Entry { at: 2, row: 0, here: 0, next: 4 }, Entry { at: 4, row: 0, here: 2, next: 4 });
        assert_eq!(entries, [first, second, Entry { at: 5, row: 1, here: 3, next: 5 }]);
    }
}
