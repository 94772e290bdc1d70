use super::*;
use crate::agent::{Agent, Clock, Need};
use crate::parts::torso::MemoryKind;
use crate::policy_gradient::PpoConfig;
use crate::regimes::OnPolicy;
use axiomrl_core::{Metrics, Rollout, RolloutSpec, Schedule, stream};
use axiomrl_envs::{ActionMap, BoxSpace, ObsBuf, Purpose, Seeding, Space, Spaces, Wrapping, source};
use rand::RngExt;
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
            let sequences = PlayedSequences::new(played, learner.net.state_width());
            learner.minibatch.gather(&sequences, &sequences.numbers(), false);
            let batch = &learner.minibatch;
            let mut state = batch.state.clone();
            if self.forget {
                state.fill(0.0);
            }
            learner.net.infer(batch.sequences(), &mut state, &mut learner.head, Some(&mut learner.values));
            let worst = batch.largest_ratio_error(&learner.distribution, &learner.head, learner.log_std.as_slice());
            let steps = played.rollout.filled * played.rollout.lanes;
            self.seen.lock().unwrap().push(Seen { worst, learned: batch.log_prob.len(), steps });
        }
        learner.update(played, context)
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

fn vector() -> Space {
    Space::Box(BoxSpace::uniform(3, -1.0, 1.0))
}

fn image() -> Space {
    Space::Box(BoxSpace::image(10, 10, 1))
}

/// Four steps of two environments with an action of two numbers, and the memory they began with.
fn rollout(learner: &mut PpoLearner, spaces: &Spaces) -> (Rollout, Vec<bool>, Vec<f32>) {
    let mut rng = stream(5, "rollout");
    let (steps, lanes) = (4, 2);
    let widths = spaces.obs().widths;
    let mut rollout = Rollout::new(RolloutSpec { steps, lanes, widths, action_width: 2, mask_width: 0, raw: false });
    let mut memory = Memory::new(lanes, learner.memory_width());
    let states = memory.state.clone();
    for t in 0..steps {
        let mut obs = ObsBuf::zeros(widths, lanes);
        obs.floats.iter_mut().for_each(|x| *x = rng.random_range(-1.0..1.0));
        obs.bytes.iter_mut().for_each(|x| *x = rng.random());
        let (mut actions, mut log_probs, mut values) = ([0.0; 4], [0.0; 2], [0.0; 2]);
        let row = ActedRow { actions: &mut actions, log_probs: &mut log_probs, values: &mut values };
        learner.play(ActInput::of(obs.as_ref()), &mut memory, &mut rng, row).unwrap();
        memory.starts.fill(false);
        rollout.begin_row(t, obs.as_ref(), &[], &actions, &log_probs, &values);
        (0..lanes).for_each(|lane| rollout.set_outcome(t, lane, rng.random_range(-1.0..1.0), false, false));
    }
    rollout.compute_gae(0.9, 0.9);
    let mut starts = vec![false; steps * lanes];
    starts[..lanes].fill(true);
    (rollout, starts, states)
}

/// Every tensor that is learned, by name.
fn tensors(learner: &mut PpoLearner) -> std::collections::BTreeMap<String, Vec<f32>> {
    let mut snapshot = crate::state::Snapshot::default();
    let mut io = StateIo::save(&mut snapshot, None);
    io.policy(|io| learner.visit_policy(io)).unwrap();
    learner.visit_state(&mut io).unwrap();
    let all = snapshot.policy.tensors.into_iter().chain(snapshot.training.tensors);
    // Adam's moments end in `.m` and `.v`.
    let networks = all.filter(|(name, _)| !name.ends_with(".m") && !name.ends_with(".v"));
    networks.map(|(name, tensor)| (name, tensor.values)).collect()
}

/// All networks by name, and those of them that one update with these settings changes.
fn networks_and_changed(config: PpoConfig, observations: Space) -> (Vec<String>, Vec<String>) {
    let spaces = Spaces::new(observations, Space::Box(BoxSpace::uniform(2, -1.0, 1.0)));
    let setup = Setup { num_envs: 2, seed: 3, ..Setup::new(spaces.clone()) };
    // The policy's outputs begin so small that the first step hardly moves what is before them, but it does.
    let mut learner = PpoLearner::new(config, &setup).unwrap();
    let (rollout, starts, states) = rollout(&mut learner, &spaces);
    let length = learner.config.rollout().sequence_length;
    let states = states.repeat(4usize.div_ceil(length));
    let before = tensors(&mut learner);
    let (mut rng, mut metrics) = (stream(9, "learn"), Metrics::default());
    let clock = Clock { env_steps: 8, updates: 0, at: 8, total: 100 };
    let mut context = UpdateContext { clock, closes_burst: false, rng: &mut rng, metrics: &mut metrics };
    let played = Played { rollout: &rollout, starts: &starts, states: &states, length };
    learner.update(played, &mut context).unwrap();
    let after = tensors(&mut learner);
    // "policy.vision.conv.0.weight" is of the network "policy.vision"; "policy.0.weight" of "policy".
    let network = |name: &String| {
        let parts = ["vision", "encoder", "recurrent", "head"];
        let mut words = name.split('.');
        let first = words.next().unwrap();
        match words.next().filter(|second| parts.contains(second)) {
            Some(second) => format!("{first}.{second}"),
            None => first.to_owned(),
        }
    };
    let unique = |names: Vec<&String>| {
        let mut names: Vec<String> = names.into_iter().map(network).collect();
        names.sort();
        names.dedup();
        names
    };
    let moved = before.iter().filter(|(name, values)| after[*name] != **values).map(|(name, _)| name).collect();
    (unique(before.keys().collect()), unique(moved))
}

#[test]
fn one_update_moves_policy_value_and_standard_deviations() {
    let both = || Space::Dict { entries: vec![("camera".into(), image()), ("speed".into(), vector())] };
    let small = || PpoConfig { num_steps: 4, minibatch_size: 8, ..memoryless() };
    let recurrent = || PpoConfig { num_steps: 4, minibatch_size: 8, ..with_memory() };
    let shared = |config| PpoConfig { shared: true, ..config };
    for (config, observations, wanted) in [
        (small(), vector(), "log_std policy value"),
        (shared(small()), vector(), "log_std policy.encoder policy.head value.head"),
        (small(), image(), "log_std policy.head policy.vision value.head value.vision"),
        (shared(small()), image(), "log_std policy.encoder policy.head policy.vision value.head"),
        (small(), both(), "log_std policy.head policy.vision value.head value.vision"),
        (
            recurrent(),
            vector(),
            "log_std policy.encoder policy.head policy.recurrent value.encoder value.head value.recurrent",
        ),
        (shared(recurrent()), image(), "log_std policy.encoder policy.head policy.recurrent policy.vision value.head"),
    ] {
        let (networks, changed) = networks_and_changed(config, observations);
        assert_eq!(networks.join(" "), wanted);
        assert_eq!(changed.join(" "), wanted);
    }
}

#[test]
fn without_weight_the_value_stays_and_a_shared_torso_still_learns() {
    let small = || PpoConfig { num_steps: 4, minibatch_size: 8, vf_coef: 0.0, ..memoryless() };
    assert_eq!(networks_and_changed(small(), vector()).1, ["log_std", "policy"]);
    assert_eq!(networks_and_changed(small(), image()).1, ["log_std", "policy.head", "policy.vision"]);
    let shared = PpoConfig { shared: true, ..small() };
    assert_eq!(networks_and_changed(shared, image()).1, ["log_std", "policy.encoder", "policy.head", "policy.vision"]);
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
