//! How a network begins: vectors as they are, images through convolutions that are learned with the rest.

mod flat;
mod pass;

use crate::config::Problem;
use crate::export::{Graph, NoGraph, Shown, Value};
use crate::parts::tracked::Trainable;
use crate::state::{StateError, StateIo};
use axiomrl_envs::{ObsRef, ObsSpace, Part, Space};
use axiomrl_nn::{ConvNet, ConvSpec, Init, NnError, Params, ResidualNet, ResidualSpec, Tensor, leaf};
pub use flat::Flatten;
pub use pass::EncoderPass;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ops::Range;

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
enum ImageEncoderSpec {
    Plain(ConvSpec),
    Residual(ResidualSpec),
}

impl Vision {
    /// The shape of the network for a part of the observation, if it is an image and looked at.
    fn spec(self, part: &Part) -> Result<Option<ImageEncoderSpec>, Problem> {
        let Some(image) = part.image_shape() else { return Ok(None) };
        let large = image[0].min(image[1]) >= LARGE_IMAGE;
        let spec = match self {
            Self::Flat => return Ok(None),
            Self::Impala => ImageEncoderSpec::Residual(ResidualSpec::impala(image, 1, IMPALA_FEATURES)),
            Self::Auto if large => ImageEncoderSpec::Plain(ConvSpec::nature(image)),
            Self::Auto | Self::Small => ImageEncoderSpec::Plain(ConvSpec::small(image)),
            Self::Nature => ImageEncoderSpec::Plain(ConvSpec::nature(image)),
            Self::Drq => ImageEncoderSpec::Plain(ConvSpec::drq(image)),
        };
        let sound = match &spec {
            ImageEncoderSpec::Plain(spec) => spec.check(),
            ImageEncoderSpec::Residual(spec) => spec.check(),
        };
        let too_small = |e: NnError| format!("`vision` does not fit the image: {e}; try `vision: small`");
        sound.map_err(|e| Problem::new(&["vision"], too_small(e)))?;
        Ok(Some(spec))
    }

    /// Whether these observations can be looked at in this way.
    pub fn check(self, space: &Space) -> Result<(), Problem> {
        ObsSpace::of(space).parts.iter().try_for_each(|part| self.spec(part).map(drop))
    }

    /// What would look at each of the images, if all of that are plain stacks of convolutions.
    pub fn stacks(self, space: &ObsSpace) -> Result<Option<Vec<ConvSpec>>, Problem> {
        let mut stacks = Vec::new();
        for part in &space.parts {
            match self.spec(part)? {
                None => {}
                Some(ImageEncoderSpec::Plain(spec)) => stacks.push(spec),
                Some(ImageEncoderSpec::Residual(_)) => return Ok(None),
            }
        }
        Ok(Some(stacks))
    }
}

/// What turns an image into features.
#[derive(Clone)]
enum ImageEncoder {
    Plain(ConvNet),
    Residual(ResidualNet),
}

impl ImageEncoder {
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

    fn infer(&self, images: &[u8], rows: usize, out: &mut Vec<f32>) {
        match self {
            Self::Plain(net) => net.infer_u8(images, rows, out),
            Self::Residual(net) => net.infer_u8(images, rows, out),
        }
    }

    fn forward(&self, images: &[u8], rows: usize, params: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Plain(net) => net.forward_u8(images, rows, params),
            Self::Residual(net) => net.forward_u8(images, rows, params),
        }
    }
}

/// A part of the observation that is looked at.
#[derive(Clone)]
struct ImagePart {
    name: String,
    /// Its columns in the block of bytes.
    at: Range<usize>,
    encoder: ImageEncoder,
}

impl ImagePart {
    /// The images of all rows side by side: as they lie where there is nothing beside them.
    fn bytes<'a>(&self, obs: ObsRef<'a>) -> Cow<'a, [u8]> {
        let width = obs.widths().bytes;
        if self.at == (0..width) {
            return Cow::Borrowed(obs.bytes);
        }
        Cow::Owned(obs.bytes.chunks_exact(width).flat_map(|row| &row[self.at.clone()]).copied().collect())
    }
}

