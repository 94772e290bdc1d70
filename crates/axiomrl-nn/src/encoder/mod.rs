//! A whole stack of convolutions, forward and backward, on plain slices.
//!
//! Images never meet, so a large batch is cut in two by images, by size alone. Within a chunk each layer takes a few images at
//! a time: enough rows for an efficient product, few enough that their patches stay in the cache.

mod backward;
mod forward;

pub use backward::{Trace, backward};
pub use forward::forward;

use crate::buffers::Pooled;
use crate::conv::ConvSpec;
use crate::kernels::patches::{Window, unfold, unfold_bytes};
use crate::network::SPLIT_FLOPS;
use crate::spec::Activation;

/// A batch of images, `[images, height, width, channels]`.
#[derive(Clone, Copy)]
pub enum Pixels<'a> {
    Floats(&'a [f32]),
    /// Scaled by 1/255 when read.
    Bytes(&'a [u8]),
}

impl<'a> Pixels<'a> {
    pub fn len(&self) -> usize {
        match self {
            Pixels::Floats(x) => x.len(),
            Pixels::Bytes(x) => x.len(),
        }
    }

    fn split_at(self, at: usize) -> (Self, Self) {
        match self {
            Pixels::Floats(x) => (Pixels::Floats(&x[..at]), Pixels::Floats(&x[at..])),
            Pixels::Bytes(x) => (Pixels::Bytes(&x[..at]), Pixels::Bytes(&x[at..])),
        }
    }

    /// The patches of `images` images from `first` on.
    fn unfold(self, window: Window, first: usize, images: usize, rows: &mut [f32]) {
        let (image, block) = (window.image_len(), window.patches() * window.patch_len());
        for (index, rows) in (first..first + images).zip(rows.chunks_exact_mut(block)) {
            match self {
                Pixels::Floats(x) => unfold(window, &x[index * image..(index + 1) * image], rows),
                Pixels::Bytes(x) => unfold_bytes(window, &x[index * image..(index + 1) * image], rows),
            }
        }
    }
}

/// One convolution: its geometry and the place of its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    pub window: Window,
    pub outputs: usize,
    /// First of its parameters: weight `[patch, outputs]`, then bias `[outputs]`.
    pub offset: usize,
    pub is_last: bool,
}

impl Stage {
    pub fn weights(&self) -> usize {
        self.window.patch_len() * self.outputs
    }

    pub fn params(&self) -> usize {
        self.weights() + self.outputs
    }

    /// Values of one output image.
    pub fn out_len(&self) -> usize {
        self.window.patches() * self.outputs
    }

    /// Images whose patches are multiplied at once.
    fn group(&self) -> usize {
        const ROWS: usize = 512;
        (ROWS / self.window.patches()).max(1)
    }

    /// Values kept per image: the outputs (the last layer's are the caller's), and SiLU's inputs.
    fn kept(&self, activation: Activation) -> (usize, usize) {
        let output = if self.is_last { 0 } else { self.out_len() };
        (output, if activation == Activation::Silu { self.out_len() } else { 0 })
    }
}

/// Values kept of one image between the passes.
pub fn saved_len(spec: &ConvSpec) -> usize {
    spec.stages().iter().map(|stage| stage.kept(spec.activation)).map(|(output, before)| output + before).sum()
}

/// The image at which a batch is cut, if it is.
fn split(spec: &ConvSpec, images: usize) -> Option<usize> {
    (images > 1 && spec.flops(images) >= SPLIT_FLOPS).then_some(images / 2)
}

/// Room for the patches of one group.
fn patch_room(stage: &Stage, images: usize) -> Pooled {
    Pooled::new(stage.group().min(images) * stage.window.patches() * stage.window.patch_len())
}
