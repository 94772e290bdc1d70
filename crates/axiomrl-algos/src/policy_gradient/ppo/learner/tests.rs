use super::*;
use crate::agent::{Agent, Clock, LearnError, Need};
use crate::parts::torso::MemoryKind;
use crate::policy::{ActContext, ActInput, Actor};
use crate::policy_gradient::PpoConfig;
use crate::policy_gradient::testing::{self, Noise, image, vector, vector_and_image};
use crate::regimes::{ActedRow, OnPolicy, RolloutLearner};
use axiomrl_core::{Metrics, Schedule};
use axiomrl_envs::{ActionMap, Purpose, Seeding, Space, Spaces, Wrapping, source};
use std::sync::{Arc, Mutex};

/// What there was to learn from before the first step on a rollout.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The largest distance of a ratio from 1.
    worst: f32,
    /// Steps that are learned from.
    learned: usize,
    /// Steps of the rollout.
    steps: usize,
}

/// Looks at every ratio before the first step on each rollout, then learns.
struct Watched {
    inner: PpoLearner,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// Begin each sequence with an empty memory instead of the one the policy had: must be noticed.
    forget: bool,
}

impl Actor for Watched {
    fn memory_width(&self) -> usize {
        self.inner.memory_width()
    }

    fn act(&mut self, input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        self.inner.act(input, context, actions)
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.inner.visit_policy(io)
    }
}

impl RolloutLearner for Watched {
    fn play(&mut self, input: ActInput<'_>, context: ActContext<'_>, row: ActedRow<'_>) -> Result<(), LearnError> {
        self.inner.play(input, context, row)
    }

    fn values(&mut self, input: ActInput<'_>, memory: &[f32], values: &mut [f32]) -> Result<(), LearnError> {
        self.inner.values(input, memory, values)
    }

    fn update(&mut self, played: Played<'_>, context: &mut UpdateContext<'_>) -> Result<bool, LearnError> {
        let PolicyLearner { policy, rule } = &mut self.inner;
        if rule.passes.order().is_empty() {
            let sequences = PlayedSequences::new(played, policy.net.state_width());
            rule.minibatch.gather(&sequences, &sequences.numbers(), false);
            let batch = &rule.minibatch;
            let mut state = batch.state.clone();
            if self.forget {
                state.fill(0.0);
            }
            policy.net.infer(batch.sequences(), &mut state, &mut policy.head, Some(&mut policy.values));
            let worst = batch.largest_ratio_error(&policy.distribution, &policy.head, policy.log_std.as_slice());
            let steps = played.rollout.filled * played.rollout.lanes;
            self.seen.lock().unwrap().push(Seen { worst, learned: batch.log_prob.len(), steps });
        }
        self.inner.update(played, context)
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.inner.visit_state(io)
    }
}

/// What is seen before the first step on each of several rollouts of three environments. With `gaps` one of them does
/// nothing every now and then.
fn watch(env_id: &str, config: PpoConfig, forget: bool, gaps: bool) -> Vec<Seen> {
    let source = source(env_id, &Default::default(), Wrapping::default()).unwrap();
    let mut env = source.make(3, &Seeding::new(1, "env"), Purpose::Training).unwrap();
    let setup = Setup { num_envs: 3, seed: 1, ..Setup::new(env.spaces().clone()) };
    let seen = Arc::new(Mutex::new(Vec::new()));
    let settings = config.rollout();
    let learner = Watched { inner: PpoLearner::new(config, &setup).unwrap(), seen: seen.clone(), forget };
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
        let mut state = env.state().clone();
        state.stepped[1] = !(gaps && clock.at.is_multiple_of(7));
        agent.observe(0..3, &actions, &state).unwrap();
        (clock.env_steps, clock.at) = (clock.env_steps + 3, clock.at + 3);
        while agent.need(clock) == Need::Update {
            clock.updates += agent.update(clock, &mut metrics).unwrap();
        }
    }
    let seen = seen.lock().unwrap().clone();
    assert!(seen.len() >= 4, "{} rollouts", seen.len());
    seen
}

/// A rate that moves the policy between rollouts.
fn memoryless() -> PpoConfig {
    PpoConfig {
        num_steps: 21,
        minibatch_size: 16,
        learning_rate: Schedule::Constant(3e-3),
        hidden_sizes: vec![8],
        ..PpoConfig::default()
    }
}

/// Sequences that do not divide the rollout, so that there is padding.
fn with_memory() -> PpoConfig {
    PpoConfig { memory: MemoryKind::Lstm, sequence_length: 8, recurrent_hidden_size: 8, ..memoryless() }
}

#[test]
fn the_first_ratios_on_every_rollout_are_one() {
    let shared = |config| PpoConfig { shared: true, ..config };
    for (env, config) in [
        ("CartPole-v1", memoryless()),
        ("CartPole-v1", shared(memoryless())),
        ("Pendulum-v1", memoryless()),
        ("IdentityMasked-v0", memoryless()),
        ("IdentityMultiDiscrete-v0", memoryless()),
        ("IdentityMultiBinary-v0", memoryless()),
        ("Catch-v0", memoryless()),
        ("Catch-v0", shared(memoryless())),
        ("CartPoleNoVel-v1", with_memory()),
        ("CartPoleNoVel-v1", PpoConfig { memory: MemoryKind::Gru, ..shared(with_memory()) }),
        ("PendulumNoVel-v1", with_memory()),
        ("IdentityMasked-v0", with_memory()),
        ("Catch-v0", with_memory()),
    ] {
        let seen = watch(env, config, false, false);
        assert!(seen.iter().all(|s| s.worst < 1e-4 && s.learned == s.steps), "{env}: {seen:?}");
    }
}

