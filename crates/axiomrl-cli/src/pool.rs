//! The threads a command computes with.

use crate::failure::Failure;
use std::num::NonZeroUsize;

/// Runs `work` inside a pool of its own, whose size says how many threads an update may use.
pub fn run<T: Send>(
    threads: Option<NonZeroUsize>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let threads = threads.map_or_else(cores, NonZeroUsize::get);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Failure::other(format!("cannot start {threads} threads: {error}; try fewer")))?;
    pool.install(work)
}

/// Cores this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}
