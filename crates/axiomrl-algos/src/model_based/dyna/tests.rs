//! What fits, rollouts and updates change, and what they leave alone.

use super::*;
use crate::model_based::dynamics::{FitSettings, Patience};
use crate::model_based::testing::random;
use crate::testing::{batch, changed, update, with_context};
use axiomrl_core::{Ring, stream};
use axiomrl_envs::{BoxSpace, RowRules, Space, Spaces};

fn setup() -> Setup {
    let spaces = Spaces::new(Space::Box(BoxSpace::uniform(3, -8.0, 8.0)), Space::Box(BoxSpace::uniform(1, -2.0, 2.0)));
    Setup { seed: 3, ..Setup::new(spaces) }
}

fn settings() -> DynaSettings {
    let fit = FitSettings {
        batch_size: 16,
        holdout: Some((0.2, 1000)),
        patience: Patience::Steps { interval: 5, patience: 10 },
        from_warm: true,
        most: [Some(10), Some(10)],
        epochs: 0,
        fewest: 0,
        permute: false,
    };
    DynaSettings {
        policy: AcConfig { hidden_sizes: vec![8], ..crate::actor_critic::presets::sac() },
        dynamics: DynamicsSettings {
            members: 3,
            elites: 2,
            hidden: vec![8],
            with_reward: true,
            standardize_targets: true,
            learned_bounds: true,
            weight_decay: vec![1e-5; 4],
            max_grad_norm: Some(10.0),
            fit,
        },
        model_rate: 1e-3,
        termination: Termination::Never,
        when: When::Steps { after: 5, fit: 20, refresh: 10 },
        length: RolloutLength::constant(2),
        retention: Retention { starts: 40, epoch_length: 20, interval: 10, epochs: 1 },
        project: false,
        clip_to_data: false,
        imagined_share: 0.95,
        penalty: 0.0,
    }
}

fn prepare(learner: &mut DynaLearner, store: &Ring) {
    with_context(|context| learner.prepare(Preparation { store, stats: None }, context).unwrap());
}

/// All that is due at the tenth step.
fn prepare_all(learner: &mut DynaLearner, store: &Ring) {
    let now = with_context(|context| context.clock);
    while learner.prepares(now) {
        prepare(learner, store);
    }
}

#[test]
fn fits_change_the_model_and_updates_the_policy() {
    let mut learner = DynaLearner::new(settings(), &setup()).unwrap();
    let store = random(60);
    assert!(learner.prepares(with_context(|context| context.clock)));
    prepare(&mut learner, &store);
    assert_eq!(learner.work.stage, Stage::Fitting);
    assert_eq!(changed(&mut learner, |learner| prepare(learner, &store)), ["model", "model_bounds", "model_fit"]);
    while learner.work.stage == Stage::Fitting {
        prepare(&mut learner, &store);
    }
    assert_eq!(learner.work.stage, Stage::Imagining(0));
    assert_eq!(changed(&mut learner, |learner| prepare_all(learner, &store)), [""; 0], "imagining learns nothing");
    assert_eq!(learner.imagined.len(), 80, "two steps of forty rollouts");
    let rows = batch(&setup(), 8);
    let moved = changed(&mut learner, |learner| update(learner, &rows));
    assert!(moved.contains(&"actor".to_owned()) && moved.iter().any(|name| name.starts_with("critic")), "{moved:?}");
    assert!(moved.iter().all(|name| !name.starts_with("model")), "{moved:?}");
}

#[test]
fn batches_have_a_few_real_rows_and_the_rest_is_imagined() {
    assert_eq!(
        [(256, 0.95), (128, 0.95), (100, 0.71), (64, 1.0), (64, 0.0)].map(|(n, s)| real_rows(n, s)),
        [12, 6, 29, 0, 64]
    );
    let mut learner = DynaLearner::new(settings(), &setup()).unwrap();
    let mut real =
        axiomrl_core::View::new(axiomrl_core::Owned(random(60)), axiomrl_core::Window::steps(1, 0.99), None, None)
            .unwrap();
    let mut drawn = |learner: &mut DynaLearner| {
        let (mut batch, mut rng) = (Batch::default(), stream(1, "draw"));
        let mut options = SampleOptions { rng: &mut rng, beta: 1.0, reward: Default::default() };
        learner.fill(&mut real, 128, &mut options, &mut batch).unwrap();
        batch.index.iter().filter(|&&name| name != axiomrl_core::NO_INDEX).count()
    };
    assert_eq!(drawn(&mut learner), 128, "before there is a model");
    prepare_all(&mut learner, &random(60));
    assert_eq!(drawn(&mut learner), 6);
}

