//! Ctrl-C and its relatives: the first one asks the run to save and stop, the second one ends the process at once.

use crate::failure::{Failure, INTERRUPTED};
#[cfg(unix)]
use signal_hook::consts::{SIGHUP, SIGXFSZ};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that SIGINT, SIGTERM and SIGHUP (a terminal that was closed) raise.
pub fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let failed = |error| Failure::other(format!("cannot watch for signals: {error}"));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the shutdown looks at the flag before the same signal raises it.
        flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), Arc::clone(&stop)).map_err(failed)?;
        flag::register(signal, Arc::clone(&stop)).map_err(failed)?;
    }
    #[cfg(unix)]
    {
        // Only the flag: a terminal that is closed sends it twice, once itself and once through its shell.
        if !is_ignored(SIGHUP) {
            flag::register(SIGHUP, Arc::clone(&stop)).map_err(failed)?;
        }
        // A file that may not grow further is then an error with a message, as a full disk is, and not the end of it all.
        flag::register(SIGXFSZ, Arc::default()).map_err(failed)?;
    }
    Ok(stop)
}

/// Whether the parent process asked for a signal to be ignored, as `nohup` does for SIGHUP. Only Linux tells; elsewhere
/// it has to be supposed.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return true };
    ignored_in(&status, signal).unwrap_or(true)
}

#[cfg(unix)]
fn ignored_in(status: &str, signal: i32) -> Option<bool> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    Some(u64::from_str_radix(mask.trim(), 16).ok()? >> (signal - 1) & 1 == 1)
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_nohup_asks_for_is_found_in_the_mask() {
        let status = "Name:\taxiomrl\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n";
        assert_eq!(ignored_in(status, SIGHUP), Some(true));
        assert_eq!(ignored_in(status, SIGTERM), Some(false));
        assert_eq!(ignored_in("Name:\tx\n", SIGHUP), None);
    }
}
