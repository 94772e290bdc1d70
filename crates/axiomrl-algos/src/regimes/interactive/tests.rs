use super::*;
use crate::imitation::{Dagger, DaggerConfig};
use crate::registry::Algorithm;
use crate::testing::{drive, keep};
use axiomrl_envs::{Purpose, Seeding, VecEnv};
use std::sync::{Arc, Mutex};

/// Leans towards where the pole falls.
struct Leaning;

impl Expert for Leaning {
    fn act(&mut self, input: ActInput<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        for (row, action) in actions.iter_mut().enumerate() {
            let obs = input.obs.row(row).floats;
            *action = f32::from(u8::from(obs[2] + obs[3] > 0.0));
        }
        Ok(())
    }
}

fn with_expert(setup: Setup) -> Setup {
    Setup { expert: Some(Arc::new(|| Ok(Box::new(Leaning) as Box<dyn Expert>))), ..setup }
}

fn config() -> DaggerConfig {
    DaggerConfig {
        round_steps: 20,
        round_episodes: 1,
        hidden_sizes: vec![8],
        update_epochs: 2,
        batch_size: 16,
        ..DaggerConfig::default()
    }
}

fn cartpole(lanes: usize) -> Box<dyn VecEnv> {
    let source = axiomrl_envs::source("CartPole-v1", &Default::default(), Default::default()).unwrap();
    source.make(lanes, &Seeding::new(1, "env"), Purpose::Training).unwrap()
}

/// A policy whose sampled choice is always the second, and that counts its updates.
struct Second(Arc<Mutex<Vec<Labels>>>);

impl Actor for Second {
    fn act(&mut self, _input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        let ActContext { mode, .. } = context;
        // What it thinks best would be the first: it is its samples that are executed.
        actions.fill(if mode == Mode::Sample { 1.0 } else { 0.0 });
        Ok(())
    }

