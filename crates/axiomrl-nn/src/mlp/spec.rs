//! The shape of a multi-layer perceptron and where each tensor lies in its flat parameter vector.

use crate::kernels::activation::Activation;
use crate::layout::TensorLayout;
use serde::{Deserialize, Serialize};

/// `x -> [Linear -> (dropout) -> (LayerNorm) -> activation] * hidden -> Linear -> (LayerNorm) -> output_activation`; LayerNorm
/// stands behind the activation instead where `layer_norm_after` says so.
///
/// Flat layout, layer after layer: weight `[in, out]` row-major, bias `[out]`, then the norm's scale and shift when present.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MlpSpec {
    /// Width of the input row.
    pub inputs: usize,
    /// Widths of the hidden layers; may be empty (a linear map).
    pub hidden: Vec<usize>,
    /// Width of the output row.
    pub outputs: usize,
    /// Activation of the hidden layers.
    pub activation: Activation,
    /// Activation of the last layer.
    pub output_activation: Activation,
    /// LayerNorm before each hidden activation.
    pub layer_norm: bool,
    /// LayerNorm before the output activation.
    #[serde(default)]
    pub output_layer_norm: bool,
    /// LayerNorm behind the activation instead of before it, wherever there is one.
    #[serde(default)]
    pub layer_norm_after: bool,
    /// RMSNorm (a scale, no shift, ε 1e-4) in place of LayerNorm, wherever there is one.
    #[serde(default)]
    pub rms_norm: bool,
    /// Probability of dropping a hidden unit in training mode.
    pub dropout: f32,
}

/// One linear layer: its widths and the place of its parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer {
    pub index: usize,
    pub inputs: usize,
    pub outputs: usize,
    pub offset: usize,
    pub is_output: bool,
    pub normed: bool,
    /// Whether LayerNorm stands behind the activation.
    pub norm_after: bool,
    /// Whether RMSNorm stands in its place.
    pub rms: bool,
    pub activation: Activation,
}

impl Layer {
    pub fn weights(&self) -> usize {
        self.inputs * self.outputs
    }

    pub fn len(&self) -> usize {
        let vectors = match (self.normed, self.rms) {
            (false, _) => 1,
            (true, true) => 2,
            (true, false) => 3,
        };
        self.weights() + vectors * self.outputs
    }
}

impl MlpSpec {
    /// Plain network: identity output, no LayerNorm, no dropout.
    pub fn new(inputs: usize, hidden: &[usize], outputs: usize, activation: Activation) -> Self {
        Self {
            inputs,
            hidden: hidden.to_vec(),
            outputs,
            activation,
            output_activation: Activation::Identity,
            layer_norm: false,
            output_layer_norm: false,
            layer_norm_after: false,
            rms_norm: false,
            dropout: 0.0,
        }
    }

    /// Adds LayerNorm to every hidden layer.
    pub fn with_layer_norm(mut self) -> Self {
        self.layer_norm = true;
        self
    }

    /// Adds RMSNorm to every hidden layer.
    pub fn with_rms_norm(mut self) -> Self {
        self.rms_norm = true;
        self.with_layer_norm()
    }

    /// Adds LayerNorm behind the activation of every hidden layer.
    pub fn with_layer_norm_after(mut self) -> Self {
        self.layer_norm_after = true;
        self.with_layer_norm()
    }

    /// Adds LayerNorm to the last layer.
    pub fn with_output_layer_norm(mut self) -> Self {
        self.output_layer_norm = true;
        self
    }

    /// Sets the dropout probability of hidden units.
    pub fn with_dropout(mut self, probability: f32) -> Self {
        self.dropout = probability;
        self
    }

    /// Sets the activation of the last layer.
    pub fn with_output_activation(mut self, activation: Activation) -> Self {
        self.output_activation = activation;
        self
    }

    /// Whether the network is linear in its input as long as no unit switches on or off: ReLUs, and nothing else that bends.
    pub fn is_piecewise_linear(&self) -> bool {
        let bends = |activation| !matches!(activation, Activation::Identity | Activation::Relu);
        let plain = !self.layer_norm && !self.output_layer_norm && self.dropout == 0.0;
        plain && !bends(self.activation) && !bends(self.output_activation)
    }