#[test]
fn steps_that_were_not_played_are_left_out() {
    for config in [memoryless(), with_memory(), PpoConfig { sequence_length: 1, ..with_memory() }] {
        for env in ["CartPole-v1", "IdentityMasked-v0"] {
            let seen = watch(env, config.clone(), false, true);
            assert!(seen.iter().all(|s| s.worst < 1e-4), "{env}: {seen:?}");
            assert!(seen.iter().all(|s| s.learned < s.steps && s.learned > s.steps / 2), "{env}: {seen:?}");
        }
    }
}

#[test]
fn forgetting_where_a_sequence_began_shows_in_the_ratios() {
    let seen = watch("CartPoleNoVel-v1", with_memory(), true, false);
    assert!(seen.iter().skip(1).any(|s| s.worst > 1e-3), "{seen:?}");
}

/// All networks by name, and those of them that one update with these settings changes.
fn networks_and_changed(config: PpoConfig, observations: Space) -> (String, String) {
    let (length, setup) = (config.rollout().sequence_length, testing::setup(observations));
    // The policy's outputs begin so small that the first step hardly moves what is before them, but it does.
    let mut learner = PpoLearner::new(config, &setup).unwrap();
    let noise = Noise::new(&mut learner, &setup, length);
    let moved = testing::changed(&mut learner, |learner| drop(testing::update(learner, &noise)));
    (testing::networks(&mut learner), moved)
}

#[test]
fn one_update_moves_policy_value_and_standard_deviations() {
    let small = || PpoConfig { num_steps: 4, minibatch_size: 8, ..memoryless() };
    let recurrent = || PpoConfig { num_steps: 4, minibatch_size: 8, ..with_memory() };
    let shared = |config| PpoConfig { shared: true, ..config };
    for (config, observations, wanted) in [
        (small(), vector(), "log_std policy value"),
        (shared(small()), vector(), "log_std policy.encoder policy.head value.head"),
        (small(), image(), "log_std policy.head policy.vision value.head value.vision"),
        (shared(small()), image(), "log_std policy.encoder policy.head policy.vision value.head"),
        (small(), vector_and_image(), "log_std policy.head policy.vision value.head value.vision"),
        (
            recurrent(),
            vector(),
            "log_std policy.encoder policy.head policy.recurrent value.encoder value.head value.recurrent",
        ),
        (shared(recurrent()), image(), "log_std policy.encoder policy.head policy.recurrent policy.vision value.head"),
    ] {
        let (networks, changed) = networks_and_changed(config, observations);
        assert_eq!((&networks[..], &changed[..]), (wanted, wanted));
    }
}

#[test]
fn without_weight_the_value_stays_and_a_shared_torso_still_learns() {
    let small = || PpoConfig { num_steps: 4, minibatch_size: 8, vf_coef: 0.0, ..memoryless() };
    assert_eq!(networks_and_changed(small(), vector()).1, "log_std policy");
    assert_eq!(networks_and_changed(small(), image()).1, "log_std policy.head policy.vision");
    let shared = PpoConfig { shared: true, ..small() };
    assert_eq!(networks_and_changed(shared, image()).1, "log_std policy.encoder policy.head policy.vision");
}

#[test]
fn what_acts_is_saved_as_the_policy_and_the_value_only_where_it_remembers() {
    let names = |config: PpoConfig| {
        let spaces = Spaces::new(vector(), Space::Discrete { n: 2 });
        let mut learner = PpoLearner::new(config, &Setup::new(spaces)).unwrap();
        let mut snapshot = crate::state::Snapshot::default();
        learner.visit_policy(&mut StateIo::save(&mut snapshot, None)).unwrap();
        let first = |name: &String| name.split('.').next().unwrap().to_owned();
        let mut names: Vec<String> = snapshot.training.tensors.keys().map(first).collect();
        names.dedup();
        names
    };
    assert_eq!(names(memoryless()), ["policy"]);
    assert_eq!(names(with_memory()), ["policy", "value"]);
}

#[test]
fn advantages_of_a_minibatch_are_standardised_unless_told_otherwise() {
    let losses = |normalize_advantage| {
        let config = PpoConfig { num_steps: 4, minibatch_size: 8, normalize_advantage, ..memoryless() };
        let setup = testing::setup(vector());
        let mut learner = PpoLearner::new(config, &setup).unwrap();
        let noise = Noise::new(&mut learner, &setup, 1);
        let mean = noise.rollout.advantage.iter().sum::<f32>() / 8.0;
        (testing::update(&mut learner, &noise).1["policy_gradient_loss"], f64::from(-mean))
    };
    // Before the first step every ratio is 1, and the loss is minus the mean advantage.
    assert!(losses(true).0.abs() < 1e-6);
    let (found, wanted) = losses(false);
    assert!(wanted.abs() > 1e-3 && (found - wanted).abs() < 1e-5, "{found} {wanted}");
}
