//! Our side of each work.

use super::figures::{Figure, Unit};
use super::peer::parse_lines;
use super::works::{FROM_START, OurSide, Work, run_of};
use crate::bench::loops;
use crate::binary::{Binary, build_executable};
use crate::scratch::Scratch;
use crate::shell::succeeded;
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

pub struct Ours {
    binary: Binary,
    updates: PathBuf,
    scratch: Scratch,
}

impl Ours {
    pub fn build() -> Result<Self> {
        Ok(Self {
            updates: build_executable(&["--package", "axiomrl-nn", "--example", "updates"], "updates")?,
            binary: Binary::build()?,
            scratch: Scratch::new("peers")?,
        })
    }

    /// What the cores can multiply at most.
    pub fn peak(&self, threads: usize, rounds: u32) -> Result<Vec<Figure>> {
        self.updates("gemm_peak", threads, 5 * rounds)
    }

    pub fn measure(&self, work: &Work, threads: usize) -> Result<Vec<Figure>> {
        match work.ours {
            OurSide::Update => self.updates(work.id, threads, 10),
            OurSide::Run { from_start } => self.runs(work, threads, from_start),
        }
    }

    fn updates(&self, work: &str, threads: usize, rounds: u32) -> Result<Vec<Figure>> {
        let mut command = Command::new(&self.updates);
        command.args(["--json", "--work", work, "--threads", &threads.to_string(), "--rounds", &rounds.to_string()]);
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let output = output.with_context(|| format!("cannot start {}", self.updates.display()))?;
        succeeded("the example `updates`", output.status)?;
        parse_lines(&output.stdout)
    }

    fn runs(&self, work: &Work, threads: usize, from_start: Option<u64>) -> Result<Vec<Figure>> {
        let (run, folder) = (run_of(work.id)?, self.scratch.path());
        let figure = |id: String, value: f64| Figure {
            work: id,
            variant: "ours".to_owned(),
            threads,
            value,
            unit: Unit::StepsPerSecond,
            mflop: 0.0,
        };
        let steady = loops::run(&self.binary, folder, run, run.steps, threads)?;
        let mut figures = vec![figure(work.id.to_owned(), steady)];
        if let Some(steps) = from_start {
            // The process as a whole: start-up, files, final evaluation and checkpoint.
            let begun = Instant::now();
            loops::run(&self.binary, folder, run, steps, threads)?;
            figures.push(figure(format!("{}{FROM_START}", work.id), steps as f64 / begun.elapsed().as_secs_f64()));
        }
        Ok(figures)
    }
}
