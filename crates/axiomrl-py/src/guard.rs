//! The way from Python into code that computes: the interpreter is let go of, a panic becomes an exception, and a process that
//! was forked off at work is refused.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether threads may have been started in this process, which do not survive a fork.
static AT_WORK: AtomicBool = AtomicBool::new(false);
static FORKED: AtomicBool = AtomicBool::new(false);

/// Told in the child of a fork.
#[pyfunction]
pub fn forked() {
    if AT_WORK.load(Ordering::Relaxed) {
        FORKED.store(true, Ordering::Relaxed);
    }
}

/// Does `work` without the interpreter.
pub fn compute<T: Send>(py: Python<'_>, work: impl FnOnce() -> PyResult<T> + Send) -> PyResult<T> {
    if FORKED.load(Ordering::Relaxed) {
        let words = "this process was forked from one whose threads were at work, and would wait for them for ever; start it \
                     with the method `spawn` or `forkserver` of `multiprocessing`";
        return Err(PyRuntimeError::new_err(words));
    }
    AT_WORK.store(true, Ordering::Relaxed);
    py.detach(|| {
        let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let done = catch_unwind(AssertUnwindSafe(|| axiomrl_nn::with_threads(threads, work)));
        done.unwrap_or_else(|panic| Err(PyRuntimeError::new_err(format!("internal error: {}", words_of(&*panic)))))
    })
}

fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without words".to_owned())
}
