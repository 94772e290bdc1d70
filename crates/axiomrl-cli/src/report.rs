//! What a run says when it ends.

use crate::failure::{Failure, INTERRUPTED};
use crate::output::{grouped, pairs, print, print_json};
use axiomrl_algos::RunConfig;
use axiomrl_run::train::{Outcome, StopReason};
use serde_json::{Value, json};
use std::path::Path;

/// Prints the summary; an interrupted run also says how to go on, and ends with the code for it.
pub fn finished(config: &RunConfig, outcome: &Outcome, as_json: bool) -> Result<(), Failure> {
    if as_json {
        print_json(&object(config, outcome))?;
    } else {
        print(&text(outcome))?;
    }
    if outcome.reason == StopReason::Interrupted {
        let words = format!(
            "interrupted at step {} of {}, and saved; go on with: axiomrl resume {}",
            grouped(outcome.at),
            grouped(config.total_timesteps),
            in_a_shell(&outcome.run_dir)
        );
        return Err(Failure::new(INTERRUPTED, words));
    }
    Ok(())
}

fn object(config: &RunConfig, outcome: &Outcome) -> Value {
    let evaluation = outcome.evaluation.as_ref();
    json!({
        "run_dir": outcome.run_dir.display().to_string(),
        "algo": config.algo,
        "env_id": config.env_id,
        "seed": config.seed,
        "steps": outcome.steps,
        "updates": outcome.updates,
        "wall_seconds": outcome.wall_seconds,
        "steps_per_second": outcome.steps_per_second,
        "eval_mean_reward": evaluation.map(|e| e.mean_reward()),
        "eval_std_reward": evaluation.map(|e| e.std_reward()),
        "eval_success_rate": evaluation.and_then(|e| e.success_rate()),
        "best_eval_mean_reward": outcome.best.as_ref().map(|b| b.mean_reward),
        "stop_reason": outcome.reason,
    })
}

fn text(outcome: &Outcome) -> String {
    let run = in_a_shell(&outcome.run_dir);
    let speed = grouped(outcome.steps_per_second.round() as u64);
    let (steps, updates) = (grouped(outcome.steps), grouped(outcome.updates));
    let seconds = outcome.wall_seconds;
    // An offline run takes no steps.
    let done = match outcome.steps {
        0 => ("updates", format!("{updates} ({speed} updates/s), {seconds:.1} s")),
        _ => ("steps", format!("{steps} ({speed} steps/s), {updates} updates, {seconds:.1} s")),
    };
    let mut rows = vec![("run folder", outcome.run_dir.display().to_string()), done];
    if let Some(words) = stopped(outcome.reason) {
        rows.push(("stopped", words.to_owned()));
    }
    if let Some(e) = &outcome.evaluation {
        let (mean, std, episodes) = (e.mean_reward(), e.std_reward(), e.returns.len());
        rows.push(("evaluation", format!("{mean:.1} ± {std:.1} over {episodes} episodes")));
        if let Some(rate) = e.success_rate() {
            rows.push(("successes", format!("{:.0} % of the episodes reached their goal", 100.0 * rate)));
        }
    }
    if let Some(best) = &outcome.best {
        let step = grouped(best.step);
        rows.push(("best", format!("{:.1} ± {:.1} at step {step}", best.mean_reward, best.std_reward)));
    }
    rows.push(("next", format!("axiomrl eval {run}")));
    rows.push(("", format!("axiomrl record {run} -o episode.gif")));
    // A run that was cut short still has its own steps to go; one that came to its end needs more of them.
    let more = match outcome.reason {
        StopReason::Interrupted | StopReason::OutOfTime => String::new(),
        _ => format!(
            " --total-timesteps {}",
            2 * if outcome.steps == 0 { outcome.updates } else { outcome.steps }.max(1)
        ),
    };
    rows.push(("", format!("axiomrl resume {run}{more}")));
    pairs(&rows)
}

/// A path as it is typed into a shell: quoted where it must be.
fn in_a_shell(path: &Path) -> String {
    let text = path.display().to_string();
    // An option would begin like this.
    let text = if text.starts_with('-') { format!("./{text}") } else { text };
    let plain = |c: char| c.is_alphanumeric() || "_-./+,:@%=".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Why a run ended before its last step.
fn stopped(reason: StopReason) -> Option<&'static str> {
    match reason {
        StopReason::Finished => None,
        StopReason::TargetReached => Some("the target reward was reached"),
        StopReason::NoImprovement => Some("no improvement any more"),
        StopReason::EnoughUpdates => Some("max_updates was reached"),
        StopReason::OutOfTime => Some("max_seconds was reached"),
        StopReason::Interrupted => Some("interrupted"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_where_a_shell_needs_it() {
        let cases = [
            ("runs/ppo__CartPole-v1__seed1", "runs/ppo__CartPole-v1__seed1"),
            ("Läufe/1", "Läufe/1"),
            ("my runs/a", "'my runs/a'"),
            ("it's", r"'it'\''s'"),
            ("a;b&c", "'a;b&c'"),
            ("-run", "./-run"),
        ];
        for (path, typed) in cases {
            assert_eq!(in_a_shell(Path::new(path)), typed);
        }
    }
}
