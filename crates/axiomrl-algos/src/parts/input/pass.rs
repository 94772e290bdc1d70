//! A look at observations that can be gone back through without a graph, layer by layer.

use super::{ImageEncoder, ObsEncoder};
use axiomrl_envs::ObsRef;
use axiomrl_nn::{Captured, ConvNet, ConvPass};
use std::borrow::Cow;

/// What was seen, and how it came about.
pub struct EncoderPass<'a> {
    /// Rows of numbers that the rest of the network sees.
    pub seen: Cow<'a, [f32]>,
    images: Vec<ConvPass<'a>>,
    /// Numbers of a row that come before the features of images.
    numbers: usize,
    rows: usize,
}

impl ObsEncoder {
    /// What looks at the images, one after the other.
    ///
    /// # Panics
    /// Where that is not a plain stack of convolutions: [`Vision::stacks`](super::Vision::stacks) tells.
    pub fn stacks(&self) -> impl Iterator<Item = &ConvNet> {
        self.images.iter().map(|image| match &image.encoder {
            ImageEncoder::Plain(net) => net,
            ImageEncoder::Residual(_) => panic!("a plain stack of convolutions"),
        })
    }

    /// As [`ObsEncoder::infer`], so that gradients can be asked for.
    ///
    /// # Panics
    /// As [`ObsEncoder::stacks`].
    pub fn pass<'a>(&'a self, obs: ObsRef<'a>) -> EncoderPass<'a> {
        let looks = self.stacks().zip(&self.images);
        let images: Vec<ConvPass<'a>> = looks.map(|(net, image)| net.pass_u8(image.bytes(obs), obs.rows)).collect();
        let seen = if images.is_empty() {
            self.flat.encode(obs)
        } else {
            Cow::Owned(self.beside_numbers(obs, &images.iter().map(ConvPass::outputs).collect::<Vec<_>>()))
        };
        EncoderPass { seen, images, numbers: self.flat.width(), rows: obs.rows }
    }
}

impl EncoderPass<'_> {
    /// Whether there is anything that learns to look.
    pub fn sees_images(&self) -> bool {
        !self.images.is_empty()
    }

    /// The gradient of the parameters, image by image, given that of what was seen.
    pub fn params_gradient(&self, by_seen: &[f32]) -> Vec<f32> {
        let each = self.by_image(by_seen);
        each.flat_map(|(image, by_features)| image.params_gradient(&by_features).to_vec()).collect()
    }

    /// What curvature is made of, image by image and layer by layer, given the gradient of what was seen.
    pub fn captures(&self, by_seen: &[f32]) -> Vec<Captured> {
        self.by_image(by_seen).flat_map(|(image, by_features)| image.captures(&by_features)).collect()
    }

    /// Every image's pass with its columns of a gradient of what was seen.
    fn by_image<'a>(&'a self, by_seen: &'a [f32]) -> impl Iterator<Item = (&'a ConvPass<'a>, Vec<f32>)> {
        let (width, mut from) = (by_seen.len() / self.rows, self.numbers);
        self.images.iter().map(move |image| {
            let own = from..from + image.outputs().len() / self.rows;
            from = own.end;
            (image, by_seen.chunks_exact(width).flat_map(|row| &row[own.clone()]).copied().collect())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Vision;
    use super::*;
    use crate::parts::tracked::Trainable;
    use axiomrl_envs::{BoxSpace, Space};
    use axiomrl_nn::{Init, fused_loss, gradients, values};

    /// Against the graph, for images and numbers side by side: every image gets its own columns.
    #[test]
    fn gradients_are_those_of_the_graph() {
        let entries = vec![
            ("camera".into(), Space::Box(BoxSpace::image(10, 5, 1))),
            ("speed".into(), Space::Box(BoxSpace::uniform(2, -1.0, 1.0))),
            ("rear".into(), Space::Box(BoxSpace::image(8, 8, 1))),
        ];
        let mut rng = axiomrl_core::stream(1, "test");
        let space = Space::Dict { entries };
        let mut encoder = ObsEncoder::new(&space, Vision::Auto, &Init::pytorch(), &mut rng).unwrap();
        let (floats, bytes) = ([1.0, 2.0, 3.0, 4.0], (0..228).map(|b| b as u8).collect::<Vec<u8>>());
        let obs = ObsRef { rows: 2, floats: &floats, bytes: &bytes };
        let by_seen: Vec<f32> = (0..2 * encoder.width()).map(|i| (0.7 * i as f32).sin()).collect();
        let (node, tracked) = encoder.forward(obs);
        let pass = encoder.pass(obs);
        assert_eq!(&values(&node)[..], &pass.seen[..]);
        let found = pass.params_gradient(&by_seen);
        let [camera, rear] = gradients(fused_loss([node], |_| (0.0, [by_seen.clone()])), [&tracked[0], &tracked[1]]);
        assert_eq!(found, [&camera[..], &rear[..]].concat());
        assert_eq!(pass.captures(&by_seen).len(), 4, "two layers for each image");
        drop(pass);
        let lens: usize = encoder.params().iter().map(|params| params.as_slice().len()).sum();
        assert_eq!(lens, found.len());
    }
}
