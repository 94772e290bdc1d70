//! The threads a command computes with.

use crate::failure::Failure;
use std::num::NonZeroUsize;

/// More would have nothing to do: see [`THREADS_ARE_FOR`].
pub const MAX_THREADS: usize = 256;

/// What threads do, for help texts.
pub const THREADS_ARE_FOR: &str = "large updates are cut in two parts, so more than two threads do not help today; \
    results never depend on their number";

/// Runs `work`, whose updates may use that many threads; as many as there are cores, if nothing else is said.
pub fn run<T>(threads: Option<NonZeroUsize>, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let threads = threads.map_or_else(default_threads, NonZeroUsize::get);
    if threads < cores() {
        // Burn's own operations on very large tensors use rayon's global pool, which has a thread for every core unless it is
        // told otherwise before it starts. It can be told only once; a second command in one process keeps what is there.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    }
    axiomrl_nn::with_threads(threads, work)
}

/// One thread per core.
pub fn default_threads() -> usize {
    cores().min(MAX_THREADS)
}

/// Cores this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_use_as_many_threads_as_were_asked_for() {
        for threads in 1..=axiomrl_nn::PARTS {
            let used = run(NonZeroUsize::new(threads), || Ok(axiomrl_nn::threads()));
            assert_eq!(used.ok(), Some(threads));
        }
        assert_eq!(run(None, || Ok(axiomrl_nn::threads())).ok(), Some(cores().min(axiomrl_nn::PARTS)));
    }
}
