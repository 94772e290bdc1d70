//! Memory over a long run: once the store is full, nothing may grow.

use crate::binary::Binary;
use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

const STEPS: u64 = 1_000_000;
const CAPACITY: u64 = 100_000;
/// A process that keeps its memory still moves by a page here and there.
const TOLERANCE_KIB: u64 = 1024;

#[derive(Serialize)]
pub struct Memory {
    pub work: &'static str,
    /// The most that was resident, by tenth of the run.
    pub points: Vec<Point>,
    /// From the tenth after the one in which the store filled up to the last.
    pub growth_kib: i64,
}

#[derive(Serialize)]
pub struct Point {
    pub until_step: u64,
    pub resident_kib: u64,
}

/// Only Linux tells the memory of a process in a file.
pub fn measure(binary: &Binary, folder: &Path) -> Result<Memory> {
    let work = "DQN CartPole, a million steps, 100k transitions kept";
    let points = watch(binary, &folder.join("memory"))?;
    println!("\n{work}\n{:>10} {:>12}", "until step", "resident KiB");
    for point in &points {
        println!("{:>10} {:>12}", point.until_step, point.resident_kib);
    }
    let after_full: Vec<u64> = points.iter().filter(|p| p.until_step > CAPACITY).map(|p| p.resident_kib).collect();
    let (first, last) = after_full.first().zip(after_full.last()).context("the run was too short to be watched")?;
    let growth_kib = *last as i64 - *first as i64;
    println!("growth after the store was full: {growth_kib} KiB");
    ensure!(growth_kib <= TOLERANCE_KIB as i64, "memory grows after the store is full: by {growth_kib} KiB");
    Ok(Memory { work, points, growth_kib })
}

/// The peak of each tenth of the run. Which tenth it is, the run's own metadata tell: they are written with each
/// checkpoint, and there is one per tenth.
fn watch(binary: &Binary, run_dir: &Path) -> Result<Vec<Point>> {
    let tenth = STEPS / 10;
    let mut command = binary.command();
    command.args(["train", "dqn/cartpole", "--quiet", "--json", "--threads", "1", "--run-dir"]).arg(run_dir);
    for setting in [
        format!("total_timesteps={STEPS}"),
        format!("checkpoint_interval={tenth}"),
        format!("eval_interval={tenth}"),
        format!("algo_kwargs.buffer_capacity={CAPACITY}"),
        "algo_kwargs.hidden_sizes=[64, 64]".to_owned(),
    ] {
        command.args(["--set", &setting]);
    }
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().context("cannot start a run")?;
    let mut peaks = vec![0; 10];
    while child.try_wait()?.is_none() {
        if let Some(resident) = resident_kib(child.id()) {
            let peak = &mut peaks[(saved_steps(run_dir) / tenth).min(9) as usize];
            *peak = resident.max(*peak);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    crate::shell::succeeded("axiomrl train dqn/cartpole", child.wait()?)?;
    let points = peaks.into_iter().enumerate().filter(|(_, peak)| *peak > 0);
    Ok(points.map(|(i, resident_kib)| Point { until_step: (i as u64 + 1) * tenth, resident_kib }).collect())
}

pub fn resident_kib(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn saved_steps(run_dir: &Path) -> u64 {
    let metadata = fs::read(run_dir.join("metadata.json")).unwrap_or_default();
    let metadata: Value = serde_json::from_slice(&metadata).unwrap_or_default();
    metadata["progress"]["timesteps"].as_u64().unwrap_or(0)
}
