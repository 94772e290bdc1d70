//! A value network that looks for itself: an encoder of observations and layers over what it sees, trained by one loss.

use super::columns::join_columns;
use super::descend::{Loss, ParamGroup};
use super::input::ObsEncoder;
use super::tracked::{Tracked, Trainable};
use crate::agent::{Diverged, UpdateContext};
use crate::export::{Graph, NoGraph, Shown, Value};
use crate::state::{StateError, StateIo};
use axiomrl_envs::ObsRef;
use axiomrl_nn::{Mlp, OptimizerConfig, Params, Tensor, fused_loss, leaf, values};

#[derive(Clone)]
pub struct SeeingNet {
    pub encoder: ObsEncoder,
    pub layers: Mlp,
}

/// What came out as a node of the graph.
pub struct Forward {
    /// `[member, row, output]`
    pub out: Tensor<3>,
    /// Features `[row, feature]` as plain numbers: whoever else learns from them does not train the encoder.
    pub seen: Vec<f32>,
    /// The parameters it came from, in the order of [`Trainable::params`].
    pub tracked: Vec<Tensor<2>>,
}

impl SeeingNet {
    /// Outputs `[member, row, output]` without a graph. The rows of `beside`, if there are any, stand beside what is seen:
    /// actions to be valued.
    pub fn infer(&self, obs: ObsRef<'_>, beside: &[f32]) -> Vec<f32> {
        let (seen, mut joint, mut out) = (self.encoder.infer(obs), Vec::new(), Vec::new());
        if beside.is_empty() {
            self.layers.infer(&seen, obs.rows, &mut out);
        } else {
            join_columns(&seen, beside, obs.rows, &mut joint);
            self.layers.infer(&joint, obs.rows, &mut out);
        }
        out
    }

    /// What the first member makes of what is seen, as nodes of a graph in the ONNX format.
    pub fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Value, NoGraph> {
        let seen = self.encoder.onnx(graph, shown)?;
        Ok(self.layers.onnx(graph, seen))
    }

    /// As [`SeeingNet::infer`], with a graph.
    pub fn forward(&self, obs: ObsRef<'_>, beside: &[f32]) -> Forward {
        let (features, mut tracked) = self.encoder.forward(obs);
        let seen = values(&features).to_vec();
        let input = match beside.len() {
            0 => features,
            all => Tensor::cat(vec![features, leaf(beside, [obs.rows, all / obs.rows])], 1),
        };
        let own = self.layers.params.tracked();
        tracked.push(own.clone());
        Forward { out: self.layers.forward(input, own, None), seen, tracked }
    }
}

impl Trainable for SeeingNet {
    /// Those of the encoder, then the layers'.
    fn params(&mut self) -> Vec<&mut Params> {
        self.encoder.params().into_iter().chain([&mut self.layers.params]).collect()
    }
}

/// A critic that looks for itself, its target, and what trains it: encoder and layers by one loss.
pub struct Critic {
    pub net: Tracked<SeeingNet>,
    group: ParamGroup,
}

/// A loss of a critic's outputs with its gradient, and the mean of the values that it is about.
#[derive(Default)]
pub struct ValueLoss {
    pub value: f32,
    pub q_mean: f32,
    pub gradient: Vec<f32>,
}

impl Critic {
    pub fn new(mut net: SeeingNet, optimizer: &OptimizerConfig, max_norm: f32) -> Self {
        let group = ParamGroup::new(optimizer, &net.params(), max_norm);
        Self { net: Tracked::new(net), group }
    }

    /// One step down the `loss` of what comes out for these observations, with `beside` beside them. Gives what the encoder saw
    /// before it, for an actor to learn from.
    pub fn fit(
        &mut self,
        (obs, beside): (ObsRef<'_>, &[f32]),
        targets: &[f32],
        rate: f32,
        context: &mut UpdateContext<'_>,
        loss: impl FnOnce(&[f32]) -> ValueLoss,
    ) -> Result<Vec<f32>, Diverged> {
        let Forward { out, seen, tracked } = self.net.online.forward(obs, beside);
        let (mut value, mut q_mean) = (0.0, 0.0);
        let node = fused_loss([out], |[q]| {
            let found = loss(q);
            (value, q_mean) = (found.value, found.q_mean);
            (value, [found.gradient])
        });
        let learned = &mut self.net.online.params();
        let norm = self.group.descend("the critic", Loss { node, value, tracked }, learned, rate, context.number())?;
        context.metrics.add("critic_loss", value);
        context.metrics.add("q_value_mean", q_mean);
        context.metrics.add("target_q_mean", 1.0 / targets.len() as f32 * targets.iter().sum::<f32>());
        context.metrics.add("critic_grad_norm", norm);
        Ok(seen)
    }

    /// What acting needs is the encoder, which is saved with the policy: here is the rest.
    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("critic", &mut self.net.online.layers)?;
        io.network("critic_target", &mut self.net.target.layers)?;
        self.net.target.encoder.visit_state("encoder_target", io)?;
        self.group.visit_state("critic", io)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::input::Vision;
    use axiomrl_envs::{BoxSpace, Space};
    use axiomrl_nn::{Activation, Init, MlpSpec};

    #[test]
    fn the_same_comes_out_with_and_without_a_graph_and_beside_actions() {
        let image = || ("camera".into(), Space::Box(BoxSpace::image(10, 5, 1)));
        let speed = || ("speed".into(), Space::Box(BoxSpace::uniform(2, -1.0, 1.0)));
        let (floats, bytes): (Vec<f32>, Vec<u8>) = (vec![0.1, 0.2, 0.3, 0.4], (0..100).collect());
        for (entries, beside) in [(vec![speed()], vec![]), (vec![image(), speed()], vec![0.5, -0.5])] {
            let space = Space::Dict { entries };
            let mut rng = axiomrl_core::stream(1, "test");
            let encoder = ObsEncoder::new(&space, Vision::Auto, &Init::pytorch(), &mut rng).unwrap();
            let spec = MlpSpec::new(encoder.width() + beside.len() / 2, &[4], 3, Activation::Relu);
            let mut net = SeeingNet { layers: Mlp::new(spec, 2, &Init::pytorch(), &mut rng), encoder };
            let bytes = if net.encoder.sees_images() { &bytes[..] } else { &[] };
            let obs = ObsRef { rows: 2, floats: &floats, bytes };
            let forward = net.forward(obs, &beside);
            assert_eq!(&values(&forward.out)[..], &net.infer(obs, &beside)[..]);
            assert_eq!(&forward.seen[..], &net.encoder.infer(obs)[..]);
            assert_eq!(forward.tracked.len(), net.params().len());
        }
    }
}
