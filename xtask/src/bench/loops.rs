//! Environment steps per second of whole training runs.

use crate::binary::Binary;
use anyhow::{Context, Result};
use serde::Serialize;
use std::fs;
use std::path::Path;

const ROUNDS: usize = 3;

#[derive(Serialize)]
pub struct Speed {
    pub work: &'static str,
    pub threads: usize,
    pub steps: u64,
    /// The best round.
    pub steps_per_second: f64,
}

/// A run file, complete but for the run's length and the quiet settings below.
struct Work {
    name: &'static str,
    steps: u64,
    settings: &'static str,
}

/// Training and nothing else: one short evaluation and one checkpoint at the end, which every run has.
const QUIET: &str = "eval_interval: 0\ncheckpoint_interval: 0\neval_episodes: 1\nlog_interval: 10000\nseed: 1\n";

const WORKS: &[Work] = &[
    Work {
        name: "PPO CartPole, 1 env, 2048 steps, 10 epochs, batch 64, 64x64",
        steps: 204_800,
        settings: "algo: ppo\nenv_id: CartPole-v1\nalgo_kwargs: { num_steps: 2048, update_epochs: 10, \
                   minibatch_size: 64, hidden_sizes: [64, 64] }\n",
    },
    Work {
        name: "DQN CartPole, 1 update per step, batch 64, 64x64",
        steps: 50_000,
        settings: "algo: dqn\nenv_id: CartPole-v1\nalgo_kwargs: { train_frequency: 1, gradient_steps: 1, \
                   batch_size: 64, hidden_sizes: [64, 64], learning_starts: 100 }\n",
    },
    Work {
        name: "SAC Pendulum, 1 update per step, batch 256, 256x256",
        steps: 3000,
        settings: "algo: sac\nenv_id: Pendulum-v1\nalgo_kwargs: { batch_size: 256, hidden_sizes: [256, 256], \
                   learning_starts: 100, buffer_capacity: 10000 }\n",
    },
];

pub fn measure(binary: &Binary, folder: &Path) -> Result<Vec<Speed>> {
    let mut speeds = Vec::new();
    println!("{:<62} {:>7} {:>10}", "whole runs", "threads", "steps/s");
    for work in WORKS {
        for threads in [1, 2] {
            let steps_per_second = best_of_rounds(binary, folder, work, threads)?;
            println!("{:<62} {threads:>7} {steps_per_second:>10.0}", work.name);
            speeds.push(Speed { work: work.name, threads, steps: work.steps, steps_per_second });
        }
    }
    Ok(speeds)
}

fn best_of_rounds(binary: &Binary, folder: &Path, work: &Work, threads: usize) -> Result<f64> {
    let file = folder.join("run.yaml");
    let text = format!("{}{QUIET}total_timesteps: {}\n", work.settings, work.steps);
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    let run_dir = folder.join("run");
    let args = [
        file.display().to_string(),
        "--threads".into(),
        threads.to_string(),
        "--run-dir".into(),
        run_dir.display().to_string(),
    ];
    let mut best = 0.0f64;
    for _ in 0..ROUNDS {
        best = best.max(binary.train(&args)?.steps_per_second);
        fs::remove_dir_all(&run_dir).with_context(|| format!("cannot remove {}", run_dir.display()))?;
    }
    Ok(best.round())
}
