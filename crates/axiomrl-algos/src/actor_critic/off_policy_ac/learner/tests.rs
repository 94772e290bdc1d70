use super::super::presets;
use super::*;
use crate::policy::Actor as _;
use crate::state::Snapshot;
use axiomrl_core::{BatchShape, Metrics, stream};
use axiomrl_envs::{BoxSpace, ObsWidths, Space, Spaces};
use rand::RngExt;

const SIDE: usize = 16;

fn setup() -> Setup {
    let spaces = Spaces::new(Space::Box(BoxSpace::image(SIDE, SIDE, 2)), Space::Box(BoxSpace::uniform(2, -1.0, 1.0)));
    Setup { seed: 3, ..Setup::new(spaces) }
}

fn small(config: PixelConfig) -> PixelConfig {
    PixelConfig { feature_dim: 8, hidden_sizes: vec![16], ..config }
}

fn batch(rows: usize) -> Batch {
    let mut rng = stream(5, "batch");
    let mut batch = Batch::default();
    let widths = ObsWidths { floats: 0, bytes: SIDE * SIDE * 2 };
    batch.resize(&BatchShape { steps: 1, widths, action_width: 2, ..BatchShape::default() }, rows);
    batch.obs.bytes.iter_mut().for_each(|byte| *byte = rng.random());
    batch.action.iter_mut().for_each(|a| *a = rng.random_range(-1.0..1.0));
    batch.reward.iter_mut().for_each(|r| *r = rng.random_range(-1.0..1.0));
    batch.discount.fill(0.9);
    batch
}

/// Every tensor of the networks, by name.
fn tensors(learner: &mut PixelLearner) -> std::collections::BTreeMap<String, Vec<f32>> {
    let mut snapshot = Snapshot::default();
    let mut io = StateIo::save(&mut snapshot, None);
    io.policy(|io| learner.visit_policy(io)).unwrap();
    learner.visit_state(&mut io).unwrap();
    let all = snapshot.policy.tensors.into_iter().chain(snapshot.training.tensors);
    // Adam's moments end in `.m` and `.v`.
    let networks = all.filter(|(name, _)| !name.ends_with(".m") && !name.ends_with(".v"));
    networks.map(|(name, tensor)| (name, tensor.values)).collect()
}

/// Names of the networks that changed.
fn changed(learner: &mut PixelLearner, work: impl FnOnce(&mut PixelLearner)) -> Vec<String> {
    let before = tensors(learner);
    work(learner);
    let after = tensors(learner);
    let mut names: Vec<String> = before
        .iter()
        .filter(|(name, values)| after[*name] != **values)
        .map(|(name, _)| name.split('.').take(2).collect::<Vec<_>>().join("."))
        .collect();
    names.dedup();
    names
}

fn with_context<R>(work: impl FnOnce(&mut UpdateContext<'_>) -> R) -> R {
    let (mut rng, mut metrics) = (stream(9, "learn"), Metrics::default());
    let clock = Clock { env_steps: 10, updates: 1, at: 10, total: 100 };
    work(&mut UpdateContext { clock, closes_burst: true, rng: &mut rng, metrics: &mut metrics })
}

#[test]
fn critics_train_the_encoder_and_the_actor_does_not() {
    for config in [presets::drqv2(), presets::drq(), presets::curl()] {
        let mut learner = PixelLearner::new(small(config), &setup()).unwrap();
        let mut seen = Vec::new();
        let by_critics = changed(&mut learner, |learner| {
            with_context(|context| {
                learner.make_targets(&batch(6), context);
                seen = learner.update_critics(1e-3, &batch(6), context, &mut Vec::new()).unwrap();
            });
        });
        assert_eq!(by_critics, ["critic.heads", "critic.trunk", "encoder.vision"]);
        let by_actor = changed(&mut learner, |learner| {
            with_context(|context| learner.update_actor(&seen, 1e-3, 6, context).unwrap());
        });
        assert!(by_actor.iter().all(|name| name.starts_with("actor") || name.contains("ent")), "{by_actor:?}");
    }
}

#[test]
fn the_contrastive_task_trains_encoder_trunk_and_matrix() {
    let mut learner = PixelLearner::new(small(presets::curl()), &setup()).unwrap();
    let names = changed(&mut learner, |learner| {
        with_context(|context| learner.update_contrast(1e-3, &batch(6), context).unwrap());
    });
    assert_eq!(names, ["contrast.matrix", "critic.trunk", "encoder.vision"]);
}

#[test]
fn targets_by_hand_without_a_future() {
    let mut learner = PixelLearner::new(small(presets::drqv2()), &setup()).unwrap();
    let mut ended = batch(6);
    ended.discount.fill(0.0);
    with_context(|context| learner.make_targets(&ended, context));
    assert_eq!(learner.scratch.targets, ended.reward, "where an episode terminated there is only the reward");
}

#[test]
fn target_noise_stays_within_its_bound() {
    let mut rng = stream(1, "noise");
    let mut actions = vec![0.5; 1000];
    add_clipped(&mut actions, 10.0, 0.3, &mut rng);
    assert!(actions.iter().all(|a| (0.2 - 1e-6..=0.8 + 1e-6).contains(a)));
}
