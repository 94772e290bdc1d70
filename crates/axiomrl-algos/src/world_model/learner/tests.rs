//! What one update changes and what it must not, and whether the model learns what actions do.

use super::*;
use crate::agent::Clock;
use crate::policy::{Actor, Memory, Mode};
use crate::state::Snapshot;
use crate::world_model::choices::{ActorGradient, Heads, Latents};
use crate::world_model::presets::{dreamer, dreamerv3};
use axiomrl_core::{Metrics, RewardScale, Schedule, SequenceSpec, SequenceStore, stream};
use axiomrl_envs::{BoxSpace, ObsBuf, ObsRef, Rng, Space, Spaces};
use rand::RngExt;
use std::collections::{BTreeMap, BTreeSet};

fn small(config: WorldModelConfig) -> WorldModelConfig {
    WorldModelConfig {
        batch_size: 4,
        batch_length: 6,
        buffer_capacity: 400,
        size: None,
        deter_size: Some(16),
        hidden_size: Some(8),
        latent_groups: Some(4),
        latent_classes: Some(4),
        latent_size: 6,
        conv_depth: Some(2),
        units: Some(8),
        encoder_layers: 1,
        imagination_horizon: 3,
        learning_rate: Schedule::Constant(1e-3),
        actor_learning_rate: Schedule::Constant(1e-3),
        critic_learning_rate: Schedule::Constant(1e-3),
        warmup_updates: 0,
        ..config
    }
}

fn setup(images: bool, action: Space) -> Setup {
    let numbers = Space::Box(BoxSpace::uniform(3, -1.0, 1.0));
    let camera = Space::Box(BoxSpace::image(16, 16, 1));
    let both = Space::Dict { entries: vec![("camera".into(), camera), ("speed".into(), numbers.clone())] };
    Setup { seed: 3, ..Setup::new(Spaces::new(if images { both } else { numbers }, action)) }
}

fn choice() -> Space {
    Space::Discrete { n: 3 }
}

fn number() -> Space {
    Space::Box(BoxSpace::uniform(2, -1.0, 1.0))
}

/// A store that has seen episodes of noise.
fn lived(config: &WorldModelConfig, setup: &Setup, latents: LatentSpec) -> SequenceStore {
    let widths = setup.spaces.obs().widths;
    let length = config.batch_length + usize::from(config.stored_latents);
    let action_width = setup.action_width();
    let mut store = SequenceStore::new(SequenceSpec { capacity: 400, lanes: 1, widths, action_width, length, latents });
    let mut rng = stream(5, "lived");
    let obs = |rng: &mut Rng| {
        let mut obs = ObsBuf::zeros(widths, 1);
        obs.floats.iter_mut().for_each(|x| *x = rng.random_range(-1.0..1.0));
        obs.bytes.iter_mut().for_each(|byte| *byte = rng.random());
        obs
    };
    store.begin(0, obs(&mut rng).as_ref());
    for _ in 0..100 {
        let action: Vec<f32> = (0..action_width)
            .map(|_| match setup.action_space() {
                Space::Discrete { n } => rng.random_range(0..*n) as f32,
                _ => rng.random_range(-1.0..1.0),
            })
            .collect();
        let (over, cut) = (rng.random_range(0..8) == 0, rng.random_range(0..15) == 0);
        let (next, last) = (obs(&mut rng), obs(&mut rng));
        store.push(0, &action, rng.random_range(-1.0..1.0), over, cut && !over, next.as_ref(), last.as_ref());
    }
    store
}

fn drawn(config: &WorldModelConfig, setup: &Setup, learner: &WorldModelLearner) -> SequenceBatch {
    let mut batch = SequenceBatch::default();
    let mut store = lived(config, setup, learner.latents());
    store.draw(config.batch_size, false, RewardScale::IDENTITY, &mut stream(6, "drawn"), &mut batch).unwrap();
    batch
}

fn update(learner: &mut WorldModelLearner, batch: &SequenceBatch, updates: u64) -> Vec<(String, f64)> {
    let (mut rng, mut metrics) = (stream(9, "learn"), Metrics::default());
    let clock = Clock { env_steps: 10, updates, at: 10, total: 100 };
    let mut context = UpdateContext::new(clock, &mut rng, &mut metrics);
    learner.update(batch, &mut context, &mut ModelStates::default()).unwrap();
    metrics.take().into_iter().map(|(name, value)| (name.into_owned(), value)).collect()
}

