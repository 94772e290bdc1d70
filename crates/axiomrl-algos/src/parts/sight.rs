//! How a network begins: vectors as they are, images through convolutions that are learned with the rest.

use crate::config::Problem;
use crate::parts::encode::Encoder;
use crate::state::{StateError, StateIo};
use axiomrl_envs::{ObsRef, Space};
use axiomrl_nn::{ConvNet, ConvSpec, Init, NnError, Params, ResidualNet, ResidualSpec, Tensor, leaf};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What looks at an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Vision {
    /// `nature` from 64 pixels on, `small` below.
    #[default]
    Auto,
    /// No convolutions: the pixels are a vector.
    Flat,
    /// Two or three 3x3 convolutions that halve the image: for 8 to 40 pixels.
    Small,
    /// The three convolutions of DQN on Atari: for 84 pixels or so.
    Nature,
    /// Four 3x3 convolutions of 32 channels, as in DrQ.
    Drq,
    /// The residual network of IMPALA, 256 features: slower, and stronger on varied images.
    Impala,
}

/// From here on there is enough of an image for Nature's large strides.
const LARGE_IMAGE: usize = 64;

/// Features of the residual network, as in its paper.
const IMPALA_FEATURES: usize = 256;

/// The shape of what looks at an image.
enum EyeSpec {
    Plain(ConvSpec),
    Residual(ResidualSpec),
}

impl Vision {
    /// The shape of the network for these observations, if they are images and looked at.
    fn spec(self, space: &Space) -> Result<Option<EyeSpec>, Problem> {
        let Some(image) = space.image_shape() else { return Ok(None) };
        let large = image[0].min(image[1]) >= LARGE_IMAGE;
        let spec = match self {
            Self::Flat => return Ok(None),
            Self::Impala => EyeSpec::Residual(ResidualSpec::impala(image, 1, IMPALA_FEATURES)),
            Self::Auto if large => EyeSpec::Plain(ConvSpec::nature(image)),
            Self::Auto | Self::Small => EyeSpec::Plain(ConvSpec::small(image)),
            Self::Nature => EyeSpec::Plain(ConvSpec::nature(image)),
            Self::Drq => EyeSpec::Plain(ConvSpec::drq(image)),
        };
        let sound = match &spec {
            EyeSpec::Plain(spec) => spec.check(),
            EyeSpec::Residual(spec) => spec.check(),
        };
        let too_small = |e: NnError| format!("`vision` does not fit the image: {e}; try `vision: small`");
        sound.map_err(|e| Problem::new(&["vision"], too_small(e)))?;
        Ok(Some(spec))
    }

    /// Whether these observations can be looked at in this way.
    pub fn check(self, space: &Space) -> Result<(), Problem> {
        self.spec(space).map(drop)
    }
}

/// What turns an image into features.
#[derive(Clone)]
enum Eye {
    Plain(ConvNet),
    Residual(ResidualNet),
}

impl Eye {
    fn features(&self) -> usize {
        match self {
            Self::Plain(net) => net.spec.features(),
            Self::Residual(net) => net.spec.features,
        }
    }

    fn params(&self) -> &Params {
        match self {
            Self::Plain(net) => &net.params,
            Self::Residual(net) => &net.params,
        }
    }

    fn params_mut(&mut self) -> &mut Params {
        match self {
            Self::Plain(net) => &mut net.params,
            Self::Residual(net) => &mut net.params,
        }
    }

    fn infer(&self, obs: ObsRef<'_>, rows: usize, out: &mut Vec<f32>) {
        match (self, obs) {
            (Self::Plain(net), ObsRef::U8(bytes)) => net.infer_u8(bytes, rows, out),
            (Self::Plain(net), ObsRef::F32(numbers)) => net.infer(numbers, rows, out),
            (Self::Residual(net), ObsRef::U8(bytes)) => net.infer_u8(bytes, rows, out),
            (Self::Residual(net), ObsRef::F32(numbers)) => net.infer(numbers, rows, out),
        }
    }

    fn forward(&self, obs: ObsRef<'_>, rows: usize, params: Tensor<2>) -> Tensor<2> {
        let images = |numbers: &[f32]| leaf(numbers, [rows, numbers.len() / rows]);
        match (self, obs) {
            (Self::Plain(net), ObsRef::U8(bytes)) => net.forward_u8(bytes, rows, params),
            (Self::Plain(net), ObsRef::F32(numbers)) => net.forward(images(numbers), params),
            (Self::Residual(net), ObsRef::U8(bytes)) => net.forward_u8(bytes, rows, params),
            (Self::Residual(net), ObsRef::F32(numbers)) => net.forward(images(numbers), params),
        }
    }
}

