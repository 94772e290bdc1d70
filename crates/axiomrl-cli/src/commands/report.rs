//! `axiomrl report`: one page about many runs.

use super::plot::{chart, groups};
use super::record::Record;
use crate::failure::Failure;
use crate::output::print;
use axiomrl_core::score::{bootstrap_ci, iqm};
use axiomrl_report::{Group, Page, Run, SCORE, Section};
use axiomrl_run::files::write_atomic;
use clap::Args;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What is drawn besides the score, where it was logged.
const ALSO: &[&str] = &["rollout/ep_rew_mean", "eval/success_rate"];

/// Makes one HTML file about runs: table, curves, settings that differ, an episode to look at
#[derive(Args)]
pub struct Report {
    /// Run folders, or folders with runs in them
    #[arg(value_name = "RUN|FOLDER", required = true)]
    paths: Vec<PathBuf>,
    /// The file to write
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// Plays no episode: faster
    #[arg(long)]
    no_gif: bool,
}

impl Report {
    pub fn run(self) -> Result<(), Failure> {
        let groups = groups(&self.paths, true)?;
        let tasks: BTreeSet<String> = groups.iter().map(|group| group.runs[0].env_id.clone()).collect();
        let mut sections = Vec::new();
        for task in &tasks {
            let of_task = |group: &&Group| group.runs[0].env_id == *task;
            let groups: Vec<Group> = groups.iter().filter(of_task).cloned().collect();
            self.task(task, &groups, &mut sections);
        }
        let runs: Vec<&Run> = groups.iter().flat_map(|group| &group.runs).collect();
        let machines: BTreeSet<&str> = runs.iter().map(|run| run.machine.as_str()).filter(|m| !m.is_empty()).collect();
        sections.push(Section::Heading("Machine".into()));
        sections.push(Section::Text(machines.into_iter().collect::<Vec<_>>().join("; ")));
        let notes = runs.iter().flat_map(|run| run.notes.iter().map(|note| format!("{}: {note}", run.path.display())));
        sections.extend(notes.map(Section::Note));
        let page = Page { title: format!("{} runs, {} tasks", runs.len(), tasks.len()), sections };
        let (html, path) = (page.html(), self.output.display());
        write_atomic(&self.output, html.as_bytes())
            .map_err(|error| Failure::bad_input(format!("cannot write {path}: {error}; choose another with -o")))?;
        print(&format!("{path}: {} runs, {} KiB", runs.len(), html.len().div_ceil(1024)))
    }

    /// All that is known of the runs of one task.
    fn task(&self, task: &str, groups: &[Group], sections: &mut Vec<Section>) {
        sections.push(Section::Heading(task.to_owned()));
        let head = ["experiment", "runs", "IQM", "95 % interval", "lowest", "best", "steps", "minutes"];
        let rows = groups.iter().map(summary).collect();
        sections.push(Section::Table(head.map(str::to_owned).to_vec(), rows));
        if groups.iter().any(|group| group.runs.len() == 1) {
            sections.push(Section::Text("A single run has no interval.".into()));
        }
        for metric in [SCORE].iter().chain(ALSO) {
            let chart = chart(groups, metric);
            if !chart.lines.is_empty() {
                sections.push(Section::Chart(Box::new(chart)));
            }
        }
        if let Some(table) = differing(groups) {
            sections.push(Section::Text("Settings that differ:".into()));
            sections.push(table);
        }
        if !self.no_gif {
            sections.extend(best_run(groups).map(episode));
        }
    }
}

/// A row of the table.
fn summary(group: &Group) -> Vec<String> {
    let scores = group.scores(SCORE);
    let number = |value: f64| if value.is_finite() { format!("{value:.1}") } else { "-".into() };
    let interval = match scores.len() {
        0 | 1 => "-".into(),
        _ => {
            let (low, high) = bootstrap_ci(&[&scores], iqm, 10_000, 0);
            format!("{low:.1} to {high:.1}")
        }
    };
    let best = group.runs.iter().filter_map(|run| run.best(SCORE)).fold(f64::NAN, f64::max);
    let steps = group.runs.iter().map(Run::steps).max().unwrap_or(0);
    let minutes = group.runs.iter().filter_map(|run| run.seconds).sum::<f64>() / 60.0;
    let lowest = scores.iter().copied().fold(f64::NAN, f64::min);
    let (runs, minutes) = (group.runs.len().to_string(), format!("{minutes:.1}"));
    vec![
        group.label.clone(),
        runs,
        number(iqm(&scores)),
        interval,
        number(lowest),
        number(best),
        steps.to_string(),
        minutes,
    ]
}

/// The settings that are not the same in all experiments, if there are several.
fn differing(groups: &[Group]) -> Option<Section> {
    let names: BTreeSet<&String> = groups.iter().flat_map(|group| group.runs[0].settings.keys()).collect();
    let value = |group: &Group, name: &String| group.runs[0].settings.get(name).cloned().unwrap_or_default();
    let varies = |name: &&String| {
        !matches!(name.as_str(), "seed" | "output_dir")
            && groups.iter().any(|g| value(g, name) != value(&groups[0], name))
    };
    let rows: Vec<Vec<String>> = (names.into_iter().filter(varies))
        .map(|name| std::iter::once(name.clone()).chain(groups.iter().map(|group| value(group, name))).collect())
        .collect();
    let head = std::iter::once(String::new()).chain(groups.iter().map(|group| group.label.clone())).collect();
    (!rows.is_empty()).then_some(Section::Table(head, rows))
}

/// The run with the best last score.
fn best_run(groups: &[Group]) -> Option<&Run> {
    let scored = groups.iter().flat_map(|group| &group.runs).filter_map(|run| Some((run, run.last(SCORE)?)));
    scored.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(run, _)| run)
}

/// An episode of its policy, or why there is none.
fn episode(run: &Run) -> Section {
    match Record::of(run.path.clone()).gif() {
        Ok((gif, _)) => Section::Gif(gif, format!("An episode of {}, seed {}", run.algo, run.seed)),
        Err(failure) => Section::Note(format!("No episode of {} to look at: {}", run.path.display(), failure.message)),
    }
}
