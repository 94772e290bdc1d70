//! `benchmarks/parity.md` and the lines on the terminal.

use super::EPISODES;
use super::record::{Run, Runs, Side};
use super::work::{Setting, Work};
use super::works::WORKS;
use anyhow::{Context, Result};
use axiomrl_report::{Comparison, Estimate, compare};
use std::fs;
use std::path::Path;

/// What the runs of a work show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Ours,
    Theirs,
    Open,
    TooFew,
}

impl Verdict {
    /// A side is ahead when either interval says so: that of the difference of the means leaves out 0, or that of the probability
    /// of improvement leaves out a half. Where most runs of one side are the best there can be, the former ends at 0 exactly,
    /// however often the other side fails.
    fn of(found: &Comparison) -> Self {
        let (Some(difference), Some(improvement)) = (found.difference.interval, found.improvement.interval) else {
            return Self::TooFew;
        };
        let ours = difference.0 > 0.0 || improvement.0 > 0.5;
        let theirs = difference.1 < 0.0 || improvement.1 < 0.5;
        match (ours, theirs) {
            (true, false) => Self::Ours,
            (false, true) => Self::Theirs,
            _ => Self::Open,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Ours => "ours ahead",
            Self::Theirs => "**theirs ahead with confidence**",
            Self::Open => "no difference shown",
            Self::TooFew => "too few seeds",
        }
    }
}

/// Theirs first: the improvement is ours over theirs. Nothing without runs of both sides.
fn comparison(work: &Work, runs: &Runs) -> Option<Comparison> {
    let scores = |side| -> Vec<f64> { runs.of(work, side).iter().map(|run| run.mean_reward).collect() };
    let (theirs, ours) = (scores(Side::Theirs), scores(Side::Ours));
    (!theirs.is_empty() && !ours.is_empty()).then(|| compare(&theirs, &ours, 0))
}

pub fn verdict(work: &Work, runs: &Runs) -> Option<Verdict> {
    comparison(work, runs).map(|found| Verdict::of(&found))
}

/// One run in one line.
pub fn line(run: &Run) -> String {
    let side = match run.side {
        Side::Ours => "ours",
        Side::Theirs => "theirs",
    };
    format!("{} {side} seed {}: {:.1} in {:.0} s", run.work, run.seed, run.mean_reward, run.seconds)
}

pub fn write(path: &Path, runs: &Runs, versions: &str) -> Result<()> {
    fs::write(path, markdown(runs, versions)).with_context(|| format!("cannot write {}", path.display()))
}

fn markdown(runs: &Runs, versions: &str) -> String {
    let mut text = format!(
        "# Returns beside Stable-Baselines3\n\n\
         Written by `cargo xtask parity`; the single runs are in `parity.json`. Both sides train the same task with the same settings and\n\
         the same number of steps, on the same seeds, which follow from the name of the work: nobody has chosen them. The return of a run\n\
         is that of its last policy over {EPISODES} deterministic episodes with raw rewards, which begin in the same states on both sides.\n\
         The other side is {versions}.\n\n\
         IQM is the interquartile mean over seeds with a 95 % bootstrap interval, P the probability that a run of ours is better than one\n\
         of theirs, ties counted half. A side is ahead when the interval of the difference of the two means leaves out 0 or that of P leaves\n\
         out 0.5. Seconds are medians, with one thread on a machine that others used: an order of magnitude, no more (`peers.md` measures\n\
         speed).\n\n\
         | work | seeds | IQM ours | IQM theirs | difference | P | seconds ours | theirs | verdict |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|---|\n"
    );
    WORKS.iter().for_each(|work| text.push_str(&row(work, runs)));
    text.push_str("\n## Settings\n\nIn their words; in brackets what ours is called, where that is something else.\n");
    WORKS.iter().for_each(|work| text.push_str(&settings(work)));
    text
}

fn row(work: &Work, runs: &Runs) -> String {
    let (ours, theirs) = (runs.of(work, Side::Ours), runs.of(work, Side::Theirs));
    let seeds = match (ours.len(), theirs.len()) {
        (one, other) if one == other => one.to_string(),
        (one, other) => format!("{one} and {other}"),
    };
    let cells = match comparison(work, runs) {
        None => [const { String::new() }; 6].into_iter().chain(["not run yet".to_owned()]).collect::<Vec<_>>(),
        Some(found) => vec![
            estimate(&found.second, 1),
            estimate(&found.first, 1),
            estimate(&found.difference, 1),
            estimate(&found.improvement, 2),
            seconds(&ours),
            seconds(&theirs),
            Verdict::of(&found).words().to_owned(),
        ],
    };
    format!("| {} (`{}`) | {seeds} | {} |\n", work.title, work.id, cells.join(" | "))
}

fn estimate(found: &Estimate, digits: usize) -> String {
    match found.interval {
        Some((low, high)) => format!("{:.digits$} [{low:.digits$}, {high:.digits$}]", found.value),
        None => format!("{:.digits$}", found.value),
    }
}

