//! The whole of `benchmarks/peers.json`.

use super::PEAK;
use super::figures::{Figure, Figures};
use super::rows::{Row, ids, rows};
use super::works::FROM_START;
use crate::bench::machine::Machine;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::env;

#[derive(Serialize, Deserialize)]
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

#[derive(Serialize, Deserialize)]
pub struct MeasuredMachine {
    #[serde(flatten)]
    pub machine: Machine,
    pub gemm_peak_gflops: Peak,
}

/// The largest speed of matrix products, over several sizes.
#[derive(Serialize, Deserialize)]
pub struct Peak {
    pub one_core: f64,
    pub two_cores: f64,
}

#[derive(Serialize, Deserialize)]
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

#[derive(Serialize, Deserialize)]
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

/// A work or the same run from its start.
fn belongs(id: &str, works: &[String]) -> bool {
    works.iter().any(|work| work == id.strip_suffix(FROM_START).unwrap_or(id))
}

impl Results {
    /// The earlier results, with everything about `works` replaced by what was measured now.
    pub fn in_place_of(mut self, earlier: Results, works: &[String]) -> Results {
        self.rows.extend(earlier.rows.into_iter().filter(|row| !belongs(&row.work, works)));
        self.shares.extend(earlier.shares.into_iter().filter(|share| !belongs(&share.work, works)));
        self.missing.extend(earlier.missing.into_iter().filter(|missing| !belongs(&missing.work, works)));
        self.versions.extend(earlier.versions);
        self.rounds = self.rounds.min(earlier.rounds);
        let (now, before) = (&mut self.machine.gemm_peak_gflops, earlier.machine.gemm_peak_gflops);
        now.one_core = now.one_core.max(before.one_core);
        now.two_cores = now.two_cores.max(before.two_cores);
        let order: Vec<String> = ids().collect();
        let place = |work: &str| order.iter().position(|id| id == work);
        self.rows.sort_by_key(|row| place(&row.work));
        self.shares.sort_by_key(|share| place(&share.work));
        self
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
    fn works_measured_again_replace_their_rows_and_no_others() {
        let measured = |value: f64, works: &[&str]| {
            let mut figures = Figures::default();
            for work in works {
                let of = |threads, value| figure(work, "ours", threads, value, Unit::StepsPerSecond);
                figures.add_all("ours", vec![of(1, value)]);
                figures.add_all("rejax", vec![of(1, 10.0)]);
            }
            Results::new(Machine::find(), &figures, BTreeSet::new(), Vec::new(), 3)
        };
        let all = ["dqn_cartpole", "dqn_cartpole_from_start", "sac_pendulum_64"];
        let text = serde_json::to_string(&measured(20.0, &all)).expect("JSON");
        let earlier: Results = serde_json::from_str(&text).expect("its own file");
        let results = measured(30.0, &all[..2]).in_place_of(earlier, &["dqn_cartpole".to_owned()]);
        let found: Vec<(&str, &str, f64)> =
            results.rows.iter().map(|row| (row.work.as_str(), row.threads.as_str(), row.ratio)).collect();
        let [first, second, third] = all;
        let (best, one) = ("best", "1");
        let want = [(first, best, 3.0), (first, one, 3.0), (second, best, 3.0), (second, one, 3.0)];
        assert_eq!(found[..4], want);
        assert_eq!(found[4..], [(third, best, 2.0), (third, one, 2.0)]);
    }

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
