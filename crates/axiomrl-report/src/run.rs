//! One run, as its folder tells it.

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The number that says how good a policy is: what evaluations measured.
pub const SCORE: &str = "eval/mean_reward";

/// How deep below a folder runs are looked for.
const DEEPEST: usize = 4;

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("{}: {problem}", path.display())]
    BadRun { path: PathBuf, problem: String },
    #[error("{0}")]
    Misfit(String),
}

/// What was logged at a step.
#[derive(Clone, Debug)]
struct Row {
    step: u64,
    metrics: BTreeMap<String, f64>,
}

/// A run that may still be under way.
#[derive(Clone, Debug)]
pub struct Run {
    pub path: PathBuf,
    pub algo: String,
    pub env_id: String,
    pub seed: u64,
    /// Settings by their full names, `algo_kwargs.gamma` say, as they are written.
    pub settings: BTreeMap<String, String>,
    /// Where it ran and how long, for those who read.
    pub machine: String,
    pub seconds: Option<f64>,
    /// What is odd about its files, for those who read.
    pub notes: Vec<String>,
    rows: Vec<Row>,
}

impl Run {
    /// Reads a run folder.
    pub fn read(path: &Path) -> Result<Self, ReportError> {
        let bad = |problem: String| ReportError::BadRun { path: path.to_owned(), problem };
        let text = fs::read_to_string(path.join("config.yaml"))
            .map_err(|error| bad(format!("is no run folder: its config.yaml cannot be read ({error})")))?;
        let config: Map<String, Value> = serde_saphyr::from_str(&text)
            .map_err(|error| bad(format!("its config.yaml is damaged: {}", error.to_string().replace('\n', " "))))?;
        let word = |key: &str| config.get(key).and_then(Value::as_str).map(str::to_owned);
        let missing = |key: &str| bad(format!("its config.yaml has no `{key}`"));
        let mut settings = BTreeMap::new();
        flatten("", &Value::Object(config.clone()), &mut settings);
        let (rows, notes) = match fs::read_to_string(path.join("metrics.jsonl")) {
            Ok(log) => rows(&log),
            Err(error) => (Vec::new(), vec![format!("metrics.jsonl cannot be read: {error}")]),
        };
        let metadata = fs::read_to_string(path.join("metadata.json")).ok();
        let metadata: Value = metadata.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let machine = &metadata["machine"];
        let said = ["cpu", "cores", "os"].map(|key| match &machine[key] {
            Value::String(word) => word.clone(),
            Value::Number(cores) => format!("{cores} cores"),
            _ => String::new(),
        });
        Ok(Self {
            path: path.to_owned(),
            algo: word("algo").ok_or_else(|| missing("algo"))?,
            env_id: word("env_id").ok_or_else(|| missing("env_id"))?,
            seed: config.get("seed").and_then(Value::as_u64).unwrap_or(0),
            settings,
            machine: said.iter().filter(|word| !word.is_empty()).cloned().collect::<Vec<_>>().join(", "),
            seconds: metadata["progress"]["elapsed_seconds"].as_f64(),
            notes,
            rows,
        })
    }

    /// What was logged under a name, with the steps; numbers that are none are left out.
    pub fn series(&self, metric: &str) -> Vec<(f64, f64)> {
        let point = |row: &Row| Some((row.step as f64, *row.metrics.get(metric)?));
        self.rows.iter().filter_map(point).filter(|(_, value)| value.is_finite()).collect()
    }

    /// The last number logged under a name.
    pub fn last(&self, metric: &str) -> Option<f64> {
        self.series(metric).last().map(|(_, value)| *value)
    }

    /// The largest number logged under a name.
    pub fn best(&self, metric: &str) -> Option<f64> {
        self.series(metric).into_iter().map(|(_, value)| value).reduce(f64::max)
    }

    /// Where its log ends.
    pub fn steps(&self) -> u64 {
        self.rows.last().map_or(0, |row| row.step)
    }

    /// Everything it logged, by name.
    pub fn metrics(&self) -> Vec<String> {
        let mut names: Vec<String> = self.rows.iter().flat_map(|row| row.metrics.keys().cloned()).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// Lines of the log. A last one that was cut short, by a kill or because the run goes on, is passed over; others are told.
fn rows(log: &str) -> (Vec<Row>, Vec<String>) {
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    let (mut rows, mut notes) = (Vec::new(), Vec::new());
    for (number, line) in lines.iter().enumerate() {
        match row(line) {
            Some(row) => rows.push(row),
            None if number + 1 == lines.len() => {}
            None => notes.push(format!("line {} of metrics.jsonl is damaged", number + 1)),
        }
    }
    if rows.is_empty() {
        notes.push("nothing is logged yet".into());
    }
    (rows, notes)
}

fn row(line: &str) -> Option<Row> {
    let value: Value = serde_json::from_str(line).ok()?;
    let metrics = value.get("metrics")?.as_object()?;
    let numbers = metrics.iter().filter_map(|(name, value)| Some((name.clone(), value.as_f64()?)));
    Some(Row { step: value.get("step")?.as_u64()?, metrics: numbers.collect() })
}

fn flatten(name: &str, value: &Value, settings: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            for (key, value) in entries {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                flatten(&name, value, settings);
            }
        }
        Value::String(word) => drop(settings.insert(name.to_owned(), word.clone())),
        other => drop(settings.insert(name.to_owned(), other.to_string())),
    }
}

