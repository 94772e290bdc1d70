//! `benchmarks/learn.md` and the lines on the terminal.

use super::matrix::{MATRIX, Row};
use super::record::{Record, Records};
use super::statistics::{interquartile_mean, interval, median};
use super::{EPISODES, seeds};
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// One run in one line.
pub fn line(row: &Row, record: &Record) -> String {
    let control = row.control.map_or(String::new(), |control| format!(" [{}]", control.name));
    let verdict = match (row.as_it_should(record.passed), record.passed) {
        (true, true) if row.control.is_some() => "met (only compared)",
        (true, true) => "met",
        (true, false) if row.control.is_some() => "missed, as a control must",
        (true, false) => "missed (only reported)",
        (false, true) => "MET, though a control must not",
        (false, false) => "MISSED",
    };
    format!("{}{control} seed {}: {}, mark {}: {verdict}", row.config, record.seed, record.score(), row.mark)
}

pub fn write(path: &Path, records: &Records) -> Result<()> {
    fs::write(path, markdown(records)).with_context(|| format!("cannot write {}", path.display()))
}

fn markdown(records: &Records) -> String {
    let mut text = format!(
        "# What learns\n\n\
         Written by `cargo xtask learn`; the same in numbers is `learn.json`, where `passed` says whether the mark was met.\n\
         A mark is met by the last evaluation of a run, not by its best: {EPISODES} episodes, deterministic policy, raw rewards.\n\
         Test seeds follow from the name of the config (`--test-seeds`): nobody has chosen them or tuned on them, and a row counts as met\n\
         when at least 90 % of them meet the mark. Where a row has none yet, the seeds are those that settings were tuned by, and it\n\
         says so. IQM is the interquartile mean over seeds with a 95 % bootstrap interval; steps to the mark (by the first evaluation\n\
         that met it) and seconds (one thread, the machine shared) are medians.\n\n\
         | config | environment | within | mark | IQM | steps to mark | seconds | mean return by seed | verdict |\n\
         |---|---|--:|--:|--:|--:|--:|---|---|\n"
    );
    table(&mut text, records, |row| row.control.is_none());
    text.push_str(
        "\n## Controls\n\n\
         Broken on purpose, and required to miss the mark (unless the verdict says that they are compared only): they show\n\
         that meeting it means something.\n\
         Bootstrapping through termination cannot be configured; that control is the test `crates/axiomrl-run/tests/controls.rs`.\n\n\
         | config | broken by | within | mark | IQM | steps to mark | seconds | mean return by seed | verdict |\n\
         |---|---|--:|--:|--:|--:|--:|---|---|\n",
    );
    table(&mut text, records, |row| row.control.is_some());
    text
}

fn table(text: &mut String, records: &Records, wanted: impl Fn(&Row) -> bool) {
    for row in MATRIX.iter().filter(|row| wanted(row)) {
        let runs = records.shown(row);
        let scores: Vec<String> = runs.iter().map(|r| format!("{}: {}", r.seed, r.score())).collect();
        let what = row.control.map_or(row.env_id.to_owned(), |control| format!("`{}`", control.set.join(" ")));
        let whole = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.0}"));
        let cells = [
            row.config.to_owned(),
            what,
            row.max_steps.to_string(),
            row.mark.to_string(),
            together(&runs),
            whole(median(runs.iter().filter_map(|run| run.steps_to_mark.map(|steps| steps as f64)))),
            whole(median(runs.iter().filter_map(|run| run.seconds))),
            scores.join("; "),
            verdict(row, &runs),
        ];
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
}

/// The interquartile mean with its interval.
fn together(runs: &[&Record]) -> String {
    if runs.is_empty() {
        return String::new();
    }
    let scores: Vec<f64> = runs.iter().map(|run| run.measure()).collect();
    let mean = interquartile_mean(&scores);
    let digits = if scores.iter().all(|score| score.abs() < 10.0) { 2 } else { 1 };
    match interval(&scores) {
        Some((low, high)) => format!("{mean:.digits$} [{low:.digits$}, {high:.digits$}]"),
        None => format!("{mean:.digits$}"),
    }
}

/// Whether enough of the runs met the mark: of ten test seeds one may miss, of others none.
pub fn is_met(runs: &[&Record]) -> bool {
    let met = runs.iter().filter(|run| run.passed).count();
    let all_tests = runs.iter().all(|run| seeds::is_test(run.seed));
    !runs.is_empty() && (met == runs.len() || (all_tests && 10 * met >= 9 * runs.len()))
}

fn verdict(row: &Row, runs: &[&Record]) -> String {
    let met = runs.iter().filter(|run| run.passed).count();
    let all = runs.len();
    let tuned = if runs.iter().any(|run| !seeds::is_test(run.seed)) { " tuning seeds" } else { "" };
    match row.control {
        _ if all == 0 => "not run yet".to_owned(),
        Some(_) if met == 0 => format!("fails, as it must ({all} of {all}{tuned})"),
        Some(_) if !row.required => format!("meets it {met} of {all} times; compare the returns"),
        Some(_) => format!("**passes {met} of {all}, and must not**"),
        None if is_met(runs) => format!("met by {met} of {all}{tuned}"),
        None if !row.required => format!("met by {met} of {all}{tuned} (reported only)"),
        None => format!("**met by only {met} of {all}{tuned}**"),
    }
}
