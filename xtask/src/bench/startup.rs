//! How long it takes until training goes on.

use crate::binary::Binary;
use anyhow::{Context, Result};
use serde::Serialize;
use std::fs;
use std::path::Path;
use std::time::Instant;

const ROUNDS: usize = 10;

#[derive(Serialize)]
pub struct Startup {
    /// The whole process of an eight-step run, files and final evaluation included: an upper bound of the time to the
    /// first step.
    pub milliseconds: f64,
}

pub fn measure(binary: &Binary, folder: &Path) -> Result<Startup> {
    let run_dir = folder.join("startup");
    let args = ["ppo/cartpole", "--num-envs", "1", "--total-timesteps", "8", "--eval-episodes", "1", "--run-dir"];
    let args: Vec<String> = args.map(str::to_owned).into_iter().chain([run_dir.display().to_string()]).collect();
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        binary.train(&args)?;
        best = best.min(begun.elapsed().as_secs_f64() * 1e3);
        fs::remove_dir_all(&run_dir).with_context(|| format!("cannot remove {}", run_dir.display()))?;
    }
    println!("\nwhole process of an 8-step run: {best:.1} ms");
    Ok(Startup { milliseconds: (best * 10.0).round() / 10.0 })
}
