//! What a network of curiosity makes of observations.

use crate::config::Problem;
use crate::parts::input::{ObsEncoder, Vision};
use crate::parts::tracked::Trainable;
use crate::state::{StateError, StateIo};
use axiomrl_envs::{ObsRef, Space};
use axiomrl_nn::{Activation, Init, Mlp, MlpSpec, Params, Tensor};
use rand_chacha::ChaCha8Rng;

/// Orthogonal with a gain of √2, all layers alike.
pub const INIT: Init =
    Init::Orthogonal { hidden_gain: std::f32::consts::SQRT_2, output_gain: std::f32::consts::SQRT_2 };

/// What looks at images, and layers over it.
#[derive(Clone)]
pub struct Features {
    input: ObsEncoder,
    layers: Mlp,
}

/// Widths of the hidden layers and of the features, for observations without images and with some.
pub struct Widths<'a> {
    pub of_vectors: (&'a [usize], usize),
    pub of_images: (&'a [usize], usize),
}

impl Features {
    pub fn new(space: &Space, vision: Vision, widths: Widths<'_>, rng: &mut ChaCha8Rng) -> Result<Self, Problem> {
        let input = ObsEncoder::new(space, vision, &INIT, rng)?;
        let (hidden, outputs) = if input.sees_images() { widths.of_images } else { widths.of_vectors };
        let layers = Mlp::new(MlpSpec::new(input.width(), hidden, outputs, Activation::Elu), 1, &INIT, rng);
        Ok(Self { input, layers })
    }

    /// Numbers of a row of features.
    pub fn width(&self) -> usize {
        self.layers.spec.outputs
    }

    /// Without a graph.
    pub fn infer(&self, obs: ObsRef<'_>) -> Vec<f32> {
        let mut features = Vec::new();
        self.layers.infer(&self.input.infer(obs), obs.rows, &mut features);
        features
    }

    /// `[rows, width]` as a node of the graph, with the parameters it came from, in the order of [`Trainable::params`].
    pub fn forward(&self, obs: ObsRef<'_>) -> (Tensor<2>, Vec<Tensor<2>>) {
        let (seen, mut tracked) = self.input.forward(obs);
        let own = self.layers.params.tracked();
        let features = self.layers.forward(seen, own.clone(), None).reshape([obs.rows, self.width()]);
        tracked.push(own);
        (features, tracked)
    }

    pub fn visit_state(&mut self, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.input.visit_state(name, io)?;
        io.network(name, &mut self.layers)
    }
}

impl Trainable for Features {
    fn params(&mut self) -> Vec<&mut Params> {
        self.input.params().into_iter().chain([&mut self.layers.params]).collect()
    }
}