fn tensors(learner: &mut WorldModelLearner) -> BTreeMap<String, Vec<f32>> {
    let mut snapshot = Snapshot::default();
    let mut io = StateIo::save(&mut snapshot, None);
    io.policy(|io| learner.visit_policy(io)).unwrap();
    learner.visit_state(&mut io).unwrap();
    let all = snapshot.policy.tensors.into_iter().chain(snapshot.training.tensors);
    all.filter(|(name, _)| !name.starts_with("optimizer")).map(|(name, tensor)| (name, tensor.values)).collect()
}

/// The tensors after one update with these settings.
fn updated(config: WorldModelConfig, setup: &Setup) -> BTreeMap<String, Vec<f32>> {
    updated_often(config, setup, 1)
}

/// As [`updated`], after several on the same rows: the first step of an optimiser knows little more than signs.
fn updated_often(config: WorldModelConfig, setup: &Setup, count: u64) -> BTreeMap<String, Vec<f32>> {
    let mut learner = WorldModelLearner::new(config.clone(), setup).unwrap();
    let batch = drawn(&config, setup, &learner);
    (1..=count).for_each(|updates| drop(update(&mut learner, &batch, updates)));
    tensors(&mut learner)
}

/// The networks in which two sets of tensors differ.
fn different(a: &BTreeMap<String, Vec<f32>>, b: &BTreeMap<String, Vec<f32>>) -> Vec<String> {
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    let names = a.iter().filter(|(name, values)| b[*name] != **values).map(|(name, _)| name);
    names.map(|name| name.split('.').next().unwrap().to_owned()).collect::<BTreeSet<_>>().into_iter().collect()
}

const MODEL: [&str; 5] = ["continue", "decoder", "encoder", "reward", "rssm"];

#[test]
fn each_optimiser_moves_its_own_networks_and_no_others() {
    for (action, heads) in [(choice(), "reinforce"), (number(), "dynamics")] {
        let setup = setup(true, action);
        let still = Schedule::Constant(0.0);
        let config = small(dreamer());
        let mut fresh = WorldModelLearner::new(config.clone(), &setup).unwrap();
        let before = tensors(&mut fresh);
        let model = WorldModelConfig {
            actor_learning_rate: still.clone(),
            critic_learning_rate: still.clone(),
            ..config.clone()
        };
        assert_eq!(different(&before, &updated(model, &setup)), MODEL, "{heads}");
        let actor =
            WorldModelConfig { learning_rate: still.clone(), critic_learning_rate: still.clone(), ..config.clone() };
        assert_eq!(different(&before, &updated(actor, &setup)), ["actor"], "{heads}");
        let critic = WorldModelConfig { learning_rate: still.clone(), actor_learning_rate: still, ..config };
        // The second update is none after which the slow critic is renewed.
        assert_eq!(different(&before, &updated(critic, &setup)), ["critic"], "{heads}");
    }
}

#[test]
fn nothing_that_is_imagined_teaches_the_model() {
    for (action, preset) in
        [(choice(), dreamer()), (number(), dreamer()), (choice(), dreamerv3()), (number(), dreamerv3())]
    {
        let setup = setup(false, action);
        let config = WorldModelConfig { replay_critic_scale: 0.0, entropy_coef: Some(0.1), ..small(preset) };
        let longer = WorldModelConfig { imagination_horizon: 5, entropy_coef: Some(1.0), ..config.clone() };
        let moved = different(&updated_often(config, &setup, 4), &updated_often(longer, &setup, 4));
        assert!(moved.iter().all(|name| ["actor", "critic", "slow_critic"].contains(&name.as_str())), "{moved:?}");
        assert!(moved.contains(&"actor".to_owned()) && moved.contains(&"critic".to_owned()));
    }
}

#[test]
fn the_critic_on_replayed_rows_teaches_what_sees_and_remembers() {
    let setup = setup(true, choice());
    // A critic of zeros has no slope to hand on: its first step gives it one.
    let after = |scale: f32| {
        let config = WorldModelConfig { replay_critic_scale: scale, ..small(dreamerv3()) };
        updated_often(config, &setup, 2)
    };
    let moved = different(&after(0.0), &after(0.3));
    for name in ["critic", "encoder", "rssm"] {
        assert!(moved.contains(&name.to_owned()), "{name}: {moved:?}");
    }
    // Reward and ends are predicted from the states, and from nothing that a value says: they differ only after the states do.
    let first = different(
        &updated(WorldModelConfig { replay_critic_scale: 0.0, ..small(dreamerv3()) }, &setup),
        &updated(WorldModelConfig { replay_critic_scale: 0.3, ..small(dreamerv3()) }, &setup),
    );
    assert!(!first.contains(&"reward".to_owned()) && !first.contains(&"continue".to_owned()), "{first:?}");
}

