//! A network ensemble with batch renormalisation before every linear layer, as CrossQ's critics need it.
//!
//! While training, each input column is brought to mean 0 and variance 1 over the batch, then corrected by `r` and `d`
//! towards the running statistics (Ioffe 2017), so that training and evaluation see nearly the same numbers. At
//! evaluation the running statistics are constants: the normalisation is an affine map in front of a linear layer, and
//! the whole network folds into an ordinary [`Mlp`].

use crate::parts::tracked::Trainable;
use crate::state::{StateError, StateIo};
use axiomrl_nn::{Init, Mlp, MlpSpec, Params, Tensor, leaf, values};
use rand_chacha::ChaCha8Rng;
use std::ops::Range;
use std::sync::Arc;

/// Added to a variance before its root.
const EPS: f32 = 1e-3;
/// Bounds of the corrections `r` and `d`.
const R_MAX: f32 = 3.0;
const D_MAX: f32 = 5.0;
/// How much of the running statistics stays from one batch to the next.
const MOMENTUM: f32 = 0.99;

/// Members of one shape; parameters in one flat tensor: those of the plain network, then scale and shift per layer.
pub struct RenormMlp {
    spec: Arc<MlpSpec>,
    pub params: Params,
    layers: Vec<Layer>,
    /// Batches of plain batch normalisation before the corrections begin.
    warmup: u64,
    batches: u64,
}

struct Layer {
    /// Only its shape is used; the numbers are a slice of the flat tensor.
    linear: Mlp,
    linear_at: Range<usize>,
    scale_at: Range<usize>,
    shift_at: Range<usize>,
    running: Running,
}

/// Statistics of a layer's input, `[members, inputs]`.
#[derive(Clone, Debug)]
struct Running {
    mean: Vec<f32>,
    variance: Vec<f32>,
}

impl Running {
    /// The factors `r` and offsets `d` that turn batch-normalised numbers into running-normalised ones, within bounds.
    fn corrections(&self, mean: &[f32], std: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let columns = self.mean.iter().zip(&self.variance).zip(mean.iter().zip(std));
        columns
            .map(|((running_mean, running_variance), (mean, std))| {
                let running_std = (running_variance + EPS).sqrt();
                let r = (std / running_std).clamp(1.0 / R_MAX, R_MAX);
                (r, ((mean - running_mean) / running_std).clamp(-D_MAX, D_MAX))
            })
            .unzip()
    }

    fn absorb(&mut self, mean: &[f32], std: &[f32]) {
        for (i, (mean, std)) in mean.iter().zip(std).enumerate() {
            self.mean[i] += (1.0 - MOMENTUM) * (mean - self.mean[i]);
            self.variance[i] += (1.0 - MOMENTUM) * (std * std - EPS - self.variance[i]);
        }
    }
}

impl RenormMlp {
    pub fn new(spec: MlpSpec, members: usize, warmup: u64, init: &Init, rng: &mut ChaCha8Rng) -> Self {
        let plain = spec.param_count();
        let mut at = plain;
        let mut take = |len: usize| {
            at += len;
            at - len..at
        };
        let tensors = spec.layout();
        let layers: Vec<Layer> = tensors
            .chunks_exact(2)
            .map(|pair| {
                let (outputs, inputs) = (pair[0].shape[0], pair[0].shape[1]);
                let is_output = pair[1].offset + outputs == plain;
                let activation = if is_output { spec.output_activation } else { spec.activation };
                let shape = MlpSpec::new(inputs, &[], outputs, activation).with_output_activation(activation);
                Layer {
                    linear: Mlp { spec: Arc::new(shape), params: Params::from_vec(members, 0, Vec::new()) },
                    linear_at: pair[0].offset..pair[1].offset + outputs,
                    scale_at: take(inputs),
                    shift_at: take(inputs),
                    running: Running { mean: vec![0.0; members * inputs], variance: vec![1.0; members * inputs] },
                }
            })
            .collect();
        let mut flat = Vec::with_capacity(members * at);
        for _ in 0..members {
            flat.extend(init.draw(&spec, 1, rng));
            for layer in &layers {
                flat.extend(std::iter::repeat_n(1.0, layer.scale_at.len()));
                flat.extend(std::iter::repeat_n(0.0, layer.shift_at.len()));
            }
        }
        let params = Params::from_vec(members, at, flat);
        Self { spec: Arc::new(spec), params, layers, warmup, batches: 0 }
    }

