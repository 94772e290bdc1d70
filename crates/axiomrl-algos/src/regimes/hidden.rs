//! What policies remember while they act.

use crate::agent::PolicyMemory;
use crate::state::{StateError, StateIo};

/// One row of memory per environment, and which of them begin an episode.
pub struct Hidden {
    pub state: Vec<f32>,
    pub starts: Vec<bool>,
    width: usize,
}

impl Hidden {
    pub fn new(rows: usize, width: usize) -> Self {
        Self { state: vec![0.0; rows * width], starts: vec![true; rows], width }
    }

    pub fn row(&self, row: usize) -> &[f32] {
        &self.state[row * self.width..(row + 1) * self.width]
    }

    /// Empties the memory of every environment that begins an episode.
    pub fn empty_at_starts(&mut self) {
        for (row, _) in self.starts.iter().enumerate().filter(|(_, start)| **start) {
            self.state[row * self.width..(row + 1) * self.width].fill(0.0);
        }
    }

    /// Memory is part of a run: without it a resumed episode would go on with an empty mind.
    pub fn exchange(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        exchange_numbers("hidden", &mut self.state, io)?;
        let rows = self.starts.len();
        io.value("hidden.starts", &mut self.starts)?;
        fits("hidden.starts", self.starts.len(), rows)
    }
}

/// Numbers bit by bit, for JSON has no word for some of them.
fn exchange_numbers(name: &str, numbers: &mut [f32], io: &mut StateIo<'_>) -> Result<(), StateError> {
    let mut bits: Vec<u32> = numbers.iter().map(|x| x.to_bits()).collect();
    io.value(name, &mut bits)?;
    fits(name, bits.len(), numbers.len())?;
    numbers.iter_mut().zip(bits).for_each(|(x, bits)| *x = f32::from_bits(bits));
    Ok(())
}

fn fits(name: &str, found: usize, needed: usize) -> Result<(), StateError> {
    if found == needed {
        return Ok(());
    }
    let problem = format!("{found} numbers where {needed} belong");
    Err(StateError::Misfit { name: name.to_owned(), problem })
}

/// Makes a memory of `rows` rows out of whatever was handed in: one that does not fit begins empty.
pub fn prepare(memory: &mut PolicyMemory, rows: usize, width: usize) {
    if memory.hidden.len() != rows * width {
        memory.hidden.clear();
        memory.hidden.resize(rows * width, 0.0);
    }
    memory.starts.resize(rows, false);
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_core::Snapshot;

    #[test]
    fn memory_is_emptied_only_where_an_episode_begins() {
        let mut hidden = Hidden::new(2, 2);
        hidden.state = vec![1.0, 2.0, 3.0, 4.0];
        hidden.starts = vec![false, true];
        hidden.empty_at_starts();
        assert_eq!(hidden.state, [1.0, 2.0, 0.0, 0.0]);
    }

    #[test]
    fn every_bit_survives_a_file_and_another_size_is_refused() {
        let mut hidden = Hidden::new(1, 3);
        hidden.state = vec![0.1, -0.0, f32::NAN];
        hidden.starts = vec![false];
        let mut saved = Snapshot::default();
        hidden.exchange(&mut StateIo::Save(&mut saved)).unwrap();
        let mut back = Hidden::new(1, 3);
        back.exchange(&mut StateIo::Load(&saved)).unwrap();
        let bits = |h: &Hidden| h.state.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!((bits(&back), back.starts), (bits(&hidden), vec![false]));
        let refused = Hidden::new(2, 3).exchange(&mut StateIo::Load(&saved)).unwrap_err().to_string();
        assert!(refused.contains("3 numbers where 6 belong"), "{refused}");
    }
}
