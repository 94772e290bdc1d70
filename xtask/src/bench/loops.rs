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
pub struct Work {
    /// What the peers call it.
    pub id: &'static str,
    pub name: &'static str,
    pub steps: u64,
    settings: &'static str,
}

/// Training and nothing else: one short evaluation and one checkpoint at the end, which every run has.
const QUIET: &str = "eval_interval: 0\ncheckpoint_interval: 0\neval_episodes: 1\nseed: 1\n";

/// A run logs this often, and is timed from its first line to its last one: the rest is warm-up.
const LINES: u64 = 10;

pub const WORKS: &[Work] = &[
    Work {
        id: "ppo_cartpole",
        name: "PPO CartPole, 1 env, 2048 steps, 10 epochs, batch 64, 64x64",
        steps: 204_800,
        settings: "algo: ppo\nenv_id: CartPole-v1\nalgo_kwargs: { num_steps: 2048, update_epochs: 10, \
                   minibatch_size: 64, hidden_sizes: [64, 64] }\n",
    },
    Work {
        id: "dqn_cartpole",
        name: "DQN CartPole, 1 update per step, batch 64, 64x64",
        steps: 50_000,
        settings: "algo: dqn\nenv_id: CartPole-v1\nalgo_kwargs: { train_frequency: 1, gradient_steps: 1, \
                   batch_size: 64, hidden_sizes: [64, 64], learning_starts: 100 }\n",
    },
    Work {
        id: "sac_pendulum",
        name: "SAC Pendulum, 1 update per step, batch 256, 256x256",
        steps: 1200,
        settings: "algo: sac\nenv_id: Pendulum-v1\nalgo_kwargs: { batch_size: 256, hidden_sizes: [256, 256], \
                   learning_starts: 100, buffer_capacity: 10000 }\n",
    },
    Work {
        id: "a2c_cartpole",
        name: "A2C CartPole, 8 envs, 5 steps, 64x64",
        steps: 400_000,
        settings: "algo: a2c\nenv_id: CartPole-v1\nnum_envs: 8\nalgo_kwargs: { num_steps: 5, gae_lambda: 1.0, \
                   hidden_sizes: [64, 64], optimizer: rmsprop }\n",
    },
    Work {
        id: "trpo_cartpole",
        name: "TRPO CartPole, 1 env, 2048 steps, 15 cg iterations, 10 epochs, batch 128, 64x64",
        steps: 204_800,
        settings: "algo: trpo\nenv_id: CartPole-v1\nalgo_kwargs: { num_steps: 2048, cg_iterations: 15, \
                   update_epochs: 10, minibatch_size: 128, hidden_sizes: [64, 64] }\n",
    },
    Work {
        id: "ars_pendulum",
        name: "ARS Pendulum, 1 env, linear policy, 8 directions",
        steps: 3_200_000,
        settings: "algo: ars\nenv_id: Pendulum-v1\nalgo_kwargs: { num_directions: 8, num_top_directions: 8, \
                   observation_statistics: false }\n",
    },
    Work {
        id: "ppo_cartpole_64",
        name: "PPO CartPole, 64 envs, 32 steps, 4 epochs, batch 512, 64x64",
        steps: 614_400,
        settings: "algo: ppo\nenv_id: CartPole-v1\nnum_envs: 64\nalgo_kwargs: { num_steps: 32, update_epochs: 4, \
                   minibatch_size: 512, hidden_sizes: [64, 64] }\n",
    },
    Work {
        id: "sac_pendulum_64",
        name: "SAC Pendulum, 1 update per step, batch 256, 64x64",
        steps: 6000,
        settings: "algo: sac\nenv_id: Pendulum-v1\nalgo_kwargs: { batch_size: 256, hidden_sizes: [64, 64], \
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
    let mut best = 0.0f64;
    for _ in 0..ROUNDS {
        best = best.max(run(binary, folder, work, work.steps, threads)?);
    }
    Ok(best.round())
}

/// Trains once and returns the steps per second after the warm-up.
pub fn run(binary: &Binary, folder: &Path, work: &Work, steps: u64, threads: usize) -> Result<f64> {
    let file = folder.join("run.yaml");
    let text = format!("{}{QUIET}log_interval: {}\ntotal_timesteps: {steps}\n", work.settings, steps / LINES);
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    let run_dir = folder.join("run");
    let args = [
        file.display().to_string(),
        "--threads".into(),
        threads.to_string(),
        "--run-dir".into(),
        run_dir.display().to_string(),
    ];
    binary.train(&args)?;
    let path = run_dir.join("progress.csv");
    let log = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    fs::remove_dir_all(&run_dir).with_context(|| format!("cannot remove {}", run_dir.display()))?;
    after_warm_up(&log).with_context(|| format!("{} has fewer than two lines with steps and seconds", path.display()))
}

/// Steps per second from the first line of a progress file to its last.
fn after_warm_up(log: &str) -> Option<f64> {
    let mut lines = log.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next()?;
    let column = |name: &str| header.iter().position(|column| *column == name);
    let (steps, seconds) = (column("time/total_timesteps")?, column("time/time_elapsed")?);
    let read =
        |line: &Vec<&str>| Some((line.get(steps)?.parse::<f64>().ok()?, line.get(seconds)?.parse::<f64>().ok()?));
    let points: Vec<(f64, f64)> = lines.filter_map(|line| read(&line)).collect();
    let ((first, begun), (last, ended)) = (points.first()?, points.last()?);
    (last > first && ended > begun).then(|| (last - first) / (ended - begun))
}

#[cfg(test)]
mod tests {
    use super::after_warm_up;

    #[test]
    fn speed_is_counted_from_the_first_line_to_the_last() {
        let log = "step,time/total_timesteps,loss,time/time_elapsed\n100,100,,3\n200,200,0.5,4\n300,300,0.5,5\n";
        assert_eq!(after_warm_up(log), Some(100.0));
        assert_eq!(after_warm_up("time/total_timesteps,time/time_elapsed\n100,3\n"), None);
        assert_eq!(after_warm_up("step\n1\n2\n"), None);
    }
}
