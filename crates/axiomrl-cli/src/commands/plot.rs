//! `axiomrl plot`: learning curves.

use crate::failure::Failure;
use crate::output::print;
use axiomrl_report::{Chart, Group, ReportError, Run, SCORE, curve, find, group};
use axiomrl_run::files::write_atomic;
use clap::Args;
use std::io::IsTerminal;
use std::path::PathBuf;

/// Size of a drawing in the terminal, in characters.
const WIDTH: usize = 90;
const HEIGHT: usize = 18;

/// Draws what runs logged: seeds of one experiment as a line with its 95 % interval
#[derive(Args)]
pub struct Plot {
    /// Run folders, or folders with runs in them
    #[arg(value_name = "RUN|FOLDER", required = true)]
    paths: Vec<PathBuf>,
    /// What to draw, by its name in metrics.jsonl
    #[arg(long, value_name = "NAME", default_value = SCORE)]
    metric: String,
    /// The picture to write (.svg or .png); without one it is drawn in the terminal
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Draws runs of different tasks together
    #[arg(long)]
    any_task: bool,
}

impl Plot {
    pub fn run(self) -> Result<(), Failure> {
        let groups = groups(&self.paths, self.any_task)?;
        let chart = chart(&groups, &self.metric);
        if chart.lines.is_empty() {
            return Err(nothing_logged(&groups, &self.metric));
        }
        let singles: Vec<&str> =
            groups.iter().filter(|group| group.runs.len() == 1).map(|group| &group.label[..]).collect();
        let Some(path) = self.output else {
            let colours = std::io::stdout().is_terminal();
            return print(&(chart.terminal(WIDTH, HEIGHT, colours) + &alone(&singles)));
        };
        let picture = match path.extension().map(|extension| extension.to_ascii_lowercase()) {
            Some(extension) if extension == "svg" => chart.svg().into_bytes(),
            Some(extension) if extension == "png" => chart.png(),
            _ => {
                let problem = format!("{} is no name of a picture; end it in `.svg` or `.png`", path.display());
                return Err(Failure::bad_input(problem));
            }
        };
        write_atomic(&path, &picture)
            .map_err(|error| Failure::bad_input(format!("cannot write {}: {error}", path.display())))?;
        let runs: usize = groups.iter().map(|group| group.runs.len()).sum();
        print(&(format!("{}: {} lines of {runs} runs\n", path.display(), chart.lines.len()) + &alone(&singles)))
    }
}

/// Why some lines have no interval.
fn alone(singles: &[&str]) -> String {
    match singles {
        [] => String::new(),
        _ => format!("no interval for {}: a single run has none; train more with --seeds\n", singles.join(", ")),
    }
}

/// The runs among and below `paths`, by experiment. What is odd about them is said on standard error.
pub fn groups(paths: &[PathBuf], any_task: bool) -> Result<Vec<Group>, Failure> {
    let runs = find(paths)?;
    for Run { path, notes, .. } in &runs {
        notes.iter().for_each(|note| eprintln!("note: {}: {note}", path.display()));
    }
    Ok(group(runs, any_task)?)
}

/// All groups that logged a number, in one picture.
pub fn chart(groups: &[Group], metric: &str) -> Chart {
    let tasks: Vec<&str> = groups.iter().map(|group| group.runs[0].env_id.as_str()).collect();
    let same = tasks.windows(2).all(|pair| pair[0] == pair[1]);
    let task = if same { tasks.first().copied().unwrap_or_default() } else { "several tasks" };
    Chart {
        title: format!("{task}: {metric}"),
        x_label: "steps".into(),
        y_label: metric.into(),
        lines: groups.iter().filter_map(|group| curve(group, metric)).collect(),
    }
}

/// For a name that nothing was logged under; the nearest of those that there are is suggested.
pub fn nothing_logged(groups: &[Group], metric: &str) -> Failure {
    let mut names: Vec<String> = groups.iter().flat_map(|group| &group.runs).flat_map(Run::metrics).collect();
    names.sort();
    names.dedup();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    if known.is_empty() {
        return Failure::bad_input("these runs have logged nothing yet");
    }
    let hint = axiomrl_envs::names::suggestion(metric, &known);
    Failure::bad_input(format!("none of these runs logged `{metric}`{hint}; they logged {}", known.join(", ")))
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        Self::bad_input(error)
    }
}
