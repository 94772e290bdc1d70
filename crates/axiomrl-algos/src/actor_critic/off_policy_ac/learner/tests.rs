use super::super::choices::TargetAction;
use super::super::presets;
use super::*;
use crate::parts::input::Vision;
use crate::policy::{self, Actor as _, Mode};
use crate::state::Snapshot;
use axiomrl_core::{BatchShape, Metrics, stream};
use axiomrl_envs::{BoxSpace, ObsSpace, Space, Spaces};
use rand::RngExt;
use std::collections::BTreeMap;

mod prior;
mod wires;

const SIDE: usize = 16;

fn vector() -> Space {
    Space::Box(BoxSpace::uniform(3, -1.0, 1.0))
}

fn image() -> Space {
    Space::Box(BoxSpace::image(SIDE, SIDE, 2))
}

fn both() -> Space {
    Space::Dict { entries: vec![("camera".into(), image()), ("speed".into(), vector())] }
}

fn setup(observations: Space) -> Setup {
    Setup { seed: 3, ..Setup::new(Spaces::new(observations, Space::Box(BoxSpace::uniform(2, -1.0, 1.0)))) }
}

fn small(config: AcConfig) -> AcConfig {
    AcConfig {
        hidden_sizes: vec![16],
        head_sizes: vec![8],
        recurrent_hidden_size: 6,
        feature_dim: config.feature_dim.map(|_| 8),
        vision: Vision::Auto,
        ..config
    }
}

fn learner(config: AcConfig, observations: Space) -> AcLearner {
    let config = small(config);
    config.check().unwrap();
    AcLearner::new(config, &setup(observations)).unwrap()
}

fn batch(observations: &Space, steps: usize, rows: usize) -> Batch {
    let mut rng = stream(5, "batch");
    let mut batch = Batch::default();
    let widths = ObsSpace::of(observations).widths;
    batch.resize(&BatchShape { steps, widths, action_width: 2, ..BatchShape::default() }, rows);
    batch.obs.bytes.iter_mut().for_each(|byte| *byte = rng.random());
    batch.obs.floats.iter_mut().for_each(|x| *x = rng.random_range(-1.0..1.0));
    batch.action.iter_mut().for_each(|a| *a = rng.random_range(-1.0..1.0));
    batch.reward.iter_mut().for_each(|r| *r = rng.random_range(-1.0..1.0));
    batch.discount.fill(0.9);
    batch.starts.fill(false);
    batch.next.iter_mut().enumerate().for_each(|(at, next)| *next = (at / rows + 1) as u32);
    batch
}

/// Every tensor of the networks, by name.
fn tensors(learner: &mut AcLearner) -> BTreeMap<String, Vec<f32>> {
    let mut snapshot = Snapshot::default();
    let mut io = StateIo::save(&mut snapshot, None);
    io.policy(|io| learner.visit_policy(io)).unwrap();
    learner.visit_state(&mut io).unwrap();
    let all = snapshot.policy.tensors.into_iter().chain(snapshot.training.tensors);
    // Adam's moments end in `.m` and `.v`; running statistics are no parameters.
    let networks =
        all.filter(|(name, _)| ![".m", ".v"].iter().any(|end| name.ends_with(end)) && !name.contains("running"));
    networks.map(|(name, tensor)| (name, tensor.values)).collect()
}

/// Beginnings of the names of what changed, each once.
fn changed(learner: &mut AcLearner, work: impl FnOnce(&mut AcLearner)) -> Vec<String> {
    let before = tensors(learner);
    work(learner);
    let after = tensors(learner);
    let parts = ["trunk", "heads", "net", "layers", "recurrent", "vision", "matrix"];
    let short = |name: &str| {
        let mut words = name.split('.');
        let first = words.next().unwrap_or_default().to_owned();
        match words.next() {
            Some(second) if parts.contains(&second) => format!("{first}.{second}"),
            _ => first,
        }
    };
    let mut names: Vec<String> =
        before.iter().filter(|(name, values)| after[*name] != **values).map(|(name, _)| short(name)).collect();
    names.dedup();
    names
}

