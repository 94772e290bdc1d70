//! Times the updates that matter, with their share of what the machine's cores can multiply:
//!
//! ```text
//! cargo run --release -p axiomrl-nn --example updates -- [--threads 2] [--rounds 15] [--work dqn_update,lstm] [--json] [--growth]
//! ```
//!
//! Best of several rounds; compare figures of one run only.

mod growth;
mod options;
mod peak;
mod recurrence;
mod sac;
mod small;
mod timing;
mod vision;
mod world;

use axiomrl_nn::{CellKind, with_threads};
use options::Options;
use sac::SacShape;
use timing::{Timer, Work};

/// Each is built only when it is timed: what another one keeps in the caches would slow it down.
const WORKS: &[(&str, fn() -> Work)] = &[
    ("policy_inference", || small::inference(1)),
    ("policy_inference_8", || small::inference(8)),
    ("dqn_update", small::dqn),
    ("ppo_minibatch", small::ppo),
    ("lstm", || recurrence::sequence(CellKind::Lstm, 16)),
    ("lstm_step", || recurrence::step(CellKind::Lstm)),
    ("gru", || recurrence::sequence(CellKind::Gru, 16)),
    ("gru_step", || recurrence::step(CellKind::Gru)),
    ("nature_cnn", vision::nature),
    ("nature_cnn_inference", vision::nature_inference),
    ("rssm_tiny", || world::observed(world::TINY, 64, 16)),
    ("rssm_tiny_short", || world::observed(world::TINY, 16, 8)),
    ("rssm_1m", || world::observed(world::ONE_M, 64, 16)),
    ("imagine_tiny", || world::imagined(world::TINY, 1024)),
    ("imagine_1m", || world::imagined(world::ONE_M, 1024)),
    ("two_hot", || world::two_hot_head(15 * 1024)),
    ("rssm_act", || world::act(world::TINY)),
    ("sac_update", || sac::work(SacShape::default())),
];

fn main() {
    let known: Vec<&str> = WORKS.iter().map(|(name, _)| *name).chain([peak::NAME]).collect();
    let options = match Options::parse(std::env::args().skip(1), &known) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            std::process::exit(2);
        }
    };
    with_threads(options.threads, || run(&options));
}

fn run(options: &Options) {
    let timer = Timer { rounds: options.rounds, threads: options.threads, json: options.json };
    if options.growth {
        return growth::run(&timer);
    }
    // Shares of the peak are for readers; whoever reads JSON asks for the peak by name.
    let peak = (!options.json || options.wants(peak::NAME)).then(|| peak::measure(&timer));
    for (name, build) in WORKS.iter().filter(|(name, _)| options.wants(name)) {
        let mut work = build();
        let microseconds = timer.best(&mut work.call);
        timer.report(name, &work, microseconds, peak);
    }
}
