//! Runs: what is kept of one on disk, and how it is shown while it goes on.
//!
//! A run is a folder ([`run_dir`]) with logs ([`loggers`]) and checkpoints ([`checkpoint`]). Whatever moment a run is
//! killed at, its folder holds a complete checkpoint, and a resumed run leaves the logs of one that never stopped.

pub mod catalogue;
pub mod checkpoint;
pub mod clock;
pub mod collect;
pub mod configs;
pub mod evaluate;
pub mod experiment;
mod expert;
pub mod export;
pub mod files;
pub mod loggers;
pub mod memory;
pub mod metadata;
pub mod observe;
pub mod policy;
pub mod prior;
pub mod progress;
pub mod run_dir;
pub mod train;
pub mod yaml;
