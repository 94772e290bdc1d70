//! `cargo xtask bench --peers`: the same work done by other libraries and by us, in turns, on one machine.

mod agents;
mod figures;
mod ours;
pub mod peer;
mod report;
mod results;
mod rows;
pub mod venv;
mod works;

use super::machine::Machine;
use crate::shell::root;
use anyhow::{Context, Result};
use clap::Args;
use figures::Figures;
use ours::Ours;
use peer::{PEERS, ReadyPeer};
use results::{Missing, Results};
use std::fs;
use std::path::{Path, PathBuf};
use works::WORKS;

/// Both sides may use as many cores as this.
const THREADS: [usize; 2] = [1, 2];

/// Our own code, built for the machine at hand: a peer like the others.
const NATIVE: &str = "ours, native";

const JSON: &str = "peers.json";

/// The fastest matrix products, found beside each work: a machine that others use is not equally fast at all times.
const PEAK: &str = "peak";

#[derive(Args)]
pub struct Options {
    /// Measure other libraries beside ours
    #[arg(long)]
    peers: bool,
    /// Only these peers
    #[arg(long, value_delimiter = ',', requires = "peers")]
    only_peer: Vec<String>,
    /// Only these works, by the names in `benchmarks/peers.json`, where they replace what was measured before
    #[arg(long, value_delimiter = ',', requires = "peers")]
    only_work: Vec<String>,
    /// How often all take their turn; the best counts
    #[arg(long, default_value_t = 3, requires = "peers", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Where to write, instead of `benchmarks/`; needed to write a measurement of some peers only
    #[arg(long, requires = "peers", value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// The Python that makes the virtual environments
    #[arg(long, default_value = "python3", requires = "peers")]
    python: String,
    /// Also build ours for this very processor (`target-cpu=native`), to see what the portable build loses: nothing that counts
    #[arg(long, requires = "peers")]
    native: bool,
    /// Remove the virtual environments afterwards; they are kept under `target/` otherwise, for the next time
    #[arg(long, requires = "peers")]
    discard_venvs: bool,
}

impl Options {
    pub fn wanted(&self) -> bool {
        self.peers
    }
}

pub fn run(options: &Options) -> Result<()> {
    works::check_names(&options.only_work)?;
    peer::check_names(&options.only_peer)?;
    let machine = Machine::find();
    println!("{machine}\n");
    let mut missing = Vec::new();
    let peers = peer::prepare(options, &mut missing)?;
    let ours = Ours::build(options.native)?;
    let mut figures = Figures::default();
    let wanted = |id: &str| options.only_work.is_empty() || options.only_work.iter().any(|only| only == id);
    for work in WORKS.iter().filter(|work| wanted(work.id)) {
        take_turns(work, &ours, &peers, options.rounds, &mut figures, &mut missing)?;
        // Whoever stops it before the end has at least seen this.
        let of_work = |row: &&rows::Row| row.work.starts_with(work.id) && row.threads == "best";
        rows::rows(&figures).iter().filter(of_work).for_each(|row| println!("{}", report::line(row)));
    }
    let versions = peers.iter().flat_map(|peer| peer.versions.clone()).collect();
    let results = Results::new(machine, &figures, versions, missing, options.rounds);
    print!("{}", report::terminal(&results));
    if options.discard_venvs {
        peers.iter().for_each(ReadyPeer::discard);
    }
    if let Some(folder) = &options.out {
        return write(folder, &results);
    }
    if !options.only_peer.is_empty() {
        println!("\nnot written: benchmarks/peers.json compares with all peers (--out writes elsewhere)");
        return Ok(());
    }
    let folder = root().join("benchmarks");
    match options.only_work.is_empty() {
        true => write(&folder, &results),
        false => write(&folder, &results.in_place_of(read(&folder)?, &options.only_work)),
    }
}

fn read(folder: &Path) -> Result<Results> {
    let path = folder.join(JSON);
    let text = fs::read_to_string(&path).with_context(|| {
        format!("cannot read {}; measure all works first, or write elsewhere with --out", path.display())
    })?;
    serde_json::from_str(&text).with_context(|| format!("{} is not what this command writes", path.display()))
}

/// All sides in turns, so that a slow minute of the machine hits all of them.
fn take_turns(
    work: &works::Work,
    ours: &Ours,
    peers: &[ReadyPeer],
    rounds: u32,
    figures: &mut Figures,
    missing: &mut Vec<Missing>,
) -> Result<()> {
    let mut failed: Vec<&str> = Vec::new();
    let data = ours.recorded(work)?;
    for round in 1..=rounds {
        eprintln!("{}, round {round} of {rounds}", work.title);
        for threads in THREADS {
            if matches!(work.ours, works::OurSide::Update) {
                figures.add_all(PEAK, ours.peak(work, threads)?);
            }
            figures.add_all("ours", ours.measure(work, threads, data.as_deref())?);
            figures.add_all(NATIVE, ours.measure_native(work, threads)?);
            for peer in peers.iter().filter(|peer| peer.peer.works.contains(&work.id)) {
                let name = peer.peer.name;
                if failed.contains(&name) {
                    continue;
                }
                match peer.measure(work, threads, data.as_deref()) {
                    Ok(found) => figures.add_all(name, found),
                    Err(error) => {
                        eprintln!("  {name} failed: {error:#}");
                        failed.push(name);
                        missing.push(Missing::new(name, work.id, &error));
                    }
                }
            }
        }
    }
    Ok(())
}

fn write(folder: &Path, results: &Results) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let files = [
        (folder.join(JSON), serde_json::to_string_pretty(results)? + "\n"),
        (folder.join("peers.md"), report::markdown(results)),
    ];
    for (path, text) in files {
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("written: {}", path.display());
    }
    Ok(())
}

/// The peers there are, for messages.
fn peer_names() -> String {
    PEERS.iter().map(|peer| peer.name).collect::<Vec<_>>().join(", ")
}
