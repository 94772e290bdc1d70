//! `cargo xtask bench`: how fast and how large we are, in release builds. Figures of one machine, for one machine.

mod growth;
mod loops;
mod machine;
mod memory;
pub mod peers;
mod pixels;
mod startup;
mod updates;

use crate::binary::Binary;
use crate::scratch::Scratch;
use crate::shell::{root, run_cargo};
use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use std::fs;

/// Measures whole training runs, start-up, single updates, operations and memory, and writes `benchmarks/own.json`
///
/// With `--peers`, measures the same work done by other libraries beside ours instead, and writes `benchmarks/peers.json` and
/// `benchmarks/peers.md`. Leave the machine alone meanwhile: the figures are only worth something on an idle one.
#[derive(Args)]
pub struct Bench {
    /// Only these parts
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    #[command(flatten)]
    peers: peers::Options,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    Loops,
    Startup,
    Updates,
    Memory,
    /// DrQ-v2 with the sizes of its paper
    Pixels,
    /// Single operations, printed only
    Ops,
    /// Time against size and the memory of large stores; written to files of its own, and only when asked for
    Growth,
}

/// The whole of `benchmarks/own.json`. A part that was not measured is `null`.
#[derive(Serialize)]
struct Results {
    machine: machine::Machine,
    loops: Option<Vec<loops::Speed>>,
    startup: Option<startup::Startup>,
    updates: Option<Vec<updates::Update>>,
    memory: Option<memory::Memory>,
    pixels: Option<pixels::Pixels>,
}

impl Bench {
    pub fn run(self) -> Result<()> {
        if self.peers.wanted() {
            return peers::run(&self.peers);
        }
        if self.only.contains(&Part::Growth) {
            growth::measure()?;
        }
        if self.only.iter().any(|part| *part != Part::Growth) || self.only.is_empty() {
            self.run_parts()?;
        }
        Ok(())
    }

    fn run_parts(&self) -> Result<()> {
        let binary = Binary::build()?;
        let scratch = Scratch::new("bench")?;
        let wanted = |part: Part| self.only.is_empty() || self.only.contains(&part);
        let machine = machine::Machine::find();
        println!("{machine}\n");
        let results = Results {
            loops: wanted(Part::Loops).then(|| loops::measure(&binary, scratch.path())).transpose()?,
            startup: wanted(Part::Startup).then(|| startup::measure(&binary, scratch.path())).transpose()?,
            updates: wanted(Part::Updates).then(updates::measure).transpose()?,
            memory: wanted(Part::Memory).then(|| memory::measure(&binary, scratch.path())).transpose()?,
            pixels: wanted(Part::Pixels).then(|| pixels::measure(&binary, scratch.path())).transpose()?,
            machine,
        };
        if wanted(Part::Ops) {
            run_cargo(&["bench", "--package", "axiomrl-nn", "--bench", "ops"])?;
        }
        if !self.only.is_empty() {
            println!("\nnot written: benchmarks/own.json holds whole measurements only");
            return Ok(());
        }
        let path = root().join("benchmarks/own.json");
        let text = serde_json::to_string_pretty(&results)? + "\n";
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}
