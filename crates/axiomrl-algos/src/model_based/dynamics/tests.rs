//! Ensembles on a pendulum, on numbers made by hand, and stopped anywhere.

use super::*;
use crate::model_based::testing::{random, swing};
use crate::state::Snapshot;
use axiomrl_core::{Metrics, Ring, stream};
use axiomrl_nn::losses::bounded_gaussian_nll;

fn settings() -> DynamicsSettings {
    DynamicsSettings {
        members: 3,
        elites: 2,
        hidden: vec![16, 16],
        with_reward: true,
        standardize_targets: true,
        learned_bounds: true,
        weight_decay: vec![2.5e-5, 5e-5, 7.5e-5, 1e-4],
        max_grad_norm: Some(10.0),
        fit: FitSettings {
            batch_size: 32,
            holdout: Some((0.2, 5000)),
            patience: Patience::Steps { interval: 10, patience: 40 },
            from_warm: true,
            most: [Some(60), Some(30)],
            epochs: 0,
            fewest: 0,
            permute: false,
        },
    }
}

fn model(settings: DynamicsSettings) -> Dynamics {
    Dynamics::new(settings, 3, 1, 5, &mut stream(5, "model"))
}

fn fit(model: &mut Dynamics, store: &Ring) -> FitReport {
    model.begin_fit(store, &mut Metrics::default()).unwrap();
    loop {
        if let Some(report) = model.fit_piece(store, 1e-3, 1).unwrap() {
            return report;
        }
    }
}

/// The whole objective: likelihood, decay of the weights of all members, and the distance of the bounds once.
fn objective(model: &Dynamics, x: &[f32], y: &[f32], rows: usize) -> f64 {
    let d = model.outputs();
    let (max, min) = model.bounds.as_slice().split_at(d);
    let mut out = Vec::new();
    model.net.infer(x, rows, &mut out);
    let (mut grad, mut by_max, mut by_min) = (vec![0.0; out.len()], vec![0.0; d], vec![0.0; d]);
    let share = 1.0 / (rows * d) as f32;
    let likelihood = bounded_gaussian_nll(&out, y, max, min, share, &mut grad, &mut by_max, &mut by_min);
    let decays = [2.5e-5, 5e-5, 1e-4];
    let layout = model.net.spec.layout();
    let weights = layout.iter().filter(|tensor| tensor.name.ends_with("weight"));
    let mut decay = 0.0;
    for (tensor, wd) in weights.zip(decays) {
        for member in model.net.params.as_slice().chunks_exact(model.net.params.per_member()) {
            let own = &member[tensor.offset..tensor.offset + tensor.shape.iter().product::<usize>()];
            decay += 0.5 * wd * own.iter().map(|w| f64::from(*w).powi(2)).sum::<f64>();
        }
    }
    let width: f64 = max.iter().zip(min).map(|(max, min)| f64::from(max - min)).sum();
    f64::from(likelihood) + decay + 0.01 * width
}

#[test]
fn gradients_of_the_whole_objective_by_differences() {
    let mut model = model(DynamicsSettings { max_grad_norm: None, ..settings() });
    // Large weights, so that the decay shows; bounds near enough to matter.
    model.net.params.make_mut().iter_mut().for_each(|w| *w *= 4.0);
    model.bounds.make_mut().copy_from_slice(&[0.5, 0.1, 0.3, 0.2, -2.0, -3.0, -1.0, -2.5]);
    let rows = 5;
    let wave = |n: usize, step: f32| -> Vec<f32> { (0..n).map(|i| (i as f32 * step).sin()).collect() };
    let (x, y) = (wave(3 * rows * 4, 0.7), wave(3 * rows * 4, 0.3));
    let (_, [by_weights, by_bounds]) = model.gradients(&x, &y, rows);
    let check = |model: &mut Dynamics, weights: bool, at: usize, by: f32| {
        let moved = |model: &mut Dynamics, step: f32| {
            let params = if weights { &mut model.net.params } else { &mut model.bounds };
            params.make_mut()[at] += step;
            let value = objective(model, &x, &y, rows);
            let params = if weights { &mut model.net.params } else { &mut model.bounds };
            params.make_mut()[at] -= step;
            value
        };
        let numeric = (moved(model, 5e-3) - moved(model, -5e-3)) / 1e-2;
        assert!((numeric - f64::from(by)).abs() < 3e-3 * (1.0 + numeric.abs()), "{weights} {at}: {numeric} {by}");
    };
    (0..by_weights.len()).step_by(7).for_each(|at| check(&mut model, true, at, by_weights[at]));
    (0..by_bounds.len()).for_each(|at| check(&mut model, false, at, by_bounds[at]));
}

