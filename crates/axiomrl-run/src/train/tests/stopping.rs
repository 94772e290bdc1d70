//! Being asked to stop in the middle of an evaluation.

use super::*;
use axiomrl_envs::{BoxSpace, Env, EnvError, ObsMut, Rng, Space, Step, snapshot};
use std::sync::atomic::AtomicU64;

/// Steps that all environments of a test take together, and the one at which somebody asks for a stop.
#[derive(Clone)]
struct Count {
    steps: Arc<AtomicU64>,
    stop_at: u64,
    stop: Arc<AtomicBool>,
}

/// Shows how many of the 200 steps of an episode are over, and counts.
struct Counting {
    spaces: (Space, Space),
    step: u64,
    count: Count,
}

impl Env for Counting {
    fn observation_space(&self) -> &Space {
        &self.spaces.0
    }

    fn action_space(&self) -> &Space {
        &self.spaces.1
    }

    fn reset(&mut self, _rng: &mut Rng) -> Result<(), EnvError> {
        self.step = 0;
        Ok(())
    }

    fn step(&mut self, action: &[f32], _rng: &mut Rng) -> Result<Step, EnvError> {
        self.step += 1;
        if self.count.steps.fetch_add(1, Ordering::Relaxed) + 1 == self.count.stop_at {
            self.count.stop.store(true, Ordering::Relaxed);
        }
        Ok(Step { reward: f64::from(action[0]), terminated: self.step == 200, truncated: false })
    }

    fn observe(&self, mut out: ObsMut<'_>) {
        out.write(&[self.step as f32 / 200.0]);
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        Some(snapshot::to_bytes(&self.step))
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), EnvError> {
        self.step = snapshot::from_bytes("Counting", bytes)?;
        Ok(())
    }
}

/// A catalogue with `Counting-v0`, whose environments raise `stop` at step `stop_at` of all of them together.
fn counting(stop_at: u64, stop: &Arc<AtomicBool>) -> (Catalogue, Count) {
    let count = Count { steps: Arc::default(), stop_at, stop: Arc::clone(stop) };
    let (mut catalogue, shared) = (Catalogue::builtin(), count.clone());
    let make = move || {
        let spaces = (Space::Box(BoxSpace::uniform(1, 0.0, 1.0)), Space::Discrete { n: 2 });
        Counting { spaces, step: 0, count: shared.clone() }
    };
    catalogue.environment("Counting-v0", "Counts", make).unwrap();
    (catalogue, count)
}

const RUN: &str = "{algo: dqn, env_id: Counting-v0, seed: 3, total_timesteps: 140, num_envs: 8, eval_interval: 60, \
     eval_episodes: 40, checkpoint_interval: 50, algo_kwargs: {hidden_sizes: [8], batch_size: 8, learning_starts: 20}}";

#[test]
fn an_evaluation_that_is_broken_off_is_done_after_resuming() {
    let root = tempfile::tempdir().unwrap();
    let (whole, stopped) = (root.path().join("whole"), root.path().join("stopped"));
    let (catalogue, count) = counting(0, &Arc::default());
    train(&whole, catalogue.read(RUN, "test", &[]).unwrap());
    assert_eq!(count.steps.load(Ordering::Relaxed), 140 + 3 * 40 * 200);

    let options = options(&stopped);
    // Inside the evaluation that comes after 60 steps.
    let (stopping, count) = counting(60 + 1000, &options.stop);
    let trainer = Trainer::new(stopping.read(RUN, "test", &[]).unwrap(), options, Vec::new()).unwrap();
    let outcome = trainer.run().unwrap();
    assert_eq!((outcome.steps, outcome.reason), (60, StopReason::Interrupted));
    assert!(outcome.evaluation.is_none());
    let steps = count.steps.load(Ordering::Relaxed);
    assert!((1060..1060 + 32).contains(&steps), "{steps}: it stops with the round in which it was asked to");
    assert!(!stopped.join("evaluations.npz").exists(), "what was broken off leaves no trace");

    let resumed = Trainer::resume(&catalogue, &stopped, None, super::options(&stopped), Vec::new()).unwrap();
    assert_eq!(resumed.run().unwrap().steps, 140);
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