#[test]
fn rollouts_begin_at_real_observations_and_a_row_that_ends_is_stored_once() {
    // Half of the world is an end: what arrives there goes no further.
    let rules = RowRules::shared(|_: &[f32], _: &[f32], next: &[f32]| (0.0, next[1] > 0.0), |_| {});
    let setup = Setup { rules, ..setup() };
    let mut learner = DynaLearner::new(DynaSettings { termination: Termination::Auto, ..settings() }, &setup).unwrap();
    let real = random(60);
    prepare_all(&mut learner, &real);
    let mut batch = Batch::default();
    real.transitions(&(0..60).collect::<Vec<_>>(), &mut batch).unwrap();
    let seen: Vec<&[f32]> = (0..60).map(|row| batch.obs().row(row).floats).collect();
    let rows: Vec<_> = learner.imagined.numbers().filter_map(|number| learner.imagined.get(number)).collect();
    let ended: Vec<_> = rows.iter().filter(|row| row.terminated).collect();
    assert!(!ended.is_empty() && ended.iter().all(|row| row.next_obs[1] > 0.0));
    for row in &rows {
        assert!(row.terminated || row.next_obs[1] <= 0.0);
        let is_start = seen.contains(&row.obs);
        let follows = rows.iter().any(|other| other.next_obs == row.obs && !other.terminated);
        assert!(is_start || follows, "a row begins where something was, and nowhere after an end");
    }
    assert_eq!(rows.iter().filter(|row| seen.contains(&row.obs)).count(), 40);
    assert_eq!(rows.len(), 40 + rows[..40].iter().filter(|row| !row.terminated).count());
}

#[test]
fn fits_and_refreshes_come_when_they_are_due() {
    let steps = When::Steps { after: 1000, fit: 250, refresh: 125 };
    let at = |env_steps: u64| Clock { env_steps, ..Clock::default() };
    assert_eq!(steps.time(at(999)), None);
    let due = |env_steps| steps.due(steps.time(at(env_steps)).unwrap());
    assert_eq!([1000, 1124, 1125, 1249, 1250].map(due), [(1, 1), (1, 1), (1, 2), (1, 2), (2, 3)]);
    let updates = When::Updates { refresh: 1000 };
    assert_eq!([0, 999, 1000].map(|updates_made| updates.due(updates_made)), [(1, 1), (1, 1), (1, 2)]);
}

/// The same rows at a price: rewards are lower by the price times what the model is unsure of, and nothing else differs.
#[test]
fn doubt_is_paid_for() {
    let rows = |penalty: f32| {
        let one = RolloutLength::constant(1);
        let mut learner = DynaLearner::new(DynaSettings { penalty, length: one, ..settings() }, &setup()).unwrap();
        prepare_all(&mut learner, &random(60));
        let all: Vec<(f32, Vec<f32>)> = learner
            .imagined
            .numbers()
            .filter_map(|number| learner.imagined.get(number).map(|row| (row.reward, row.next_obs.to_vec())))
            .collect();
        all
    };
    let (dear, dearer) = (rows(1.0), rows(3.0));
    let free = rows(1e-9);
    for ((dear, dearer), free) in dear.iter().zip(&dearer).zip(&free) {
        assert_eq!((&dear.1, &dearer.1), (&free.1, &free.1));
        let price = free.0 - dear.0;
        assert!(price > 0.0 && (free.0 - dearer.0 - 3.0 * price).abs() < 1e-2 * price.max(1.0), "{price}");
    }
}

#[test]
fn images_are_refused_with_an_alternative() {
    let spaces = Spaces::new(Space::Box(BoxSpace::image(4, 4, 1)), Space::Box(BoxSpace::uniform(1, -1.0, 1.0)));
    let refused = DynaLearner::new(settings(), &Setup::new(spaces)).err().unwrap().to_string();
    assert!(refused.contains("vectors of numbers") && refused.contains("`sac`"), "{refused}");
}