    /// The network up to its last hidden layer; `None` without hidden layers.
    pub(crate) fn without_output(&self) -> Option<Self> {
        let (&outputs, hidden) = self.hidden.split_last()?;
        Some(Self {
            hidden: hidden.to_vec(),
            outputs,
            output_activation: self.activation,
            output_layer_norm: self.layer_norm,
            ..self.clone()
        })
    }

    /// Number of parameters of one member.
    pub fn param_count(&self) -> usize {
        self.layers().map(|l| l.len()).sum()
    }

    /// Floating-point operations of one member's forward pass over `rows` rows (multiply and add counted apart).
    pub fn flops(&self, rows: usize) -> usize {
        2 * rows * self.layers().map(|l| l.weights()).sum::<usize>()
    }

    /// The named tensors inside one member's flat vector, in order.
    pub fn layout(&self) -> Vec<TensorLayout> {
        let mut tensors = Vec::new();
        for layer in self.layers() {
            let mut offset = layer.offset;
            let mut put = |name: &str, shape: Vec<usize>, transposed| {
                let len: usize = shape.iter().product();
                tensors.push(TensorLayout { name: format!("{}.{name}", layer.index), offset, shape, transposed });
                offset += len;
            };
            put("weight", vec![layer.outputs, layer.inputs], true);
            put("bias", vec![layer.outputs], false);
            if layer.normed {
                put("norm.weight", vec![layer.outputs], false);
                if !layer.rms {
                    put("norm.bias", vec![layer.outputs], false);
                }
            }
        }
        tensors
    }

    /// Number of linear layers.
    pub(crate) fn depth(&self) -> usize {
        self.hidden.len() + 1
    }

    /// The layers from input to output.
    pub(crate) fn layers(&self) -> impl Iterator<Item = Layer> + '_ {
        let mut offset = 0;
        (0..self.depth()).map(move |index| {
            let layer = self.layer(index, offset);
            offset += layer.len();
            layer
        })
    }

    /// The layer at `index`, whose parameters start at `offset`.
    pub(crate) fn layer(&self, index: usize, offset: usize) -> Layer {
        let is_output = index == self.hidden.len();
        let normed = if is_output { self.output_layer_norm } else { self.layer_norm };
        Layer {
            index,
            inputs: if index == 0 { self.inputs } else { self.hidden[index - 1] },
            outputs: if is_output { self.outputs } else { self.hidden[index] },
            offset,
            is_output,
            normed,
            norm_after: normed && self.layer_norm_after,
            rms: normed && self.rms_norm,
            activation: if is_output { self.output_activation } else { self.activation },
        }
    }

    /// Widest row that passes through the network.
    pub(crate) fn widest(&self) -> usize {
        self.hidden.iter().copied().chain([self.inputs, self.outputs]).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_covers_every_parameter_once_and_in_order() {
        let spec = MlpSpec::new(3, &[5, 7], 2, Activation::Relu).with_layer_norm();
        let mut next = 0;
        for tensor in spec.layout() {
            assert_eq!(tensor.offset, next, "{}", tensor.name);
            next += tensor.shape.iter().product::<usize>();
        }
        assert_eq!(next, spec.param_count());
        assert_eq!(spec.param_count(), (3 * 5 + 5 + 10) + (5 * 7 + 7 + 14) + (7 * 2 + 2));
        assert_eq!(spec.layout()[2].name, "0.norm.weight");
        assert_eq!(spec.layout().last().map(|t| t.shape.clone()), Some(vec![2]));
    }

    #[test]
    fn without_its_output_a_network_keeps_the_layout_of_the_rest() {
        let spec = MlpSpec::new(3, &[5, 7], 2, Activation::Relu).with_layer_norm();
        let cut = spec.without_output().expect("hidden layers");
        let (whole, rest) = (spec.layout(), cut.layout());
        assert_eq!(rest, whole[..rest.len()]);
        assert_eq!(whole.len() - rest.len(), 2, "weight and bias of the output");
        assert_eq!(cut.without_output().and_then(|cut| cut.without_output()), None);
    }

    #[test]
    fn a_network_without_hidden_layers_is_linear() {
        let spec = MlpSpec::new(4, &[], 3, Activation::Tanh).with_layer_norm();
        assert_eq!((spec.param_count(), spec.flops(10)), (15, 240));
    }
}
