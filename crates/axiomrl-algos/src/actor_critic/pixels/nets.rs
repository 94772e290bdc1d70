//! The networks: what is seen is compressed to a few numbers, apart for actor and critics, before anything else.

use crate::parts::columns::join_columns;
use crate::state::{StateError, StateIo};
use axiomrl_envs::Rng;
use axiomrl_nn::{Activation, Init, Mlp, MlpSpec, Params, Tensor, fused_loss, gradients, leaf};

/// Number of critics.
pub const CRITICS: usize = 2;

/// The value of the lower critic, and its derivative by every action.
pub struct Opinion {
    pub value_mean: f32,
    pub by_action: Vec<f32>,
}

/// Linear, LayerNorm, tanh: the features' scale cannot run away.
fn trunk(seen: usize, features: usize, rng: &mut Rng) -> Mlp {
    let spec = MlpSpec::new(seen, &[], features, Activation::Identity).with_output_layer_norm();
    Mlp::new(spec.with_output_activation(Activation::Tanh), 1, &orthogonal(), rng)
}

fn orthogonal() -> Init {
    Init::Orthogonal { hidden_gain: 1.0, output_gain: 1.0 }
}

/// Two critics over one trunk.
#[derive(Clone)]
pub struct Critics {
    pub trunk: Mlp,
    pub heads: Mlp,
    actions: usize,
    features: Vec<f32>,
    joint: Vec<f32>,
}

impl Critics {
    pub fn new(seen: usize, features: usize, hidden: &[usize], actions: usize, rng: &mut Rng) -> Self {
        let spec = MlpSpec::new(features + actions, hidden, 1, Activation::Relu);
        let trunk = trunk(seen, features, rng);
        let heads = Mlp::new(spec, CRITICS, &orthogonal(), rng);
        Self { trunk, heads, actions, features: Vec::new(), joint: Vec::new() }
    }

    /// Features and action side by side, in `self.joint`.
    fn join(&mut self, seen: &[f32], action: &[f32], rows: usize) {
        self.trunk.infer(seen, rows, &mut self.features);
        join_columns(&self.features, action, rows, &mut self.joint);
    }

    /// The lower value of each row.
    pub fn lower(&mut self, seen: &[f32], action: &[f32], rows: usize, out: &mut Vec<f32>) {
        self.join(seen, action, rows);
        self.heads.infer(&self.joint, rows, out);
        for row in 0..rows {
            out[row] = (1..CRITICS).fold(out[row], |low, member| low.min(out[member * rows + row]));
        }
        out.truncate(rows);
    }

    /// Values `[critic, row, 1]` as a node of the graph, with the parameters they came from.
    pub fn forward(&self, seen: Tensor<2>, action: &[f32], rows: usize) -> (Tensor<3>, [Tensor<2>; 2]) {
        let params = [self.trunk.params.tracked(), self.heads.params.tracked()];
        let features = self.compress(seen, params[0].clone(), rows);
        let joint = Tensor::cat(vec![features, leaf(action, [rows, self.actions])], 1);
        (self.heads.forward(joint, params[1].clone(), None), params)
    }

    /// Features `[row, feature]` as a node of the graph.
    pub fn compress(&self, seen: Tensor<2>, params: Tensor<2>, rows: usize) -> Tensor<2> {
        self.trunk.forward(seen, params, None).reshape([rows, self.trunk.spec.outputs])
    }

    /// What the lower critic makes of actions, the critics held fixed.
    pub fn opinion(&mut self, seen: &[f32], action: &[f32], rows: usize) -> Opinion {
        self.join(seen, action, rows);
        let inputs = self.heads.spec.inputs;
        let x = leaf(&self.joint, [rows, inputs]).require_grad();
        let out = self.heads.forward(x.clone(), self.heads.params.frozen(), None);
        let mut value_mean = 0.0;
        let loss = fused_loss([out], |[out]| {
            let mut gradient = vec![0.0; out.len()];
            for row in 0..rows {
                let value = |member: usize| out[member * rows + row];
                let lowest = (1..CRITICS).fold(0, |low, member| if value(member) < value(low) { member } else { low });
                value_mean += value(lowest) / rows as f32;
                gradient[lowest * rows + row] = 1.0;
            }
            (value_mean, [gradient])
        });
        let [gradient] = gradients(loss, [&x]);
        let by_action = gradient.chunks_exact(inputs).flat_map(|row| &row[inputs - self.actions..]).copied().collect();
        Opinion { value_mean, by_action }
    }

    pub fn params(&mut self) -> [&mut Params; 2] {
        [&mut self.trunk.params, &mut self.heads.params]
    }

    pub fn visit_state(&mut self, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network(&format!("{name}.trunk"), &mut self.trunk)?;
        io.network(&format!("{name}.heads"), &mut self.heads)
    }
}

/// A trunk of its own, then a network that ends in what the kind of policy needs.
pub struct Actor {
    trunk: Mlp,
    net: Mlp,
    features: Vec<f32>,
}

impl Actor {
    /// `squashed` bounds the outputs by a tanh.
    pub fn new(seen: usize, features: usize, hidden: &[usize], outputs: usize, squashed: bool, rng: &mut Rng) -> Self {
        let mut spec = MlpSpec::new(features, hidden, outputs, Activation::Relu);
        if squashed {
            spec = spec.with_output_activation(Activation::Tanh);
        }
        let trunk = trunk(seen, features, rng);
        Self { trunk, net: Mlp::new(spec, 1, &orthogonal(), rng), features: Vec::new() }
    }

    pub fn infer(&mut self, seen: &[f32], rows: usize, out: &mut Vec<f32>) {
        self.trunk.infer(seen, rows, &mut self.features);
        self.net.infer(&self.features, rows, out);
    }

    /// Outputs `[row, output]` as a node of the graph, with the parameters they came from. What was seen is a constant: the
    /// actor does not train the encoder.
    pub fn forward(&self, seen: &[f32], rows: usize) -> (Tensor<2>, [Tensor<2>; 2]) {
        let params = [self.trunk.params.tracked(), self.net.params.tracked()];
        let seen = leaf(seen, [rows, self.trunk.spec.inputs]);
        let features = self.trunk.forward(seen, params[0].clone(), None).reshape([rows, self.trunk.spec.outputs]);
        let out = self.net.forward(features, params[1].clone(), None).reshape([rows, self.net.spec.outputs]);
        (out, params)
    }

    pub fn params(&mut self) -> [&mut Params; 2] {
        [&mut self.trunk.params, &mut self.net.params]
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("actor.trunk", &mut self.trunk)?;
        io.network("actor.net", &mut self.net)
    }
}
