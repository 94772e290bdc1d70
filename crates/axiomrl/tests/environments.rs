//! Environments of all manners, as users bring them: each trains, is saved, resumed and evaluated.

use axiomrl::prelude::*;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Pays 1 for going on and 0 for stopping, for ten steps. What it shows and how it behaves is up to its options.
struct Walk {
    observation: Space,
    action: Space,
    kind: Kind,
    step: u8,
    life: Arc<AtomicU64>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Cannot be saved.
    Forgetful,
    /// Fails once, at this step of all its lives, and cannot be saved either.
    Flaky(u64),
    /// Shows an image and a vector.
    Seeing,
}

impl Walk {
    fn new(kind: Kind, continuous: bool, life: Arc<AtomicU64>) -> Self {
        let vector = || Space::Box(BoxSpace::uniform(2, 0.0, 1.0));
        let observation = match kind {
            Kind::Seeing => Space::Dict {
                entries: vec![
                    ("camera".into(), Space::Box(BoxSpace::image(8, 8, 1))),
                    ("speed".into(), vector()),
                    ("gear".into(), Space::Discrete { n: 3 }),
                ],
            },
            _ => vector(),
        };
        let action = if continuous { Space::Box(BoxSpace::uniform(1, -2.0, 2.0)) } else { Space::Discrete { n: 2 } };
        Self { observation, action, kind, step: 0, life }
    }
}

impl Env for Walk {
    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        &self.action
    }

    fn reset(&mut self, _: &mut Rng) -> Result<(), EnvError> {
        self.step = 0;
        Ok(())
    }

    fn step(&mut self, action: &[f32], _: &mut Rng) -> Result<Step, EnvError> {
        self.step += 1;
        let lived = self.life.fetch_add(1, Ordering::Relaxed) + 1;
        if self.kind == Kind::Flaky(lived) {
            return Err(EnvError::failed("the simulator lost its connection"));
        }
        let reward = if action[0] > 0.5 { 1.0 } else { 0.0 };
        Ok(Step { reward, terminated: self.step == 10, truncated: false })
    }

    fn observe(&self, out: ObsMut<'_>) {
        let passed = f32::from(self.step) / 10.0;
        out.floats[..2].copy_from_slice(&[passed, 1.0 - passed]);
        if self.kind == Kind::Seeing {
            out.floats[2] = f32::from(self.step % 3);
            out.bytes.fill(20 * self.step);
        }
    }

    fn info_names(&self) -> Vec<String> {
        vec!["passed".into()]
    }

    fn info(&self, out: &mut [f32]) {
        out[0] = f32::from(self.step);
    }
}

/// Three environments that can only be stepped together and reset in a step of their own, as Gymnasium's vector
/// environments do.
struct Herd {
    spaces: Spaces,
    state: VecState,
    steps: Vec<u8>,
    over: Vec<bool>,
    returns: Vec<f64>,
}

struct HerdSource {
    continuous: bool,
}

impl EnvSource for HerdSource {
    fn spaces(&self) -> Result<Spaces, EnvError> {
        let action =
            if self.continuous { Space::Box(BoxSpace::uniform(1, -1.0, 1.0)) } else { Space::Discrete { n: 2 } };
        Ok(Spaces::new(Space::Box(BoxSpace::uniform(1, 0.0, 1.0)), action))
    }

    fn lanes(&self, _: Purpose, _: usize) -> usize {
        3
    }

    fn make(&self, n: usize, _: &Seeding, _: Purpose) -> Result<Box<dyn VecEnv>, EnvError> {
        assert_eq!(n, 3, "it says how many it makes");
        let spaces = self.spaces()?;
        let state = VecState::new(&spaces, 3);
        Ok(Box::new(Herd { spaces, state, steps: vec![0; 3], over: vec![false; 3], returns: vec![0.0; 3] }))
    }
}

impl Herd {
    fn show(&mut self) {
        for env in 0..3 {
            self.state.obs.row_mut(env).write(&[f32::from(self.steps[env]) / 5.0]);
        }
    }
}

impl VecEnv for Herd {
    fn spaces(&self) -> &Spaces {
        &self.spaces
    }

    fn num_envs(&self) -> usize {
        3
    }

    fn stepping(&self) -> Stepping {
        Stepping::Whole
    }

    fn reset(&mut self, _: Option<&Seeding>) -> Result<(), EnvError> {
        // Out of step with each other.
        self.steps = vec![0, 1, 2];
        self.over.fill(false);
        self.returns.fill(0.0);
        self.show();
        self.state.clear_outcomes();
        Ok(())
    }