fn seconds(runs: &[&Run]) -> String {
    let found = crate::learn::statistics::median(runs.iter().map(|run| run.seconds));
    found.map_or(String::new(), |seconds| format!("{seconds:.0}"))
}

fn settings(work: &Work) -> String {
    let word = |setting: &Setting| {
        let value = in_words(setting.value);
        match (setting.theirs, setting.ours) {
            ("", ours) => format!("(`{ours}`) {value}"),
            (theirs, ours) if theirs == ours || ours.is_empty() => format!("`{theirs}` {value}"),
            (theirs, ours) => format!("`{theirs}` (`{ours}`) {value}"),
        }
    };
    let words: Vec<String> = work.settings.iter().map(word).collect();
    let envs = if work.envs == 1 { "1 environment".to_owned() } else { format!("{} environments", work.envs) };
    let normalize = if work.normalize { ", observations and rewards normalised" } else { "" };
    let env = work.masked.map_or(work.env, |(env, _)| env);
    let note = if work.note.is_empty() { String::new() } else { format!(" {}", work.note) };
    let steps = work.steps;
    format!("\n**{}**: {env}, {steps} steps, {envs}{normalize}; {}.{note}\n", work.title, words.join(", "))
}

/// JSON for those who read.
fn in_words(value: &str) -> String {
    let schedule = value.strip_prefix("{\"linear\": [").and_then(|rest| rest.strip_suffix("]}")?.split_once(", "));
    schedule.map_or_else(|| value.replace('"', ""), |(from, to)| format!("from {from} to {to} in a line"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn runs(folder: &Scratch, ours: &[f64], theirs: &[f64]) -> Runs {
        let mut runs = Runs::read(&folder.path().join("parity.json")).unwrap();
        for (side, scores) in [(Side::Ours, ours), (Side::Theirs, theirs)] {
            for (seed, mean_reward) in (1..).zip(scores.iter().copied()) {
                let run = Run { side, work: WORKS[0].id.to_owned(), seed, mean_reward, seconds: seed as f64, steps: 9 };
                runs.put(run).unwrap();
            }
        }
        runs
    }

    fn found(ours: &[f64], theirs: &[f64]) -> Option<Verdict> {
        let folder = Scratch::new("parity-verdict").unwrap();
        verdict(&WORKS[0], &runs(&folder, ours, theirs))
    }

    #[test]
    fn a_side_is_ahead_where_either_interval_leaves_out_nothing_at_all() {
        let (low, high) = ([1.0, 2.0, 1.5, 1.2], [10.0, 11.0, 9.0, 12.0]);
        assert_eq!(found(&high, &low), Some(Verdict::Ours));
        assert_eq!(found(&low, &high), Some(Verdict::Theirs));
        assert_eq!(found(&low, &low), Some(Verdict::Open));
        assert_eq!(found(&[500.0; 4], &[500.0; 4]), Some(Verdict::Open));
        assert_eq!(found(&[1.0, 9.0, 2.0, 8.0], &[2.0, 7.0, 3.0, 9.0]), Some(Verdict::Open));
        // Most of ours fail where theirs are all at the ceiling: four of six lose and two are ties, so P is 1/6.
        let failing = [500.0, 20.0, 170.0, 500.0, 250.0, 17.0];
        assert_eq!(found(&failing, &[500.0; 6]), Some(Verdict::Theirs));
        assert_eq!(found(&[500.0; 6], &failing), Some(Verdict::Ours));
        assert_eq!(found(&[1.0], &high), Some(Verdict::TooFew));
        assert_eq!(found(&[], &high), None);
    }

    #[test]
    fn the_report_shows_both_means_the_difference_and_what_was_not_run() {
        let folder = Scratch::new("parity-report").unwrap();
        // Of 1, 3, 4, 9 the middle two count: 3.5; of 2, 2, 2, 2 both: 2. Of 16 pairs ours wins 12.
        let text = markdown(&runs(&folder, &[1.0, 3.0, 4.0, 9.0], &[2.0; 4]), "SB3 1.0");
        let row = text.lines().find(|line| line.contains("`dqn_cartpole`")).unwrap();
        assert!(
            row.contains("| 4 | 3.5 [") && row.contains("| 2.0 [2.0, 2.0] | 1.5 [") && row.contains("| 0.75 ["),
            "{row}"
        );
        assert!(row.contains("| 2 | 2 | no difference shown |"), "{row}");
        assert!(text.contains("(`ppo_acrobot`) | 0 |  |  |  |  |  |  | not run yet |"), "{text}");
        assert!(text.contains("`buffer_size` (`buffer_capacity`) 100000, `learning_starts` 1000"), "{text}");
        assert!(
            text.contains("(`hidden_sizes`) [256, 256], `policy_kwargs.activation_fn` (`activation`) relu."),
            "{text}"
        );
        assert!(text.contains("`clip_range` (`clip_coef`) from 0.2 to 0.0 in a line"), "{text}");
        assert!(text.contains("The other side is SB3 1.0."));
    }
}
