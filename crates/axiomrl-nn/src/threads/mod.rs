//! How many threads an operation may use, and two parts of one piece of work on two of them.
//!
//! Work is cut into parts by its size alone. The number of threads says only who does a part, so it changes no bit of a result.

mod companion;
mod pace;

use companion::Companion;
use pace::Pace;
use std::cell::Cell;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::thread;
use std::time::Instant;

/// Into how many parts work is cut, and so the most threads an operation can use.
pub const PARTS: usize = 2;

/// Below this many floating-point operations, handing half of the work to another thread costs more than it saves.
pub(crate) const SPLIT_FLOPS: usize = 4_000_000;

thread_local! {
    /// What [`with_threads`] asked for, if anything.
    static THREADS: Cell<Option<usize>> = const { Cell::new(None) };
    static HELP: Cell<Help> = const { Cell::new(Help::NotYet) };
}

/// Where a thread keeps its companion.
#[derive(Default)]
enum Help {
    /// Nothing was handed over so far.
    NotYet,
    Free(Companion, Pace),
    /// It is at work, or this thread is a companion itself, or none could be had: the thread does all by itself.
    #[default]
    Alone,
}

/// Runs `work`, whose operations may use up to `threads` threads (at least 1, at most [`PARTS`]).
///
/// Threads are used for one thing: an operation on a large batch or a large network (a forward or backward pass, an optimiser's
/// step) is cut into two parts, and a second thread takes one of them. Results are the same to the last bit with any number.
///
/// The setting belongs to the calling thread and lasts until `work` ends, also by a panic; threads that `work` starts have the
/// default, see [`threads`].
///
/// ```
/// let (inside, nested) = axiomrl_nn::with_threads(1, || {
///     (axiomrl_nn::threads(), axiomrl_nn::with_threads(2, axiomrl_nn::threads))
/// });
/// assert_eq!((inside, nested), (1, 2));
/// ```
pub fn with_threads<R>(threads: usize, work: impl FnOnce() -> R) -> R {
    struct Restore(Option<usize>);
    impl Drop for Restore {
        fn drop(&mut self) {
            THREADS.set(self.0);
        }
    }
    let _restore = Restore(THREADS.replace(Some(threads.clamp(1, PARTS))));
    work()
}

/// How many threads an operation called from here may use: what [`with_threads`] says, otherwise as many as there are cores for
/// this process, and never more than [`PARTS`].
pub fn threads() -> usize {
    // Asking for the cores reads files, too slow for every operation.
    static CORES: OnceLock<usize> = OnceLock::new();
    let cores = || *CORES.get_or_init(|| thread::available_parallelism().map_or(1, NonZeroUsize::get).min(PARTS));
    THREADS.get().unwrap_or_else(cores)
}

/// Runs both, on two threads if [`threads`] allows it and the second one is at hand; returns when both are done. A panic of
/// either is handed on, once both have ended. What they compute must not depend on who computes it.
///
/// Worth it from some tens of microseconds per part on. What is joined inside a part is done by the thread that does the part.
pub fn join(first: impl FnOnce(), second: impl FnOnce() + Send) {
    let Some((companion, mut pace)) = help() else {
        first();
        return second();
    };
    if !pace.hands_over(Instant::now()) {
        HELP.set(Help::Free(companion, pace));
        first();
        return second();
    }
    let shared = companion.share(first, second);
    pace.went(shared.stalled, Instant::now());
    HELP.set(Help::Free(companion, pace));
    if let Some(panic) = shared.panic {
        resume_unwind(panic);
    }
}

/// The companion of this thread, until it is put back; `None` when the thread has to do all by itself.
fn help() -> Option<(Companion, Pace)> {
    if threads() < 2 {
        return None;
    }
    match HELP.take() {
        Help::Free(companion, pace) => Some((companion, pace)),
        Help::NotYet => Some((Companion::start(|| HELP.set(Help::Alone))?, Pace::default())),
        Help::Alone => None,
    }
}

#[cfg(test)]
mod tests;
