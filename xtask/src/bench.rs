//! `cargo xtask bench`: how fast and how large we are, in release builds. Figures of one machine, for one machine.

mod loops;
mod machine;
mod memory;
mod startup;
mod updates;

use crate::binary::Binary;
use crate::scratch::Scratch;
use crate::shell::root;
use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use std::fs;

/// Measures whole training runs, start-up, single updates and memory, and writes `benchmarks/own.json`
///
/// Leave the machine alone meanwhile: the figures are only worth something on an idle one.
#[derive(Args)]
pub struct Bench {
    /// Only these parts
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    Loops,
    Startup,
    Updates,
    Memory,
}

/// The whole of `benchmarks/own.json`. A part that was not measured is `null`.
#[derive(Serialize)]
struct Results {
    machine: machine::Machine,
    loops: Option<Vec<loops::Speed>>,
    startup: Option<startup::Startup>,
    updates: Option<Vec<updates::Update>>,
    memory: Option<memory::Memory>,
}

impl Bench {
    pub fn run(self) -> Result<()> {
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
            machine,
        };
        if !self.only.is_empty() {
            println!("\nnot written: benchmarks/own.json holds whole measurements only");
            return Ok(());
        }
        let path = root().join("benchmarks/own.json");
        let text = serde_json::to_string_pretty(&results)? + "\n";
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}
