//! Whole-sequence LSTM and GRU against Burn's own operations, finite differences and themselves.

use crate::reference::{assert_close, grad_of, normal, rng};
use axiomrl_nn::{
    CellKind, NamedTensors, NnError, Recurrent, RecurrentSpec, composed, fused_loss, gradients, leaf, values,
    with_threads,
};
use std::collections::BTreeMap;

const KINDS: [CellKind; 2] = [CellKind::Lstm, CellKind::Gru];

fn network(kind: CellKind, inputs: usize, hidden: usize, seed: u64) -> Recurrent {
    Recurrent::new(RecurrentSpec::new(kind, inputs, hidden), &mut rng(seed))
}

/// Every third row at some step, never the same rows.
fn some_resets(steps: usize, rows: usize) -> Vec<bool> {
    (0..steps * rows).map(|i| (i * 7 + i / rows) % 5 == 1).collect()
}

fn check(net: &Recurrent, steps: usize, rows: usize) {
    let RecurrentSpec { kind, inputs, hidden } = *net.spec;
    let what = format!("{kind:?} {inputs}->{hidden}, {steps} steps, {rows} rows");
    let (x, state) = (normal(steps * rows * inputs, 1), normal(rows * net.spec.state_width(), 2));
    let resets = some_resets(steps, rows);
    let weights = leaf(&normal(steps * rows * hidden, 3), [steps, rows, hidden]);
    let run = |fused: bool| {
        let params = net.params.tracked();
        let input = leaf(&x, [steps, rows, inputs]).require_grad();
        let start = leaf(&state, [rows, net.spec.state_width()]).require_grad();
        let y = if fused {
            net.forward(input.clone(), params.clone(), &resets, start.clone())
        } else {
            composed::recurrent(&net.spec, input.clone(), params.clone(), &resets, start.clone()).0
        };
        let grads = (y.clone() * weights.clone()).sum().backward();
        [values(&y).to_vec(), grad_of(&params, &grads), grad_of(&input, &grads), grad_of(&start, &grads)]
    };
    let (got, want) = (run(true), run(false));
    for (name, (got, want)) in ["outputs", "dp", "dx", "dstate"].iter().zip(got.iter().zip(&want)) {
        assert_close(&format!("{name} of {what}"), got, want);
    }
    let (mut inferred, mut last) = (Vec::new(), state.clone());
    net.infer(&x, steps, rows, &resets, &mut last, &mut inferred);
    assert_eq!(inferred, got[0], "infer of {what}");
    assert_eq!(last[..hidden], inferred[(steps - 1) * rows * hidden..][..hidden], "final state of {what}");
}

#[test]
fn sequences_match_the_unfused_composition() {
    for kind in KINDS {
        for (steps, rows) in [(1, 1), (1, 7), (5, 1), (6, 3), (9, 17)] {
            check(&network(kind, 5, 12, 4), steps, rows);
        }
        check(&network(kind, 1, 1, 5), 3, 2);
    }
}

#[test]
fn batches_that_are_split_between_threads() {
    for kind in KINDS {
        check(&network(kind, 33, 64, 6), 16, 33);
        // So wide that the inputs of all steps are multiplied together.
        check(&network(kind, 200, 96, 9), 8, 19);
        // Too few rows for whole tiles in both halves.
        check(&network(kind, 64, 64, 7), 40, 5);
    }
}

#[test]
fn gradients_match_finite_differences() {
    for kind in KINDS {
        let net = network(kind, 4, 9, 8);
        let (steps, rows) = (6, 5);
        let (x, state) = (normal(steps * rows * 4, 1), normal(rows * net.spec.state_width(), 2));
        let (resets, weights) = (some_resets(steps, rows), normal(steps * rows * 9, 3));
        let objective = |net: &Recurrent, state: &[f32]| -> f64 {
            let (mut out, mut state) = (Vec::new(), state.to_vec());
            net.infer(&x, steps, rows, &resets, &mut state, &mut out);
            out.iter().zip(&weights).map(|(y, w)| f64::from(*y) * f64::from(*w)).sum()
        };
        let (params, start) = (net.params.tracked(), leaf(&state, [rows, net.spec.state_width()]).require_grad());
        let y = net.forward(leaf(&x, [steps, rows, 4]), params.clone(), &resets, start.clone());
        let grads = (y * leaf(&weights, [steps, rows, 9])).sum().backward();
        let (dp, ds) = (grad_of(&params, &grads), grad_of(&start, &grads));
        let step = 1e-3f32;
        let agree = |change: f64, gradient: &[f32], direction: &[f32]| {
            let exact: f64 = gradient.iter().zip(direction).map(|(g, d)| f64::from(*g) * f64::from(*d)).sum();
            let size: f64 = gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
            let numeric = change / (2.0 * f64::from(step));
            assert!((numeric - exact).abs() < 5e-3 * size, "{kind:?}: {numeric} against {exact} (norm {size})");
        };
        for seed in 0..4 {
            let along = normal(dp.len(), 100 + seed);
            let moved = |sign: f32| {
                let mut net = net.clone();
                net.params.make_mut().iter_mut().zip(&along).for_each(|(p, d)| *p += sign * step * d);
                objective(&net, &state)
            };
            agree(moved(1.0) - moved(-1.0), &dp, &along);
            let along = normal(ds.len(), 200 + seed);
            let moved = |sign: f32| {
                let state: Vec<f32> = state.iter().zip(&along).map(|(s, d)| s + sign * step * d).collect();
                objective(&net, &state)
            };
            agree(moved(1.0) - moved(-1.0), &ds, &along);
        }
    }
}

