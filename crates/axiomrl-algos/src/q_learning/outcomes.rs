//! What a value network said about a batch of observations.

use super::heads::Head;

/// Outputs of every action, with their expectations.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    pub members: usize,
    pub rows: usize,
    pub actions: usize,
    /// Numbers per action.
    pub width: usize,
    /// `[member][row][action][number]`
    pub values: Vec<f32>,
    /// Fractions of quantile outputs, `[row][number]`; one row for all where they do not differ.
    pub fractions: Vec<f32>,
    /// Weights of the numbers in the expectation, laid out as `fractions`.
    pub share: Vec<f32>,
    /// Expected returns, `[member][row][action]`.
    expectations: Vec<f32>,
}

impl Outcomes {
    /// Computes the expectations once the rest is filled in.
    pub fn settle(&mut self, head: &Head) {
        self.expectations.clear();
        let per_row = self.actions * self.width;
        for (at, outputs) in self.values.chunks_exact(self.width).enumerate() {
            let row = at / self.actions % self.rows;
            debug_assert!(at / (self.rows * self.actions) < self.members && per_row > 0);
            self.expectations.push(head.expectation(outputs, row_of(&self.share, row, self.width)));
        }
    }

    /// Expected return of every action of a row.
    pub fn q(&self, member: usize, row: usize) -> &[f32] {
        let start = (member * self.rows + row) * self.actions;
        &self.expectations[start..start + self.actions]
    }

    /// What a member said about one action.
    pub fn of(&self, member: usize, row: usize, action: usize) -> &[f32] {
        let start = ((member * self.rows + row) * self.actions + action) * self.width;
        &self.values[start..start + self.width]
    }

    /// The member with the most cautious opinion.
    pub fn smallest_member(&self, row: usize, action: usize) -> usize {
        (1..self.members).fold(0, |best, m| if self.q(m, row)[action] < self.q(best, row)[action] { m } else { best })
    }
}

/// The row of a table that may have one row for all.
pub fn row_of(table: &[f32], row: usize, width: usize) -> &[f32] {
    match table.len() {
        0 => &[],
        n if n == width => table,
        _ => &table[row * width..(row + 1) * width],
    }
}
