//! The way back from a state to what was observed there.

use super::choices::Heads;
use super::images::parts;
use super::recipe::Recipe;
use super::senses::{Numbers, bytes_of};
use super::settings::WorldModelConfig;
use crate::config::Problem;
use crate::parts::tracked::Trainable;
use crate::policy::Picture;
use crate::state::{StateError, StateIo};
use axiomrl_envs::{ObsRef, ObsSpace};
use axiomrl_nn::math::sigmoid;
use axiomrl_nn::two_hot::symexp;
use axiomrl_nn::{Decoder, DecoderSpec, Mlp, Params, Tensor, fused_loss};
use rand_chacha::ChaCha8Rng;
use std::ops::Range;

/// Decodes states to the numbers and images that the senses had.
#[derive(Clone)]
pub struct Reconstruction {
    numbers: Option<(Numbers, Mlp)>,
    images: Vec<Painter>,
    heads: Heads,
    /// The shape of an image that is taken as numbers, where there is nothing beside it.
    board: Option<[usize; 3]>,
}

/// What paints one image.
#[derive(Clone)]
struct Painter {
    name: String,
    at: Range<usize>,
    net: Decoder,
}

/// What a state looks like: the numbers as the senses encode them, then each image in [0, 1], row by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    pub numbers: Vec<f32>,
    pub images: Vec<Vec<f32>>,
}

/// A loss of outputs `[rows, width]` against targets: the sum over a row, the mean over rows.
///
/// `Normal` is half the squared error, of pixels too, whose targets are around 0. `TwoHot` is the squared error as it is, and
/// pixels pass through a sigmoid.
fn squared_error(
    heads: Heads,
    pixels: bool,
    rows: usize,
    outputs: &[f32],
    target: impl Fn(usize) -> f32,
) -> (f32, Vec<f32>) {
    let (mut value, share) = (0.0f64, 1.0 / rows as f32);
    let mut gradient = vec![0.0; outputs.len()];
    for (at, (output, slope)) in outputs.iter().zip(&mut gradient).enumerate() {
        match (heads, pixels) {
            (Heads::Normal, _) => {
                let error = output - target(at) + if pixels { 0.5 } else { 0.0 };
                value += f64::from(0.5 * error * error);
                *slope = share * error;
            }
            (Heads::TwoHot, false) => {
                let error = output - target(at);
                value += f64::from(error * error);
                *slope = 2.0 * share * error;
            }
            (Heads::TwoHot, true) => {
                let shown = sigmoid(*output);
                let error = shown - target(at);
                value += f64::from(error * error);
                *slope = 2.0 * share * error * shown * (1.0 - shown);
            }
        }
    }
    ((value / rows as f64) as f32, gradient)
}

impl Reconstruction {
    pub fn new(
        space: &ObsSpace,
        config: &WorldModelConfig,
        recipe: &Recipe,
        features: usize,
        rng: &mut ChaCha8Rng,
    ) -> Result<Self, Problem> {
        let (style, dims) = (recipe.style, recipe.dims);
        let numbers = Numbers::new(space, config).map(|numbers| {
            let spec = style.mlp(features, config.encoder_layers, dims.units, numbers.width());
            let net = Mlp::new(spec, 1, &style.init(1.0), rng);
            (numbers, net)
        });
        let mut images = Vec::new();
        for (part, stages) in parts(space, config.vision)? {
            let mut channels = stages.channels(&style, dims.depth);
            let widest = channels.pop().unwrap_or(dims.depth);
            channels.reverse();
            channels.push(stages.image[2]);
            let [height, width] = stages.smallest;
            let spec = DecoderSpec::new(features, [height, width, widest], &channels, style.conv);
            let spec = if style.normed { spec.with_rms_norm() } else { spec };
            let net = Decoder::new(spec, &style.init(1.0), rng);
            images.push(Painter { name: part.name.clone(), at: part.at.clone(), net });
        }
        let board = match &space.parts[..] {
            [only] if images.is_empty() => only.image_shape(),
            _ => None,
        };
        Ok(Self { numbers, images, heads: config.heads, board })
    }

    /// How far the states are from showing `obs`: nodes of the graph, and the sum of their values. Parameters are added to
    /// `tracked`.
    pub fn loss(&self, features: &Tensor<2>, obs: ObsRef<'_>, tracked: &mut Vec<Tensor<2>>) -> (Vec<Tensor<1>>, f32) {
        let (rows, heads) = (obs.rows, self.heads);
        let (mut nodes, mut total) = (Vec::new(), 0.0);
        if let Some((numbers, net)) = &self.numbers {
            let params = net.params.tracked();
            let outputs = net.forward(features.clone(), params.clone(), None);
            let targets = numbers.encode(obs);
            nodes.push(fused_loss([outputs], |[outputs]| {
                let (value, gradient) = squared_error(heads, false, rows, outputs, |at| targets[at]);
                total += value;
                (value, [gradient])
            }));
            tracked.push(params);
        }
        for painter in &self.images {
            let params = painter.net.params.tracked();
            let outputs = painter.net.forward(features.clone(), params.clone());
            let targets = bytes_of(obs, &painter.at);
            nodes.push(fused_loss([outputs], |[outputs]| {
                let shown = |at: usize| f32::from(targets[at]) * (1.0 / 255.0);
                let (value, gradient) = squared_error(heads, true, rows, outputs, shown);
                total += value;
                (value, [gradient])
            }));
            tracked.push(params);
        }
        (nodes, total)
    }

