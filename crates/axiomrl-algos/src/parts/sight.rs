//! How a network begins: vectors as they are, images through convolutions that are learned with the rest.

use crate::parts::checks::BuildError;
use crate::parts::encode::Encoder;
use crate::state::{StateError, StateIo};
use axiomrl_envs::{ObsRef, Space};
use axiomrl_nn::{ConvNet, ConvSpec, Init, Params, Tensor, leaf};
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
}

/// From here on there is enough of an image for Nature's large strides.
const LARGE_IMAGE: usize = 64;

impl Vision {
    /// The convolutions for images of this shape, if any.
    fn spec(self, image: [usize; 3]) -> Option<ConvSpec> {
        let large = image[0].min(image[1]) >= LARGE_IMAGE;
        match self {
            Self::Flat => None,
            Self::Auto if large => Some(ConvSpec::nature(image)),
            Self::Auto | Self::Small => Some(ConvSpec::small(image)),
            Self::Nature => Some(ConvSpec::nature(image)),
            Self::Drq => Some(ConvSpec::drq(image)),
        }
    }
}

/// The first part of a network: what it makes of an observation before its own layers.
#[derive(Clone)]
pub struct Sight {
    encoder: Encoder,
    convolutions: Option<ConvNet>,
}

impl Sight {
    pub fn new(space: &Space, vision: Vision, init: &Init, rng: &mut ChaCha8Rng) -> Result<Self, BuildError> {
        let encoder = Encoder::new(space);
        let Some(spec) = space.image_shape().and_then(|image| vision.spec(image)) else {
            return Ok(Self { encoder, convolutions: None });
        };
        let too_small = |e| BuildError::Setting(format!("`vision` does not fit the image: {e}; try `vision: small`"));
        spec.check().map_err(too_small)?;
        Ok(Self { encoder, convolutions: Some(ConvNet::new(spec, init, rng)) })
    }

    /// Numbers per observation that the rest of the network sees.
    pub fn width(&self) -> usize {
        self.convolutions.as_ref().map_or(self.encoder.width(), |net| net.spec.features())
    }

    /// Without a graph.
    pub fn infer<'a>(&self, obs: ObsRef<'a>, rows: usize) -> Cow<'a, [f32]> {
        let Some(net) = &self.convolutions else { return self.encoder.encode(obs) };
        let mut features = Vec::new();
        match obs {
            ObsRef::U8(bytes) => net.infer_u8(bytes, rows, &mut features),
            ObsRef::F32(numbers) => net.infer(numbers, rows, &mut features),
        }
        Cow::Owned(features)
    }

    /// `[rows, width]` as a node of the graph, with the parameters it came from if there are any.
    pub fn forward(&self, obs: ObsRef<'_>, rows: usize) -> (Tensor<2>, Option<Tensor<2>>) {
        let Some(net) = &self.convolutions else {
            return (leaf(&self.encoder.encode(obs), [rows, self.encoder.width()]), None);
        };
        let params = net.params.tracked();
        let features = match obs {
            ObsRef::U8(bytes) => net.forward_u8(bytes, rows, params.clone()),
            ObsRef::F32(numbers) => net.forward(leaf(numbers, [rows, numbers.len() / rows]), params.clone()),
        };
        (features, Some(params))
    }

    pub fn params(&mut self) -> Option<&mut Params> {
        self.convolutions.as_mut().map(|net| &mut net.params)
    }

    pub fn exchange(&mut self, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.convolutions.as_mut().map_or(Ok(()), |net| io.conv(&format!("{name}.vision"), net))
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
    fn an_image_that_is_too_small_is_refused_with_a_remedy() {
        let mut rng = axiomrl_core::stream(1, "test");
        let space = Space::Box(BoxSpace::image(10, 5, 1));
        let error = Sight::new(&space, Vision::Nature, &Init::pytorch(), &mut rng).err().unwrap().to_string();
        assert!(error.contains("vision: small"), "{error}");
    }
}
