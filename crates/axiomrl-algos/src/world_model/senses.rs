//! What the model sees of an observation: each image through convolutions, all numbers through one network.

use super::choices::{Heads, Sight};
use super::images::{Stages, parts};
use super::recipe::{Recipe, Style};
use super::settings::WorldModelConfig;
use crate::config::Problem;
use crate::export::{Graph, NoGraph, Shown, Value};
use crate::parts::input::Flatten;
use crate::parts::tracked::Trainable;
use crate::state::{StateError, StateIo};
use axiomrl_envs::{ObsRef, ObsSpace};
use axiomrl_nn::two_hot::symlog;
use axiomrl_nn::{ConvLayer, ConvNet, ConvSpec, Mlp, Params, Tensor, leaf_vec};
use rand_chacha::ChaCha8Rng;
use std::borrow::Cow;
use std::ops::Range;

/// Encodes observations as tokens for the recurrent model.
#[derive(Clone)]
pub struct Senses {
    numbers: Option<(Numbers, Mlp)>,
    images: Vec<Eye>,
}

/// All numbers of an observation, one-hot where they are choices, compressed where the heads compress.
#[derive(Clone)]
pub struct Numbers {
    flatten: Flatten,
    compressed: bool,
}

impl Numbers {
    /// `None` where there are only images.
    pub fn new(space: &ObsSpace, config: &WorldModelConfig) -> Option<Self> {
        let flatten = Flatten::without_images(space, |_| config.vision != Sight::Flat);
        let compressed = config.heads == Heads::TwoHot;
        (flatten.width() > 0).then_some(Self { flatten, compressed })
    }

    pub fn width(&self) -> usize {
        self.flatten.width()
    }

    pub fn encode<'a>(&self, obs: ObsRef<'a>) -> Cow<'a, [f32]> {
        let plain = self.flatten.encode(obs);
        if !self.compressed {
            return plain;
        }
        let mut numbers = plain.into_owned();
        numbers.iter_mut().for_each(|x| *x = symlog(*x));
        Cow::Owned(numbers)
    }
}

impl Numbers {
    /// As [`Numbers::encode`], as nodes of a graph.
    fn onnx(&self, graph: &mut Graph, shown: Shown) -> Option<Value> {
        let plain = self.flatten.onnx(graph, shown)?;
        if !self.compressed {
            return Some(plain);
        }
        // symlog
        let (size, sign) = (graph.node("Abs", &[plain], &[]), graph.node("Sign", &[plain], &[]));
        let size = graph.add_scalar(size, 1.0);
        let size = graph.node("Log", &[size], &[]);
        Some(graph.mul(size, sign))
    }
}

/// What looks at one image.
#[derive(Clone)]
struct Eye {
    name: String,
    /// Its columns in the block of bytes.
    at: Range<usize>,
    net: ConvNet,
}

/// The bytes of one part of all rows side by side.
pub fn bytes_of<'a>(obs: ObsRef<'a>, at: &Range<usize>) -> Cow<'a, [u8]> {
    let width = obs.widths().bytes;
    if *at == (0..width) {
        return Cow::Borrowed(obs.bytes);
    }
    Cow::Owned(obs.bytes.chunks_exact(width).flat_map(|row| &row[at.clone()]).copied().collect())
}

/// Convolutions of stride 2 for each stage.
fn conv_spec(stages: &Stages, style: &Style, depth: usize) -> ConvSpec {
    let channels = stages.channels(style, depth);
    let layers = channels.into_iter().map(|channels| match style.normed {
        true => ConvLayer::new(channels, 5, 2, 2),
        false => ConvLayer::new(channels, 4, 2, 0),
    });
    let spec = ConvSpec::new(stages.image, &layers.collect::<Vec<_>>(), style.conv);
    if style.normed { spec.with_rms_norm() } else { spec }
}

