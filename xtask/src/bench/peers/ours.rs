//! Our side of each work.

use super::figures::{Figure, Unit};
use super::peer::{UPDATE_ROUNDS, parse_lines};
use super::works::{FROM_START, OurSide, Work, run_of};
use crate::bench::loops;
use crate::binary::{Binary, build_executable, build_native_executable};
use crate::scratch::Scratch;
use crate::shell::succeeded;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

pub struct Ours {
    binary: Binary,
    updates: PathBuf,
    agents: PathBuf,
    /// `updates`, built for this very processor.
    native: Option<PathBuf>,
    scratch: Scratch,
}

impl Ours {
    pub fn build(native: bool) -> Result<Self> {
        let updates = ["--package", "axiomrl-nn", "--example", "updates"];
        Ok(Self {
            updates: build_executable(&updates, "updates")?,
            agents: build_executable(&["--package", "axiomrl-cli", "--example", "agent_updates"], "agent_updates")?,
            native: native.then(|| build_native_executable(&updates, "updates")).transpose()?,
            binary: Binary::build()?,
            scratch: Scratch::new("peers")?,
        })
    }

    /// What the cores can multiply at most, for the share of it that `work` reaches.
    pub fn peak(&self, work: &Work, threads: usize) -> Result<Vec<Figure>> {
        let mut figures = updates(&self.updates, "gemm_peak", threads, UPDATE_ROUNDS / 2)?;
        figures.iter_mut().for_each(|figure| figure.work = work.id.to_owned());
        Ok(figures)
    }

    pub fn measure(&self, work: &Work, threads: usize) -> Result<Vec<Figure>> {
        match work.ours {
            OurSide::Update => updates(&self.updates, work.id, threads, UPDATE_ROUNDS),
            OurSide::Agent { config, set, rounds } => self.agent(work.id, config, set, rounds, threads),
            OurSide::Run { from_start } => self.runs(work, threads, from_start),
        }
    }

    /// What the same code does when it is built for this processor; single updates only.
    pub fn measure_native(&self, work: &Work, threads: usize) -> Result<Vec<Figure>> {
        let (Some(program), OurSide::Update) = (&self.native, &work.ours) else { return Ok(Vec::new()) };
        let mut figures = updates(program, work.id, threads, UPDATE_ROUNDS)?;
        figures.iter_mut().for_each(|figure| figure.variant = "target-cpu=native".to_owned());
        Ok(figures)
    }

    fn agent(&self, id: &str, config: &str, set: &[&str], rounds: u32, threads: usize) -> Result<Vec<Figure>> {
        let mut command = Command::new(&self.agents);
        command.args([
            config,
            "--json",
            "--work",
            id,
            "--threads",
            &threads.to_string(),
            "--rounds",
            &rounds.to_string(),
        ]);
        command.args(set.iter().flat_map(|set| ["--set", set]));
        figures_of(command, "the example `agent_updates`")
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

fn updates(program: &Path, work: &str, threads: usize, rounds: u32) -> Result<Vec<Figure>> {
    let mut command = Command::new(program);
    command.args(["--json", "--work", work, "--threads", &threads.to_string(), "--rounds", &rounds.to_string()]);
    figures_of(command, "the example `updates`")
}

fn figures_of(mut command: Command, name: &str) -> Result<Vec<Figure>> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot start {name}"))?;
    succeeded(name, output.status)?;
    parse_lines(&output.stdout)
}