fn with_context<R>(update: u64, work: impl FnOnce(&mut UpdateContext<'_>) -> R) -> R {
    let (mut rng, mut metrics) = (stream(9, "learn"), Metrics::default());
    let clock = Clock { env_steps: 10, updates: update - 1, at: 10, total: 100 };
    work(&mut UpdateContext::new(clock, &mut rng, &mut metrics))
}

/// What the critics' step, the contrastive task and the actor's step change, each for itself.
fn steps(learner: &mut AcLearner, batch: &Batch) -> [Vec<String>; 3] {
    with_context(1, |context| {
        let window = Window::new(batch, learner.remembers(), learner.config.burn_in);
        let reward = window.column(&batch.reward).to_vec();
        let (mut seen, mut states) = (Vec::new(), learner.burn_in(&window));
        let critics = changed(learner, |learner| {
            let (ahead, next) = learner.next_actions(&window, context).unwrap();
            learner.critic.compute_targets(&ahead, &window, learner.actor.state_width(), &reward, context.rng);
            let next = (&ahead[..], &next);
            let found = learner.update_critics(window, &states.critic, next, &reward, None, context);
            seen = found.unwrap();
        });
        let contrast = changed(learner, |learner| learner.update_contrast(batch, context).unwrap());
        let actor = changed(learner, |learner| {
            learner.update_actor(&seen, &window, &mut states, context).unwrap();
        });
        [critics, contrast, actor]
    })
}

#[test]
fn each_step_changes_its_own_network_and_the_critics_train_the_encoder() {
    let nothing: [&str; 0] = [];
    for config in [presets::sac(), presets::td3(), presets::drqv2()] {
        let config = AcConfig { feature_dim: None, ..config };
        let found = steps(&mut learner(config, vector()), &batch(&vector(), 1, 6));
        assert_eq!(found, [vec!["critic"], vec![], vec!["actor"]]);
    }
    for config in [presets::sac(), presets::td3(), presets::drqv2(), presets::drq()] {
        for space in [image(), both()] {
            let [critics, contrast, actor] = steps(&mut learner(config.clone(), space.clone()), &batch(&space, 1, 6));
            assert_eq!(critics, ["critic.heads", "critic.trunk", "encoder.vision"]);
            assert_eq!(contrast, nothing);
            assert_eq!(actor, ["actor.net", "actor.trunk"]);
        }
    }
    let [critics, contrast, actor] = steps(&mut learner(presets::curl(), image()), &batch(&image(), 1, 6));
    assert_eq!(critics, ["critic.heads", "critic.trunk", "encoder.vision"]);
    assert_eq!(contrast, ["contrast.matrix", "critic.trunk", "encoder.vision"]);
    assert_eq!(actor, ["actor.net", "actor.trunk"]);
}

#[test]
fn batch_renormalisation_lets_the_encoder_learn() {
    let config = AcConfig { batch_renorm: true, actor_batch_renorm: true, shift: 1, ..presets::sac() };
    for space in [image(), both()] {
        let [critics, _, actor] = steps(&mut learner(config.clone(), space.clone()), &batch(&space, 1, 6));
        assert_eq!(critics, ["critic.heads", "critic.trunk", "encoder.vision"]);
        assert_eq!(actor, ["actor.net", "actor.trunk"]);
    }
}

#[test]
fn each_memory_learns_from_its_own_loss() {
    for config in [presets::recurrent_sac(), presets::recurrent_td3()] {
        for burn_in in [0, 2] {
            let config = AcConfig { burn_in, ..config.clone() };
            let [critics, _, actor] = steps(&mut learner(config.clone(), vector()), &batch(&vector(), 5, 4));
            assert_eq!(critics, ["critic.heads", "critic.layers", "critic.recurrent"]);
            assert_eq!(actor, ["actor.layers", "actor.net", "actor.recurrent"]);
            let [critics, _, actor] = steps(&mut learner(config, image()), &batch(&image(), 5, 4));
            assert_eq!(
                critics,
                ["critic.heads", "critic.layers", "critic.recurrent", "critic.trunk", "encoder.vision"]
            );
            assert_eq!(actor, ["actor.layers", "actor.net", "actor.recurrent", "actor.trunk"]);
        }
    }
}

fn update(learner: &mut AcLearner, batch: &Batch, number: u64) -> Vec<f32> {
    with_context(number, |context| {
        learner.update(batch, context).unwrap();
        std::mem::take(&mut context.errors)
    })
}

#[test]
fn actor_temperature_and_copies_move_when_they_are_due() {
    let mut sac = learner(AcConfig { policy_delay: 2, ..presets::sac() }, vector());
    let batch_of = batch(&vector(), 1, 6);
    assert_eq!(changed(&mut sac, |sac| drop(update(sac, &batch_of, 1))), ["critic"]);
    let all = changed(&mut sac, |sac| drop(update(sac, &batch_of, 2)));
    assert_eq!(all, ["actor", "critic", "critic_target", "log_ent_coef"]);

    let mut td3 = learner(presets::td3(), vector());
    assert_eq!(changed(&mut td3, |td3| drop(update(td3, &batch_of, 1))), ["critic"]);
    let all = changed(&mut td3, |td3| drop(update(td3, &batch_of, 2)));
    assert_eq!(all, ["actor", "actor_target", "critic", "critic_target"]);

    let mut drq = learner(presets::drq(), image());
    let all = changed(&mut drq, |drq| drop(update(drq, &batch(&image(), 1, 6), 2)));
    let wanted = [
        "actor.net",
        "actor.trunk",
        "critic.heads",
        "critic.trunk",
        "critic_target.heads",
        "critic_target.trunk",
        "encoder.vision",
        "encoder_target.vision",
        "log_ent_coef",
    ];
    assert_eq!(all, wanted);
    // Without a slow copy of the encoder there is none to move.
    let mut drqv2 = learner(presets::drqv2(), image());
    let all = changed(&mut drqv2, |drqv2| drop(update(drqv2, &batch(&image(), 1, 6), 1)));
    let moving = wanted.into_iter().filter(|name| !name.contains("encoder_") && !name.contains("ent_coef"));
    assert_eq!(all, moving.collect::<Vec<_>>());
}

#[test]
fn every_step_size_drives_what_it_is_named_for() {
    let still = || Some(axiomrl_core::Schedule::Constant(0.0));
    let moved =
        |config: AcConfig| changed(&mut learner(config, vector()), |sac| drop(update(sac, &batch(&vector(), 1, 6), 1)));
    let without = |name: &str| {
        let all = ["actor", "critic", "critic_target", "log_ent_coef"];
        all.into_iter().filter(|other| !other.starts_with(name)).collect::<Vec<_>>()
    };
    assert_eq!(moved(AcConfig { actor_learning_rate: still(), ..presets::sac() }), without("actor"));
    assert_eq!(moved(AcConfig { critic_learning_rate: still(), ..presets::sac() }), without("critic"));
    assert_eq!(moved(AcConfig { ent_coef_learning_rate: still(), ..presets::sac() }), without("log"));
}

#[test]
fn where_an_episode_terminated_there_is_only_the_reward() {
    for (config, space) in [(presets::sac(), vector()), (presets::drqv2(), image()), (presets::drq(), image())] {
        let mut learner = learner(config, space.clone());
        let mut ended = batch(&space, 1, 6);
        ended.discount.fill(0.0);
        with_context(1, |context| {
            let window = Window::new(&ended, false, 0);
            let (ahead, _) = learner.next_actions(&window, context).unwrap();
            learner.critic.compute_targets(&ahead, &window, 0, &ended.reward, context.rng);
        });
        assert_eq!(learner.critic.targets(), ended.reward);
    }
}

#[test]
fn scheduled_noise_is_in_targets_and_bounded_there() {
    let config = AcConfig { target_noise_clip: 0.05, ..presets::drqv2() };
    let mut learner = learner(config, vector());
    let batch = batch(&vector(), 1, 6);
    let window = Window::new(&batch, false, 0);
    let (ahead, _) = with_context(1, |context| learner.next_actions(&window, context).unwrap());
    let (seen, _) = window.ahead();
    let mut mean = vec![0.0; 12];
    let (mut memory, mut rng) = (Memory::new(6, 0), stream(1, "act"));
    learner.act(ActInput::of(seen), ActContext::new(&mut memory, Mode::Sample, &mut rng), &mut mean).unwrap();
    let apart: Vec<f32> = ahead[0].action.iter().zip(&mean).map(|(a, b)| (a - b).abs()).collect();
    assert!(apart.iter().all(|d| *d <= 0.05 + 1e-6) && apart.iter().any(|d| *d > 0.04), "{apart:?}");
}

#[test]
fn entries_that_do_not_count_teach_nothing_and_make_no_error() {
    let config = AcConfig { burn_in: 1, ..presets::recurrent_sac() };
    let mut one = learner(config.clone(), vector());
    let mut other = learner(config, vector());
    let mut batch = batch(&vector(), 5, 4);
    // Row 1 ends at time 3: its last entries are padding.
    for t in 3..5 {
        batch.valid[t * 4 + 1] = false;
        (batch.reward[t * 4 + 1], batch.discount[t * 4 + 1], batch.next[t * 4 + 1]) = (0.0, 0.0, 0);
    }
    let errors = update(&mut one, &batch, 1);
    for t in 3..5 {
        (batch.reward[t * 4 + 1], batch.action[(t * 4 + 1) * 2]) = (100.0, 0.9);
    }
    // What is burned in is not learned from either.
    batch.reward[2] = -100.0;
    assert_eq!(update(&mut other, &batch, 1), errors);
    assert_eq!(tensors(&mut one), tensors(&mut other));
    assert_eq!(errors.len(), 4);
}

#[test]
fn a_sequence_goes_on_from_the_stored_memory_as_acting_did() {
    let config = AcConfig { stored_state: true, ..presets::recurrent_td3() };
    let mut learner = learner(config, vector());
    let width = learner.memory_width();
    assert_eq!(width, learner.actor.state_width() + learner.critic.trunk.state_width());
    let mut batch = batch(&vector(), 3, 2);
    // Acting over the first two observations moves the memory; what follows from there is what a sequence computes.
    let (mut memory, mut rng) = (Memory::new(2, width), stream(1, "act"));
    let mut actions = vec![0.0; 4];
    for t in 0..2 {
        let obs = batch.obs.range(t * 2..(t + 1) * 2);
        learner.act(ActInput::of(obs), ActContext::new(&mut memory, Mode::Best, &mut rng), &mut actions).unwrap();
        memory.starts.fill(false);
    }
    let burned = learner.burn_in(&Window::new(&batch, true, 2));
    batch.state.clone_from(&memory.state);
    let stored = learner.burn_in(&Window::new(&batch, true, 0));
    let pairs = burned.actor.iter().zip(&stored.actor).chain(burned.critic.iter().zip(&stored.critic));
    assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-6), "{:?}", pairs.collect::<Vec<_>>());
    assert!(stored.actor.iter().any(|x| *x != 0.0) && stored.critic.iter().any(|x| *x != 0.0));
}

#[test]
fn with_a_slow_actor_targets_do_not_follow_the_actor_at_once() {
    let config = AcConfig { target_action: TargetAction::TargetActor, ..presets::td3() };
    let mut td3 = learner(config, image());
    let batch = batch(&image(), 1, 6);
    let window = Window::new(&batch, false, 0);
    let before = with_context(1, |context| td3.next_actions(&window, context).unwrap().0[0].action.clone());
    with_context(1, |context| {
        let mut states = td3.burn_in(&window);
        let seen = td3.encoder.infer(window.now().0).into_owned();
        td3.update_actor(&seen, &window, &mut states, context).unwrap();
    });
    assert_eq!(with_context(1, |context| td3.next_actions(&window, context).unwrap().0[0].action.clone()), before);
}