#[test]
fn the_slow_critic_follows_by_its_share() {
    let setup = setup(false, choice());
    let mut learner = WorldModelLearner::new(small(dreamerv3()), &setup).unwrap();
    let batch = drawn(&small(dreamerv3()), &setup, &learner);
    let before = tensors(&mut learner);
    update(&mut learner, &batch, 1);
    let after = tensors(&mut learner);
    for (name, old) in before.iter().filter(|(name, _)| name.starts_with("slow_critic")) {
        let aim = &after[&name.replacen("slow_critic", "critic", 1)];
        let wanted: Vec<f32> = old.iter().zip(aim).map(|(old, aim)| 0.02f32.mul_add(aim - old, *old)).collect();
        assert_eq!(after[name], wanted, "{name}");
    }
    // DreamerV2's is copied after the first update and then every hundredth.
    let mut learner = WorldModelLearner::new(small(dreamer()), &setup).unwrap();
    let batch = drawn(&small(dreamer()), &setup, &learner);
    for (updates, copied) in [(0, true), (1, false), (98, false), (99, true)] {
        update(&mut learner, &batch, updates);
        let now = tensors(&mut learner);
        let same = now["critic.0.weight"] == now["slow_critic.0.weight"];
        assert_eq!(same, copied, "after update {}", updates + 1);
    }
}

#[test]
fn what_came_before_an_episode_is_forgotten() {
    for preset in [dreamer(), dreamerv3()] {
        let (config, setup) = (small(preset), setup(false, choice()));
        let learner = WorldModelLearner::new(config.clone(), &setup).unwrap();
        let mut batch = drawn(&config, &setup, &learner);
        let context = usize::from(config.stored_latents);
        // An episode begins in the third row that is learned from, in all windows.
        let at = 2 + context;
        batch.first[at * batch.rows..(at + 1) * batch.rows].fill(true);
        let states = |batch: &SequenceBatch| {
            let sequence = learner.reading.read(batch);
            let noise = learner.reading.latent.draw_noise(sequence.steps * sequence.rows, &mut stream(2, "noise"));
            let seen = learner.model.observe(&sequence, &noise, &mut Vec::new(), &mut Metrics::default());
            values(&seen.features).to_vec()
        };
        let before = states(&batch);
        let widths = batch.obs.widths();
        batch.obs.floats[..at * batch.rows * widths.floats].fill(0.77);
        batch.action[..at * batch.rows].fill(0.0);
        batch.action[(at - 1) * batch.rows..at * batch.rows].fill(2.0);
        batch.deter.fill(0.5);
        let (after, from) = (states(&batch), 2 * batch.rows * learner.model.features());
        assert_eq!(before[from..], after[from..]);
        assert_ne!(before[..from], after[..from]);
    }
}

#[test]
fn every_combination_learns_without_a_hitch() {
    for (action, latents, gradient, heads) in [
        (choice(), Latents::Gaussian, ActorGradient::Dynamics, Heads::Normal),
        (choice(), Latents::Categorical, ActorGradient::Dynamics, Heads::Normal),
        (choice(), Latents::Gaussian, ActorGradient::Reinforce, Heads::TwoHot),
        (number(), Latents::Categorical, ActorGradient::Dynamics, Heads::Normal),
        (number(), Latents::Gaussian, ActorGradient::Reinforce, Heads::TwoHot),
    ] {
        for own in [false, true] {
            let returns = if own { super::super::Returns::Own } else { super::super::Returns::Next };
            let config = WorldModelConfig { latents, actor_gradient: gradient, heads, returns, ..small(dreamer()) };
            config.check().unwrap();
            let setup = setup(false, action.clone());
            let mut learner = WorldModelLearner::new(config.clone(), &setup).unwrap();
            let batch = drawn(&config, &setup, &learner);
            let logged = update(&mut learner, &batch, 1);
            for name in ["model_loss", "kl_loss", "actor_loss", "critic_loss", "entropy", "imagined_return_mean"] {
                assert!(logged.iter().any(|(key, value)| key == name && value.is_finite()), "{name}");
            }
        }
    }
}