/// A weight of 2 with a decay of 1e-4 adds 2e-4 to its own gradient; biases have none.
#[test]
fn decay_is_a_term_of_the_gradient() {
    let with = |decay: f32| {
        let settings = DynamicsSettings { hidden: vec![], weight_decay: vec![0.0, 0.0, 0.0, decay], ..settings() };
        let mut model = model(settings);
        model.net.params.make_mut().fill(2.0);
        let (x, y) = (vec![0.3; 3 * 4], vec![0.1; 3 * 4]);
        let (_, [by_weights, _]) = model.gradients(&x, &y, 1);
        by_weights.to_vec()
    };
    let (none, some) = (with(0.0), with(1e-4));
    let per_member = none.len() / 3;
    for (at, (none, some)) in none.iter().zip(&some).enumerate() {
        let wanted = if at % per_member < 32 { 2e-4 } else { 0.0 };
        assert!((some - none - wanted).abs() < 1e-6, "{at}: {none} {some}");
    }
}

#[test]
fn each_members_gradient_is_clipped_by_itself() {
    let mut model = model(DynamicsSettings { max_grad_norm: Some(1.0), ..settings() });
    let (x, mut y) = (vec![0.3; 3 * 4], vec![0.0; 3 * 4]);
    // Only the first member is told something absurd.
    y[..4].fill(1e4);
    let (_, [by_weights, _]) = model.gradients(&x, &y, 1);
    let norms: Vec<f32> =
        by_weights.chunks_exact(by_weights.len() / 3).map(|own| axiomrl_nn::global_norm(&[own])).collect();
    assert!((norms[0] - 1.0).abs() < 1e-3 && norms[1] < 1.0 && norms[2] < 1.0, "{norms:?}");
    model.settings.max_grad_norm = None;
    let (_, [free, _]) = model.gradients(&x, &y, 1);
    let third = free.len() / 3;
    assert_eq!(free[third..], by_weights[third..], "the others are not touched");
}

#[test]
fn predictions_in_groups_are_those_of_the_members() {
    let model = model(settings());
    let (obs, action): (Vec<f32>, Vec<f32>) = ((0..18).map(|i| (i as f32).sin()).collect(), vec![0.2; 6]);
    let (mut inputs, mut grouped, mut all) = (Vec::new(), Prediction::default(), Prediction::default());
    model.inputs(&obs, &action, &mut inputs);
    let chosen = [2, 0, 1, 2, 2, 0];
    model.predict(&inputs, &chosen, &mut grouped);
    model.predict_all(&inputs, 6, &mut all);
    for (row, member) in chosen.into_iter().enumerate() {
        let at = (member * 6 + row) * 4;
        assert_eq!(grouped.mean[row * 4..row * 4 + 4], all.mean[at..at + 4]);
        assert_eq!(grouped.std[row * 4..row * 4 + 4], all.std[at..at + 4]);
    }
    // The deviation at a raw output of 0 is that of the bounded log-variance −.474: its half is taken.
    assert!(all.std.iter().all(|std| (0.6..1.1).contains(std)), "{:?}", all.std);
}

#[test]
fn only_rows_that_are_learned_from_set_the_scale() {
    let scaler_of = |store: &Ring| {
        let mut model = model(settings());
        model.begin_fit(store, &mut Metrics::default()).unwrap();
        (model.scaler.clone(), model.split().0)
    };
    let steps = 100;
    let (scaler, held) = scaler_of(&random(steps));
    assert_eq!(held.len(), 20);
    let with_another = |row: u32| {
        let mut store = crate::model_based::testing::store(10_000);
        let same = random(steps);
        let mut batch = axiomrl_core::Batch::default();
        same.transitions(&(0..steps).collect::<Vec<_>>(), &mut batch).unwrap();
        for at in 0..steps {
            store.begin(0, batch.obs().row(at), &[]);
            let reward = if at as u32 == row { 1e3 } else { batch.reward[at] };
            let next = batch.next_obs().row(at);
            store.push(0, &batch.action[at..=at], reward, false, true, next, &[], next, &[]);
        }
        scaler_of(&store).0
    };
    assert_eq!(with_another(held[3]), scaler, "a row that is held out");
    let learned = (0..steps as u32).find(|row| !held.contains(row)).unwrap();
    assert_ne!(with_another(learned), scaler, "a row that is not");
}

