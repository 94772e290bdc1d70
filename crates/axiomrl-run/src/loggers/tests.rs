use super::*;
use std::collections::BTreeMap;
use std::fs;

/// Everything a run writes between two steps, with made-up but reproducible values.
fn write_steps(loggers: &mut Loggers, steps: std::ops::RangeInclusive<u64>) {
    for step in steps {
        loggers.episode(step as f64 / 3.0, step, step as f64, step).unwrap();
        if step.is_multiple_of(2) {
            let mut metrics = vec![("rollout/ep_rew_mean".to_owned(), step as f64), ("time/fps".to_owned(), 1.0)];
            if step > 5 {
                metrics.push(("train/loss".to_owned(), 1.0 / step as f64));
            }
            loggers.log(step, 100.0 + step as f64, &metrics).unwrap();
        }
        if step.is_multiple_of(3) {
            loggers.evaluation(step, &[1.0, step as f64], &[10, step]).unwrap();
        }
    }
    loggers.sync().unwrap();
}

fn run_in(root: &Path, name: &str) -> RunDir {
    RunDir::create(root, "ppo", "CartPole-v1", 1, Some(&root.join(name))).unwrap()
}

/// Content by name; event files are numbered by how often they were cut back, which is not part of the content.
fn contents(run: &RunDir) -> BTreeMap<String, Vec<u8>> {
    let files_in = |dir: &Path| fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let mut contents = BTreeMap::new();
    for path in files_in(run.path()).into_iter().filter(|path| path.is_file()).chain(files_in(&run.tensorboard())) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let name = if name.contains("tfevents") { "tensorboard" } else { name };
        assert!(contents.insert(name.to_owned(), fs::read(&path).unwrap()).is_none(), "two of {name}");
    }
    contents
}

#[test]
fn a_run_that_was_killed_and_resumed_leaves_the_logs_of_one_that_was_not() {
    let root = tempfile::tempdir().unwrap();
    let whole = run_in(root.path(), "whole");
    write_steps(&mut Loggers::open(&whole, "CartPole-v1", 100.0).unwrap(), 1..=12);
    let expected = contents(&whole);
    assert_eq!(expected.len(), 5);

    // Before the first row, between rows, on one, before and after the table widens; killed later or right there.
    for killed_at in [7, 12] {
        for checkpoint in [0, 3, 4, 6, 7] {
            let run = run_in(root.path(), &format!("killed-{killed_at}-{checkpoint}"));
            write_steps(&mut Loggers::open(&run, "CartPole-v1", 100.0).unwrap(), 1..=killed_at);
            let mut resumed = Loggers::open(&run, "CartPole-v1", 555.0).unwrap();
            resumed.truncate_after(checkpoint).unwrap();
            write_steps(&mut resumed, checkpoint + 1..=12);
            let found = contents(&run);
            for (name, bytes) in &expected {
                assert_eq!(found.get(name), Some(bytes), "{name}, killed at {killed_at}, resumed from {checkpoint}");
            }
        }
    }
}

#[test]
fn a_log_that_cannot_be_opened_is_named() {
    let root = tempfile::tempdir().unwrap();
    let run = run_in(root.path(), "run");
    fs::create_dir(run.metrics_jsonl()).unwrap();
    let error = Loggers::open(&run, "CartPole-v1", 1.0).unwrap_err();
    assert_eq!(error.path, run.metrics_jsonl());
    assert!(error.to_string().contains("metrics.jsonl"), "{error}");
}