#[test]
fn acting_is_the_first_row_of_learning() {
    let (config, setup) = (small(dreamerv3()), setup(true, choice()));
    let mut learner = WorldModelLearner::new(config, &setup).unwrap();
    let widths = setup.spaces.obs().widths;
    let (floats, bytes) = (vec![0.3; widths.floats], vec![100; widths.bytes]);
    let obs = ObsRef { rows: 1, floats: &floats, bytes: &bytes };
    let mut memory = Memory::new(1, learner.memory_width());
    let mut action = [9.0];
    learner
        .act(ActInput::of(obs), ActContext::new(&mut memory, Mode::Best, &mut stream(4, "act")), &mut action)
        .unwrap();
    assert!(action[0] < 3.0);
    let (state, done) = memory.row(0).split_at(learner.model.features());
    assert_eq!(done.iter().position(|&x| x == 1.0), Some(action[0] as usize));
    // The same noise, as the first row of a window.
    let tokens = learner.model.senses.infer(obs);
    let noise = learner.reading.latent.draw_noise(1, &mut stream(4, "act"));
    let window = axiomrl_nn::Window {
        steps: 1,
        rows: 1,
        actions: &[0.0, 1.0, 0.0],
        is_first: &[true],
        noise: &noise,
        start: &vec![0.7; state.len()],
    };
    let pass = learner.model.rssm.pass(&tokens, window);
    assert!(pass.features().iter().zip(state).all(|(a, b)| (a - b).abs() < 1e-5));
    // What was really done counts.
    learner.feedback(&mut memory, 0..1, &[2.0], &[0.0]);
    assert_eq!(memory.row(0)[learner.model.features()..], [0.0, 0.0, 1.0]);
    let mut kept = ModelStates::default();
    learner.recall(memory.row(0), &mut kept);
    assert_eq!((kept.deter.len(), kept.classes.len()), (16, 4));
}

/// What is seen is what was done a step before: the model must foresee it from the action, and from nothing else.
#[test]
fn the_model_learns_what_actions_do() {
    let observation = Space::Box(BoxSpace::uniform(3, 0.0, 1.0));
    let setup = Setup { seed: 3, ..Setup::new(Spaces::new(observation, choice())) };
    let config = WorldModelConfig {
        batch_size: 8,
        batch_length: 8,
        observation_loss_scale: 10.0,
        latent_groups: Some(4),
        hidden_size: Some(16),
        units: Some(16),
        deter_size: Some(32),
        learning_rate: Schedule::Constant(3e-3),
        ..small(dreamerv3())
    };
    let mut learner = WorldModelLearner::new(config.clone(), &setup).unwrap();
    let widths = setup.spaces.obs().widths;
    let mut store = SequenceStore::new(SequenceSpec {
        capacity: 400,
        lanes: 1,
        widths,
        action_width: 1,
        length: 9,
        latents: learner.latents(),
    });
    let (mut rng, mut shown) = (stream(5, "lived"), [0.0; 3]);
    store.begin(0, ObsRef::of_floats(1, &shown));
    for _ in 0..400 {
        let action = rng.random_range(0..3usize);
        shown = [0.0; 3];
        shown[action] = 1.0;
        store.push(0, &[action as f32], 0.0, false, false, ObsRef::of_floats(1, &shown), ObsRef::of_floats(1, &shown));
    }
    let mut batch = SequenceBatch::default();
    for updates in 0..500 {
        store.draw(8, false, RewardScale::IDENTITY, &mut rng, &mut batch).unwrap();
        let mut metrics = Metrics::default();
        let clock = Clock { env_steps: 10, updates, at: 10, total: 100 };
        let mut context = UpdateContext::new(clock, &mut rng, &mut metrics);
        learner.update(&batch, &mut context, &mut ModelStates::default()).unwrap();
    }
    let error = |batch: &SequenceBatch| {
        let sequence = learner.reading.read(batch);
        let noise = learner.reading.latent.draw_noise(sequence.steps * sequence.rows, &mut stream(2, "noise"));
        let seen = learner.model.observe(&sequence, &noise, &mut Vec::new(), &mut Metrics::default());
        open_loop_error(&learner.model, &sequence, &values(&seen.features), &mut stream(3, "open")).unwrap()
    };
    let right = error(&batch);
    // The same rows with the actions of others.
    batch.action.rotate_left(batch.rows);
    let wrong = error(&batch);
    assert!(right < 0.1 && wrong > 0.5, "{right} {wrong}");
}

#[test]
fn a_warm_up_begins_with_a_step_of_nothing() {
    let setup = setup(false, choice());
    let config = WorldModelConfig { warmup_updates: 4, ..small(dreamerv3()) };
    let mut learner = WorldModelLearner::new(config.clone(), &setup).unwrap();
    let batch = drawn(&config, &setup, &learner);
    let before = tensors(&mut learner);
    let mut rate = |updates| {
        let logged = update(&mut learner, &batch, updates);
        logged.into_iter().find(|(name, _)| name == "learning_rate").unwrap().1
    };
    assert_eq!(rate(0), 0.0);
    for (updates, wanted) in [(1, 0.25e-3), (4, 1e-3), (9, 1e-3)] {
        assert!((rate(updates) - wanted).abs() < 1e-9, "{updates}");
    }
    let mut still = WorldModelLearner::new(config, &setup).unwrap();
    update(&mut still, &batch, 0);
    assert_eq!(tensors(&mut still), before);
}
