//! The transformer against Burn's own operations, finite differences and itself.

use crate::reference::{assert_close, grad_of, normal, rng};
use axiomrl_nn::{Init, NamedTensors, NnError, Transformer, TransformerSpec, composed, leaf, values, with_threads};
use std::collections::BTreeMap;

/// A network whose every parameter is random: biases and LayerNorm too, so that no term hides behind a zero.
fn network(spec: TransformerSpec, seed: u64) -> Transformer {
    let mut net = Transformer::new(spec, &Init::Normal { std: 0.2 }, &mut rng(seed));
    let noise = normal(net.params.as_slice().len(), seed + 1);
    net.params.make_mut().iter_mut().zip(noise).for_each(|(p, n)| *p += 0.1 * n);
    net
}

fn tokens(net: &Transformer, lengths: &[usize]) -> Vec<f32> {
    normal(lengths.iter().sum::<usize>() * net.spec.width, 1)
}

/// Outputs, gradient of the parameters and of the tokens, where outputs are weighted by noise.
fn passed(net: &Transformer, x: &[f32], lengths: &[usize], seed: Option<u64>) -> [Vec<f32>; 3] {
    let pass = net.pass(x, lengths, seed);
    let (out, mut by_x) = (pass.outputs().to_vec(), normal(x.len(), 3));
    let by_params = pass.backward(&mut by_x).to_vec();
    [out, by_params, by_x]
}

fn check(net: &Transformer, lengths: &[usize], seed: Option<u64>) {
    let (x, shape) = (tokens(net, lengths), [lengths.iter().sum(), net.spec.width]);
    let (params, input) = (net.params.tracked(), leaf(&x, shape).require_grad());
    let y = composed::transformer(&net.spec, input.clone(), lengths, params.clone(), seed);
    let grads = (y.clone() * leaf(&normal(x.len(), 3), shape)).sum().backward();
    let want = [values(&y).to_vec(), grad_of(&params, &grads), grad_of(&input, &grads)];
    let got = passed(net, &x, lengths, seed);
    for (name, (got, want)) in ["outputs", "dp", "dx"].iter().zip(got.iter().zip(&want)) {
        assert_close(&format!("{name} of {:?} over {lengths:?}, seed {seed:?}", net.spec), got, want);
    }
    if seed.is_none() {
        let mut inferred = Vec::new();
        net.infer(&x, lengths, &mut inferred);
        assert_eq!(inferred, got[0], "infer over {lengths:?}");
    }
}

#[test]
fn sequences_match_burns_own_operations() {
    for heads in [1, 2, 4] {
        let net = network(TransformerSpec::new(8, 2).with_heads(heads).with_dropout(0.2), 4);
        for lengths in [&[1][..], &[7], &[5, 1, 9, 2], &[3, 3]] {
            for seed in [None, Some(7)] {
                check(&net, lengths, seed);
            }
        }
    }
    // Without blocks two normalisations are left, and an odd width fills no vector.
    check(&network(TransformerSpec::new(5, 0), 5), &[4, 2], None);
    check(&network(TransformerSpec { hidden: 3, ..TransformerSpec::new(5, 1) }, 6), &[4, 2], None);
}

#[test]
fn gradients_match_finite_differences() {
    for seed in [None, Some(11)] {
        let net = network(TransformerSpec::new(6, 2).with_heads(2).with_dropout(0.1), 8);
        let lengths = [5, 2, 4];
        let (x, weights) = (tokens(&net, &lengths), normal(11 * 6, 3));
        let objective = |net: &Transformer, x: &[f32]| -> f64 {
            let pass = net.pass(x, &lengths, seed);
            pass.outputs().iter().zip(&weights).map(|(y, w)| f64::from(*y) * f64::from(*w)).sum()
        };
        let [_, by_params, by_x] = passed(&net, &x, &lengths, seed);
        // Small, for a step in all parameters at once bends: the composed form above is the sharper test.
        let step = 3e-4f32;
        let agree = |change: f64, gradient: &[f32], direction: &[f32]| {
            let exact: f64 = gradient.iter().zip(direction).map(|(g, d)| f64::from(*g) * f64::from(*d)).sum();
            let size: f64 = gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
            let numeric = change / (2.0 * f64::from(step));
            (numeric - exact).abs() < 1e-2 * size
        };
        let mut agreed = 0;
        for direction in 0..6 {
            let along = normal(by_params.len(), 100 + direction);
            let moved = |sign: f32| {
                let mut net = net.clone();
                net.params.make_mut().iter_mut().zip(&along).for_each(|(p, d)| *p += sign * step * d);
                objective(&net, &x)
            };
            agreed += usize::from(agree(moved(1.0) - moved(-1.0), &by_params, &along));
            let along = normal(by_x.len(), 200 + direction);
            let moved = |sign: f32| {
                let x: Vec<f32> = x.iter().zip(&along).map(|(x, d)| x + sign * step * d).collect();
                objective(&net, &x)
            };
            agreed += usize::from(agree(moved(1.0) - moved(-1.0), &by_x, &along));
        }
        // A unit that switches within the step makes its direction disagree: there are hundreds of them, and few do.
        assert!(agreed >= 9, "{agreed} of 12 directions agree");
    }
}

