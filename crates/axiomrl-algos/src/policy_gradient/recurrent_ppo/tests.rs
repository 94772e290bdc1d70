use super::*;
use crate::agent::{Agent, Clock, Need};
use crate::regimes::OnPolicy;
use axiomrl_core::Metrics;
use axiomrl_envs::{ActionMap, Purpose, Seeding, Wrapping, source};
use std::sync::{Arc, Mutex};

/// Looks at every ratio before the first step on each rollout, then learns.
struct Watched {
    inner: RecurrentPpoLearner,
    worst: Arc<Mutex<Vec<f32>>>,
    /// Begin each sequence with an empty memory instead of the one the policy had: must be noticed.
    forget: bool,
}

impl Actor for Watched {
    fn memory_width(&self) -> usize {
        self.inner.memory_width()
    }

    fn act(
        &mut self,
        input: ActInput<'_>,
        memory: &mut Memory,
        mode: Mode,
        rng: &mut Rng,
        actions: &mut [f32],
    ) -> Result<(), LearnError> {
        self.inner.act(input, memory, mode, rng, actions)
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.inner.visit_policy(io)
    }
}

impl RolloutLearner for Watched {
    fn play(
        &mut self,
        input: ActInput<'_>,
        memory: &mut Memory,
        rng: &mut Rng,
        row: ActedRow<'_>,
    ) -> Result<(), LearnError> {
        self.inner.play(input, memory, rng, row)
    }

    fn values(&mut self, input: ActInput<'_>, memory: &[f32], values: &mut [f32]) -> Result<(), LearnError> {
        self.inner.values(input, memory, values)
    }

    fn update(&mut self, played: Played<'_>, context: &mut UpdateContext<'_>) -> Result<bool, LearnError> {
        let learner = &mut self.inner;
        if learner.passes.order().is_empty() {
            let source = Source::new(played, learner.net.state_width());
            let all: Vec<u32> = (0..source.count() as u32).collect();
            learner.minibatch.gather(&source, &all, false);
            let mut state = learner.minibatch.state.clone();
            if self.forget {
                state.fill(0.0);
            }
            learner.net.infer(learner.minibatch.sequences(), &mut state, &mut learner.head, &mut learner.values);
            let log_std = learner.log_std.as_slice();
            let worst = learner.minibatch.largest_ratio_error(&learner.distribution, &learner.head, log_std);
            self.worst.lock().unwrap().push(worst);
        }
        learner.update(played, context)
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.inner.visit_state(io)
    }
}

/// The worst ratio before the first step on each of several rollouts.
fn ratios(env_id: &str, config: RecurrentPpoConfig, forget: bool) -> Vec<f32> {
    let source = source(env_id, &Default::default(), Wrapping::default()).unwrap();
    let mut env = source.make(3, &Seeding::new(1, "env"), Purpose::Training).unwrap();
    let setup = Setup { num_envs: 3, seed: 1, ..Setup::new(env.spaces().clone()) };
    let worst = Arc::new(Mutex::new(Vec::new()));
    let settings = RolloutSettings {
        num_steps: config.num_steps,
        sequence_length: config.sequence_length,
        gamma: 0.99,
        gae_lambda: 0.9,
    };
    let inner = RecurrentPpoLearner::new(config, &setup).unwrap();
    let learner = Watched { inner, worst: worst.clone(), forget };
    let mut agent = OnPolicy::new(Box::new(learner), settings, &setup).unwrap();
    let map = ActionMap::of(setup.action_space()).unwrap();
    let mut actions = vec![0.0; 3 * setup.action_width()];
    let mut executed = actions.clone();
    env.reset(None).unwrap();
    agent.restarted(0..3, env.state()).unwrap();
    let mut metrics = Metrics::default();
    let mut clock = Clock { total: 300, ..Clock::default() };
    while clock.at < clock.total {
        agent.act(env.state(), clock, &mut actions).unwrap();
        map.to_env(&actions, &mut executed);
        env.step(0..3, &executed).unwrap();
        agent.observe(0..3, &actions, env.state()).unwrap();
        (clock.env_steps, clock.at) = (clock.env_steps + 3, clock.at + 3);
        while agent.need(clock) == Need::Update {
            clock.updates += agent.update(clock, &mut metrics).unwrap();
        }
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
