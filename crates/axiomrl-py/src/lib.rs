//! The native half of the Python package: what `axiomrl._native` offers is for `python/axiomrl`, which gives it its face.
//!
//! Every function that computes lets go of the interpreter while it does ([`guard`]). A run is driven from Python, piece by
//! piece ([`run`]), so that callbacks find the agent at rest and may do with it whatever they like.

mod acting;
mod bridge;
mod environment;
mod errors;
mod guard;
mod policy;
mod quick;
mod run;
mod stepping;
mod tables;
mod told;

#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::environment::NativeEnv;
    #[pymodule_export]
    use crate::errors::{CheckpointError, Diverged};
    #[pymodule_export]
    use crate::guard::forked;
    #[pymodule_export]
    use crate::policy::{LoadedPolicy, check};
    #[pymodule_export]
    use crate::run::Run;
    #[pymodule_export]
    use crate::tables::{algorithms, environments, run_file, schema};
    use axiomrl_run::catalogue::Catalogue;
    use pyo3::prelude::*;
    use std::ffi::OsString;

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// The command line. Gives the exit code.
    #[pyfunction]
    fn main(py: Python<'_>, words: Vec<OsString>, restart: Vec<OsString>) -> u8 {
        py.detach(|| axiomrl_cli::run_within(Catalogue::builtin(), words, restart))
    }
}