/// The first part of a network: what it makes of an observation before its own layers. Numbers and choices come first, then
/// the features of each image.
#[derive(Clone)]
pub struct ObsEncoder {
    flat: Flatten,
    images: Vec<ImagePart>,
}

impl ObsEncoder {
    pub fn new(space: &Space, vision: Vision, init: &Init, rng: &mut ChaCha8Rng) -> Result<Self, Problem> {
        let space = ObsSpace::of(space);
        let mut images = Vec::new();
        for part in &space.parts {
            let Some(spec) = vision.spec(part)? else { continue };
            let encoder = match spec {
                ImageEncoderSpec::Plain(spec) => ImageEncoder::Plain(ConvNet::new(spec, init, rng)),
                ImageEncoderSpec::Residual(spec) => ImageEncoder::Residual(ResidualNet::new(spec, init, rng)),
            };
            images.push(ImagePart { name: part.name.clone(), at: part.at.clone(), encoder });
        }
        Ok(Self { flat: Flatten::without_images(&space, |_| vision != Vision::Flat), images })
    }

    /// Numbers per observation that the rest of the network sees.
    pub fn width(&self) -> usize {
        self.flat.width() + self.images.iter().map(|image| image.encoder.features()).sum::<usize>()
    }

    /// Whether there is anything that learns to look.
    pub fn sees_images(&self) -> bool {
        !self.images.is_empty()
    }

    /// Without a graph.
    pub fn infer<'a>(&self, obs: ObsRef<'a>) -> Cow<'a, [f32]> {
        let rows = obs.rows;
        let mut columns = Vec::new();
        for image in &self.images {
            let mut features = Vec::new();
            image.encoder.infer(&image.bytes(obs), rows, &mut features);
            columns.push(features);
        }
        match (columns.len(), self.flat.width()) {
            (0, _) => self.flat.encode(obs),
            (1, 0) => Cow::Owned(columns.swap_remove(0)),
            _ => Cow::Owned(self.beside_numbers(obs, &columns.iter().map(Vec::as_slice).collect::<Vec<_>>())),
        }
    }

    /// Numbers and choices, then the features of each image, row by row.
    fn beside_numbers(&self, obs: ObsRef<'_>, features: &[&[f32]]) -> Vec<f32> {
        let (rows, numbers) = (obs.rows, self.flat.encode(obs));
        let mut out = Vec::with_capacity(rows * self.width());
        for row in 0..rows {
            for column in std::iter::once(&numbers[..]).chain(features.iter().copied()) {
                let width = column.len() / rows;
                out.extend_from_slice(&column[row * width..(row + 1) * width]);
            }
        }
        out
    }

    /// As [`ObsEncoder::infer`], as nodes of a graph.
    pub fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Value, NoGraph> {
        let mut columns: Vec<Value> = self.flat.onnx(graph, shown).into_iter().collect();
        for image in &self.images {
            let pixels = shown.pixels(graph, image.at.clone());
            columns.extend(pixels.map(|pixels| match &image.encoder {
                ImageEncoder::Plain(net) => net.onnx(graph, pixels),
                ImageEncoder::Residual(net) => net.onnx(graph, pixels),
            }));
        }
        if columns.is_empty() {
            return Err(NoGraph::because("its observations are empty"));
        }
        Ok(graph.concat(&columns))
    }

    /// `[rows, width]` as a node of the graph, with the parameters it came from: one tensor for each image.
    pub fn forward(&self, obs: ObsRef<'_>) -> (Tensor<2>, Vec<Tensor<2>>) {
        let rows = obs.rows;
        let (mut columns, mut params) = (Vec::new(), Vec::new());
        if self.flat.width() > 0 {
            columns.push(leaf(&self.flat.encode(obs), [rows, self.flat.width()]));
        }
        for image in &self.images {
            let tracked = image.encoder.params().tracked();
            columns.push(image.encoder.forward(&image.bytes(obs), rows, tracked.clone()));
            params.push(tracked);
        }
        let seen = if columns.len() == 1 { columns.swap_remove(0) } else { Tensor::cat(columns, 1) };
        (seen, params)
    }

    pub fn visit_state(&mut self, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
        for image in &mut self.images {
            let name = match image.name.as_str() {
                "" => format!("{name}.vision"),
                part => format!("{name}.vision.{part}"),
            };
            match &mut image.encoder {
                ImageEncoder::Plain(net) => io.network(&name, net)?,
                ImageEncoder::Residual(net) => io.network(&name, net)?,
            }
        }
        Ok(())
    }
}

