//! `axiomrl dataset info`: what an expert looks at first.

use super::EnvOption;
use crate::failure::Failure;
use crate::output::{grouped, pairs, print, print_json, table};
use axiomrl_data::{Description, Histogram, Spread, describe};
use clap::Args;
use std::path::PathBuf;

/// The longest bar of the histogram, in characters.
const BAR: usize = 40;
/// Columns of an observation that are listed; more are for programs.
const LISTED: usize = 24;

/// Describes a dataset: returns, lengths, endings, ranges, and what is wrong with it
#[derive(Args)]
pub struct Info {
    /// A file (.npz, D4RL's .hdf5), a Minari folder or a Minari id
    #[arg(value_name = "FILE|ID")]
    from: PathBuf,
    #[command(flatten)]
    env: EnvOption,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

impl Info {
    pub fn run(self) -> Result<(), Failure> {
        let mut reader = self.env.open(&self.from)?;
        let description = describe(reader.as_mut())?;
        let warnings = warnings(&description);
        if self.json {
            let mut value = serde_json::to_value(&description).map_err(Failure::other)?;
            value["warnings"] = warnings.into();
            return print_json(&value);
        }
        print(&text(&description, &warnings))
    }
}

fn text(d: &Description, warnings: &[String]) -> String {
    let unknown = || "not said".to_owned();
    let action = &d.spaces.action;
    let mut rows = vec![
        ("dataset", d.name.clone()),
        ("environment", d.metadata.env_id.clone().unwrap_or_else(unknown)),
        ("recorded from", d.metadata.algorithm.clone().unwrap_or_else(unknown)),
        ("actions", format!("{} of {}", action.kind(), action.width())),
        ("episodes", episodes(d)),
        ("transitions", grouped(d.transitions)),
        ("lengths", spread(&d.lengths)),
        ("returns", spread(&d.returns)),
        ("rewards", spread(&d.rewards)),
    ];
    rows.extend(d.notes.iter().map(|note| ("note", note.clone())));
    rows.extend(warnings.iter().map(|warning| ("look at", warning.clone())));
    if warnings.is_empty() {
        rows.push(("look at", "nothing: no warning".to_owned()));
    }
    let parts = [pairs(&rows), histogram(&d.returns_histogram), observations(d), actions(d)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn episodes(d: &Description) -> String {
    let ends = &d.endings;
    let stopped = if ends.stopped > 0 { format!(", {} without a mark", ends.stopped) } else { String::new() };
    format!("{} ({} terminated, {} truncated{stopped})", grouped(d.episodes as u64), ends.terminated, ends.truncated)
}

fn spread(s: &Spread) -> String {
    format!("mean {}, median {}, from {} to {}", short(s.mean), short(s.median), short(s.min), short(s.max))
}

/// Four digits are enough to look at.
fn short(number: f64) -> String {
    let size = number.abs();
    match size {
        _ if number == 0.0 || (number.fract() == 0.0 && size < 1e9) => format!("{number:.0}"),
        _ if !(1e-3..1e6).contains(&size) => format!("{number:.3e}"),
        _ if size >= 100.0 => format!("{number:.1}"),
        _ => format!("{number:.3}"),
    }
}

/// A line for each bin, the longest bar for the largest.
fn histogram(h: &Histogram) -> String {
    let most = h.counts.iter().copied().max().unwrap_or(0);
    if most == 0 {
        return String::new();
    }
    let width = (h.max - h.min) / h.counts.len() as f64;
    let line = |(i, &count): (usize, &usize)| {
        let from = short(h.min + width * i as f64);
        let bar = "█".repeat((count * BAR).div_ceil(most));
        vec![from, count.to_string(), bar]
    };
    table(&["return from", "episodes", ""], &h.counts.iter().enumerate().map(line).collect::<Vec<_>>())
}

fn observations(d: &Description) -> String {
    let name = |part: &str, index: Option<usize>| {
        let part = if part.is_empty() { "obs" } else { part };
        index.map_or(part.to_owned(), |index| format!("{part}[{index}]"))
    };
    let row = |c: &axiomrl_data::Column| {
        let (low, high) = (short(f64::from(c.min)), short(f64::from(c.max)));
        vec![name(&c.part, c.index), low, high, c.not_finite.to_string()]
    };
    let listed = d.observations.iter().take(LISTED).map(row).collect::<Vec<_>>();
    let text = table(&["observation", "min", "max", "not finite"], &listed);
    match d.observations.len().saturating_sub(LISTED) {
        0 => text,
        more => format!("{text}\nand {more} more; --json has them all"),
    }
}

fn actions(d: &Description) -> String {
    let row = |c: &axiomrl_data::ActionColumn| {
        let choices = c.choices.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        let numbers = [c.min.into(), c.max.into(), c.mean].map(short);
        let [min, max, mean] = numbers;
        vec![format!("action[{}]", c.index), min, max, mean, c.at_bound.to_string(), c.outside.to_string(), choices]
    };
    let header = ["action", "min", "max", "mean", "at a bound", "outside", "times each choice was taken"];
    // The last column is for choices alone.
    let columns = if d.actions.iter().all(|c| c.choices.is_empty()) { 6 } else { 7 };
    table(&header[..columns], &d.actions.iter().take(LISTED).map(row).collect::<Vec<_>>())
}

/// What should make one hesitate to learn from it.
fn warnings(d: &Description) -> Vec<String> {
    let mut found = Vec::new();
    let mut say = |what: bool, words: String| {
        if what {
            found.push(words);
        }
    };
    let n = &d.not_finite;
    let bad = n.observations + n.actions + n.rewards;
    say(
        bad > 0,
        format!(
            "{bad} numbers are NaN or infinite ({} in observations, {} in actions, {} in rewards): nothing will load it",
            n.observations, n.actions, n.rewards
        ),
    );
    say(d.reward_free, "every reward is 0: only imitation can use it".to_owned());
    say(d.endings.stopped == d.episodes, "no episode has a mark of its end, so none counts as terminated".to_owned());
    say(
        !d.reward_free && d.episodes > 1 && d.returns.min == d.returns.max,
        "all episodes have the same return: there is nothing to tell good from bad by".to_owned(),
    );
    say(d.duplicate_episodes > 0, format!("{} episodes are copies of earlier ones", d.duplicate_episodes));
    say(
        d.duplicate_transitions * 20 > d.transitions,
        format!("{} transitions are copies of earlier ones", grouped(d.duplicate_transitions)),
    );
    for column in &d.actions {
        let index = column.index;
        say(column.never_varies(), format!("action {index} is the same at every step: nothing shows what it does"));
        say(
            column.outside > 0,
            format!("action {index} lies out of bounds at {} steps; it will be clipped", grouped(column.outside)),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_long_as_a_glance() {
        let shown = [0.0, 500.0, -151.2345, 0.12345, 1e-7, 3.5e9].map(short);
        assert_eq!(shown, ["0", "500", "-151.2", "0.123", "1.000e-7", "3.500e9"]);
    }

    #[test]
    fn the_longest_bar_is_the_largest_bin_and_none_is_lost() {
        let text = histogram(&Histogram { min: 0.0, max: 100.0, counts: vec![1, 0, 80, 40] });
        let bars: Vec<usize> = text.lines().skip(1).map(|line| line.matches('█').count()).collect();
        assert_eq!(bars, [1, 0, 40, 20]);
        assert!(text.lines().nth(3).is_some_and(|line| line.trim_start().starts_with("50 ")), "{text}");
    }
}