    /// Evaluates in training mode, with the statistics of this batch, and lets the running ones follow.
    ///
    /// `x` is `[rows, inputs]`, shared by all members, and the gradient reaches what it was made of, by way of the batch's
    /// statistics, too; `params` comes from `self.params`. Result `[members, rows, out]`.
    pub fn forward(&mut self, x: Tensor<2>, params: &Tensor<2>) -> Tensor<3> {
        let (members, rows) = (self.params.members(), x.dims()[0]);
        let corrected = self.batches >= self.warmup;
        self.batches += 1;
        let mut x = x.reshape([1, rows, self.spec.inputs]).repeat_dim(0, members);
        for layer in &mut self.layers {
            let width = layer.scale_at.len();
            let part = |at: &Range<usize>| params.clone().slice([0..members, at.clone()]);
            let mean = x.clone().mean_dim(1);
            let centred = x - mean.clone();
            let std = (centred.clone() * centred.clone()).mean_dim(1).add_scalar(EPS).sqrt();
            let (mean_now, std_now) = (values(&mean), values(&std));
            let mut normal = centred / std;
            if corrected {
                let (r, d) = layer.running.corrections(&mean_now, &std_now);
                normal = normal * leaf(&r, [members, 1, width]) + leaf(&d, [members, 1, width]);
            }
            layer.running.absorb(&mean_now, &std_now);
            let scale = part(&layer.scale_at).reshape([members, 1, width]);
            let shift = part(&layer.shift_at).reshape([members, 1, width]);
            x = layer.linear.forward_members(normal * scale + shift, part(&layer.linear_at), None);
        }
        x
    }

    /// The network at evaluation, as an ordinary one.
    pub fn folded(&self) -> Mlp {
        let (members, per_member, plain) = (self.params.members(), self.params.per_member(), self.spec.param_count());
        let mut flat = Vec::with_capacity(members * plain);
        for (member, params) in self.params.as_slice().chunks_exact(per_member).enumerate() {
            for layer in &self.layers {
                let inputs = layer.scale_at.len();
                let statistics = member * inputs..(member + 1) * inputs;
                let scale: Vec<f32> = params[layer.scale_at.clone()]
                    .iter()
                    .zip(&layer.running.variance[statistics.clone()])
                    .map(|(scale, variance)| scale / (variance + EPS).sqrt())
                    .collect();
                let linear = &params[layer.linear_at.clone()];
                let outputs = linear.len() / (inputs + 1);
                let (weight, bias) = linear.split_at(inputs * outputs);
                let mut bias = bias.to_vec();
                let means = &layer.running.mean[statistics];
                for (input, row) in weight.chunks_exact(outputs).enumerate() {
                    let shift = params[layer.shift_at.start + input] - means[input] * scale[input];
                    bias.iter_mut().zip(row).for_each(|(b, w)| *b += shift * w);
                    flat.extend(row.iter().map(|w| scale[input] * w));
                }
                flat.extend(bias);
            }
        }
        Mlp { spec: self.spec.clone(), params: Params::from_vec(members, plain, flat) }
    }

    pub fn visit_state(&mut self, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.params(name, &mut self.params)?;
        for (i, layer) in self.layers.iter_mut().enumerate() {
            io.floats(&format!("{name}.{i}.running_mean"), &mut layer.running.mean)?;
            io.floats(&format!("{name}.{i}.running_variance"), &mut layer.running.variance)?;
        }
        io.value(&format!("{name}.batches"), &mut self.batches)
    }
}

