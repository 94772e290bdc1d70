//! What is in a run folder, and what should not be.

use super::*;

#[test]
fn a_run_that_never_saved_begins_again() {
    let root = tempfile::tempdir().unwrap();
    let (whole, killed) = (root.path().join("whole"), root.path().join("killed"));
    train(&whole, config("dqn", &[]));
    drop(start(&killed, config("dqn", &[])));
    assert!(!killed.join("checkpoints").exists());
    assert_eq!(resume(&killed, None).unwrap().steps, 1000);
    assert!(learned(&killed) == learned(&whole));
}

#[test]
fn a_run_that_lost_its_checkpoint_is_not_begun_again_unasked() {
    let root = tempfile::tempdir().unwrap();
    let run = root.path().join("run");
    train(&run, config("ppo", &[]));
    fs::remove_dir_all(run.join("checkpoints")).unwrap();
    assert!(matches!(resume(&run, None), Err(TrainError::Checkpoint(_))));
}

#[test]
fn metadata_are_written_anew_when_they_are_lost() {
    let root = tempfile::tempdir().unwrap();
    let run = root.path().join("run");
    train(&run, config("ppo", &["tags=[one, two]", "total_timesteps=300"]));
    let before = metadata(&run);
    assert_eq!(before.tags, ["one", "two"]);
    for (damage, total) in [(None, 400), (Some("{"), 500), (Some("{\"schema_version\": \"x\"}"), 600)] {
        match damage {
            None => fs::remove_file(run.join("metadata.json")).unwrap(),
            Some(text) => fs::write(run.join("metadata.json"), text).unwrap(),
        }
        resume(&run, Some(total)).unwrap();
        let after = metadata(&run);
        assert_eq!((after.progress.timesteps, &after.tags), (total, &before.tags));
        assert_eq!((&after.created_at, after.created_at_unix), (&before.created_at, before.created_at_unix));
    }
}

#[test]
fn an_edited_configuration_is_refused_and_left_as_it_is() {
    let root = tempfile::tempdir().unwrap();
    let run = root.path().join("run");
    train(&run, config("ppo", &["total_timesteps=300"]));
    let path = run.join("config.yaml");
    let text = fs::read_to_string(&path).unwrap();
    for (edit, words) in [
        (text.replace("gamma: 0.99", "gamma: 0.9"), "algo_kwargs.gamma: 0.99 -> 0.9"),
        (text.replace("algo: ppo", "algo: dqn"), "edited"),
        (text.replace("seed: 3", "sed: 3"), "unknown key `sed`"),
    ] {
        assert_ne!(edit, text);
        fs::write(&path, &edit).unwrap();
        let error = resume(&run, Some(400)).unwrap_err();
        assert!(matches!(error, TrainError::Edited { .. }) && error.to_string().contains(words), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), edit);
    }
    fs::write(&path, text.replace("seed: 3", "seed:   3  # lucky")).unwrap();
    assert_eq!(resume(&run, Some(400)).unwrap().steps, 400);
    fs::remove_file(&path).unwrap();
    assert_eq!(resume(&run, Some(500)).unwrap().steps, 500);
    assert!(path.exists());
}

#[test]
fn what_kills_left_is_gone_after_a_resume() {
    let root = tempfile::tempdir().unwrap();
    let run = root.path().join("run");
    train(&run, config("ppo", &["total_timesteps=300", "checkpoint_interval=100"]));
    let kept = names(&run.join("checkpoints"));
    let gone = 4_000_000_000u32;
    fs::create_dir(run.join(format!("checkpoints/step_100.tmp-{gone}"))).unwrap();
    fs::create_dir(run.join("checkpoints/step_200.old")).unwrap();
    fs::write(run.join(format!(".evaluations.npz.tmp-{gone}")), "x").unwrap();
    resume(&run, None).unwrap();
    assert_eq!(names(&run.join("checkpoints")), kept);
    assert!(!names(&run).iter().any(|name| name.contains(".tmp-")));
}

/// A folder that saving refuses to replace stands for a disk that is full at that moment.
fn fails_at(run: &Path, checkpoint: &str) {
    let trainer = start(run, config("ppo", &["checkpoint_interval=104"]));
    let foreign = run.join("checkpoints").join(checkpoint);
    fs::create_dir_all(&foreign).unwrap();
    fs::write(foreign.join("thesis.tex"), "x").unwrap();
    assert!(matches!(trainer.run(), Err(TrainError::Checkpoint(_))));
    fs::remove_dir_all(foreign).unwrap();
}

#[test]
fn numbered_checkpoints_come_before_the_last_one_and_metadata_after_it() {
    let root = tempfile::tempdir().unwrap();
    let (first, second) = (root.path().join("first"), root.path().join("second"));
    fails_at(&first, "last");
    assert_eq!(names(&first.join("checkpoints")), ["step_104"]);
    assert_eq!((metadata(&first).progress.timesteps, metadata(&first).progress.status), (0, RunStatus::Failed));
    fails_at(&second, "step_208");
    assert_eq!(names(&second.join("checkpoints")), ["last", "step_104"]);
    assert_eq!((metadata(&second).progress.timesteps, metadata(&second).progress.status), (104, RunStatus::Failed));
    // However it failed, the run comes to the same end.
    for run in [&first, &second] {
        resume(run, None).unwrap();
    }
    assert!(learned(&first) == learned(&second));
    assert_eq!(names(&first.join("checkpoints")), names(&second.join("checkpoints")));
}

#[test]
fn a_failed_run_speaks_of_a_checkpoint_only_if_it_has_one() {
    for (interval, kept) in [(0, Kept::Nothing), (8, Kept::Checkpoint)] {
        let root = tempfile::tempdir().unwrap();
        let intervals = format!("checkpoint_interval={interval}");
        let faulty = config("dqn", &[&intervals, "env_id=Faulty-v0", "num_envs=1", "env_kwargs.nan_reward_at=13"]);
        let Err(error) = start(&root.path().join("run"), faulty).run() else { panic!("it went well") };
        assert!(error.to_string().ends_with(&kept.to_string()), "{error}");
    }
}