    /// What states look like.
    pub fn decode(&self, features: &[f32], rows: usize) -> Decoded {
        let mut decoded = Decoded::default();
        if let Some((_, net)) = &self.numbers {
            net.infer(features, rows, &mut decoded.numbers);
        }
        for painter in &self.images {
            let mut image = Vec::new();
            painter.net.infer(features, rows, &mut image);
            image.iter_mut().for_each(|x| {
                *x = match self.heads {
                    Heads::Normal => (*x + 0.5).clamp(0.0, 1.0),
                    Heads::TwoHot => sigmoid(*x),
                }
            });
            decoded.images.push(image);
        }
        decoded
    }

    /// What observations are, in the same form.
    pub fn truth(&self, obs: ObsRef<'_>) -> Decoded {
        let shown = |painter: &Painter| {
            bytes_of(obs, &painter.at).iter().map(|&byte| f32::from(byte) * (1.0 / 255.0)).collect()
        };
        Decoded {
            numbers: self.numbers.as_ref().map_or(Vec::new(), |(numbers, _)| numbers.encode(obs).into_owned()),
            images: self.images.iter().map(shown).collect(),
        }
    }

    /// The first image of what was decoded, one row of it.
    pub fn picture(&self, decoded: Decoded) -> Option<Picture> {
        if let Some((painter, pixels)) = self.images.first().zip(decoded.images.into_iter().next()) {
            return Some(Picture { shape: painter.net.spec.output_shape(), pixels });
        }
        let numbers = decoded.numbers.into_iter();
        let plain = |x: f32| if self.heads == Heads::TwoHot { symexp(x) } else { x };
        let pixels = numbers.map(|x| plain(x).clamp(0.0, 1.0)).collect();
        self.board.map(|shape| Picture { shape, pixels })
    }

    pub fn tensor_lens(&self) -> Vec<Vec<usize>> {
        let numbers = self.numbers.iter().map(|(_, net)| super::lens(net.spec.layout()));
        numbers.chain(self.images.iter().map(|painter| super::lens(painter.net.spec.layout()))).collect()
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        if let Some((_, net)) = &mut self.numbers {
            io.network("decoder.numbers", net)?;
        }
        for painter in &mut self.images {
            io.network(&format!("decoder.image{}", super::suffix(&painter.name)), &mut painter.net)?;
        }
        Ok(())
    }
}

impl Trainable for Reconstruction {
    fn params(&mut self) -> Vec<&mut Params> {
        let numbers = self.numbers.iter_mut().map(|(_, net)| &mut net.params);
        numbers.chain(self.images.iter_mut().map(|painter| &mut painter.net.params)).collect()
    }
}

impl Decoded {
    /// The squared distance of each row to that of another.
    pub fn distances(&self, other: &Self, rows: usize) -> Vec<f32> {
        let mut sums = vec![0.0; rows];
        let blocks = std::iter::once((&self.numbers, &other.numbers)).chain(self.images.iter().zip(&other.images));
        for (own, others) in blocks.filter(|(own, _)| !own.is_empty()) {
            let width = own.len() / rows;
            for (sum, (own, others)) in sums.iter_mut().zip(own.chunks_exact(width).zip(others.chunks_exact(width))) {
                *sum += own.iter().zip(others).map(|(a, b)| (a - b) * (a - b)).sum::<f32>();
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_summed_over_a_row_and_halved_in_one_kind_of_head() {
        let shown = [0.6; 10];
        let logits = shown.map(|x: f32| (x / (1.0 - x)).ln());
        let (normal, _) = squared_error(Heads::Normal, true, 1, &shown.map(|x| x - 0.5), |_| 0.5);
        let (sharp, _) = squared_error(Heads::TwoHot, true, 1, &logits, |_| 0.5);
        assert!((normal - 0.05).abs() < 1e-6 && (sharp - 0.1).abs() < 1e-6, "{normal} {sharp}");
        // Of several rows the mean is taken.
        assert!((squared_error(Heads::Normal, false, 5, &shown, |_| 0.5).0 - 0.01).abs() < 1e-6);
    }

    #[test]
    fn slopes_are_those_of_finite_differences() {
        let outputs = [0.3f32, -0.7, 1.2, 0.1];
        for (heads, pixels) in
            [(Heads::Normal, true), (Heads::Normal, false), (Heads::TwoHot, true), (Heads::TwoHot, false)]
        {
            let value = |outputs: &[f32]| squared_error(heads, pixels, 2, outputs, |at| 0.2 * at as f32);
            for at in 0..4 {
                let moved = |step: f32| {
                    let mut outputs = outputs;
                    outputs[at] += step;
                    value(&outputs).0
                };
                let (wanted, found) = ((moved(1e-2) - moved(-1e-2)) / 2e-2, value(&outputs).1[at]);
                assert!((wanted - found).abs() < 1e-3, "{heads:?} {pixels}: {found} {wanted}");
            }
        }
    }
}