/// A network ensemble that may have batch renormalisation.
pub enum Net {
    Plain(Mlp),
    /// `folded` is the network at evaluation.
    Renormalised {
        net: Box<RenormMlp>,
        folded: Mlp,
    },
}

impl Net {
    /// Renormalised if there is a `warmup`.
    pub fn new(spec: MlpSpec, members: usize, warmup: Option<u64>, init: &Init, rng: &mut ChaCha8Rng) -> Self {
        match warmup {
            None => Self::Plain(Mlp::new(spec, members, init, rng)),
            Some(warmup) => {
                let net = Box::new(RenormMlp::new(spec, members, warmup, init, rng));
                Self::Renormalised { folded: net.folded(), net }
            }
        }
    }

    /// The network as it evaluates.
    pub fn evaluation(&self) -> &Mlp {
        match self {
            Self::Plain(net) => net,
            Self::Renormalised { folded, .. } => folded,
        }
    }

    /// Training mode: outputs `[members, rows, out]` as a node of the graph, with the parameters they came from.
    pub fn forward(&mut self, x: Tensor<2>, dropout_seed: Option<u64>) -> (Tensor<3>, Tensor<2>) {
        match self {
            Self::Plain(net) => {
                let params = net.params.tracked();
                (net.forward(x, params.clone(), dropout_seed), params)
            }
            Self::Renormalised { net, .. } => {
                let params = net.params.tracked();
                (net.forward(x, &params), params)
            }
        }
    }

    /// To be called after every change of the parameters.
    pub fn changed(&mut self) {
        if let Self::Renormalised { net, folded } = self {
            *folded = net.folded();
        }
    }

    pub fn visit_state(&mut self, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
        match self {
            Self::Plain(net) => io.network(name, net)?,
            Self::Renormalised { net, .. } => net.visit_state(name, io)?,
        }
        self.changed();
        Ok(())
    }
}

