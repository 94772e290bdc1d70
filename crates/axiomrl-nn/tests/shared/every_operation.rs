//! Every operation on one device, as numbers: outputs, then gradients.

use axiomrl_nn::{
    Activation, CellKind, ConvLayer, ConvNet, ConvSpec, Decoder, DecoderSpec, Device, Init, Latent, LogStdBounds, Mlp,
    MlpSpec, Params, Recurrent, RecurrentSpec, ResidualNet, ResidualSpec, Rssm, RssmSpec, Tensor, Window, fused_loss,
    gradients, leaf_on, tanh_gaussian, try_gradients, values,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

pub type Numbers = Vec<(String, Vec<f32>)>;

fn rng() -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(3)
}

fn wave(len: usize, step: f32) -> Vec<f32> {
    (0..len).map(|i| (i as f32 * step).sin()).collect()
}

/// ½ Σ w·y², by the loss operation; gradients of the parameters and of `inputs`.
fn record<const D: usize, const N: usize>(
    numbers: &mut Numbers,
    what: &str,
    y: Tensor<D>,
    params: &Tensor<2>,
    inputs: [&Tensor<2>; N],
) {
    numbers.push((format!("{what}: outputs"), values(&y).to_vec()));
    let loss = fused_loss([y], |[y]| {
        // All positive: terms that cancelled would make rounding look large beside their sum.
        let weights: Vec<f32> = wave(y.len(), 1.3).iter().map(|w| 1.5 + w).collect();
        let value = y.iter().zip(&weights).map(|(y, w)| 0.5 * w * y * y).sum();
        (value, [y.iter().zip(&weights).map(|(y, w)| w * y).collect()])
    });
    numbers.push((format!("{what}: loss"), values(&loss).to_vec()));
    // A factor behind the loss must reach every gradient.
    let mut all = (loss * 3.0).backward();
    for (index, tensor) in [params].into_iter().chain(inputs).enumerate() {
        let grad = tensor.grad_remove(&mut all).expect("tracked");
        numbers.push((format!("{what}: gradient {index}"), values(&grad).to_vec()));
    }
}

/// A row of inputs that receives a gradient.
fn rows(images: usize, width: usize, device: &Device) -> Tensor<2> {
    leaf_on(&wave(images * width, 0.37), [images, width], device).require_grad()
}

pub fn run(device: &Device) -> Numbers {
    let mut numbers = Vec::new();
    mlps(&mut numbers, device);
    image_networks(&mut numbers, device);
    recurrences(&mut numbers, device);
    world_models(&mut numbers, device);
    let head = rows(4, 6, device);
    for bounds in [LogStdBounds::Clamp(-0.5, 0.5), LogStdBounds::Tanh(-5.0, 2.0)] {
        let sampled = tanh_gaussian(head.clone(), &wave(12, 0.9), bounds);
        record(&mut numbers, &format!("tanh-Gaussian {bounds:?}"), sampled, &head, []);
    }
    numbers
}

fn mlps(numbers: &mut Numbers, device: &Device) {
    let activations = [Activation::Identity, Activation::Relu, Activation::Tanh, Activation::Elu, Activation::Silu];
    for activation in activations {
        let spec = MlpSpec::new(5, &[16, 8], 3, activation).with_layer_norm().with_dropout(0.2);
        let after = MlpSpec::new(5, &[16, 8], 3, activation).with_layer_norm_after();
        let rms = MlpSpec::new(5, &[16, 8], 3, activation).with_rms_norm();
        for (spec, members) in [(MlpSpec::new(5, &[16], 3, activation), 1), (spec, 3), (after, 2), (rms, 1)] {
            let net = Mlp::new(spec, members, &Init::pytorch(), &mut rng());
            let what = format!("MLP {activation:?} of {members}");
            let (params, x) = (net.params.tracked_on(device), rows(6, 5, device));
            record(numbers, &what, net.forward(x.clone(), params.clone(), Some(9)), &params, [&x]);
            let (params, x) = (net.params.tracked_on(device), rows(members * 6, 5, device));
            let own = x.clone().reshape([members, 6, 5]);
            record(
                numbers,
                &format!("{what}, own inputs"),
                net.forward_members(own, params.clone(), None),
                &params,
                [&x],
            );
        }
    }
    // Nothing but what is asked for gets a gradient.
    let net = Mlp::new(MlpSpec::new(5, &[4], 1, Activation::Tanh), 1, &Init::pytorch(), &mut rng());
    let (frozen, x) = (net.params.frozen_on(device), rows(2, 5, device));
    let [none, some] = try_gradients(net.forward(x.clone(), frozen.clone(), None).sum(), [&frozen, &x]);
    assert!(none.is_none() && some.is_some_and(|g| g.len() == 10));
}