    fn step(&mut self, range: Range<usize>, actions: &[f32]) -> Result<(), EnvError> {
        assert_eq!(range, 0..3, "only the whole batch steps");
        self.state.episodes.clear();
        for env in 0..3 {
            self.state.stepped[env] = !self.over[env];
            if self.over[env] {
                // The reset takes this step; whatever was chosen is not done.
                (self.steps[env], self.over[env], self.returns[env]) = (0, false, 0.0);
                (self.state.reward[env], self.state.terminated[env]) = (0.0, false);
                continue;
            }
            let right = if self.spaces.action.mask_width() > 0 { 0.5 } else { 0.0 };
            let reward = if actions[env] > right { 1.0 } else { 0.0 };
            self.steps[env] += 1;
            self.returns[env] += f64::from(reward);
            self.over[env] = self.steps[env] == 5;
            (self.state.reward[env], self.state.terminated[env]) = (reward, self.over[env]);
            if self.over[env] {
                self.state.final_obs.row_mut(env).write(&[1.0]);
                let end = EpisodeEnd { env, episode_return: self.returns[env], length: 5, success: None };
                self.state.episodes.push(end);
            }
        }
        self.show();
        Ok(())
    }

    fn state(&self) -> &VecState {
        &self.state
    }
}

fn catalogue(kind: Kind, continuous: bool) -> Catalogue {
    let mut catalogue = Catalogue::builtin();
    let life = Arc::new(AtomicU64::new(0));
    let walk = move || Walk::new(kind, continuous, life.clone());
    catalogue.environment("Walk-v0", "Go on and on", walk).unwrap();
    catalogue.environment("Herd-v0", "Go on together", Batches(Arc::new(HerdSource { continuous }))).unwrap();
    catalogue
}

/// A run file with small networks and checkpoints every 100 steps.
fn run_file(algo: &str, env: &str, total: u64, num_envs: usize) -> String {
    let settings = match algo {
        "ppo" => "num_steps: 16, minibatch_size: 32, update_epochs: 4, hidden_sizes: [16], learning_rate: 3e-3",
        "ars" => "hidden_sizes: [8], learning_rate: 0.1, noise_std: 0.3, num_directions: 4, num_top_directions: 2",
        "sac" => "hidden_sizes: [16, 16], learning_starts: 50, batch_size: 32, buffer_capacity: 2000",
        _ => "hidden_sizes: [16], learning_starts: 50, batch_size: 32, buffer_capacity: 2000, learning_rate: 3e-3",
    };
    format!(
        "{{algo: {algo}, env_id: {env}, seed: 1, total_timesteps: {total}, num_envs: {num_envs}, eval_interval: 100, \
         eval_episodes: 4, checkpoint_interval: 100, log_interval: 100, algo_kwargs: {{{settings}}}}}"
    )
}

fn options(run: &Path) -> TrainOptions {
    TrainOptions { run_dir: Some(run.to_path_buf()), quiet: true, ..TrainOptions::default() }
}

fn train(catalogue: &Catalogue, file: &str, run: &Path) -> Result<Outcome, axiomrl::Error> {
    let experiment = catalogue.read(file, "test.yaml", &[])?;
    Ok(Trainer::new(experiment, options(run), Vec::new())?.run()?)
}

/// Stops a run in its middle, resumes it to its end, and measures the policy of its file.
fn through_a_stop(catalogue: &Catalogue, file: &str, total: u64) -> (Outcome, Evaluation) {
    let root = tempfile::tempdir().unwrap();
    let run = root.path().join("run");
    let experiment = catalogue.read(file, "test.yaml", &[]).unwrap();
    let stopping = options(&run);
    let stop = stopping.stop.clone();
    let mut trainer = Trainer::new(experiment, stopping, Vec::new()).unwrap();
    assert!(trainer.advance(total / 2).unwrap().is_none());
    stop.store(true, Ordering::Relaxed);
    let Unit::Ended(outcome) = trainer.unit().unwrap() else { panic!("it was asked to stop") };
    assert_eq!(outcome.reason, StopReason::Interrupted);
    drop(trainer);
    let outcome = Trainer::resume(catalogue, &run, None, options(&run), Vec::new()).unwrap().run().unwrap();
    let mut policy = TrainedPolicy::load(catalogue, &run).unwrap();
    let mut evaluator = axiomrl::run::evaluate::Evaluator::new(policy.environments(catalogue).unwrap());
    let options = EvalOptions { episodes: 4, seed: 0, deterministic: true };
    let evaluation = evaluator.evaluate(policy.policy.as_mut(), &options).unwrap();
    (outcome, evaluation)
}

#[test]
fn environments_without_snapshots_begin_new_episodes_when_resumed() {
    for (algo, continuous, total) in
        [("ppo", false, 1200), ("dqn", false, 800), ("sac", true, 600), ("ars", false, 4000)]
    {
        let file = run_file(algo, "Walk-v0", total, 3);
        let (outcome, evaluation) = through_a_stop(&catalogue(Kind::Forgetful, continuous), &file, total);
        assert!(outcome.steps >= total && outcome.steps < total + 3, "{algo}: whole rounds, {}", outcome.steps);
        assert!(evaluation.mean_reward() > 8.0, "{algo}: {evaluation:?}");
    }
}

