//! One run of either side.

use super::record::{Run, Side};
use super::work::Work;
use super::{EPISODES, Other};
use crate::bench::peers::peer::{last_line, scripts};
use crate::binary::Binary;
use anyhow::{Context, Result, ensure};
use axiomrl_envs::{Purpose, Seeding, Wrapping, source};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const SCRIPT: &str = "parity_peer.py";

/// Trains with ours, below `folder`.
pub fn ours(binary: &Binary, other: &Other, work: &Work, seed: u64, folder: &Path) -> Result<Run> {
    let run_dir = folder.join(format!("{}-{seed}", work.id));
    let options = [
        ("--env", work.masked.map_or(work.env, |(env, _)| env).to_owned()),
        ("--seed", seed.to_string()),
        ("--threads", "1".to_owned()),
        ("--num-envs", work.envs.to_string()),
        ("--total-timesteps", work.steps.to_string()),
        ("--eval-episodes", EPISODES.to_string()),
        ("--run-dir", run_dir.display().to_string()),
    ];
    let mut args: Vec<String> = vec![work.algo.into()];
    args.extend(options.into_iter().flat_map(|(option, value)| [option.to_owned(), value]));
    if work.is_foreign() {
        args.extend(["--python".to_owned(), other.python.display().to_string()]);
    }
    for set in our_settings(work) {
        args.extend(["--set".to_owned(), set]);
    }
    let begun = Instant::now();
    let summary = binary.train(&args)?;
    let seconds = begun.elapsed().as_secs_f64();
    let _ = std::fs::remove_dir_all(&run_dir);
    let mean_reward = summary.eval_mean_reward.context("the run ended without an evaluation")?;
    Ok(Run { work: work.id.to_owned(), side: Side::Ours, seed, mean_reward, seconds, steps: summary.steps })
}

/// One evaluation, at the end, and no checkpoint before it. What an algorithm without a run file would choose by itself, such as
/// normalised observations, is said either way.
fn our_settings(work: &Work) -> Vec<String> {
    let mut all: Vec<String> = ["eval_interval=0", "checkpoint_interval=0"].map(str::to_owned).into();
    all.extend(["normalize_observation", "normalize_reward"].map(|key| format!("{key}={}", work.normalize)));
    let own = work.settings.iter().filter(|setting| !setting.ours.is_empty());
    all.extend(own.map(|setting| format!("algo_kwargs.{}={}", setting.ours, setting.value)));
    all
}

#[derive(Deserialize)]
struct Answer {
    mean_reward: f64,
    seconds: f64,
    steps: u64,
}

/// Trains with the other library.
pub fn theirs(other: &Other, work: &Work, seed: u64) -> Result<Run> {
    let (reset_seeds, starts) = beginnings(work)?;
    let task = json!({
        "algo": work.algo, "env": work.env, "envs": work.envs, "steps": work.steps, "seed": seed,
        "normalize": work.normalize, "visible": work.masked.map(|(_, places)| places), "settings": work.keywords()?,
        "reset_seeds": reset_seeds, "starts": starts,
    });
    let mut command = Command::new(&other.python);
    command.arg(scripts().join(SCRIPT)).arg(task.to_string());
    command.env("PYTHONDONTWRITEBYTECODE", "1").stdin(Stdio::null());
    let output = command.output().with_context(|| format!("cannot start {}", other.python.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{SCRIPT} ended with {} for {}: {}", output.status, work.id, last_line(&said));
    let text = String::from_utf8_lossy(&output.stdout);
    let answer: Answer = text
        .lines()
        .rev()
        .find(|line| line.starts_with('{'))
        .and_then(|line| serde_json::from_str(line).ok())
        .with_context(|| format!("{SCRIPT} answered something else than a result: {}", last_line(&text)))?;
    let Answer { mean_reward, seconds, steps } = answer;
    Ok(Run { work: work.id.to_owned(), side: Side::Theirs, seed, mean_reward, seconds, steps })
}

/// How the evaluation of our side begins its episodes: seeds for environments that draw by themselves, and the first observations
/// of our own ones. 20 starts are few: two sides that began elsewhere would differ by that alone.
fn beginnings(work: &Work) -> Result<(Vec<u64>, Option<Vec<Vec<f32>>>)> {
    // As `axiomrl-run` has it for every evaluation.
    let seeding = Seeding::new(0, "eval/0");
    let seeds = (0..EPISODES).map(|episode| seeding.number(episode)).collect();
    if work.is_foreign() {
        return Ok((seeds, None));
    }
    let source = source(work.env, &Map::<String, Value>::new(), Wrapping::default())?;
    let mut envs = source.make(EPISODES, &seeding, Purpose::Evaluation)?;
    envs.reset(Some(&seeding))?;
    let obs = &envs.state().obs;
    Ok((seeds, Some((0..EPISODES).map(|episode| obs.row(episode).floats.to_vec()).collect())))
}

#[cfg(test)]
mod tests {
    use super::super::work::named;
    use super::*;

    #[test]
    fn our_settings_are_given_by_our_names_and_theirs_are_left_out() {
        let work = named(&["recurrent_ppo_cartpole_novel".to_owned()]).unwrap()[0];
        let all = our_settings(work);
        assert!(all.contains(&"algo_kwargs.num_steps=32".to_owned()), "{all:?}");
        assert!(all.contains(&"normalize_reward=true".to_owned()));
        let plain = our_settings(named(&["ppo_cartpole".to_owned()]).unwrap()[0]);
        assert!(plain.contains(&"normalize_observation=false".to_owned()), "{plain:?}");
        assert!(all.iter().all(|set| !set.contains("enable_critic_lstm") && !set.contains("kwargs.=")), "{all:?}");
    }

    #[test]
    fn episodes_begin_where_those_of_our_evaluation_do() {
        let of = |id: &str| beginnings(named(&[id.to_owned()]).unwrap()[0]).unwrap();
        let (seeds, starts) = of("sac_pendulum");
        let starts = starts.expect("a built-in environment");
        assert_eq!((seeds.len(), starts.len()), (EPISODES, EPISODES));
        assert!(starts.iter().all(|start| start.len() == 3 && (start[0].hypot(start[1]) - 1.0).abs() < 1e-5));
        assert_ne!(starts[0], starts[1]);
        assert_eq!(of("ppo_lunarlander"), (seeds, None));
    }
}
