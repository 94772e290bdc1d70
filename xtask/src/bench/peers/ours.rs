//! Our side of each work.

use super::agents::{Agent, Counts, RECORDED};
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

    /// The file that a work learns from, if it does from one; made where it is not there yet.
    pub fn recorded(&self, work: &Work) -> Result<Option<PathBuf>> {
        if !matches!(&work.ours, OurSide::Agent(Agent { recorded: true, .. })) {
            return Ok(None);
        }
        let file = self.scratch.path().join("recorded.npz");
        if !file.exists() {
            self.binary.write_ready_set(RECORDED, &file)?;
        }
        Ok(Some(file))
    }

    /// `data` is the file that the work learns from, if it does from one.
    pub fn measure(&self, work: &Work, threads: usize, data: Option<&Path>) -> Result<Vec<Figure>> {
        match &work.ours {
            OurSide::Update => updates(&self.updates, work.id, threads, UPDATE_ROUNDS),
            OurSide::Agent(agent) => self.agent(work.id, agent, threads, data),
            OurSide::Run { from_start } => self.runs(work, threads, *from_start),
        }
    }

    /// What the same code does when it is built for this processor; single updates only.
    pub fn measure_native(&self, work: &Work, threads: usize) -> Result<Vec<Figure>> {
        let (Some(program), OurSide::Update) = (&self.native, &work.ours) else { return Ok(Vec::new()) };
        let mut figures = updates(program, work.id, threads, UPDATE_ROUNDS)?;
        figures.iter_mut().for_each(|figure| figure.variant = "target-cpu=native".to_owned());
        Ok(figures)
    }

    fn agent(&self, id: &str, agent: &Agent, threads: usize, data: Option<&Path>) -> Result<Vec<Figure>> {
        let mut command = Command::new(&self.agents);
        let (threads, rounds) = (threads.to_string(), agent.rounds.to_string());
        command.args([agent.config, "--json", "--work", id, "--threads", &threads, "--rounds", &rounds]);
        match agent.counts {
            Counts::Updates(together) => command.args(["--together", &together.to_string()]),
            Counts::ModelSteps => command.arg("--pieces"),
        };
        command.args(agent.set.iter().flat_map(|set| ["--set", set]));
        if let Some(file) = data {
            let path = format!("dataset.dataset_path={}", file.display());
            command.args(["--set", "dataset.dataset_kind=npz", "--set", "dataset.dataset_id=null", "--set", &path]);
        }
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