impl Trainable for ObsEncoder {
    /// One tensor for each image.
    fn params(&mut self) -> Vec<&mut Params> {
        self.images.iter_mut().map(|image| image.encoder.params_mut()).collect()
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
        let mut encoder = |space: &Space| ObsEncoder::new(space, Vision::Auto, &Init::pytorch(), &mut rng).unwrap();
        let mut vector = encoder(&Space::Box(BoxSpace::uniform(3, -1.0, 1.0)));
        assert_eq!(vector.width(), 3);
        assert!(vector.params().is_empty());
        let mut image = encoder(&Space::Box(BoxSpace::image(10, 5, 1)));
        assert_eq!(image.width(), 3 * 2 * 32);
        assert_eq!(image.params().len(), 1);
        let bytes: Vec<u8> = (0..100).collect();
        let seen = image.infer(ObsRef::of_bytes(2, &bytes));
        let (node, params) = image.forward(ObsRef::of_bytes(2, &bytes));
        assert_eq!(&values(&node)[..], &seen[..]);
        assert_eq!(params.len(), 1);
    }

    #[test]
    fn the_residual_network_sees_the_same_with_and_without_a_graph() {
        let mut rng = axiomrl_core::stream(1, "test");
        let space = Space::Box(BoxSpace::image(10, 5, 1));
        let mut encoder = ObsEncoder::new(&space, Vision::Impala, &Init::pytorch(), &mut rng).unwrap();
        assert_eq!(encoder.width(), IMPALA_FEATURES);
        let bytes: Vec<u8> = (0..100).collect();
        let seen = encoder.infer(ObsRef::of_bytes(2, &bytes));
        assert_eq!(&values(&encoder.forward(ObsRef::of_bytes(2, &bytes)).0)[..], &seen[..]);
        assert_eq!(encoder.params().len(), 1);
    }

    #[test]
    fn images_and_numbers_are_seen_side_by_side() {
        let mut rng = axiomrl_core::stream(1, "test");
        let entries = vec![
            ("camera".into(), Space::Box(BoxSpace::image(10, 5, 1))),
            ("speed".into(), Space::Box(BoxSpace::uniform(2, -1.0, 1.0))),
            ("rear".into(), Space::Box(BoxSpace::image(8, 8, 1))),
        ];
        let space = Space::Dict { entries };
        let mut encoder = ObsEncoder::new(&space, Vision::Auto, &Init::pytorch(), &mut rng).unwrap();
        assert_eq!(encoder.params().len(), 2);
        let (floats, bytes) = ([1.0, 2.0, 3.0, 4.0], (0..228).map(|b| b as u8).collect::<Vec<u8>>());
        let obs = ObsRef { rows: 2, floats: &floats, bytes: &bytes };
        let seen = encoder.infer(obs).into_owned();
        assert_eq!(seen.len(), 2 * encoder.width());
        assert_eq!((&seen[..2], &seen[encoder.width()..encoder.width() + 2]), (&floats[..2], &floats[2..]));
        let (node, params) = encoder.forward(obs);
        assert_eq!((&values(&node)[..], params.len()), (&seen[..], 2));
        // Another camera picture changes the camera's features and nothing else.
        let mut other = bytes.clone();
        other[..50].fill(9);
        let changed = encoder.infer(ObsRef { bytes: &other, ..obs });
        let camera = 2..2 + 3 * 2 * 32;
        for (i, (a, b)) in seen.iter().zip(changed.iter()).enumerate() {
            assert!(a == b || camera.contains(&i), "number {i}");
        }
        assert_ne!(seen[camera.clone()], changed[camera]);
    }

    #[test]
    fn an_image_that_is_too_small_is_refused_with_a_remedy() {
        let mut rng = axiomrl_core::stream(1, "test");
        let space = Space::Box(BoxSpace::image(10, 5, 1));
        let error = ObsEncoder::new(&space, Vision::Nature, &Init::pytorch(), &mut rng).err().unwrap().to_string();
        assert!(error.contains("vision: small"), "{error}");
    }
}
