//! One run per seed, each in a process of its own: they do not slow each other down, and one that fails takes no other
//! with it.

mod summary;

use crate::failure::{Failure, INTERRUPTED, OTHER};
use crate::{pool, signals};
use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// What to run for each seed.
pub struct Plan {
    /// The run file, as the user named it.
    pub source: String,
    pub assignments: Vec<String>,
    pub seeds: Vec<u64>,
    pub jobs: Option<usize>,
    pub threads: Option<usize>,
    /// Run folders are made in here, one per seed; below the run file's `output_dir` otherwise.
    pub run_dir: Option<PathBuf>,
    pub quiet: bool,
    pub json: bool,
}

/// How one seed ended: the object its process printed, or what it complained about.
struct Ended {
    seed: u64,
    result: Result<Value, Failure>,
}

/// The children at work. Closing a child's standard input asks it to save and stop, and so does our own death.
#[derive(Default)]
struct Leashes(Mutex<Vec<ChildStdin>>);

impl Leashes {
    fn hold(&self, child: &mut Child) {
        if let (Some(pipe), Ok(mut held)) = (child.stdin.take(), self.0.lock()) {
            held.push(pipe);
        }
    }

    fn let_go(&self) {
        if let Ok(mut held) = self.0.lock() {
            held.clear();
        }
    }
}

/// Runs all seeds, `jobs` at a time, and prints what they amount to.
pub fn run(plan: &Plan) -> Result<(), Failure> {
    let stop = signals::stop_flag()?;
    let jobs = plan.jobs.unwrap_or_else(pool::cores).clamp(1, plan.seeds.len());
    let (next, leashes) = (AtomicUsize::new(0), Leashes::default());
    let ended: Mutex<Vec<Ended>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let work = || {
            while !stop.load(Ordering::Relaxed) {
                let Some(&seed) = plan.seeds.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                let result = run_seed(plan, seed, jobs, &leashes, &stop);
                if !plan.quiet {
                    let _ = writeln!(std::io::stderr(), "{}", summary::line(seed, &result));
                }
                if let Ok(mut ended) = ended.lock() {
                    ended.push(Ended { seed, result });
                }
            }
        };
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            std::thread::sleep(Duration::from_millis(20));
            if stop.load(Ordering::Relaxed) {
                leashes.let_go();
            }
        }
    });
    let mut ended = ended.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    // In the order the user gave, not in the order they happened to finish.
    ended.sort_by_key(|one| plan.seeds.iter().position(|seed| *seed == one.seed));
    conclude(plan, ended)
}

fn run_seed(plan: &Plan, seed: u64, jobs: usize, leashes: &Leashes, stop: &AtomicBool) -> Result<Value, Failure> {
    let failed = |error: std::io::Error| Failure::other(format!("cannot run seed {seed}: {error}"));
    let mut child = command(plan, seed, jobs).map_err(failed)?.spawn().map_err(failed)?;
    leashes.hold(&mut child);
    if stop.load(Ordering::Relaxed) {
        leashes.let_go();
    }
    let output = child.wait_with_output().map_err(failed)?;
    let code = output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(OTHER);
    if code == 0 {
        let text = String::from_utf8_lossy(&output.stdout);
        return serde_json::from_str(&text).map_err(|error| Failure::other(format!("seed {seed}: {error}")));
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let complaint = complaint.trim().trim_start_matches("error: ");
    let words = if complaint.is_empty() { format!("ended with {}", output.status) } else { complaint.to_owned() };
    Err(Failure::new(code, words))
}

fn command(plan: &Plan, seed: u64, jobs: usize) -> std::io::Result<Command> {
    let mut command = crate::restart()?;
    command.args(["train", "--config", &plan.source]);
    if let Some(python) = crate::python() {
        command.arg("--python").arg(python);
    }
    for assignment in &plan.assignments {
        command.args(["--set", assignment]);
    }
    command.args(["--seed", &seed.to_string(), "--json", "--quiet", "--stop-on-eof"]);
    // Side by side, one thread each is fastest.
    if let Some(threads) = plan.threads.or((jobs > 1).then_some(1)) {
        command.args(["--threads", &threads.to_string()]);
    }
    if let Some(folder) = &plan.run_dir {
        command.arg("--run-dir").arg(folder.join(format!("seed{seed}")));
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(command)
}

/// Prints what the finished runs amount to, then fails with the first that failed.
fn conclude(plan: &Plan, ended: Vec<Ended>) -> Result<(), Failure> {
    let runs: Vec<&Value> = ended.iter().filter_map(|one| one.result.as_ref().ok()).collect();
    if plan.json || !runs.is_empty() {
        summary::show(&runs, plan.json)?;
    }
    let missing = plan.seeds.len() - ended.len();
    let failures: Vec<(u64, Failure)> =
        ended.into_iter().filter_map(|one| Some((one.seed, one.result.err()?))).collect();
    let interrupted = missing > 0 || failures.iter().any(|(_, failure)| failure.code == INTERRUPTED);
    let Some(first) = failures.iter().map(|(_, failure)| failure.code).find(|code| *code != INTERRUPTED) else {
        return if interrupted { Err(summary::interrupted(&failures, missing)) } else { Ok(()) };
    };
    let words: Vec<String> =
        failures.iter().map(|(seed, failure)| format!("seed {seed}: {}", failure.message)).collect();
    Err(Failure::new(first, words.join("\n")))
}