#[test]
fn a_fit_brings_back_the_best_weights_and_leaves_bounds_and_moments() {
    let (mut model, store) = (model(settings()), random(200));
    model.begin_fit(&store, &mut Metrics::default()).unwrap();
    let (mut bounds, mut best);
    loop {
        bounds = model.bounds.as_slice().to_vec();
        best = model.fit.best.clone();
        // As if the last steps had gone astray: a look then finds no progress.
        if model.fit.progress.steps == 60 && model.fit.progress.look {
            model.net.params.make_mut().iter_mut().for_each(|w| *w += 3.0);
        }
        if model.fit_piece(&store, 1e-3, 1).unwrap().is_some() {
            break;
        }
    }
    assert_eq!(model.net.params.as_slice(), best);
    assert_eq!(model.bounds.as_slice(), bounds);
    assert_eq!(model.elites.len(), 2);
}

fn kept(model: &mut Dynamics) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let mut io = StateIo::save(&mut snapshot, None);
    model.visit_model(&mut io).unwrap();
    model.visit_learning(&mut io).unwrap();
    snapshot
}

#[test]
fn fits_that_stop_after_every_piece_end_with_the_same_bytes() {
    for patience in [Patience::Steps { interval: 10, patience: 40 }, Patience::Epochs(1)] {
        let settings = || {
            let fit = FitSettings { patience, ..settings().fit };
            DynamicsSettings { fit, ..settings() }
        };
        let (mut whole, mut pieces, store) = (model(settings()), model(settings()), random(150));
        let longer = random(190);
        for store in [&store, &longer] {
            fit(&mut whole, store);
            pieces.begin_fit(store, &mut Metrics::default()).unwrap();
            loop {
                let saved = kept(&mut pieces);
                pieces = model(settings());
                let mut io = StateIo::load(&saved, None);
                pieces.visit_model(&mut io).unwrap();
                pieces.visit_learning(&mut io).unwrap();
                if pieces.fit_piece(store, 1e-3, 1).unwrap().is_some() {
                    break;
                }
            }
        }
        assert_eq!(kept(&mut pieces), kept(&mut whole));
    }
}

#[test]
fn too_few_rows_to_hold_one_out_are_refused_with_the_remedy() {
    let told = model(settings()).begin_fit(&random(4), &mut Metrics::default()).unwrap_err().to_string();
    assert!(told.contains("raise `learning_starts` or `holdout_ratio`"), "{told}");
}

/// What the published sizes for this task are.
fn pendulum() -> DynamicsSettings {
    let fit = FitSettings {
        batch_size: 128,
        patience: Patience::Steps { interval: 100, patience: 400 },
        most: [Some(1500), Some(500)],
        ..settings().fit
    };
    DynamicsSettings { members: 5, elites: 3, hidden: vec![64; 3], fit, ..settings() }
}

/// The first visits of a bound of the world, the largest speed, must not wreck what was learned.
#[test]
fn a_fit_survives_the_first_rows_at_the_largest_speed() {
    let (mut model, mut store) = (model(pendulum()), random(1000));
    let first = fit(&mut model, &store).holdout.unwrap();
    swing(&mut store, [0.0, 7.0], 400, |_| 1.0);
    let second = fit(&mut model, &store).holdout.unwrap();
    assert!(first <= 0.05 && second <= 0.05, "{first} {second}");
}

#[test]
fn permuted_targets_cannot_be_learned() {
    let fit_settings = FitSettings { permute: true, most: [Some(300), Some(300)], ..pendulum().fit };
    let mut model = model(DynamicsSettings { fit: fit_settings, ..pendulum() });
    let holdout = fit(&mut model, &random(600)).holdout.unwrap();
    // The reward is left alone, and is a quarter of what is predicted.
    assert!(holdout > 0.5, "{holdout}");
}

#[test]
fn a_deviation_is_the_root_of_the_variance() {
    let mut model = model(settings());
    model.net.params.make_mut().fill(0.0);
    let mut said = Prediction::default();
    model.predict_all(&[0.0; 4], 1, &mut said);
    // The log-variance of a raw output of 0 between its bounds is -0.474004.
    assert!(said.std.iter().all(|std| (std - (-0.237_002f32).exp()).abs() < 1e-5), "{:?}", said.std);
    assert!(said.std.len() == 3 * 4 && said.mean.iter().all(|mean| *mean == 0.0));
}
