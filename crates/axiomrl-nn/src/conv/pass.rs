//! A forward pass over images that can be gone back through without a graph, as that of an [`Mlp`](crate::Mlp).

use super::{ConvNet, ConvSpec};
use crate::buffers::Pooled;
use crate::images::{ImageNet, Kept, Pixels, Trace, backward, chunks, forward};
use crate::kfac::Captured;
use std::borrow::Cow;

/// The features of some images, and what the backward pass needs of how they came about.
pub struct ConvPass<'a> {
    net: &'a ConvNet,
    x: Cow<'a, [u8]>,
    images: usize,
    kept: Kept,
    out: Pooled,
}

impl ImageNet<ConvSpec> {
    /// Evaluates bytes, as [`infer_u8`](Self::infer_u8) does, so that gradients can be asked for.
    pub fn pass_u8<'a>(&'a self, x: impl Into<Cow<'a, [u8]>>, images: usize) -> ConvPass<'a> {
        let x = x.into();
        let (mut kept, mut out) = (Kept::new(&*self.spec, images), Pooled::new(images * self.spec.features()));
        forward(&*self.spec, images, Pixels::Bytes(&x), self.params.as_slice(), &mut kept, &mut out);
        ConvPass { net: self, x, images, kept, out }
    }
}

impl ConvPass<'_> {
    /// `[images, features]`
    pub fn outputs(&self) -> &[f32] {
        &self.out
    }

    /// The gradient of the parameters, given that of the outputs.
    pub fn params_gradient(&self, by_outputs: &[f32]) -> Pooled {
        let mut gradient = Pooled::new(self.net.params.as_slice().len());
        backward(&*self.net.spec, self.trace(by_outputs), Some(&mut gradient), None);
        gradient
    }

    /// What goes into each layer and the gradient at its weighted sums, image by image, given that of the outputs.
    ///
    /// # Panics
    /// For a network with norms.
    pub fn captures(&self, by_outputs: &[f32]) -> Vec<Captured> {
        let spec = &*self.net.spec;
        assert!(!spec.rms_norm, "layers of a plain network");
        let windows = spec.convolutions().into_iter().map(|conv| conv.window);
        let mut found: Vec<Captured> = windows.map(Captured::of_images).collect();
        for chunk in chunks(spec, self.trace(by_outputs)) {
            spec.go_back(chunk, None, None, |layer, images, gradients| {
                match images {
                    Pixels::Floats(x) => found[layer].inputs.extend_from_slice(x),
                    Pixels::Bytes(x) => found[layer].inputs.extend(x.iter().map(|x| f32::from(*x) * (1.0 / 255.0))),
                }
                found[layer].gradients.extend_from_slice(gradients);
            });
        }
        found
    }

    fn trace<'a>(&'a self, by_outputs: &'a [f32]) -> Trace<'a> {
        assert_eq!(by_outputs.len(), self.out.len(), "a gradient for every output");
        self.kept.trace(self.images, Pixels::Bytes(&self.x), self.net.params.as_slice(), &self.out, by_outputs)
    }
}