fn image_networks(numbers: &mut Numbers, device: &Device) {
    let layers = [ConvLayer::new(4, 3, 2, 1), ConvLayer::new(3, 2, 1, 0)];
    let conv = ConvNet::new(ConvSpec::new([7, 6, 2], &layers, Activation::Elu), &Init::pytorch(), &mut rng());
    let tracked = |params: &Params| params.tracked_on(device);
    let (params, x) = (tracked(&conv.params), rows(3, 84, device));
    record(numbers, "convolutions", conv.forward(x.clone(), params.clone()), &params, [&x]);

    let residual = ResidualNet::new(ResidualSpec::impala([8, 7, 2], 1, 6), &Init::pytorch(), &mut rng());
    let (params, x) = (tracked(&residual.params), rows(3, 112, device));
    record(numbers, "residual encoder", residual.forward(x.clone(), params.clone()), &params, [&x]);

    let bytes: Vec<u8> = (0..224).map(|i| (i * 7 % 256) as u8).collect();
    let params = tracked(&residual.params);
    record(numbers, "residual encoder, bytes", residual.forward_u8(bytes.clone(), 2, params.clone()), &params, []);
    let params = tracked(&conv.params);
    let y = conv.forward_u8(bytes[..168].to_vec(), 2, params.clone());
    record(numbers, "convolutions, bytes", y, &params, []);

    let normed = ConvSpec::new([7, 6, 2], &layers, Activation::Silu).with_rms_norm();
    let conv = ConvNet::new(normed, &Init::pytorch(), &mut rng());
    let (params, x) = (tracked(&conv.params), rows(3, 84, device));
    record(numbers, "normed convolutions", conv.forward(x.clone(), params.clone()), &params, [&x]);

    let spec = DecoderSpec::for_image(5, [16, 16, 2]).expect("a size it knows");
    let decoder = Decoder::new(spec, &Init::pytorch(), &mut rng());
    let (params, x) = (tracked(&decoder.params), rows(3, 5, device));
    record(numbers, "decoder", decoder.forward(x.clone(), params.clone()), &params, [&x]);
}

fn world_models(numbers: &mut Numbers, device: &Device) {
    let choices = Latent::Categorical { groups: 2, classes: 3, unimix: 0.01 };
    let normal = Latent::Gaussian { size: 4, min_std: 0.1 };
    for spec in
        [RssmSpec::v1(normal, 6, 5, 4, 2), RssmSpec::v2(choices, 6, 5, 4, 2), RssmSpec::v3(choices, 6, 2, 5, 4, 2)]
    {
        let model = Rssm::new(spec.clone(), &mut rng());
        let (steps, batch) = (3, 2);
        let total = steps * batch;
        let window = Window {
            steps,
            rows: batch,
            actions: &wave(total * spec.actions, 0.7),
            is_first: &(0..total).map(|i| i % 4 == 1).collect::<Vec<_>>(),
            noise: &spec.latent.draw_noise(total, &mut rng()),
            start: &vec![0.0; batch * spec.features()],
        };
        let (params, tokens) = (model.params.tracked_on(device), rows(total, spec.tokens, device));
        let observed = model.observe(tokens.clone(), params.clone(), window);
        let all = Tensor::cat(vec![observed.features, observed.posterior, observed.prior], 1);
        record(numbers, &format!("{:?}", spec.core), all, &params, [&tokens]);
    }
}

fn recurrences(numbers: &mut Numbers, device: &Device) {
    for kind in [CellKind::Lstm, CellKind::Gru] {
        let net = Recurrent::new(RecurrentSpec::new(kind, 3, 5), &mut rng());
        let (steps, batch, width) = (4, 3, net.spec.state_width());
        let resets: Vec<bool> = (0..steps * batch).map(|i| i % 5 == 3).collect();
        let (params, x) = (net.params.tracked_on(device), rows(steps * batch, 3, device));
        let state = rows(batch, width, device);
        let sequence = x.clone().reshape([steps, batch, 3]);
        let (y, last) = net.forward_with_state(sequence, params.clone(), &resets, state.clone());
        numbers.push((format!("{kind:?}: final state"), last));
        record(numbers, &format!("{kind:?}"), y, &params, [&x, &state]);
    }
    let params = Params::from_vec(1, 2, vec![0.5, -1.5]).tracked_on(device);
    let [grad] = gradients((params.clone() * params.clone()).sum(), [&params]);
    assert_eq!(*grad, [1.0, -3.0]);
}
