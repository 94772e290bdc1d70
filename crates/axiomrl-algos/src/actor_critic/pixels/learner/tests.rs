use super::super::presets;
use super::*;
use axiomrl_core::{Batch, Metrics, stream};
use axiomrl_envs::{BoxSpace, DType, Space};
use rand::RngExt;

const SIDE: usize = 16;

fn setup() -> Setup {
    Setup {
        observation_space: Space::Box(BoxSpace::image(SIDE, SIDE, 2)),
        action_space: Space::Box(BoxSpace::uniform(2, -1.0, 1.0)),
        num_envs: 1,
        seed: 3,
        masked: false,
        frame_stack: 1,
        goal_task: None,
    }
}

fn small(config: PixelConfig) -> PixelConfig {
    PixelConfig { feature_dim: 8, hidden_sizes: vec![16], ..config }
}

fn batch(rows: usize) -> Batch {
    let mut rng = stream(5, "batch");
    let mut batch = Batch::default();
    batch.resize(rows, DType::U8, SIDE * SIDE * 2, 2, 0);
    for obs in [&mut batch.obs, &mut batch.next_obs] {
        let ObsBuf::U8(bytes) = obs else { panic!("images are bytes") };
        bytes.iter_mut().for_each(|byte| *byte = rng.random());
    }
    batch.action.iter_mut().for_each(|a| *a = rng.random_range(-1.0..1.0));
    batch.reward.iter_mut().for_each(|r| *r = rng.random_range(-1.0..1.0));
    batch.discount.fill(0.9);
    batch
}

/// Every tensor of the model, by name.
fn tensors(learner: &mut PixelLearner) -> std::collections::BTreeMap<String, Vec<f32>> {
    let mut snapshot = axiomrl_core::Snapshot::default();
    learner.exchange(&mut StateIo::Save(&mut snapshot)).unwrap();
    snapshot.model.into_iter().map(|(name, tensor)| (name, tensor.values)).collect()
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

fn with_update<R>(work: impl FnOnce(Update<'_>) -> R) -> R {
    let (mut rng, mut metrics, mut errors) = (stream(9, "learn"), Metrics::default(), Vec::new());
    work(Update {
        batch: &batch(6),
        progress: Progress { steps: 10, total: 100 },
        number: 2,
        closes_burst: true,
        rng: &mut rng,
        metrics: &mut metrics,
        errors: &mut errors,
    })
}

#[test]
fn critics_train_the_encoder_and_the_actor_does_not() {
    for config in [presets::drqv2(), presets::drq(), presets::curl()] {
        let mut learner = PixelLearner::new(small(config), &setup()).unwrap();
        let mut seen = Vec::new();
        let by_critics = changed(&mut learner, |learner| {
            with_update(|mut update| {
                learner.make_targets(&mut update);
                seen = learner.update_critics(1e-3, &mut update).unwrap();
            });
        });
        assert_eq!(by_critics, ["critic.heads", "critic.trunk", "encoder.vision"]);
        let by_actor = changed(&mut learner, |learner| {
            with_update(|mut update| learner.update_actor(&seen, 1e-3, &mut update).unwrap());
        });
        assert!(by_actor.iter().all(|name| name.starts_with("actor") || name.contains("ent")), "{by_actor:?}");
    }
}

#[test]
fn the_contrastive_task_trains_encoder_trunk_and_matrix() {
    let mut learner = PixelLearner::new(small(presets::curl()), &setup()).unwrap();
    let names = changed(&mut learner, |learner| {
        with_update(|mut update| learner.update_contrast(1e-3, &mut update).unwrap());
    });
    assert_eq!(names, ["contrast.matrix", "critic.trunk", "encoder.vision"]);
}

#[test]
fn targets_by_hand_without_a_future() {
    let mut learner = PixelLearner::new(small(presets::drqv2()), &setup()).unwrap();
    let mut ended = batch(6);
    ended.discount.fill(0.0);
    let (mut rng, mut metrics, mut errors) = (stream(9, "learn"), Metrics::default(), Vec::new());
    let mut update = Update {
        batch: &ended,
        progress: Progress { steps: 10, total: 100 },
        number: 1,
        closes_burst: true,
        rng: &mut rng,
        metrics: &mut metrics,
        errors: &mut errors,
    };
    learner.make_targets(&mut update);
    assert_eq!(learner.scratch.targets, ended.reward, "where an episode terminated there is only the reward");
}

#[test]
fn target_noise_stays_within_its_bound() {
    let mut rng = stream(1, "noise");
    let mut actions = vec![0.5; 1000];
    add_clipped(&mut actions, 10.0, 0.3, &mut rng);
    assert!(actions.iter().all(|a| (0.2 - 1e-6..=0.8 + 1e-6).contains(a)));
}
