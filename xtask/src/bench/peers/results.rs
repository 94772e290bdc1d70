//! The whole of `benchmarks/peers.json`.

use super::PEAK;
use super::figures::{Figure, Figures};
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
    /// The peak found in the turns of this work.
    pub peak_gflops: f64,
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
        // One for each size that was the fastest once.
        let peak = |work: Option<&str>, threads: usize| {
            let beside = |figure: &&Figure| figure.threads == threads && work.is_none_or(|work| figure.work == work);
            figures.of(PEAK).filter(beside).map(|figure| figure.value).fold(0.0, f64::max)
        };
        let gemm_peak_gflops = Peak { one_core: tenths(peak(None, 1)), two_cores: tenths(peak(None, 2)) };
        let counted = figures.of("ours").filter(|figure| figure.mflop > 0.0);
        let shares = counted.map(|figure| {
            let gflops = figure.mflop / figure.value * 1e3;
            let peak = peak(Some(&figure.work), figure.threads);
            Share {
                work: figure.work.clone(),
                threads: figure.threads,
                mflop: (figure.mflop * 1000.0).round() / 1000.0,
                microseconds: (figure.value * 1000.0).round() / 1000.0,
                gflops: tenths(gflops),
                peak_gflops: tenths(peak),
                percent_of_peak: tenths(100.0 * gflops / peak),
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

#[cfg(test)]
mod tests {
    use super::super::figures::{Unit, figure};
    use super::*;

    #[test]
    fn a_share_is_that_of_the_peak_found_beside_the_work() {
        let mut figures = Figures::default();
        let counted = Figure { mflop: 500.0, ..figure("sac_update", "ours", 2, 5000.0, Unit::Microseconds) };
        figures.add_all("ours", vec![counted]);
        let peak = |work: &str, value: f64| figure(work, "gemm 512x512x512", 2, value, Unit::Gigaflops);
        figures.add_all(PEAK, vec![peak("sac_update", 125.0), peak("lstm", 160.0)]);
        let results = Results::new(Machine::find(), &figures, BTreeSet::new(), Vec::new(), 1);
        assert_eq!(results.machine.gemm_peak_gflops.two_cores, 160.0);
        assert_eq!((results.shares[0].peak_gflops, results.shares[0].percent_of_peak), (125.0, 80.0));
    }
}
