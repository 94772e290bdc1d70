//! Parity with PyTorch through fixtures recorded by `scripts/record_pytorch.py`.

use crate::reference::{assert_close, grad_of, rng};
use axiomrl_nn::{
    Activation, CellKind, ConvLayer, ConvNet, ConvSpec, Decoder, DecoderSpec, Init, NamedTensors, Params, Recurrent,
    RecurrentSpec, ResidualNet, ResidualSpec, Tensor, leaf, values,
};
use burn::tensor::Gradients;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Clone, Deserialize)]
struct Numbers {
    shape: Vec<usize>,
    values: Vec<f32>,
}

#[derive(Deserialize)]
struct Fixture {
    x: Numbers,
    weights: Numbers,
    out: Numbers,
    x_gradient: Numbers,
    state: Option<Numbers>,
    last: Option<Numbers>,
    state_gradient: Option<Numbers>,
    tensors: BTreeMap<String, Numbers>,
    gradients: BTreeMap<String, Numbers>,
}

impl Fixture {
    fn read(text: &str) -> Self {
        serde_json::from_str(text).expect("a fixture")
    }

    fn get(map: &BTreeMap<String, Numbers>, name: &str) -> Option<(Vec<usize>, Vec<f32>)> {
        map.get(name).cloned().map(|n| (n.shape, n.values))
    }

    /// Compares outputs and gradients, which it returns; `gradients` is PyTorch's in this crate's layout.
    fn compare<const D: usize>(
        &self,
        y: &Tensor<D>,
        x: &Tensor<D>,
        params: &Tensor<2>,
        gradients: &Params,
    ) -> Gradients {
        assert_close("outputs", &values(y), &self.out.values);
        let weights = leaf(&self.weights.values, y.dims());
        let grads = (y.clone() * weights).sum().backward();
        assert_close("dx", &grad_of(x, &grads), &self.x_gradient.values);
        assert_close("dp", &grad_of(params, &grads), gradients.as_slice());
        grads
    }
}

fn check_recurrent(kind: CellKind, text: &str) {
    let fixture = Fixture::read(text);
    let (steps, rows, inputs) = (fixture.x.shape[0], fixture.x.shape[1], fixture.x.shape[2]);
    let mut net = Recurrent::new(RecurrentSpec::new(kind, inputs, fixture.out.shape[2]), &mut rng(1));
    let mut gradients = net.clone();
    net.import("", &mut |name| Fixture::get(&fixture.tensors, name)).expect("PyTorch's names and shapes");
    gradients.import("", &mut |name| Fixture::get(&fixture.gradients, name)).expect("PyTorch's names and shapes");

    let start = fixture.state.as_ref().expect("an initial state");
    let width = net.spec.state_width();
    let state = leaf(&start.values, [rows, width]).require_grad();
    let (params, x) = (net.params.tracked(), leaf(&fixture.x.values, [steps, rows, inputs]).require_grad());
    let resets = vec![false; steps * rows];
    let (y, last) = net.forward_with_state(x.clone(), params.clone(), &resets, state.clone());
    assert_close("final state", &last, &fixture.last.as_ref().expect("a final state").values);
    let grads = fixture.compare(&y, &x, &params, &gradients.params);
    let want = fixture.state_gradient.as_ref().expect("a gradient of the state");
    assert_close("dstate", &grad_of(&state, &grads), &want.values);
}

#[test]
fn lstm() {
    check_recurrent(CellKind::Lstm, include_str!("../fixtures/lstm.json"));
}

#[test]
fn gru() {
    check_recurrent(CellKind::Gru, include_str!("../fixtures/gru.json"));
}

#[test]
fn convolutions() {
    let fixture = Fixture::read(include_str!("../fixtures/conv.json"));
    let [images, height, width, channels] = fixture.x.shape[..] else { panic!("images have four dimensions") };
    let layers = [ConvLayer::new(5, 4, 2, 1), ConvLayer::new(4, 3, 1, 0)];
    let spec = ConvSpec::new([height, width, channels], &layers, Activation::Relu);
    let mut net = ConvNet::new(spec, &Init::pytorch(), &mut rng(1));
    let mut gradients = net.clone();
    net.import("", &mut |name| Fixture::get(&fixture.tensors, name)).expect("PyTorch's names and shapes");
    gradients.import("", &mut |name| Fixture::get(&fixture.gradients, name)).expect("PyTorch's names and shapes");
    let (params, x) =
        (net.params.tracked(), leaf(&fixture.x.values, [images, height * width * channels]).require_grad());
    let y = net.forward(x.clone(), params.clone());
    fixture.compare(&y, &x, &params, &gradients.params);
}

#[test]
fn residual_encoder() {
    let fixture = Fixture::read(include_str!("../fixtures/residual.json"));
    let [images, height, width, channels] = fixture.x.shape[..] else { panic!("images have four dimensions") };
    let input = [height, width, channels];
    let spec = ResidualSpec { channels: vec![4, 3], ..ResidualSpec::impala(input, 1, fixture.out.shape[1]) };
    let mut net = ResidualNet::new(spec, &Init::pytorch(), &mut rng(1));
    let mut gradients = net.clone();
    net.import("", &mut |name| Fixture::get(&fixture.tensors, name)).expect("PyTorch's names and shapes");
    gradients.import("", &mut |name| Fixture::get(&fixture.gradients, name)).expect("PyTorch's names and shapes");
    let x = leaf(&fixture.x.values, [images, height * width * channels]).require_grad();
    let params = net.params.tracked();
    let y = net.forward(x.clone(), params.clone());
    fixture.compare(&y, &x, &params, &gradients.params);
}

#[test]
fn decoder() {
    let fixture = Fixture::read(include_str!("../fixtures/decoder.json"));
    let [images, inputs] = fixture.x.shape[..] else { panic!("features have two dimensions") };
    let spec = DecoderSpec::new(inputs, [2, 3, 4], &[3, 2], Activation::Tanh);
    assert_eq!(spec.output_shape(), fixture.out.shape[1..]);
    let mut net = Decoder::new(spec, &Init::pytorch(), &mut rng(1));
    let mut gradients = net.clone();
    net.import("", &mut |name| Fixture::get(&fixture.tensors, name)).expect("PyTorch's names and shapes");
    gradients.import("", &mut |name| Fixture::get(&fixture.gradients, name)).expect("PyTorch's names and shapes");
    let (params, x) = (net.params.tracked(), leaf(&fixture.x.values, [images, inputs]).require_grad());
    let y = net.forward(x.clone(), params.clone());
    fixture.compare(&y, &x, &params, &gradients.params);
}