impl Senses {
    pub fn new(
        space: &ObsSpace,
        config: &WorldModelConfig,
        recipe: &Recipe,
        rng: &mut ChaCha8Rng,
    ) -> Result<Self, Problem> {
        let (style, units) = (recipe.style, recipe.dims.units);
        let numbers = Numbers::new(space, config).map(|numbers| {
            // The last of the layers is the output: it has its non-linearity too.
            let spec = style.mlp(numbers.width(), config.encoder_layers - 1, units, units);
            let net = Mlp::new(spec.with_output_activation(style.dense), 1, &style.init(1.0), rng);
            (numbers, net)
        });
        let mut images = Vec::new();
        for (part, stages) in parts(space, config.vision)? {
            let net = ConvNet::new(conv_spec(&stages, &style, recipe.dims.depth), &style.init(1.0), rng);
            images.push(Eye { name: part.name.clone(), at: part.at.clone(), net });
        }
        Ok(Self { numbers, images })
    }

    /// Numbers of a token.
    pub fn width(&self) -> usize {
        let numbers = self.numbers.as_ref().map_or(0, |(_, net)| net.spec.outputs);
        numbers + self.images.iter().map(|eye| eye.net.spec.features()).sum::<usize>()
    }

    /// Tokens without a graph.
    pub fn infer(&self, obs: ObsRef<'_>) -> Vec<f32> {
        let rows = obs.rows;
        let mut columns = Vec::new();
        if let Some((numbers, net)) = &self.numbers {
            let mut out = Vec::new();
            net.infer(&numbers.encode(obs), rows, &mut out);
            columns.push(out);
        }
        for eye in &self.images {
            let mut out = Vec::new();
            eye.net.infer_u8(&bytes_of(obs, &eye.at), rows, &mut out);
            columns.push(out);
        }
        if columns.len() == 1 {
            return columns.swap_remove(0);
        }
        let mut tokens = Vec::with_capacity(rows * self.width());
        for row in 0..rows {
            for column in &columns {
                let width = column.len() / rows;
                tokens.extend_from_slice(&column[row * width..(row + 1) * width]);
            }
        }
        tokens
    }

    /// As [`Senses::infer`], as nodes of a graph in the ONNX format.
    pub fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Value, NoGraph> {
        let mut columns = Vec::new();
        if let Some((numbers, net)) = &self.numbers {
            let numbers = numbers.onnx(graph, shown);
            columns.extend(numbers.map(|numbers| net.onnx(graph, numbers)));
        }
        for eye in &self.images {
            let pixels = shown.pixels(graph, eye.at.clone());
            columns.extend(pixels.map(|pixels| eye.net.onnx(graph, pixels)));
        }
        if columns.is_empty() {
            return Err(NoGraph::because("its observations are empty"));
        }
        Ok(graph.concat(&columns))
    }

    /// Tokens as a node of the graph; the parameters they came from are added to `tracked`.
    pub fn forward(&self, obs: ObsRef<'_>, tracked: &mut Vec<Tensor<2>>) -> Tensor<2> {
        let rows = obs.rows;
        let mut columns = Vec::new();
        if let Some((numbers, net)) = &self.numbers {
            let params = net.params.tracked();
            let input = leaf_vec(numbers.encode(obs).into_owned(), [rows, numbers.width()]);
            columns.push(net.forward(input, params.clone(), None).reshape([rows, net.spec.outputs]));
            tracked.push(params);
        }
        for eye in &self.images {
            let params = eye.net.params.tracked();
            columns.push(eye.net.forward_u8(&bytes_of(obs, &eye.at)[..], rows, params.clone()));
            tracked.push(params);
        }
        if columns.len() == 1 { columns.swap_remove(0) } else { Tensor::cat(columns, 1) }
    }

    /// Lengths of the tensors inside of each of the parameters.
    pub fn tensor_lens(&self) -> Vec<Vec<usize>> {
        let numbers = self.numbers.iter().map(|(_, net)| super::lens(net.spec.layout()));
        numbers.chain(self.images.iter().map(|eye| super::lens(eye.net.spec.layout()))).collect()
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        if let Some((_, net)) = &mut self.numbers {
            io.network("encoder.numbers", net)?;
        }
        for eye in &mut self.images {
            io.network(&format!("encoder.image{}", super::suffix(&eye.name)), &mut eye.net)?;
        }
        Ok(())
    }
}

impl Trainable for Senses {
    fn params(&mut self) -> Vec<&mut Params> {
        let numbers = self.numbers.iter_mut().map(|(_, net)| &mut net.params);
        numbers.chain(self.images.iter_mut().map(|eye| &mut eye.net.params)).collect()
    }
}
