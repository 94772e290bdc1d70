use super::*;
use crate::agent::Progress;
use axiomrl_envs::{VecOptions, make_vec};
use std::sync::{Arc, Mutex};

/// Looks at every ratio before the first step on each rollout, then learns.
struct Watched {
    inner: RecurrentPpoLearner,
    worst: Arc<Mutex<Vec<f32>>>,
    /// Begin each sequence with an empty memory instead of the one the policy had: must be noticed.
    forget: bool,
}

impl RecurrentLearner for Watched {
    fn state_width(&self) -> usize {
        self.inner.state_width()
    }

    fn act(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        starts: &[bool],
        state: &mut [f32],
        rng: &mut Rng,
        actions: &mut [f32],
        log_probs: &mut [f32],
        values: &mut [f32],
    ) {
        self.inner.act(obs, masks, rows, starts, state, rng, actions, log_probs, values);
    }

    fn values(&mut self, obs: ObsRef<'_>, rows: usize, state: &[f32], values: &mut [f32]) {
        RecurrentLearner::values(&mut self.inner, obs, rows, state, values);
    }

    fn predict(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        deterministic: bool,
        starts: &[bool],
        state: &mut [f32],
        rng: &mut Rng,
        actions: &mut [f32],
    ) {
        self.inner.predict(obs, masks, rows, deterministic, starts, state, rng, actions);
    }

    fn update(&mut self, update: RecurrentUpdate<'_>) -> Result<(), Diverged> {
        let learner = &mut self.inner;
        let source = Source::new(&update, learner.net.state_width());
        let all: Vec<usize> = (0..source.count()).collect();
        learner.minibatch.gather(&source, &all, false);
        let mut state = learner.minibatch.state.clone();
        if self.forget {
            state.fill(0.0);
        }
        learner.net.infer(learner.minibatch.sequences(), &mut state, &mut learner.head, &mut learner.values);
        let log_std = learner.log_std.as_slice();
        let worst = learner.minibatch.largest_ratio_error(&learner.distribution, &learner.head, log_std);
        self.worst.lock().unwrap().push(worst);
        learner.update(update)
    }

    fn metric_names(&self) -> &'static [&'static str] {
        self.inner.metric_names()
    }

    fn exchange(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.inner.exchange(io)
    }
}

/// The worst ratio before the first step on each of several rollouts.
fn ratios(env_id: &str, config: RecurrentPpoConfig, forget: bool) -> Vec<f32> {
    let options = VecOptions {
        num_envs: 3,
        seed: 1,
        stream: "env",
        action_repeat: 1,
        frame_stack: 1,
        normalize_observation: false,
        normalize_reward: false,
        gamma: 0.99,
    };
    let mut env = make_vec(env_id, &Default::default(), &options).unwrap();
    let setup = Setup {
        observation_space: env.observation_space().clone(),
        action_space: env.action_space().clone(),
        num_envs: 3,
        seed: 1,
        masked: false,
        frame_stack: 1,
        goal_task: None,
    };
    let worst = Arc::new(Mutex::new(Vec::new()));
    let settings = RecurrentSettings {
        num_steps: config.num_steps,
        sequence_length: config.sequence_length,
        gamma: 0.99,
        gae_lambda: 0.9,
    };
    let inner = RecurrentPpoLearner::new(config, &setup).unwrap();
    let learner = Watched { inner, worst: worst.clone(), forget };
    let mut agent = RecurrentRollout::new(learner, settings, &setup);
    let mut actions = vec![0.0; 3 * env.action_space().width()];
    env.reset();
    let total = 300;
    for steps in (0..total).step_by(3) {
        agent.act(env.state(), Progress { steps, total }, &mut actions);
        env.step(0..3, &actions);
        agent.observe(0..3, &actions, env.state());
        agent.learn(env.state(), Progress { steps: steps + 3, total }).unwrap();
    }
    let worst = worst.lock().unwrap().clone();
    assert!(worst.len() >= 4, "{} rollouts", worst.len());
    worst
}

/// Sequences that do not divide the rollout, so that there is padding, and a rate that moves the policy between rollouts.
fn config() -> RecurrentPpoConfig {
    RecurrentPpoConfig {
        num_steps: 21,
        sequence_length: 8,
        minibatch_size: 16,
        learning_rate: Schedule::Constant(3e-3),
        hidden_sizes: vec![8],
        recurrent_hidden_size: 8,
        head_sizes: Vec::new(),
        ..RecurrentPpoConfig::default()
    }
}

#[test]
fn the_first_ratios_on_every_rollout_are_one() {
    for (env, config) in [
        ("CartPoleNoVel-v1", config()),
        ("CartPoleNoVel-v1", RecurrentPpoConfig { shared: true, cell: CellKind::Gru, ..config() }),
        ("PendulumNoVel-v1", config()),
    ] {
        let worst = ratios(env, config, false);
        assert!(worst.iter().all(|&w| w < 1e-4), "{env}: {worst:?}");
    }
}

#[test]
fn forgetting_where_a_sequence_began_shows_in_the_ratios() {
    let worst = ratios("CartPoleNoVel-v1", config(), true);
    assert!(worst.iter().skip(1).any(|&w| w > 1e-3), "{worst:?}");
}
