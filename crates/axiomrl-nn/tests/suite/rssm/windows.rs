//! Windows against themselves: cut, step by step, reset, on one thread and two, in files.

use super::{CHOICES, Data, GAUSSIAN, model, small_specs};
use crate::reference::normal;
use axiomrl_nn::{NamedTensors, NnError, Rssm, RssmSpec, with_threads};
use std::collections::BTreeMap;

/// Large enough to be cut in two by rows.
fn larger() -> [RssmSpec; 3] {
    [
        RssmSpec::v1(GAUSSIAN, 40, 33, 20, 3),
        RssmSpec::v2(CHOICES, 40, 33, 20, 3),
        RssmSpec::v3(CHOICES, 40, 4, 33, 20, 3),
    ]
}

#[test]
fn a_window_is_the_same_in_two_parts_and_step_by_step() {
    let cases = small_specs().into_iter().map(|spec| (spec, 5, 3)).chain(larger().map(|spec| (spec, 12, 20)));
    for (spec, steps, rows) in cases {
        let (model, data) = (model(&spec, 3), Data::new(&spec, steps, rows, 5));
        let whole = model.pass(&data.tokens, data.window());
        let (each, half) = (rows * spec.features(), steps / 2);

        let (first, second) = data.tokens.split_at(half * rows * spec.tokens);
        let before = model.pass(first, data.part(0, half, &data.start));
        let carried = &before.features()[(half - 1) * each..];
        let after = model.pass(second, data.part(half, steps, carried));
        assert_eq!([before.features(), after.features()].concat(), whole.features(), "{spec:?}");
        assert_eq!([before.prior(), after.prior()].concat(), whole.prior(), "{spec:?}");
        assert_eq!([before.posterior(), after.posterior()].concat(), whole.posterior(), "{spec:?}");

        let mut state = data.start.clone();
        for step in 0..steps {
            let window = data.part(step, step + 1, &[]);
            let tokens = &data.tokens[step * rows * spec.tokens..(step + 1) * rows * spec.tokens];
            model.step(rows, tokens, window.actions, window.is_first, window.noise, &mut state);
            assert_eq!(state, whole.features()[step * each..(step + 1) * each], "{spec:?}, step {step}");
        }
    }
}

#[test]
fn nothing_passes_the_beginning_of_an_episode() {
    for spec in &small_specs() {
        let (model, mut data) = (model(spec, 3), Data::new(spec, 5, 2, 5));
        let reset = 3;
        data.is_first.fill(false);
        data.is_first[reset * 2..reset * 2 + 2].fill(true);
        let whole = model.pass(&data.tokens, data.window());
        let later = |width: usize| reset * 2 * width;

        // Gradients of a loss on what comes behind the reset.
        let mut by_features = normal(10 * spec.features(), 8);
        by_features[..later(spec.features())].fill(0.0);
        let mut by_stats = normal(10 * spec.latent.stats(), 9);
        by_stats[..later(spec.latent.stats())].fill(0.0);
        let (_, by_tokens) = whole.gradients(&by_features, &by_stats, &by_stats);
        assert!(by_tokens[..later(spec.tokens)].iter().all(|g| *g == 0.0), "{spec:?}");
        assert!(by_tokens[later(spec.tokens)..].iter().any(|g| *g != 0.0));

        // Everything before it changed, the action that is said to have led to it too.
        let mut other = Data::new(spec, 5, 2, 77);
        for (mine, theirs) in [(&mut other.tokens, &data.tokens), (&mut other.noise, &data.noise)] {
            let each = mine.len() / 10;
            mine[later(each)..].copy_from_slice(&theirs[later(each)..]);
        }
        let actions = (reset + 1) * 2 * spec.actions;
        other.actions[actions..].copy_from_slice(&data.actions[actions..]);
        other.is_first.copy_from_slice(&data.is_first);
        let changed = model.pass(&other.tokens, other.window());
        assert_eq!(changed.features()[later(spec.features())..], whole.features()[later(spec.features())..]);
        assert_eq!(changed.prior()[later(spec.latent.stats())..], whole.prior()[later(spec.latent.stats())..]);
        assert_ne!(changed.features()[..spec.features()], whole.features()[..spec.features()]);
    }
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    for spec in larger() {
        let (model, data) = (model(&spec, 3), Data::new(&spec, 12, 20, 5));
        let run = |threads: usize| {
            with_threads(threads, || {
                let pass = model.pass(&data.tokens, data.window());
                let by_features = normal(240 * spec.features(), 8);
                let by_stats = normal(240 * spec.latent.stats(), 9);
                let (params, tokens) = pass.gradients(&by_features, &by_stats, &by_stats);
                [pass.features(), pass.prior(), &params, &tokens].concat()
            })
        };
        assert!(spec.flops(240) > 4_000_000, "too small to be cut in two");
        assert_eq!(run(1), run(2), "{spec:?}");
    }
}

#[test]
fn tensors_go_into_files_and_back_by_name() {
    for spec in &small_specs() {
        let model = model(spec, 3);
        let mut next = 0;
        for tensor in spec.layout() {
            assert_eq!(tensor.offset, next, "{}", tensor.name);
            next += tensor.len();
        }
        assert_eq!(next, spec.param_count());
        let mut files = BTreeMap::new();
        model.export("world", &mut |name, shape, data| {
            files.insert(name, (shape, data));
        });
        let mut read = Rssm::new(spec.clone(), &mut crate::reference::rng(1));
        read.import("world", &mut |name| files.get(name).cloned()).expect("all there");
        assert_eq!(read.params.as_slice(), model.params.as_slice());
        files.remove("world.prior.0.weight");
        let missing = read.import("world", &mut |name| files.get(name).cloned());
        assert!(matches!(missing, Err(NnError::MissingTensor { .. })));
    }
}

#[test]
fn shapes_that_cannot_be_are_refused() {
    let spec = RssmSpec::v3(CHOICES, 10, 4, 5, 4, 2);
    let message = spec.check().expect_err("10 is no multiple of 4").to_string();
    assert!(message.contains("multiple of the blocks"), "{message}");
    assert!(RssmSpec::v3(CHOICES, 12, 0, 5, 4, 2).check().is_err());
    assert!(RssmSpec::v2(CHOICES, 0, 5, 4, 2).check().is_err());
    assert!(RssmSpec::v1(GAUSSIAN, 8, 5, 4, 0).check().is_ok());
}
