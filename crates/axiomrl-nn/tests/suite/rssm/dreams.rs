//! Imagination and dreams.

use super::oracle::{Draw, Oracle, differences, wide};
use super::{Data, model, small_specs};
use crate::reference::{difference, normal};
use axiomrl_nn::{Rssm, with_threads};

const STEPS: usize = 4;
const ROWS: usize = 3;

/// States of a dream under `data`'s actions, step after step, and the gradients of the actions for a loss that is linear in them.
fn dream(model: &Rssm, data: &Data, by_features: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let (rows, features) = (data.rows, data.rows * model.spec.features());
    let mut dream = model.dream(&data.start, rows);
    let mut states = Vec::new();
    for step in 0..data.steps {
        let window = data.part(step, step + 1, &[]);
        dream.step(window.actions, window.noise);
        states.extend_from_slice(dream.features());
    }
    let mut by_actions = vec![0.0; data.actions.len()];
    let each = rows * model.spec.actions;
    for step in (0..data.steps).rev() {
        let da = dream.back(&by_features[step * features..(step + 1) * features]);
        by_actions[step * each..(step + 1) * each].copy_from_slice(&da);
    }
    assert_eq!(dream.steps(), 0);
    (states, by_actions)
}

#[test]
fn gradients_of_actions_match_the_oracle() {
    for spec in small_specs().iter().filter(|spec| spec.actions > 0) {
        let (model, data) = (model(spec, 3), Data::new(spec, STEPS, ROWS, 5));
        let by_features = normal(STEPS * ROWS * spec.features(), 8);
        let (states, by_actions) = dream(&model, &data, &by_features);

        let (oracle, params, actions) = (Oracle::new(&model), wide(model.params.as_slice()), wide(&data.actions));
        let (features, deter) = (spec.features(), spec.deter);
        // `None` records the probabilities, `Some` holds them at the base point.
        let loss = |actions: &[f64], base: Option<&Vec<Vec<f64>>>| {
            let (mut loss, mut recorded) = (0.0, Vec::new());
            for row in 0..ROWS {
                let start = wide(&data.start[row * features..(row + 1) * features]);
                let mut state = (start[..deter].to_vec(), start[deter..].to_vec());
                for step in 0..STEPS {
                    let at = step * ROWS + row;
                    // The reference divides by max(1, |a|) as by a constant.
                    let a = &actions[at * spec.actions..(at + 1) * spec.actions];
                    let h = oracle.cell(&params, &state, a);
                    let prior = oracle.head(&params, "prior", &h, spec.prior_layers);
                    recorded.push(oracle.probabilities(&prior));
                    let draw = Draw {
                        noise: &data.noise[at * spec.latent.noise()..(at + 1) * spec.latent.noise()],
                        one_hot: &states[at * features + deter..(at + 1) * features],
                        base: base.map(|base| &base[recorded.len() - 1][..]),
                    };
                    let z = oracle.sample(&prior, &draw);
                    let both = h.iter().chain(&z).zip(&by_features[at * features..]);
                    loss += both.map(|(v, w)| v * f64::from(*w)).sum::<f64>();
                    state = (h, z);
                }
            }
            (loss, recorded)
        };
        let (value, base) = loss(&actions, None);
        let got: f64 = states.iter().zip(&by_features).map(|(v, w)| f64::from(*v) * f64::from(*w)).sum();
        assert!((got - value).abs() < 1e-4 * value.abs().max(1.0), "{spec:?}: {got} {value}");
        let mut want = differences(&actions, |actions| loss(actions, Some(&base)).0);
        let mut got = by_actions.clone();
        if let axiomrl_nn::RssmCore::BlockGru { .. } = spec.core {
            // Beyond one the oracle's action does not move at all; ours pretends that its divisor stood still.
            for ((want, got), a) in want.iter_mut().zip(&mut got).zip(&data.actions) {
                if a.abs() > 1.0 {
                    assert!(want.abs() < 1e-6 && *got != 0.0);
                    (*want, *got) = (0.0, 0.0);
                }
            }
        }
        let d = difference(&got, &want);
        assert!(d < 1e-4, "{spec:?}: {d:e}");
    }
}

#[test]
fn a_dream_is_what_is_imagined_and_the_first_step_is_the_cell_of_a_window() {
    for spec in &small_specs() {
        let (model, mut data) = (model(spec, 3), Data::new(spec, STEPS, ROWS, 5));
        data.is_first.fill(false);
        let (states, _) = dream(&model, &data, &normal(STEPS * ROWS * spec.features(), 8));
        let mut imagined = model.imagine(&data.start, ROWS);
        for (step, states) in states.chunks_exact(ROWS * spec.features()).enumerate() {
            let window = data.part(step, step + 1, &[]);
            imagined.step(window.actions, window.noise);
            assert_eq!(imagined.features(), states, "{spec:?}, step {step}");
            if step == 0 {
                let pass = model.pass(&data.tokens, data.window());
                let stats = ROWS * spec.latent.stats();
                assert_eq!(imagined.prior(), &pass.prior()[..stats]);
                for (mine, theirs) in states.chunks(spec.features()).zip(pass.features().chunks(spec.features())) {
                    assert_eq!(mine[..spec.deter], theirs[..spec.deter]);
                }
            }
        }
    }
}

#[test]
fn many_rows_are_the_same_rows_on_one_thread_and_two() {
    for mut spec in small_specs() {
        (spec.deter, spec.hidden, spec.prior_layers) = (36, 40, 1);
        let (model, data) = (model(&spec, 3), Data::new(&spec, 3, 300, 5));
        assert!(spec.flops(300) > 4_000_000, "too small to be cut in two");
        let by_features = normal(900 * spec.features(), 8);
        let run = |threads: usize| with_threads(threads, || dream(&model, &data, &by_features));
        let (one, two) = (run(1), run(2));
        assert_eq!(one, two);
        let imagine = |threads: usize| {
            with_threads(threads, || {
                let mut imagined = model.imagine(&data.start, 300);
                for step in 0..3 {
                    let window = data.part(step, step + 1, &[]);
                    imagined.step(window.actions, window.noise);
                }
                imagined.features().to_vec()
            })
        };
        assert_eq!(imagine(1), one.0[2 * 300 * spec.features()..]);
        assert_eq!(imagine(1), imagine(2));
    }
}