#[test]
fn a_token_sees_those_before_it_in_its_own_sequence_and_nothing_else() {
    let net = network(TransformerSpec::new(8, 2).with_heads(2), 4);
    let lengths = [4, 6, 3];
    let x = tokens(&net, &lengths);
    let infer = |x: &[f32]| {
        let mut out = Vec::new();
        net.infer(x, &lengths, &mut out);
        out
    };
    let before = infer(&x);
    // The third token of the second sequence.
    let changed = 4 + 2;
    let mut other = x.clone();
    other[changed * 8 + 3] += 1.0;
    let after = infer(&other);
    for (token, (a, b)) in before.chunks_exact(8).zip(after.chunks_exact(8)).enumerate() {
        assert_eq!(a != b, (changed..10).contains(&token), "token {token}");
    }
    // What stands beside a sequence changes nothing of it, but for rounding.
    let mut alone = Vec::new();
    net.infer(&x[4 * 8..10 * 8], &lengths[1..2], &mut alone);
    assert_close("a sequence alone", &alone, &before[4 * 8..10 * 8]);
}

#[test]
fn dropout_takes_part_where_there_is_a_seed_and_follows_it() {
    let lengths = [5, 7];
    let dropping = network(TransformerSpec::new(8, 1).with_dropout(0.5), 4);
    let x = tokens(&dropping, &lengths);
    let run = |seed| passed(&dropping, &x, &lengths, seed);
    assert_eq!(run(Some(1)), run(Some(1)));
    assert_ne!(run(Some(1))[0], run(Some(2))[0]);
    assert_ne!(run(Some(1))[0], run(None)[0]);
    let keeping = network(TransformerSpec::new(8, 1), 4);
    assert_eq!(passed(&keeping, &x, &lengths, Some(1)), passed(&keeping, &x, &lengths, None));
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    let net = network(TransformerSpec::new(64, 2).with_heads(2).with_dropout(0.1), 6);
    // Enough to be cut in two, where the halves are unlike.
    let lengths: Vec<usize> = (0..9).map(|i| 59 - 6 * i).collect();
    let x = tokens(&net, &lengths);
    let run = |threads| with_threads(threads, || passed(&net, &x, &lengths, Some(5)));
    let one = run(1);
    assert_eq!(one, run(2));
    let infer = |threads| {
        with_threads(threads, || {
            let mut out = Vec::new();
            net.infer(&x, &lengths, &mut out);
            out
        })
    };
    assert_eq!(infer(1), infer(2));
    check(&net, &lengths, Some(5));
}

#[test]
fn tensors_have_names_and_come_back() {
    let spec = TransformerSpec::new(6, 2).with_heads(3);
    let net = network(spec.clone(), 3);
    let mut tensors = BTreeMap::new();
    net.export("trunk", &mut |name, shape, values| {
        tensors.insert(name, (shape, values));
    });
    assert_eq!(tensors.values().map(|(_, values)| values.len()).sum::<usize>(), spec.param_count());
    assert_eq!(tensors["trunk.blocks.1.attention.qkv.weight"].0, [18, 6]);
    assert_eq!(tensors["trunk.blocks.0.mlp.0.weight"].0, [24, 6]);
    assert_eq!(tensors["trunk.output_norm.bias"].0, [6]);
    let mut back = Transformer::new(spec, &Init::Normal { std: 0.02 }, &mut rng(9));
    back.import("trunk", &mut |name| tensors.get(name).cloned()).unwrap();
    assert_eq!(back.params.as_slice(), net.params.as_slice());
    let missing = back.import("other", &mut |name| tensors.get(name).cloned()).unwrap_err();
    assert_eq!(missing, NnError::MissingTensor { name: "other.input_norm.weight".into() });
}

#[test]
fn it_starts_with_the_drawn_weights_and_normalisations_that_do_nothing() {
    let net = Transformer::new(TransformerSpec::new(16, 1), &Init::Normal { std: 0.02 }, &mut rng(2));
    net.export("", &mut |name, shape, values| {
        let (zero, one) = (values.iter().all(|v| *v == 0.0), values.iter().all(|v| *v == 1.0));
        let wanted = match (shape.len(), name.ends_with("bias")) {
            (2, _) => !zero && values.iter().all(|v| v.abs() < 0.1),
            (_, true) => zero,
            (_, false) => one,
        };
        assert!(wanted, "{name}");
    });
}

#[test]
fn heads_must_share_the_width() {
    let refused = TransformerSpec::new(10, 1).with_heads(3).check().unwrap_err();
    assert!(refused.to_string().contains("3 heads cannot share 10 numbers"), "{refused}");
    assert!(TransformerSpec::new(10, 1).with_heads(5).check().is_ok());
}