/// The first part of a network: what it makes of an observation before its own layers.
#[derive(Clone)]
pub struct Sight {
    encoder: Encoder,
    eye: Option<Eye>,
}

impl Sight {
    pub fn new(space: &Space, vision: Vision, init: &Init, rng: &mut ChaCha8Rng) -> Result<Self, Problem> {
        let eye = vision.spec(space)?.map(|spec| match spec {
            EyeSpec::Plain(spec) => Eye::Plain(ConvNet::new(spec, init, rng)),
            EyeSpec::Residual(spec) => Eye::Residual(ResidualNet::new(spec, init, rng)),
        });
        Ok(Self { encoder: Encoder::new(space), eye })
    }

    /// Numbers per observation that the rest of the network sees.
    pub fn width(&self) -> usize {
        self.eye.as_ref().map_or(self.encoder.width(), Eye::features)
    }

    /// Without a graph.
    pub fn infer<'a>(&self, obs: ObsRef<'a>, rows: usize) -> Cow<'a, [f32]> {
        let Some(eye) = &self.eye else { return self.encoder.encode(obs) };
        let mut features = Vec::new();
        eye.infer(obs, rows, &mut features);
        Cow::Owned(features)
    }

    /// `[rows, width]` as a node of the graph, with the parameters it came from if there are any.
    pub fn forward(&self, obs: ObsRef<'_>, rows: usize) -> (Tensor<2>, Option<Tensor<2>>) {
        let Some(eye) = &self.eye else {
            return (leaf(&self.encoder.encode(obs), [rows, self.encoder.width()]), None);
        };
        let params = eye.params().tracked();
        (eye.forward(obs, rows, params.clone()), Some(params))
    }

    pub fn params(&mut self) -> Option<&mut Params> {
        self.eye.as_mut().map(Eye::params_mut)
    }

    pub fn exchange(&mut self, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
        let name = format!("{name}.vision");
        match &mut self.eye {
            None => Ok(()),
            Some(Eye::Plain(net)) => io.network(&name, net),
            Some(Eye::Residual(net)) => io.network(&name, net),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_envs::BoxSpace;
    use axiomrl_nn::values;

    #[test]
    fn images_are_looked_at_and_vectors_passed_on() {
        let mut rng = axiomrl_core::stream(1, "test");
        let mut sight = |space: &Space| Sight::new(space, Vision::Auto, &Init::pytorch(), &mut rng).unwrap();
        let mut vector = sight(&Space::Box(BoxSpace::uniform(3, -1.0, 1.0)));
        assert_eq!(vector.width(), 3);
        assert!(vector.params().is_none());
        let mut image = sight(&Space::Box(BoxSpace::image(10, 5, 1)));
        assert_eq!(image.width(), 3 * 2 * 32);
        assert!(image.params().is_some());
        let bytes: Vec<u8> = (0..100).collect();
        let seen = image.infer(ObsRef::U8(&bytes), 2);
        let (node, params) = image.forward(ObsRef::U8(&bytes), 2);
        assert_eq!(&values(&node)[..], &seen[..]);
        assert!(params.is_some());
    }

    #[test]
    fn the_residual_network_sees_the_same_with_and_without_a_graph() {
        let mut rng = axiomrl_core::stream(1, "test");
        let space = Space::Box(BoxSpace::image(10, 5, 1));
        let mut sight = Sight::new(&space, Vision::Impala, &Init::pytorch(), &mut rng).unwrap();
        assert_eq!(sight.width(), IMPALA_FEATURES);
        let bytes: Vec<u8> = (0..100).collect();
        let seen = sight.infer(ObsRef::U8(&bytes), 2);
        assert_eq!(&values(&sight.forward(ObsRef::U8(&bytes), 2).0)[..], &seen[..]);
        assert!(sight.params().is_some());
    }

    #[test]
    fn an_image_that_is_too_small_is_refused_with_a_remedy() {
        let mut rng = axiomrl_core::stream(1, "test");
        let space = Space::Box(BoxSpace::image(10, 5, 1));
        let error = Sight::new(&space, Vision::Nature, &Init::pytorch(), &mut rng).err().unwrap().to_string();
        assert!(error.contains("vision: small"), "{error}");
    }
}