/// The run folders among and below `paths`, each once, in order.
pub fn find(paths: &[PathBuf]) -> Result<Vec<Run>, ReportError> {
    let mut folders = Vec::new();
    for path in paths {
        let before = folders.len();
        collect(path, 0, &mut folders);
        if folders.len() == before {
            let problem = if path.exists() {
                "there is no run in it: a run folder has a config.yaml and a metrics.jsonl"
            } else {
                "there is no such folder"
            };
            return Err(ReportError::BadRun { path: path.clone(), problem: problem.into() });
        }
    }
    let mut seen = std::collections::HashSet::new();
    folders.retain(|folder| seen.insert(folder.canonicalize().unwrap_or_else(|_| folder.clone())));
    folders.iter().map(|folder| Run::read(folder)).collect()
}

fn collect(path: &Path, depth: usize, folders: &mut Vec<PathBuf>) {
    if path.join("config.yaml").is_file() && (path.join("metrics.jsonl").is_file() || path.join("run.lock").is_file()) {
        folders.push(path.to_owned());
        return;
    }
    let Ok(entries) = fs::read_dir(path) else { return };
    if depth == DEEPEST {
        return;
    }
    let mut below: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|p| p.is_dir()).collect();
    below.sort();
    below.iter().for_each(|path| collect(path, depth + 1, folders));
}

#[cfg(test)]
pub mod testing {
    use super::*;

    /// A run folder with evaluations at steps of 100.
    pub fn write(folder: &Path, settings: &str, scores: &[f64]) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("config.yaml"), settings).unwrap();
        let line = |(i, score): (usize, &f64)| {
            format!("{{\"step\":{},\"metrics\":{{\"{SCORE}\":{score},\"train/loss\":null}}}}\n", 100 * (i + 1))
        };
        fs::write(folder.join("metrics.jsonl"), scores.iter().enumerate().map(line).collect::<String>()).unwrap();
    }

    pub fn run(algo: &str, env: &str, seed: u64, more: &str, scores: &[f64]) -> Run {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), &format!("algo: {algo}\nenv_id: {env}\nseed: {seed}\n{more}"), scores);
        Run::read(root.path()).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_runs_is_searched_and_read() {
        let root = tempfile::tempdir().unwrap();
        for seed in [2, 1] {
            let text = format!("algo: dqn\nenv_id: CartPole-v1\nseed: {seed}\nalgo_kwargs:\n  gamma: 0.98\n");
            testing::write(&root.path().join(format!("a/seed_{seed}")), &text, &[1.0, 5.0, 3.0]);
        }
        let runs = find(&[root.path().to_owned(), root.path().join("a")]).unwrap();
        assert_eq!(runs.iter().map(|run| run.seed).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(runs[0].series(SCORE), [(100.0, 1.0), (200.0, 5.0), (300.0, 3.0)]);
        assert_eq!((runs[0].last(SCORE), runs[0].best(SCORE), runs[0].steps()), (Some(3.0), Some(5.0), 300));
        assert_eq!(runs[0].settings["algo_kwargs.gamma"], "0.98");
        assert_eq!(runs[0].last("train/loss"), None);
    }

    #[test]
    fn what_is_no_run_is_refused_and_a_log_cut_short_is_read() {
        let root = tempfile::tempdir().unwrap();
        let refused = |path: &Path| find(&[path.to_owned()]).unwrap_err().to_string();
        assert!(refused(root.path()).contains("there is no run in it"));
        assert!(refused(&root.path().join("nowhere")).contains("no such folder"));
        let folder = root.path().join("run");
        testing::write(&folder, "algo: dqn\nenv_id: CartPole-v1\n", &[1.0, 2.0]);
        let log = fs::read_to_string(folder.join("metrics.jsonl")).unwrap();
        fs::write(folder.join("metrics.jsonl"), &log[..log.len() - 20]).unwrap();
        let cut = Run::read(&folder).unwrap();
        assert_eq!((cut.series(SCORE).len(), cut.notes.len()), (1, 0));
        fs::write(folder.join("metrics.jsonl"), format!("{{\n{log}")).unwrap();
        assert_eq!(Run::read(&folder).unwrap().notes, ["line 1 of metrics.jsonl is damaged"]);
        fs::write(folder.join("metrics.jsonl"), "").unwrap();
        assert_eq!(Run::read(&folder).unwrap().notes, ["nothing is logged yet"]);
        fs::write(folder.join("config.yaml"), "algo: [").unwrap();
        assert!(refused(&folder).contains("config.yaml is damaged"));
    }
}
