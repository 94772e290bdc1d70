//! Being asked to stop in the middle of an evaluation.

use super::*;
use std::time::Duration;

#[test]
fn an_evaluation_that_is_broken_off_is_done_after_resuming() {
    let root = tempfile::tempdir().unwrap();
    let (whole, stopped) = (root.path().join("whole"), root.path().join("stopped"));
    // Every episode of Pendulum has 200 steps, so that the evaluation takes far longer than the training.
    let long = ["total_timesteps=140", "eval_interval=60", "eval_episodes=1000", "checkpoint_interval=50"];
    let begun = Instant::now();
    train(&whole, config("sac", &long));
    let evaluation = begun.elapsed() / 3;

    let options = options(&stopped);
    let stop = Arc::clone(&options.stop);
    let trainer = Trainer::new(config("sac", &long), options, Vec::new()).unwrap();
    let run = stopped.clone();
    let stopper = std::thread::spawn(move || {
        // Ten steps before the evaluation.
        while Metadata::read(&run.join("metadata.json")).map_or(0, |metadata| metadata.progress.timesteps) < 50 {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(evaluation / 4);
        stop.store(true, Ordering::Relaxed);
        Instant::now()
    });
    let outcome = trainer.run().unwrap();
    let waited = stopper.join().unwrap().elapsed();
    assert_eq!((outcome.steps, outcome.reason), (60, StopReason::Interrupted));
    assert!(outcome.evaluation.is_none());
    assert!(waited < evaluation / 4, "{waited:?} of {evaluation:?}");
    assert!(!stopped.join("evaluations.npz").exists(), "what was broken off leaves no trace");

    assert_eq!(resume(&stopped, None).unwrap().steps, 140);
    assert!(learned(&stopped) == learned(&whole));
    let rows = |run: &Path| {
        let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
        let steps = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["step"].clone();
        text.lines().map(steps).collect::<Vec<_>>()
    };
    assert_eq!(rows(&stopped), rows(&whole));
    let evaluations = |run: &Path| fs::read(run.join("evaluations.npz")).unwrap();
    assert!(evaluations(&stopped) == evaluations(&whole));
}

#[test]
fn a_finished_run_that_is_measured_again_can_be_stopped_too() {
    let root = tempfile::tempdir().unwrap();
    let run = root.path().join("run");
    train(&run, config("ppo", &["total_timesteps=300"]));
    let options = options(&run);
    options.stop.store(true, Ordering::Relaxed);
    let resumed = Trainer::resume(&Catalogue::builtin(), &run, None, options, Vec::new());
    let outcome = resumed.unwrap().already_finished().unwrap().unwrap();
    assert_eq!(outcome.reason, StopReason::Interrupted);
    assert_eq!(metadata(&run).progress.status, RunStatus::Finished);
}
