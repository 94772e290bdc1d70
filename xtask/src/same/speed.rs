//! What a change costs: processor time and memory of whole runs, the two programs in turns.

use super::run::Changes;
use crate::binary::Binary;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A packaged config, shortened to about a second.
struct Work {
    name: &'static str,
    steps: u64,
    settings: &'static [&'static str],
}

const WORKS: &[Work] = &[
    Work { name: "ppo/cartpole", steps: 40_960, settings: &[] },
    Work { name: "dqn/cartpole", steps: 6000, settings: &[] },
    Work { name: "sac/pendulum", steps: 500, settings: &[] },
    Work {
        name: "drqv2/pendulum_pixels",
        steps: 400,
        settings: &["algo_kwargs.learning_starts=200", "algo_kwargs.buffer_capacity=1000"],
    },
    Work { name: "drqn/cartpole_novel", steps: 4000, settings: &["algo_kwargs.learning_starts=500"] },
];

/// Training and nothing else: one short evaluation and one checkpoint at the end, which every run has.
const QUIET: &[&str] = &["eval_interval=0", "checkpoint_interval=0", "eval_episodes=1"];

/// Ticks of the processor time in `/proc`, the same on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// What a process took.
#[derive(Clone, Copy)]
struct Usage {
    seconds: f64,
    /// All that was in memory at its highest: the program's own pages, too, which processes share and the system may drop.
    peak_kib: f64,
    /// What the run itself took: its data at its highest.
    data_kib: f64,
}

pub fn names() -> Vec<&'static str> {
    WORKS.iter().map(|work| work.name).collect()
}

/// Prints, for each work, the medians before and after and the median of the ratios of pairs.
pub fn measure(
    before: &Binary,
    after: &Binary,
    changes: &Changes,
    pairs: usize,
    wanted: &dyn Fn(&str) -> bool,
    folder: &Path,
) -> Result<()> {
    let header = ["CPU s", "after", "ratio", "MiB", "after", "ratio", "data", "after", "ratio"]
        .map(|title| format!("{title:>8}"));
    println!("{:<24}{}", "one thread, in turns", header.concat());
    for work in WORKS.iter().filter(|work| wanted(work.name)) {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for pair in 0..pairs {
            // Each goes first as often as the other: a machine that warms up favours neither.
            for turn in 0..2 {
                if (pair + turn) % 2 == 0 {
                    old.push(run(before, work, &Changes::default(), folder)?);
                } else {
                    new.push(run(after, work, changes, folder)?);
                }
            }
        }
        let columns = [
            columns(&old, &new, |usage| usage.seconds),
            columns(&old, &new, |usage| usage.peak_kib / 1024.0),
            columns(&old, &new, |usage| usage.data_kib / 1024.0),
        ];
        println!("{:<24}{}", work.name, columns.concat());
    }
    Ok(())
}

/// Median before, median after, median of the ratios.
fn columns(before: &[Usage], after: &[Usage], of: impl Fn(&Usage) -> f64) -> String {
    let each = |usages: &[Usage]| usages.iter().map(&of).collect::<Vec<f64>>();
    let (old, new) = (each(before), each(after));
    let ratios = old.iter().zip(&new).map(|(old, new)| new / old).collect();
    format!("{:>8.2}{:>8.2}{:>8.3}", median(old), median(new), median(ratios))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

fn run(binary: &Binary, work: &Work, changes: &Changes, folder: &Path) -> Result<Usage> {
    let run_dir = folder.join("run");
    let settings = [QUIET, work.settings].concat();
    let mut command = binary.command();
    command.args(["train", work.name, "--quiet", "--json", "--threads", "1", "--total-timesteps"]);
    command.arg(work.steps.to_string()).args(changes.arguments(&settings)).arg("--run-dir").arg(&run_dir);
    let usage = usage(&mut command).with_context(|| format!("cannot measure {}", work.name))?;
    fs::remove_dir_all(&run_dir).with_context(|| format!("cannot remove {}", run_dir.display()))?;
    Ok(usage)
}

/// Runs a command to its end. What an ended process has used can be read until it is waited for, its memory only before.
fn usage(command: &mut Command) -> Result<Usage> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    let (mut peak_kib, mut data_kib) = (0.0f64, 0.0f64);
    let seconds = loop {
        peak_kib = peak_kib.max(kib(child.id(), "VmHWM:").unwrap_or(0.0));
        data_kib = data_kib.max(kib(child.id(), "RssAnon:").unwrap_or(0.0));
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id()));
        let (ended, seconds) = stat.ok().as_deref().and_then(times).context("only Linux tells it, in /proc")?;
        if ended {
            break seconds;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    crate::shell::succeeded("axiomrl train", child.wait()?)?;
    Ok(Usage { seconds, peak_kib, data_kib })
}

fn kib(process: u32, of: &str) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(of))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Whether the process has ended, and its processor time so far, from `/proc/<pid>/stat`.
fn times(stat: &str) -> Option<(bool, f64)> {
    // The second field is a name in brackets, which may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field)?.parse::<f64>().ok();
    Some((fields.first() == Some(&"Z"), (ticks(11)? + ticks(12)?) / TICKS_PER_SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_read_whatever_the_program_is_called() {
        let stat = "7 (a) R (b) Z 1 7 7 0 -1 4194304 91 0 0 0 150 25 0 0 20 0 2 0 11 1 1";
        assert_eq!(times(stat), Some((true, 1.75)));
        assert_eq!(times(&stat.replace("Z 1", "S 1")), Some((false, 1.75)));
        assert_eq!(times("7 (a) R"), None);
    }

    #[test]
    fn one_slow_pair_does_not_move_the_median() {
        let usage = |seconds| Usage { seconds, peak_kib: 1.0, data_kib: 1.0 };
        let old = [1.0, 1.0, 1.0].map(usage);
        let new = [1.1, 9.0, 1.1].map(usage);
        assert_eq!(columns(&old, &new, |usage| usage.seconds), "    1.00    1.10   1.100");
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
