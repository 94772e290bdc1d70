//! Control from 84x84 pixels with the sizes of the papers: how fast, and how large.

use super::memory::resident_kib;
use crate::binary::Binary;
use crate::shell::succeeded;
use anyhow::{Context, Result};
use serde::Serialize;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

const CONFIG: &str = "drqv2/pendulum_pixels_84";
/// As many as one batch, and then two runs of different length: their difference is training and nothing else.
const WARM_UP: u64 = 256;
const LENGTHS: [u64; 2] = [20, 60];
/// The packaged capacity, filled by random steps.
const CAPACITY: u64 = 50_000;

#[derive(Serialize)]
pub struct Pixels {
    pub work: &'static str,
    /// With two threads, one update for two steps.
    pub steps_per_second: f64,
    pub updates_per_second: f64,
    /// The most that was resident once the replay was full and updates had been made from it.
    pub full_replay_resident_kib: u64,
    pub replay_capacity: u64,
}

pub fn measure(binary: &Binary, folder: &Path) -> Result<Pixels> {
    let work = "DrQ-v2 PendulumPixels, 84x84 colour, stack of 3, batch 256, 1024x1024, one update for two steps";
    let run_dir = folder.join("pixels");
    let [short, long] = LENGTHS.map(|steps| run(binary, &run_dir, WARM_UP, steps));
    let seconds = long?.0 - short?.0;
    let steps_per_second = (LENGTHS[1] - LENGTHS[0]) as f64 / seconds;
    let (_, resident) = run(binary, &run_dir, CAPACITY, 4)?;
    println!("\n{work}");
    println!(
        "{steps_per_second:.2} steps/s, {:.2} updates/s, {resident} KiB with {CAPACITY} steps",
        steps_per_second / 2.0
    );
    let round = |value: f64| (value * 1000.0).round() / 1000.0;
    Ok(Pixels {
        work,
        steps_per_second: round(steps_per_second),
        updates_per_second: round(steps_per_second / 2.0),
        full_replay_resident_kib: resident,
        replay_capacity: CAPACITY,
    })
}

/// Seconds and peak memory of a whole run.
fn run(binary: &Binary, run_dir: &Path, warm_up: u64, steps: u64) -> Result<(f64, u64)> {
    let mut command = binary.command();
    command.args(["train", CONFIG, "--quiet", "--json", "--threads", "2", "--run-dir"]).arg(run_dir);
    for setting in [
        format!("total_timesteps={}", warm_up + steps),
        format!("algo_kwargs.learning_starts={warm_up}"),
        "eval_interval=0".to_owned(),
        "eval_episodes=1".to_owned(),
        "checkpoint_interval=0".to_owned(),
    ] {
        command.args(["--set", &setting]);
    }
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().context("cannot start a run")?;
    let mut peak = 0;
    while child.try_wait()?.is_none() {
        peak = peak.max(resident_kib(child.id()).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(20));
    }
    let seconds = begun.elapsed().as_secs_f64();
    succeeded(&format!("axiomrl train {CONFIG}"), child.wait()?)?;
    fs::remove_dir_all(run_dir).with_context(|| format!("cannot remove {}", run_dir.display()))?;
    Ok((seconds, peak))
}
