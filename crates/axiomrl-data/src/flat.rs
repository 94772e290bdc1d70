//! Files of one array for each quantity, a row for each step: numpy's archives and D4RL's HDF5.
//!
//! Nothing in them says outright where an episode ends. `terminations` and `truncations` (D4RL: `terminals` and `timeouts`) mark
//! last steps, and where the next observation of a row is stored but is not the observation of the following row, another
//! episode begins, marked or not: every transition is kept exactly as it was recorded.
//!
//! Without next observations the row after a step is its next observation. What a step with a time-out led to is then unknown,
//! and so is what the last row of the file led to: both are dropped, as D4RL does. After a terminal step nothing counts, so its own
//! observation stands in.

mod block;
mod columns;
mod reader;
mod spaces;
#[cfg(test)]
mod tests;

pub(crate) use columns::{ColumnInfo, Rows, Table};
pub(crate) use reader::FlatReader;
pub(crate) use spaces::{DESCRIBED, Described, part_key};
