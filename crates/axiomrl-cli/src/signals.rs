//! Ctrl-C and its relatives: the first one asks the run to save and stop, the second one ends the process at once.

use crate::failure::{Failure, INTERRUPTED};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that SIGINT and SIGTERM raise.
pub fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let failed = |error| Failure::other(format!("cannot watch for signals: {error}"));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the shutdown looks at the flag before the same signal raises it.
        flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), Arc::clone(&stop)).map_err(failed)?;
        flag::register(signal, Arc::clone(&stop)).map_err(failed)?;
    }
    Ok(stop)
}

/// Raises the flag when standard input ends, which it does when the parent process lets go of it or dies.
pub fn stop_on_eof(stop: &Arc<AtomicBool>) {
    let stop = Arc::clone(stop);
    std::thread::spawn(move || {
        let mut ignored = [0; 64];
        while matches!(std::io::stdin().read(&mut ignored), Ok(read) if read > 0) {}
        stop.store(true, Ordering::Relaxed);
    });
}