impl Trainable for Net {
    fn params(&mut self) -> Vec<&mut Params> {
        vec![match self {
            Self::Plain(net) => &mut net.params,
            Self::Renormalised { net, .. } => &mut net.params,
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_nn::{Activation, fused_loss, gradients};

    fn network(warmup: u64) -> RenormMlp {
        let spec = MlpSpec::new(3, &[8], 2, Activation::Tanh);
        RenormMlp::new(spec, 2, warmup, &Init::pytorch(), &mut axiomrl_core::stream(1, "init"))
    }

    fn rows_of(x: &[f32]) -> Tensor<2> {
        leaf(x, [x.len() / 3, 3])
    }

    fn batch(seed: u64, rows: usize) -> Vec<f32> {
        let mut rng = axiomrl_core::stream(seed, "batch");
        (0..rows * 3).map(|i| 2.0 + (i % 3) as f32 * axiomrl_core::random::normal(&mut rng)).collect()
    }

    #[test]
    fn running_statistics_and_corrections_by_hand() {
        let mut running = Running { mean: vec![0.0], variance: vec![1.0 - EPS] };
        // Running standard deviation 1, batch: mean 2, standard deviation 0.5.
        let (r, d) = running.corrections(&[2.0], &[0.5]);
        assert_eq!((r[0], d[0]), (0.5, 2.0));
        let (r, d) = running.corrections(&[-9.0], &[7.0]);
        assert_eq!((r[0], d[0]), (R_MAX, -D_MAX));
        running.absorb(&[2.0], &[0.5]);
        assert!((running.mean[0] - 0.02).abs() < 1e-6);
        assert!((running.variance[0] - (0.99 * (1.0 - EPS) + 0.01 * (0.25 - EPS))).abs() < 1e-6);
    }

    #[test]
    fn running_statistics_converge_and_training_then_equals_evaluation() {
        let mut net = network(0);
        let params = net.params.frozen();
        let x = batch(1, 64);
        (0..1500).for_each(|_| drop(net.forward(rows_of(&x), &params)));
        let trained = values(&net.forward(rows_of(&x), &params)).to_vec();
        assert!((net.layers[0].running.mean[0] - 2.0).abs() < 1e-3, "the first column is constant");
        assert!(net.layers[0].running.variance[0].abs() < 1e-3);
        let mut evaluated = Vec::new();
        net.folded().infer(&x, 64, &mut evaluated);
        for (a, b) in trained.iter().zip(&evaluated) {
            assert!((a - b).abs() < 1e-3, "{a} {b}");
        }
    }

    #[test]
    fn the_output_hardly_depends_on_the_batch_once_corrected() {
        // The same row in two batches: corrected, it gets nearly the same value; with plain batch normalisation not.
        let difference = |warmup: u64| {
            let mut net = network(warmup);
            let params = net.params.frozen();
            (0..800).for_each(|i| drop(net.forward(rows_of(&batch(i, 64)), &params)));
            let (mut a, mut b) = (batch(9001, 64), batch(9002, 64));
            // The first column is constant; moving it would be beyond the bounds of the correction.
            a.chunks_exact_mut(3).for_each(|row| row[1..].iter_mut().for_each(|x| *x += 0.7));
            b[..3].copy_from_slice(&a[..3]);
            let first = values(&net.forward(rows_of(&a), &params))[0];
            (first - values(&net.forward(rows_of(&b), &params))[0]).abs()
        };
        let (corrected, plain) = (difference(0), difference(u64::MAX));
        assert!(corrected < 0.2 * plain, "{corrected} against {plain}");
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        let x = batch(3, 8);
        let loss_of = |net: &mut RenormMlp| {
            let params = net.params.tracked();
            let out = net.forward(rows_of(&x), &params);
            let loss = fused_loss([out], |[q]| (q.iter().map(|q| 0.5 * q * q).sum(), [q.to_vec()]));
            let [gradient] = gradients(loss.clone(), [&params]);
            (f64::from(values(&loss)[0]), gradient.to_vec())
        };
        let (_, gradient) = loss_of(&mut network(u64::MAX));
        for at in (0..gradient.len()).step_by(7) {
            let shifted = |by: f32| {
                let mut net = network(u64::MAX);
                net.params.make_mut()[at] += by;
                loss_of(&mut net).0
            };
            let numeric = (shifted(1e-2) - shifted(-1e-2)) / 2e-2;
            let error = (numeric - f64::from(gradient[at])).abs();
            assert!(error < 2e-2 * (1.0 + numeric.abs()), "parameter {at}: {numeric} {}", gradient[at]);
        }
    }

    #[test]
    fn the_gradient_reaches_the_input_by_way_of_the_statistics_too() {
        let x = batch(3, 8);
        let loss_of = |x: &[f32]| {
            let mut net = network(u64::MAX);
            let params = net.params.frozen();
            let input = rows_of(x).require_grad();
            let out = net.forward(input.clone(), &params);
            let loss = fused_loss([out], |[q]| (q.iter().map(|q| 0.5 * q * q).sum(), [q.to_vec()]));
            let [gradient] = gradients(loss.clone(), [&input]);
            (f64::from(values(&loss)[0]), gradient.to_vec())
        };
        let (_, gradient) = loss_of(&x);
        // The first column is constant, and its standard deviation too small for finite differences.
        for at in (0..x.len()).filter(|at| at % 3 != 0) {
            let shifted = |by: f32| {
                let mut moved = x.clone();
                moved[at] += by;
                loss_of(&moved).0
            };
            let numeric = (shifted(1e-2) - shifted(-1e-2)) / 2e-2;
            let error = (numeric - f64::from(gradient[at])).abs();
            assert!(error < 2e-2 * (1.0 + numeric.abs()), "input {at}: {numeric} {}", gradient[at]);
        }
    }
}
