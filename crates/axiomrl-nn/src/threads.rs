//! Two halves of one piece of work on two threads.
//!
//! Updates of small networks hand over work every few hundred microseconds. A pool that puts its idle threads to sleep in
//! between pays for waking them up each time, in a virtual machine often as much as the work itself. So a thread that trains
//! gets one companion, which waits awake for a moment before it goes to sleep.

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Below this many floating-point operations, handing half of the work to another thread costs more than it saves.
pub(crate) const SPLIT_FLOPS: usize = 4_000_000;

/// How long a companion without work stays awake: longer than what a training loop does from one update to the next (a step of
/// the environment, drawing a batch), and no longer than others on a busy machine would notice.
const AWAKE: Duration = Duration::from_millis(1);

/// Rounds of waiting before the processor is offered to others.
const PATIENCE: u32 = 4096;

thread_local! {
    static COMPANION: Cell<Slot> = const { Cell::new(Slot::NotYet) };
}

/// Where a thread keeps its companion.
#[derive(Default)]
enum Slot {
    /// Nothing was handed over so far.
    NotYet,
    Free(Companion),
    /// It is at work, or this thread is a companion itself, or none could be had: the thread does all by itself.
    #[default]
    Alone,
}

/// Runs both, in parallel if the surrounding rayon pool has threads to spare; returns when both are done. What they compute
/// must not depend on whether it was in parallel.
pub fn join(first: impl FnOnce(), second: impl FnOnce() + Send) {
    let Some(companion) = companion() else {
        first();
        return second();
    };
    let panic = companion.share(first, second);
    COMPANION.set(Slot::Free(companion));
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

/// The companion of this thread, until it is put back; `None` when the thread has to do all by itself.
fn companion() -> Option<Companion> {
    if rayon::current_num_threads() < 2 {
        return None;
    }
    match COMPANION.take() {
        Slot::Free(companion) => Some(companion),
        Slot::NotYet => Companion::start(),
        Slot::Alone => None,
    }
}

/// Waits for work.
const IDLE: u8 = 0;
/// As idle, and must be woken up.
const ASLEEP: u8 = 1;
/// Has work.
const BUSY: u8 = 2;
/// Is done with it.
const DONE: u8 = 3;
/// Is no longer needed.
const QUIT: u8 = 4;

type Panic = Box<dyn Any + Send>;

/// A closure on its owner's stack.
#[derive(Clone, Copy)]
struct Job {
    call: unsafe fn(*mut ()),
    closure: *mut (),
}

/// What both threads see. `job` and `panic` belong to the owner, but from BUSY to DONE to the companion.
struct Shared {
    state: AtomicU8,
    job: UnsafeCell<Option<Job>>,
    panic: UnsafeCell<Option<Panic>>,
}

// SAFETY: `state` says at any time which of the two threads may touch the cells, and hands over with release and acquire.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

struct Companion {
    shared: Arc<Shared>,
    thread: Thread,
}

impl Companion {
    fn start() -> Option<Self> {
        let cells = (UnsafeCell::new(None), UnsafeCell::new(None));
        let shared = Arc::new(Shared { state: AtomicU8::new(IDLE), job: cells.0, panic: cells.1 });
        let theirs = shared.clone();
        let handle = thread::Builder::new().name("axiomrl-companion".to_owned()).spawn(move || theirs.serve()).ok()?;
        Some(Self { shared, thread: handle.thread().clone() })
    }

    /// Runs `first` here and `second` there. The panic of either is handed back, once both have ended.
    fn share<B: FnOnce() + Send>(&self, first: impl FnOnce(), second: B) -> Option<Panic> {
        /// # Safety
        /// `closure` must point to an `Option<B>` that nobody else uses.
        unsafe fn call<B: FnOnce()>(closure: *mut ()) {
            // SAFETY: guaranteed by the caller.
            let closure = unsafe { &mut *closure.cast::<Option<B>>() };
            if let Some(closure) = closure.take() {
                closure();
            }
        }
        let mut second = Some(second);
        let job = Job { call: call::<B>, closure: (&raw mut second).cast() };
        // SAFETY: the companion is idle, so the cell is ours. `second` outlives the job: nothing below leaves before DONE.
        unsafe { *self.shared.job.get() = Some(job) };
        if self.shared.state.swap(BUSY, Ordering::AcqRel) == ASLEEP {
            self.thread.unpark();
        }
        let here = catch_unwind(AssertUnwindSafe(first)).err();
        let mut rounds = 0;
        while self.shared.state.load(Ordering::Acquire) != DONE {
            wait_a_little(&mut rounds);
        }
        // SAFETY: DONE gave the cells back.
        let there = unsafe { (*self.shared.panic.get()).take() };
        self.shared.state.store(IDLE, Ordering::Release);
        here.or(there)
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        self.shared.state.store(QUIT, Ordering::Release);
        self.thread.unpark();
    }
}

impl Shared {
    /// The companion's life.
    fn serve(&self) {
        COMPANION.set(Slot::Alone);
        loop {
            match self.wait() {
                BUSY => {
                    // SAFETY: BUSY gave the cells to this thread.
                    let job = unsafe { (*self.job.get()).take() };
                    let outcome = job.map(|job| {
                        // SAFETY: the owner keeps the closure alive and untouched until DONE.
                        catch_unwind(AssertUnwindSafe(|| unsafe { (job.call)(job.closure) }))
                    });
                    // SAFETY: as above.
                    unsafe { *self.panic.get() = outcome.and_then(Result::err) };
                    self.state.store(DONE, Ordering::Release);
                }
                _ => return,
            }
        }
    }

    /// Until there is work, or none will come any more.
    fn wait(&self) -> u8 {
        let begun = Instant::now();
        let mut rounds = 0;
        loop {
            match self.state.load(Ordering::Acquire) {
                // DONE until the owner has seen it.
                IDLE | DONE if begun.elapsed() < AWAKE => wait_a_little(&mut rounds),
                IDLE => {
                    let _ = self.state.compare_exchange(IDLE, ASLEEP, Ordering::AcqRel, Ordering::Acquire);
                }
                DONE => wait_a_little(&mut rounds),
                ASLEEP => thread::park(),
                state => return state,
            }
        }
    }
}

fn wait_a_little(rounds: &mut u32) {
    *rounds += 1;
    if *rounds < PATIENCE { std::hint::spin_loop() } else { thread::yield_now() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    fn in_pool<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool").install(work)
    }

    #[test]
    fn both_halves_are_done_on_two_threads_or_on_one() {
        for threads in [1, 2] {
            in_pool(threads, || {
                for round in 0..2000usize {
                    let (mut a, mut b) = (0, 0);
                    let (mut here, mut there) = (None, None);
                    join(
                        || (a, here) = (round, Some(thread::current().id())),
                        || (b, there) = (2 * round, Some(thread::current().id())),
                    );
                    assert_eq!((a, b), (round, 2 * round));
                    assert_eq!(here == there, threads == 1);
                    // Now and then long enough for the companion to fall asleep.
                    if round % 500 == 0 {
                        thread::sleep(5 * AWAKE);
                    }
                }
            });
        }
    }

    #[test]
    fn what_is_shared_out_inside_a_half_is_done_there() {
        let count = AtomicUsize::new(0);
        let add = || {
            count.fetch_add(1, Ordering::Relaxed);
        };
        in_pool(2, || join(|| join(add, add), || join(add, add)));
        assert_eq!(count.into_inner(), 4);
    }

    #[test]
    fn panics_arrive_and_the_companion_goes_on() {
        in_pool(2, || {
            for _ in 0..3 {
                let there = catch_unwind(|| join(|| {}, || panic!("there")));
                assert_eq!(there.unwrap_err().downcast_ref::<&str>(), Some(&"there"));
                let here = catch_unwind(|| join(|| panic!("here"), || {}));
                assert_eq!(here.unwrap_err().downcast_ref::<&str>(), Some(&"here"));
                let mut sum = [0, 0];
                let [a, b] = &mut sum;
                join(|| *a = 1, || *b = 2);
                assert_eq!(sum, [1, 2]);
            }
        });
    }

    #[test]
    fn every_thread_has_a_companion_of_its_own() {
        in_pool(4, || {
            let sums: Vec<usize> = rayon::broadcast(|_| {
                let (mut a, mut b) = (0, 0);
                for i in 0..1000 {
                    join(|| a += i, || b += 2 * i);
                }
                a + b
            });
            assert_eq!(sums, [3 * 499_500; 4]);
        });
    }
}