    fn visit_policy(&mut self, _io: &mut StateIo<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

impl LabelLearner for Second {
    fn update(&mut self, batch: &Labels, _context: &mut UpdateContext<'_>) -> Result<(), LearnError> {
        self.0.lock().unwrap().push(batch.clone());
        Ok(())
    }

    fn visit_state(&mut self, _io: &mut StateIo<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

fn agent(lanes: usize, beta: fn(u64) -> f64, seen: &Arc<Mutex<Vec<Labels>>>) -> (Interactive, Box<dyn VecEnv>) {
    let mut env = cartpole(lanes);
    let setup = with_expert(Setup { num_envs: lanes, seed: 1, ..Setup::new(env.spaces().clone()) });
    let settings =
        InteractiveSettings { round_steps: 20, round_episodes: 2, epochs: 3, batch_size: 8, beta: Box::new(beta) };
    let mut agent = Interactive::new(Box::new(Second(seen.clone())), settings, &setup).unwrap();
    env.reset(None).unwrap();
    agent.restarted(0..lanes, env.state()).unwrap();
    (agent, env)
}

/// One step of all environments; gives what was executed.
fn step(agent: &mut Interactive, env: &mut dyn VecEnv, clock: &mut Clock) -> Vec<f32> {
    let lanes = env.num_envs();
    let mut actions = vec![0.0; lanes];
    agent.act(env.state(), *clock, &mut actions).unwrap();
    env.step(0..lanes, &actions).unwrap();
    agent.observe(0..lanes, &actions, env.state()).unwrap();
    clock.env_steps += lanes as u64;
    clock.at = clock.env_steps;
    actions
}

#[test]
fn without_the_expert_at_the_wheel_its_answers_are_stored_all_the_same() {
    for (beta, own) in [((|_| 0.0) as fn(u64) -> f64, true), (|_| 1.0, false)] {
        let seen = Arc::default();
        let (mut agent, mut env) = agent(2, beta, &seen);
        let mut clock = Clock { total: 1000, ..Clock::default() };
        for _ in 0..5 {
            let mut answers = [0.0; 2];
            let shown = env.state().obs.clone();
            Leaning.act(ActInput::of(shown.as_ref()), &mut answers).unwrap();
            let executed = step(&mut agent, env.as_mut(), &mut clock);
            assert_eq!(executed, if own { vec![1.0, 1.0] } else { answers.to_vec() });
            let rows = agent.labels.rows;
            assert_eq!(agent.labels.action[rows - 2..], answers);
            assert_eq!(agent.labels.obs.range(rows - 2..rows), shown.as_ref());
        }
    }
}

#[test]
fn a_share_of_the_steps_is_the_experts_each_environment_for_itself() {
    let seen = Arc::default();
    let (mut agent, mut env) = agent(8, |_| 0.25, &seen);
    let mut clock = Clock { total: 100_000, ..Clock::default() };
    let (mut told_apart, mut experts) = (0, 0);
    for _ in 0..400 {
        let executed = step(&mut agent, env.as_mut(), &mut clock);
        let answers = &agent.labels.action[agent.labels.rows - 8..];
        for (executed, answer) in executed.iter().zip(answers) {
            // The policy always takes the second choice.
            told_apart += usize::from(*answer == 0.0);
            experts += usize::from(*answer == 0.0 && *executed == 0.0);
        }
    }
    let share = experts as f64 / told_apart as f64;
    assert!((share - 0.25).abs() < 0.05, "{share} of {told_apart}");
}

#[test]
fn a_round_ends_with_an_episode_and_all_data_is_learned_from_in_passes() {
    let seen = Arc::default();
    let (mut agent, mut env) = agent(1, |round| if round == 0 { 1.0 } else { 0.0 }, &seen);
    let mut clock = Clock { total: 10_000, ..Clock::default() };
    let mut ends = Vec::new();
    for round in 0..3 {
        while agent.need(clock) == Need::Steps {
            step(&mut agent, env.as_mut(), &mut clock);
        }
        let ended = env.state().terminated[0] || env.state().truncated[0];
        assert!(ended && agent.round.steps >= 20 && agent.round.episodes >= 2, "{:?}", agent.round);
        let (rows, before) = (agent.labels.rows, seen.lock().unwrap().len());
        ends.push(rows);
        assert_eq!((rows as u64, agent.round.number), (clock.env_steps, round));
        while agent.need(clock) == Need::Update {
            agent.update(clock, &mut Metrics::default()).unwrap();
        }
        let batches = &seen.lock().unwrap()[before..];
        assert_eq!(batches.len(), 3 * rows.div_ceil(8));
        // Each pass goes over everything once, older rounds included.
        let shown = |pass: usize| -> Vec<u32> {
            let part = &batches[pass * rows.div_ceil(8)..(pass + 1) * rows.div_ceil(8)];
            let mut first: Vec<u32> =
                part.iter().flat_map(|b| b.obs.floats.chunks(4).map(|row| row[0].to_bits())).collect();
            first.sort_unstable();
            first
        };
        assert_eq!(shown(0).len(), rows);
        assert_eq!(shown(0), shown(2));
    }
    assert!(ends.is_sorted() && ends[0] >= 20);
}

#[test]
fn the_last_round_is_as_long_as_the_run_lets_it_be() {
    let seen = Arc::default();
    let (mut agent, mut env) = agent(1, |_| 1.0, &seen);
    let mut clock = Clock { total: 7, ..Clock::default() };
    while agent.need(clock) == Need::Steps {
        step(&mut agent, env.as_mut(), &mut clock);
    }
    assert_eq!((clock.env_steps, agent.need(clock)), (7, Need::Update));
    while agent.need(clock) == Need::Update {
        agent.update(clock, &mut Metrics::default()).unwrap();
    }
    assert_eq!((agent.need(clock), seen.lock().unwrap().len()), (Need::Done, 3));
}

#[test]
fn nobody_to_ask_is_refused_with_the_remedy() {
    let alone = Setup::new(cartpole(1).spaces().clone());
    let refused = Dagger::build(config(), &alone).unwrap().into_agent(&alone).err().unwrap().to_string();
    assert!(refused.contains("expert: scripted"), "{refused}");
    assert!(Dagger::build(config(), &alone).unwrap().into_policy(&alone).is_ok());
}

#[test]
fn a_run_that_stops_after_every_piece_ends_alike() {
    let run = |stopping: bool| {
        drive("CartPole-v1", 3, 100, stopping, |setup| {
            let setup = with_expert(Setup { scaling: crate::parts::statistics::ObsScaling::Running, ..setup });
            let half = DaggerConfig { beta_decay: 0.5, ..config() };
            Dagger::build(half, &setup).unwrap().into_agent(&setup).unwrap()
        })
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn answers_that_are_cut_short_or_too_many_are_refused() {
    let mut agent = agent(2, |_| 1.0, &Arc::default()).0;
    agent.labels.push(ObsRef::of_floats(1, &[1.0, 2.0, 3.0, 4.0]), &[], &[1.0]);
    keep(&mut agent);
    let mut bytes = Vec::new();
    agent.labels.write(&mut bytes).unwrap();
    let mut back = Labels::new(agent.labels.obs.widths());
    back.read(&mut bytes.as_slice(), (0, 1), 1).unwrap();
    assert_eq!(back, agent.labels);
    assert!(back.read(&mut bytes.as_slice(), (0, 1), 0).is_err());
    assert!(back.read(&mut &bytes[..bytes.len() - 1], (0, 1), 1).is_err());
    bytes[..8].fill(0xff);
    assert!(back.read(&mut bytes.as_slice(), (0, 1), u64::MAX).is_err());
}