#[test]
fn batches_that_step_together_and_reset_in_a_step_of_their_own() {
    for (algo, continuous, total) in
        [("ppo", false, 1200), ("dqn", false, 800), ("sac", true, 600), ("ars", false, 4000)]
    {
        let file = run_file(algo, "Herd-v0", total, 8);
        let (outcome, evaluation) = through_a_stop(&catalogue(Kind::Forgetful, continuous), &file, total);
        assert!(outcome.steps >= total && outcome.steps < total + 3, "{algo}: {}", outcome.steps);
        assert_eq!(evaluation.returns.len(), 4);
        assert!(evaluation.mean_reward() > 3.0, "{algo}: {evaluation:?}");
    }
}

#[test]
fn images_and_vectors_together() {
    let file = run_file("dqn", "Walk-v0", 800, 2);
    let (_, evaluation) = through_a_stop(&catalogue(Kind::Seeing, false), &file, 800);
    assert!(evaluation.mean_reward() > 8.0, "{evaluation:?}");
}

#[test]
fn a_failing_environment_is_saved_and_explained() {
    for algo in ["ppo", "dqn", "ars"] {
        let root = tempfile::tempdir().unwrap();
        let run = root.path().join("run");
        let flaky = catalogue(Kind::Flaky(251), false);
        // Only the training environments live long enough to fail.
        let file = run_file(algo, "Walk-v0", 600, 2).replace("eval_interval: 100", "eval_interval: 0");
        let error = train(&flaky, &file, &run).unwrap_err().to_string();
        let words = ["environment", "the simulator lost its connection", "checkpoint is kept", "axiomrl resume"];
        assert!(words.iter().all(|word| error.contains(word)), "{algo}: {error}");
        // The steps before the failure are kept, not only those of the last periodic checkpoint.
        let kept = std::fs::read_to_string(run.join("metadata.json")).unwrap();
        assert!(!kept.contains("\"timesteps\": 200,"), "{algo}: {kept}");
        let outcome = Trainer::resume(&flaky, &run, None, options(&run), Vec::new()).unwrap().run().unwrap();
        assert_eq!(outcome.steps, 600, "{algo}");
    }
}

#[test]
fn an_environment_that_fails_in_an_evaluation_loses_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    let run = root.path().join("run");
    // 100 training steps, then the first evaluation, whose third step it is.
    let flaky = catalogue(Kind::Flaky(103), false);
    let file = run_file("dqn", "Walk-v0", 300, 1);
    let error = train(&flaky, &file, &run).unwrap_err().to_string();
    assert!(error.contains("at step 100") && error.contains("lost its connection"), "{error}");
    let outcome = Trainer::resume(&flaky, &run, None, options(&run), Vec::new()).unwrap().run().unwrap();
    assert_eq!(outcome.steps, 300);
    // The evaluation that failed was made up for.
    let steps = std::fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    assert_eq!(steps.lines().filter(|line| line.contains("eval/mean_reward")).count(), 3, "{steps}");
}

#[test]
fn what_does_not_fit_is_refused_with_the_remedy() {
    let root = tempfile::tempdir().unwrap();
    let run = root.path().join("run");
    let walk = catalogue(Kind::Forgetful, false);
    train(&walk, &run_file("dqn", "Walk-v0", 100, 1), &run).unwrap();
    // The name now means an environment with other observations.
    let other = catalogue(Kind::Seeing, false);
    let mut policy = TrainedPolicy::load(&other, &run).unwrap();
    let mut evaluator = axiomrl::run::evaluate::Evaluator::new(policy.environments(&other).unwrap());
    let options = EvalOptions { episodes: 1, seed: 0, deterministic: true };
    let error = evaluator.evaluate(policy.policy.as_mut(), &options).unwrap_err().to_string();
    assert!(error.contains("other spaces") && error.contains("camera") && error.contains("trained with"), "{error}");
    // And the policy acts where nobody knows the environment at all.
    let mut alone = TrainedPolicy::load(&Catalogue::builtin(), &run).unwrap();
    let mut action = [9.0];
    let (mut memory, mut rng) = (Memory::new(1, 0), Seeding::new(0, "test").rng(0));
    let input = ActInput::of(ObsRef::of_floats(1, &[0.0, 1.0]));
    alone.policy.act(input, ActContext::new(&mut memory, Mode::Best, &mut rng), &mut action).unwrap();
    assert!(action[0] == 0.0 || action[0] == 1.0);

    let mut builtin = Catalogue::builtin();
    let make = || Walk::new(Kind::Forgetful, false, Arc::new(AtomicU64::new(0)));
    let taken = builtin.environment("CartPole-v1", "mine", make);
    assert!(taken.err().unwrap().to_string().contains("give yours another name"));
    let unknown = walk.read(&run_file("dqn", "Wlak-v0", 100, 1), "test.yaml", &[]).err().unwrap().to_string();
    assert!(unknown.contains("Walk-v0"), "{unknown}");
    let option = run_file("dqn", "Walk-v0", 100, 1).replacen('{', "{env_kwargs: {speed: 1}, ", 1);
    let option = walk.read(&option, "test.yaml", &[]).err().unwrap().to_string();
    assert!(option.contains("`speed`"), "{option}");
}
