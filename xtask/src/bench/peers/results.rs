//! The whole of `benchmarks/peers.json`.

use super::figures::{Figures, Unit};
use super::rows::{Row, rows};
use crate::bench::machine::Machine;
use serde::Serialize;
use std::collections::BTreeSet;
use std::env;

#[derive(Serialize)]
pub struct Results {
    pub machine: MeasuredMachine,
    pub rounds: u32,
    pub rows: Vec<Row>,
    /// How much of the peak each of our works reaches.
    pub shares: Vec<Share>,
    /// Peers, or works of theirs, without a figure, and why.
    pub missing: Vec<Missing>,
    pub versions: BTreeSet<String>,
    /// `RUSTFLAGS` our side was built with; empty: one binary for all processors of the architecture.
    pub rustflags: String,
}

#[derive(Serialize)]
pub struct MeasuredMachine {
    #[serde(flatten)]
    pub machine: Machine,
    pub gemm_peak_gflops: Peak,
}

/// The largest speed of matrix products, over several sizes.
#[derive(Serialize)]
pub struct Peak {
    pub one_core: f64,
    pub two_cores: f64,
}

#[derive(Serialize)]
pub struct Share {
    pub work: String,
    pub threads: usize,
    pub mflop: f64,
    pub microseconds: f64,
    pub gflops: f64,
    pub percent_of_peak: f64,
}

#[derive(Serialize)]
pub struct Missing {
    pub peer: String,
    pub work: String,
    pub reason: String,
}

impl Missing {
    pub fn new(peer: &str, work: &str, error: &anyhow::Error) -> Self {
        Self { peer: peer.to_owned(), work: work.to_owned(), reason: format!("{error:#}") }
    }
}

impl Results {
    pub fn new(
        machine: Machine,
        figures: &Figures,
        versions: BTreeSet<String>,
        missing: Vec<Missing>,
        rounds: u32,
    ) -> Self {
        let peak = |threads: usize| {
            // One for each size that was the fastest once.
            let found = figures.of("ours").filter(|f| f.unit == Unit::Gigaflops && f.threads == threads);
            tenths(found.map(|figure| figure.value).fold(0.0, f64::max))
        };
        let gemm_peak_gflops = Peak { one_core: peak(1), two_cores: peak(2) };
        let counted = figures.of("ours").filter(|figure| figure.mflop > 0.0);
        let shares = counted.map(|figure| {
            let gflops = figure.mflop / figure.value * 1e3;
            Share {
                work: figure.work.clone(),
                threads: figure.threads,
                mflop: (figure.mflop * 1000.0).round() / 1000.0,
                microseconds: (figure.value * 1000.0).round() / 1000.0,
                gflops: tenths(gflops),
                percent_of_peak: tenths(100.0 * gflops / peak(figure.threads)),
            }
        });
        Self {
            shares: shares.collect(),
            rows: rows(figures),
            machine: MeasuredMachine { machine, gemm_peak_gflops },
            rounds,
            missing,
            versions,
            rustflags: env::var("RUSTFLAGS").unwrap_or_default(),
        }
    }
}

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
