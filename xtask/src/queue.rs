//! Jobs that are done some at a time, each result kept as soon as it is there.

use anyhow::{Result, bail};
use std::sync::{Mutex, MutexGuard};

/// Does all of `jobs`, `at_once` at the same time. The first error ends it, once what is under way has ended too.
pub fn work_off<J: Sync, R>(
    jobs: &[J],
    at_once: usize,
    job: impl Fn(&J) -> Result<R> + Sync,
    keep: impl FnMut(&J, R) -> Result<()> + Send,
) -> Result<()> {
    let queue = Mutex::new(jobs.iter());
    let keep = Mutex::new(keep);
    let worker = || -> Result<()> {
        loop {
            let Some(next) = lock(&queue).next() else { return Ok(()) };
            let done = job(next).and_then(|result| lock(&keep)(next, result));
            if done.is_err() {
                // The others shall not begin anything more.
                lock(&queue).by_ref().for_each(drop);
                return done;
            }
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|handle| match handle.join() {
            Ok(outcome) => outcome,
            Err(_) => bail!("a worker thread panicked"),
        })
    })
}

/// A worker that panicked is reported when it is joined; what it held is still in order.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_is_done_once_and_an_error_ends_the_rest() {
        let mut kept = Vec::new();
        let keep = |job: &u32, result: u32| {
            kept.push((*job, result));
            Ok(())
        };
        work_off(&[1, 2, 3, 4, 5], 2, |job| Ok(job * job), keep).unwrap();
        kept.sort_unstable();
        assert_eq!(kept, [(1, 1), (2, 4), (3, 9), (4, 16), (5, 25)]);

        let mut seen = Vec::new();
        let fails_at_2 = |job: &u32| if *job == 2 { bail!("no") } else { Ok(*job) };
        let outcome = work_off(&[1, 2, 3], 1, fails_at_2, |_, done| {
            seen.push(done);
            Ok(())
        });
        assert!(outcome.is_err() && seen == [1]);
    }
}
