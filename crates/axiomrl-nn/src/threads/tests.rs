//! Who does which part, and that all of them are done. None of it looks at a clock.

use super::*;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Runs `work` on a thread of its own, with a fresh companion.
fn fresh<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| scope.spawn(|| with_threads(threads, work)).join().expect("no panic"))
}

/// As [`fresh`] with two threads, and a companion that gets no core.
fn held<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    fresh(2, || {
        let companion = Companion::start(|| HELP.set(Help::Alone)).expect("a thread");
        companion.hold();
        HELP.set(Help::Free(companion, Pace::default()));
        work()
    })
}

/// Until something that is sure to happen has happened.
fn wait_for(done: impl Fn() -> bool) {
    while !done() {
        thread::yield_now();
    }
}

#[test]
fn every_part_is_done_once_with_any_number_of_threads() {
    for threads in [1, 2, 3] {
        fresh(threads, || {
            for round in 0..2000usize {
                let (mut a, mut b) = (0, 0);
                join(|| a += round, || b += 2 * round);
                assert_eq!((a, b), (round, 2 * round));
            }
        });
    }
}

#[test]
fn one_thread_has_no_companion() {
    fresh(1, || {
        join(|| {}, || {});
        assert!(matches!(HELP.take(), Help::NotYet));
    });
}

#[test]
fn a_companion_at_hand_does_the_second_part() {
    fresh(2, || {
        let (begun, mut there) = (AtomicBool::new(false), None);
        join(
            || wait_for(|| begun.load(Ordering::Acquire)),
            || {
                there = Some(thread::current().id());
                begun.store(true, Ordering::Release);
            },
        );
        assert_ne!(there.expect("done"), thread::current().id());
    });
}

#[test]
fn a_companion_asleep_is_woken_up() {
    fresh(2, || {
        for _ in 0..20 {
            let begun = AtomicBool::new(false);
            join(|| wait_for(|| begun.load(Ordering::Acquire)), || begun.store(true, Ordering::Release));
            let Help::Free(companion, _) = HELP.take() else { panic!("it was put back") };
            wait_for(|| companion.is_asleep());
            // With a pace of its own each time: a part that was late must not keep the next one here.
            HELP.set(Help::Free(companion, Pace::default()));
        }
    });
}

#[test]
fn parts_of_a_companion_that_gets_no_core_are_taken_back() {
    held(|| {
        let (owner, begun) = (thread::current().id(), Instant::now());
        for round in 0..2000usize {
            let (mut a, mut b) = ((0, None), (0, None));
            let id = || Some(thread::current().id());
            join(|| a = (round, id()), || b = (2 * round, id()));
            assert_eq!((a, b), ((round, Some(owner)), (2 * round, Some(owner))));
        }
        let Help::Free(_, pace) = HELP.take() else { panic!("it was put back") };
        assert!(!pace.hands_over(begun), "hand-overs pause after so many stalls");
    });
}

#[test]
fn an_owner_sleeps_while_a_part_takes_long_and_is_woken_up() {
    fresh(2, || {
        let companion = Companion::start(|| {}).expect("a thread");
        let (begun, mut sum) = (AtomicBool::new(false), 0);
        let watch = companion.watch();
        let outcome = companion.share(
            || wait_for(|| begun.load(Ordering::Acquire)),
            || {
                begun.store(true, Ordering::Release);
                wait_for(|| watch.owner_sleeps());
                sum = 7;
            },
        );
        assert!(outcome.stalled && outcome.panic.is_none());
        assert_eq!(sum, 7);
    });
}

#[test]
fn what_is_shared_out_inside_a_part_is_done_there() {
    let count = AtomicUsize::new(0);
    let add = || {
        count.fetch_add(1, Ordering::Relaxed);
    };
    fresh(2, || join(|| join(add, add), || join(add, add)));
    assert_eq!(count.into_inner(), 4);
}

fn panics_arrive_and_work_goes_on() {
    for _ in 0..30 {
        let there = catch_unwind(|| join(|| {}, || panic!("there")));
        assert_eq!(there.unwrap_err().downcast_ref::<&str>(), Some(&"there"));
        let here = catch_unwind(|| join(|| panic!("here"), || {}));
        assert_eq!(here.unwrap_err().downcast_ref::<&str>(), Some(&"here"));
        let both = catch_unwind(|| join(|| panic!("first"), || panic!("second")));
        assert_eq!(both.unwrap_err().downcast_ref::<&str>(), Some(&"first"));
        let mut sum = [0, 0];
        let [a, b] = &mut sum;
        join(|| *a = 1, || *b = 2);
        assert_eq!(sum, [1, 2]);
    }
}

#[test]
fn panics_arrive_whoever_does_a_part() {
    fresh(1, panics_arrive_and_work_goes_on);
    fresh(2, panics_arrive_and_work_goes_on);
    held(panics_arrive_and_work_goes_on);
}

#[test]
fn every_thread_has_a_companion_of_its_own() {
    thread::scope(|scope| {
        let sums = [0; 4].map(|_| {
            scope.spawn(|| {
                with_threads(2, || {
                    let (mut a, mut b) = (0, 0);
                    (0..1000).for_each(|i| join(|| a += i, || b += 2 * i));
                    a + b
                })
            })
        });
        assert_eq!(sums.map(|sum| sum.join().expect("no panic")), [3 * 499_500; 4]);
    });
}

#[test]
fn the_setting_is_restored_also_after_a_panic() {
    fresh(1, || {
        assert_eq!(threads(), 1);
        assert_eq!(with_threads(2, threads), 2);
        assert_eq!(threads(), 1);
        catch_unwind(|| with_threads(2, || panic!("inside"))).unwrap_err();
        assert_eq!(threads(), 1);
    });
}

#[test]
fn the_setting_is_kept_to_what_can_be_used() {
    assert_eq!(with_threads(0, threads), 1);
    assert_eq!(with_threads(100, threads), PARTS);
    let default = thread::spawn(threads).join().expect("no panic");
    assert!((1..=PARTS).contains(&default));
    assert!(thread::available_parallelism().is_ok_and(|cores| default <= cores.get()));
}
