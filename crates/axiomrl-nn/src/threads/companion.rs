//! A second thread that does half of its owner's work.
//!
//! Updates of small networks hand over work every few hundred microseconds. A pool that puts its idle threads to sleep in
//! between pays for waking them up each time, in a virtual machine often as much as the work itself. So a thread that trains
//! gets one companion, which waits awake for a moment before it goes to sleep.
//!
//! On a busy machine that must not cost anything: whoever waits lets others go first and soon sleeps, and a part that the
//! companion has not begun when its owner is done with the other one is taken back.

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long a companion without work stays awake: longer than what a training loop does from one update to the next (a
/// step of the environment, drawing a batch), and no longer than others on a busy machine would notice.
const AWAKE: Duration = Duration::from_millis(1);

/// How long an owner waits awake at least, which is what going to sleep and being woken up costs. It waits awake for as long as
/// its own part took, should that be longer: the other one cannot be expected much sooner.
const SHORT: Duration = Duration::from_micros(50);

/// Who waits and was away from its core for this long shares it with others, and had better sleep.
const AWAY: Duration = Duration::from_micros(100);

/// Rounds of waiting before the core is offered to others.
const PATIENCE: u32 = 256;

/// The companion has no work.
const FREE: u8 = 0;
/// As free, and it must be woken up.
const ASLEEP: u8 = 1;
/// There is work that nobody has begun.
const OFFERED: u8 = 2;
/// The companion is at it.
const TAKEN: u8 = 3;
/// As taken, and the owner must be woken up.
const AWAITED: u8 = 4;
/// Nothing will come any more.
const QUIT: u8 = 5;

pub type Panic = Box<dyn Any + Send>;

/// A closure on its owner's stack.
#[derive(Clone, Copy)]
struct Job {
    call: unsafe fn(*mut ()),
    closure: *mut (),
}

/// What both threads see. `job` and `panic` belong to the companion while the work is taken, otherwise to the owner.
struct Shared {
    state: AtomicU8,
    job: UnsafeCell<Option<Job>>,
    panic: UnsafeCell<Option<Panic>>,
    owner: Thread,
    /// For tests: does not begin anything, as if it got no core.
    #[cfg(test)]
    held: std::sync::atomic::AtomicBool,
}

// SAFETY: `state` says at any time which of the two threads may touch the cells, and hands over with release and acquire.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

/// The thread that started it is its owner, and the only one that may share work with it.
pub struct Companion {
    shared: Arc<Shared>,
    thread: Thread,
}

/// How two parts were done.
pub struct Outcome {
    /// Handing over did not save time: the second part was taken back, or took longer than doing both here.
    pub stalled: bool,
    /// The panic of a part.
    pub panic: Option<Panic>,
}

impl Companion {
    /// A companion of the calling thread, which runs `begin` first; `None` if there is no thread to be had.
    pub fn start(begin: impl FnOnce() + Send + 'static) -> Option<Self> {
        let shared = Arc::new(Shared {
            state: AtomicU8::new(FREE),
            job: UnsafeCell::new(None),
            panic: UnsafeCell::new(None),
            owner: thread::current(),
            #[cfg(test)]
            held: false.into(),
        });
        let theirs = shared.clone();
        let life = move || {
            begin();
            theirs.serve();
        };
        let handle = thread::Builder::new().name("axiomrl-companion".to_owned()).spawn(life).ok()?;
        Some(Self { shared, thread: handle.thread().clone() })
    }

    /// Runs `first` here and `second` there, or here as well if the companion has not begun it by then.
    pub fn share<B: FnOnce() + Send>(&self, first: impl FnOnce(), second: B) -> Outcome {
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
        let place = (&raw mut second).cast();
        // SAFETY: the companion is free, so the cell is ours. `second` outlives the job: nothing below leaves before the work is
        // done or taken back.
        unsafe { *self.shared.job.get() = Some(Job { call: call::<B>, closure: place }) };
        if self.shared.state.swap(OFFERED, Ordering::AcqRel) == ASLEEP {
            self.thread.unpark();
        }
        let begun = Instant::now();
        let here = catch_unwind(AssertUnwindSafe(first)).err();
        if self.shared.state.compare_exchange(OFFERED, FREE, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            // After a panic the second part is dropped, as when one thread does both.
            // SAFETY: taken back before the companion began, so nobody else uses the closure.
            let both = here.or_else(|| catch_unwind(AssertUnwindSafe(|| unsafe { call::<B>(place) })).err());
            return Outcome { stalled: true, panic: both };
        }
        let stalled = self.shared.await_end(begun.elapsed());
        // SAFETY: the end of the work gave the cells back.
        let there = unsafe { (*self.shared.panic.get()).take() };
        Outcome { stalled, panic: here.or(there) }
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
        while self.begin() {
            // SAFETY: the work is taken, which gave the cells to this thread.
            let job = unsafe { (*self.job.get()).take() };
            let outcome = job.map(|job| {
                // SAFETY: the owner keeps the closure alive and untouched until the work has ended.
                catch_unwind(AssertUnwindSafe(|| unsafe { (job.call)(job.closure) }))
            });
            // SAFETY: as above.
            unsafe { *self.panic.get() = outcome.and_then(Result::err) };
            if self.state.swap(FREE, Ordering::AcqRel) == AWAITED {
                self.owner.unpark();
            }
        }
    }

    /// Waits for work and takes it; false if none will come any more.
    fn begin(&self) -> bool {
        let mut wait = Wait::new(AWAKE);
        loop {
            match self.state.load(Ordering::Acquire) {
                QUIT => return false,
                OFFERED if self.may_begin() => {
                    if self.state.compare_exchange(OFFERED, TAKEN, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                        return true;
                    }
                }
                ASLEEP => {
                    thread::park();
                    // Should it have been too late for this work, then more is likely to follow soon.
                    wait = Wait::new(AWAKE);
                }
                _ if wait.goes_on() => {}
                FREE => {
                    let _ = self.state.compare_exchange(FREE, ASLEEP, Ordering::AcqRel, Ordering::Acquire);
                }
                _ => thread::yield_now(),
            }
        }
    }

    fn may_begin(&self) -> bool {
        #[cfg(test)]
        return !self.held.load(Ordering::Acquire);
        #[cfg(not(test))]
        true
    }

    /// Returns when the companion has ended the work it took: true if that was so late that the owner went to sleep.
    fn await_end(&self, own: Duration) -> bool {
        let mut wait = Wait::new(own.max(SHORT));
        let mut slept = false;
        loop {
            match self.state.load(Ordering::Acquire) {
                TAKEN if wait.goes_on() => {}
                TAKEN => {
                    let _ = self.state.compare_exchange(TAKEN, AWAITED, Ordering::AcqRel, Ordering::Acquire);
                }
                AWAITED => {
                    slept = true;
                    thread::park();
                }
                _ => return slept,
            }
        }
    }
}

/// Waiting awake.
struct Wait {
    limit: Duration,
    begun: Instant,
    last: Instant,
    rounds: u32,
}

impl Wait {
    fn new(limit: Duration) -> Self {
        let now = Instant::now();
        Self { limit, begun: now, last: now, rounds: 0 }
    }

    /// Lets a moment pass; false when it is time to sleep.
    fn goes_on(&mut self) -> bool {
        self.rounds += 1;
        if self.rounds < PATIENCE {
            std::hint::spin_loop();
            return true;
        }
        thread::yield_now();
        let now = Instant::now();
        let away = now - self.last >= AWAY && self.rounds > PATIENCE;
        self.last = now;
        !away && now - self.begun < self.limit
    }
}

#[cfg(test)]
pub mod hooks {
    //! What tests look at and hold on to.

    use super::*;

    pub struct Watch(Arc<Shared>);

    impl Watch {
        pub fn owner_sleeps(&self) -> bool {
            self.0.state.load(Ordering::Acquire) == AWAITED
        }
    }

    impl Companion {
        /// From now on it begins nothing, as if it got no core.
        pub fn hold(&self) {
            self.shared.held.store(true, Ordering::Release);
        }

        pub fn is_asleep(&self) -> bool {
            self.shared.state.load(Ordering::Acquire) == ASLEEP
        }

        pub fn watch(&self) -> Watch {
            Watch(self.shared.clone())
        }
    }
}
