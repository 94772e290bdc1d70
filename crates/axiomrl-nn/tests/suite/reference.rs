//! The same networks written with Burn's own operations, and comparison helpers.

use axiomrl_nn::{Activation, Init, Mlp, MlpSpec, Tensor, values};
use burn::tensor::activation;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};

pub fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

pub fn normal(len: usize, seed: u64) -> Vec<f32> {
    let mut rng = rng(seed);
    (0..len).map(|_| StandardNormal.sample(&mut rng)).collect()
}

/// A network whose every parameter is random: biases and LayerNorm too, so that no term hides behind a zero.
pub fn network(spec: MlpSpec, members: usize, seed: u64) -> Mlp {
    let mut net = Mlp::new(spec, members, &Init::pytorch(), &mut rng(seed));
    let noise = normal(net.params.as_slice().len(), seed + 1);
    net.params.make_mut().iter_mut().zip(noise).for_each(|(p, n)| *p += 0.1 * n);
    net
}

fn activate(x: Tensor<2>, kind: Activation) -> Tensor<2> {
    match kind {
        Activation::Identity => x,
        Activation::Relu => activation::relu(x),
        Activation::Tanh => activation::tanh(x),
        Activation::Silu => activation::silu(x),
        Activation::Elu => {
            let negative = x.clone().clamp_max(0.0);
            activation::relu(x) + negative.exp() - 1.0
        }
    }
}

/// One member, layer by layer. `x` `[rows, in]`, `params` `[members, parameters]`.
pub fn unfused(spec: &MlpSpec, x: Tensor<2>, params: Tensor<2>, member: usize) -> Tensor<2> {
    let mut tensors = spec.layout().into_iter().peekable();
    let part = |offset: usize, shape: [usize; 2]| {
        params.clone().slice([member..member + 1, offset..offset + shape[0] * shape[1]]).reshape(shape)
    };
    let mut h = x;
    while let Some(weight) = tensors.next() {
        let (out, input) = (weight.shape[0], weight.shape[1]);
        let bias = tensors.next().expect("a bias follows each weight");
        h = h.matmul(part(weight.offset, [input, out])) + part(bias.offset, [1, out]);
        let scale = tensors.next_if(|t| t.name.ends_with("norm.weight"));
        let shift = scale.as_ref().map(|_| tensors.next().expect("a shift follows each scale"));
        let norm = |h: Tensor<2>| {
            let (Some(scale), Some(shift)) = (&scale, &shift) else { return h };
            let centred = h.clone() - h.mean_dim(1);
            let variance = (centred.clone() * centred.clone()).mean_dim(1);
            centred / (variance + 1e-5).sqrt() * part(scale.offset, [1, out]) + part(shift.offset, [1, out])
        };
        let last = tensors.peek().is_none();
        let bend = |h| activate(h, if last { spec.output_activation } else { spec.activation });
        h = if spec.layer_norm_after { norm(bend(h)) } else { bend(norm(h)) };
    }
    h
}

/// Largest difference relative to the largest reference value.
pub fn difference(got: &[f32], want: &[f32]) -> f32 {
    assert_eq!(got.len(), want.len());
    assert!(got.iter().chain(want).all(|v| v.is_finite()));
    let largest = want.iter().fold(1e-12f32, |m, v| m.max(v.abs()));
    got.iter().zip(want).fold(0.0f32, |m, (a, b)| m.max((a - b).abs())) / largest
}

pub fn assert_close(what: &str, got: &[f32], want: &[f32]) {
    let d = difference(got, want);
    assert!(d < 2e-5, "{what}: relative difference {d:e}");
}

/// Values of the gradient of a tracked tensor.
pub fn grad_of<const D: usize>(tensor: &Tensor<D>, grads: &burn::tensor::Gradients) -> Vec<f32> {
    values(&tensor.grad(grads).expect("tracked")).to_vec()
}

#[test]
fn the_comparison_can_fail() {
    assert!(difference(&[1.0, 2.0001], &[1.0, 2.0]) > 2e-5);
    assert!(difference(&[1.0, 2.0], &[1.0, 2.0]) == 0.0);
}