#[test]
fn single_steps_continue_where_a_sequence_stopped() {
    for kind in KINDS {
        let net = network(kind, 3, 8, 9);
        let (steps, rows, width) = (7, 2, net.spec.state_width());
        let (x, resets) = (normal(steps * rows * 3, 1), some_resets(steps, rows));
        let (mut all, mut state) = (Vec::new(), vec![0.3; rows * width]);
        net.infer(&x, steps, rows, &resets, &mut state, &mut all);
        let (mut one, mut walked) = (Vec::new(), vec![0.3; rows * width]);
        for step in 0..steps {
            let (x, resets) = (&x[step * rows * 3..(step + 1) * rows * 3], &resets[step * rows..(step + 1) * rows]);
            net.infer(x, 1, rows, resets, &mut walked, &mut one);
            assert_close("a single step", &one, &all[step * rows * 8..(step + 1) * rows * 8]);
        }
        assert_close("the final state", &walked, &state);
    }
}

#[test]
fn a_reset_forgets_everything_before_it() {
    for kind in KINDS {
        let net = network(kind, 3, 8, 10);
        let (steps, width) = (4, net.spec.state_width());
        let resets = [false, false, true, false];
        let late = |early: u64| {
            let x = [normal(6, early), normal(6, 50)].concat();
            let (mut out, mut state) = (Vec::new(), normal(width, early + 1));
            net.infer(&x, steps, 1, &resets, &mut state, &mut out);
            out[2 * 8..].to_vec()
        };
        assert_eq!(late(1), late(2));
        // And the initial state gets no gradient from behind it.
        let start = leaf(&normal(width, 3), [1, width]).require_grad();
        let x = leaf(&normal(12, 4), [4, 1, 3]);
        let y = net.forward(x, net.params.frozen(), &resets, start.clone());
        let after = y.slice([2..4, 0..1, 0..8]).sum().backward();
        assert!(grad_of(&start, &after).iter().all(|g| *g == 0.0));
    }
}

/// Outputs, final state and gradients as bits.
fn bits(threads: usize, kind: CellKind) -> Vec<u32> {
    with_threads(threads, || {
        let net = network(kind, 33, 64, 11);
        let (steps, rows) = (16, 37);
        let params = net.params.tracked();
        let x = leaf(&normal(steps * rows * 33, 1), [steps, rows, 33]);
        let state = leaf(&vec![0.1; rows * net.spec.state_width()], [rows, net.spec.state_width()]);
        let (y, last) = net.forward_with_state(x, params.clone(), &some_resets(steps, rows), state);
        let out = values(&y).to_vec();
        let loss = fused_loss([y], |[y]| (y.iter().map(|y| 0.5 * y * y).sum(), [y.to_vec()]));
        let [grad] = gradients(loss, [&params]);
        out.iter().chain(&last).chain(grad.iter()).map(|v| v.to_bits()).collect()
    })
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    for kind in KINDS {
        assert_eq!(bits(1, kind), bits(2, kind), "{kind:?}");
    }
}

#[test]
fn files_use_pytorchs_names_and_shapes() {
    for kind in KINDS {
        let net = network(kind, 3, 5, 12);
        let mut file = BTreeMap::new();
        net.export("core", &mut |name, shape, data| {
            file.insert(name, (shape, data));
        });
        let gates = if kind == CellKind::Lstm { 20 } else { 15 };
        assert_eq!(file["core.weight_ih_l0"].0, [gates, 3]);
        assert_eq!(file["core.bias_hh_l0"].0, [gates]);
        let mut other = network(kind, 3, 5, 13);
        other.import("core", &mut |name| file.get(name).cloned()).expect("the same network");
        assert_eq!(other.params.as_slice(), net.params.as_slice());
        file.remove("core.weight_hh_l0");
        let error = other.import("core", &mut |name| file.get(name).cloned()).expect_err("a tensor is missing");
        assert_eq!(error, NnError::MissingTensor { name: "core.weight_hh_l0".into() });
    }
}
