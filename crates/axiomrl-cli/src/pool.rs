//! The threads a command computes with.

use crate::failure::Failure;
use std::num::NonZeroUsize;

/// More would take long to start and only wait: see [`THREADS_ARE_FOR`].
pub const MAX_THREADS: usize = 256;

/// What threads do, for help texts.
pub const THREADS_ARE_FOR: &str = "large updates are cut in two parts, so more than two threads do not help today \
    (only the shifted images of drq, drqv2 and curl are spread over more); results never depend on their number";

/// Runs `work` inside a pool of its own, whose size says how many threads an update may use.
pub fn run<T: Send>(
    threads: Option<NonZeroUsize>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let threads = threads.map_or_else(default_threads, NonZeroUsize::get);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Failure::other(format!("cannot start {threads} threads: {error}; try fewer")))?;
    pool.install(work)
}

/// One thread per core.
pub fn default_threads() -> usize {
    cores().min(MAX_THREADS)
}

/// Cores this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}
