//! `benchmarks/learn.md` and the lines on the terminal.

use super::matrix::{MATRIX, Row};
use super::record::{Record, Records};
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
         A mark is met by the last evaluation of a run: {EPISODES} episodes, deterministic policy, raw rewards.\n\n\
         | config | environment | within | mark | mean return by seed | verdict |\n|---|---|--:|--:|---|---|\n"
    );
    table(&mut text, records, |row| row.control.is_none());
    text.push_str(
        "\n## Controls\n\n\
         Broken on purpose, and required to miss the mark (unless the verdict says that they are compared only): they show\n\
         that meeting it means something.\n\
         Bootstrapping through termination cannot be configured; that control is the test `crates/axiomrl-run/tests/controls.rs`.\n\n\
         | config | broken by | within | mark | mean return by seed | verdict |\n|---|---|--:|--:|---|---|\n",
    );
    table(&mut text, records, |row| row.control.is_some());
    text
}

fn table(text: &mut String, records: &Records, wanted: impl Fn(&Row) -> bool) {
    for row in MATRIX.iter().filter(|row| wanted(row)) {
        let runs = records.of(row);
        let scores: Vec<String> = runs.iter().map(|r| format!("{}: {}", r.seed, r.score())).collect();
        let what = row.control.map_or(row.env_id.to_owned(), |control| format!("`{}`", control.set.join(" ")));
        let cells = [
            row.config.to_owned(),
            what,
            row.max_steps.to_string(),
            row.mark.to_string(),
            scores.join("; "),
            verdict(row, &runs),
        ];
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
}

fn verdict(row: &Row, runs: &[&Record]) -> String {
    let met = runs.iter().filter(|run| run.passed).count();
    let all = runs.len();
    // Of ten test seeds one may miss.
    let enough = met == all || (runs.iter().all(|run| seeds::is_test(run.seed)) && 10 * met >= 9 * all);
    match row.control {
        _ if all == 0 => "not run yet".to_owned(),
        Some(_) if met == 0 => format!("fails, as it must ({all} of {all})"),
        Some(_) if !row.required => format!("meets it {met} of {all} times; compare the returns"),
        Some(_) => format!("**passes {met} of {all}, and must not**"),
        None if enough => format!("met by {met} of {all}"),
        None if !row.required => format!("met by {met} of {all} (reported only)"),
        None => format!("**met by only {met} of {all}**"),
    }
}
