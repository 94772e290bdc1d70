//! A value network that looks for itself: an encoder of observations and layers over what it sees, trained by one loss.

use super::columns::join_columns;
use super::input::ObsEncoder;
use super::tracked::Trainable;
use axiomrl_envs::ObsRef;
use axiomrl_nn::{Mlp, Params, Tensor, leaf, values};

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
