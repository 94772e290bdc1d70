//! Loops that somebody else writes.

use super::*;
use axiomrl_algos::{Handed, Refused, Transitions};
use axiomrl_envs::ObsBuf;

/// Collects and updates by turns, to the end.
fn by_turns(trainer: &mut Trainer) -> Outcome {
    loop {
        match trainer.collect(None).unwrap() {
            Collecting::Ended(outcome) => return outcome,
            Collecting::NeedsUpdate => drop(trainer.update_by_hand().unwrap()),
            Collecting::GoesOn => {}
            Collecting::Enough => unreachable!("nobody said how much"),
        }
    }
}

fn collect_until(trainer: &mut Trainer, until: u64) -> Collecting {
    loop {
        match trainer.collect(Some(until)).unwrap() {
            Collecting::GoesOn => {}
            other => return other,
        }
    }
}

/// Steps of noise for CartPole.
fn rows(count: usize) -> Handed {
    let widths = axiomrl_envs::ObsWidths { floats: 4, bytes: 0 };
    let (mut obs, mut next_obs) = (ObsBuf::zeros(widths, count), ObsBuf::zeros(widths, count));
    obs.floats = (0..4 * count).map(|i| (i as f32).sin()).collect();
    next_obs.floats = (0..4 * count).map(|i| (i as f32).cos()).collect();
    let rows = Transitions {
        obs,
        next_obs,
        action: (0..count).map(|row| (row % 2) as f32).collect(),
        reward: vec![1.0; count],
        terminated: (0..count).map(|row| row % 5 == 4).collect(),
        truncated: vec![false; count],
        ..Transitions::default()
    };
    Handed { rows, ..Handed::default() }
}

#[test]
fn by_turns_is_the_same_as_running_to_the_byte() {
    let due = ["eval_interval=300", "log_interval=130", "checkpoint_interval=350"];
    for algo in ["ppo", "dqn", "sac", "drqn", "cem"] {
        let folder = tempfile::tempdir().unwrap();
        let (whole, turns) = (folder.path().join("whole"), folder.path().join("turns"));
        train(&whole, config(algo, &due));
        let outcome = by_turns(&mut start(&turns, config(algo, &due)));
        assert_eq!((outcome.steps, outcome.reason), (1000, StopReason::Finished), "{algo}");
        assert!(learned(&turns) == learned(&whole), "{algo}");
        assert_eq!(names(&turns.join("checkpoints")), names(&whole.join("checkpoints")), "{algo}");
    }
}

#[test]
fn updates_that_nobody_made_are_waived_and_others_are_extra() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut trainer = start(&run, config("dqn", &["num_envs=3"]));
    assert!(matches!(trainer.update_by_hand(), Err(TrainError::Refused(Refused::NotYet(_)))));
    assert!(matches!(collect_until(&mut trainer, 200), Collecting::Enough));
    // Whole rounds of three.
    assert_eq!((trainer.clock().env_steps, trainer.clock().updates), (201, 0));
    trainer.watch_metrics();
    for _ in 0..7 {
        assert!(matches!(trainer.update_by_hand().unwrap(), Updated::Made));
    }
    assert!(!trainer.watched_metrics().is_empty());
    assert_eq!(trainer.clock().updates, 7);
    trainer.save().unwrap();
    let mut again = Trainer::resume(&Catalogue::builtin(), &run, None, TrainOptions::default(), Vec::new());
    assert!(again.is_err(), "the folder is in use");
    drop(trainer);
    again = take_up(&run, None);
    let outcome = again.unwrap().run().unwrap();
    // Steps 208, 216, ... 1000 call for one each, and nothing is made up for.
    assert_eq!((outcome.steps, outcome.updates), (1000, 7 + 100));
}

#[test]
fn a_full_rollout_is_learned_from_before_anybody_steps_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut trainer = start(&folder.path().join("run"), config("ppo", &[]));
    assert!(matches!(trainer.update_by_hand(), Err(TrainError::Refused(Refused::NotYet(_)))));
    assert!(matches!(collect_until(&mut trainer, 500), Collecting::NeedsUpdate));
    assert_eq!(trainer.clock().env_steps, 8 * 32);
    let refused = trainer.replay().err().unwrap().to_string();
    assert!(refused.contains("keeps no replay"), "{refused}");
    assert!(matches!(trainer.learn_from(&rows(3)), Err(TrainError::Refused(Refused::Unsupported(_)))));
    // What was refused has changed nothing.
    assert_eq!(by_turns(&mut trainer).steps, 1000);
}

#[test]
fn a_run_with_rows_from_elsewhere_is_saved_and_goes_on_alike() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    let work = |run: &Path, stops: bool| {
        let mut trainer = start(run, config("dqn", &["num_envs=2", "algo_kwargs.prioritized_replay=true"]));
        collect_until(&mut trainer, 120);
        trainer.replay().unwrap().add(&rows(40).rows).unwrap();
        assert_eq!(trainer.replay().unwrap().len(), 160);
        for count in [1, 7, 64] {
            assert!(matches!(trainer.learn_from(&rows(count)).unwrap(), Updated::Made));
        }
        trainer.update_by_hand().unwrap();
        trainer.save().unwrap();
        if stops {
            drop(trainer);
            trainer = take_up(run, None).unwrap();
        }
        by_turns(&mut trainer)
    };
    let (whole, resumed) = (work(&one, false), work(&other, true));
    assert_eq!((whole.steps, whole.updates), (resumed.steps, resumed.updates));
    assert!(learned(&one) == learned(&other));
}
