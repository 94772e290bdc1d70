//! What curvature is made of: what goes into each layer, and the gradient at what comes out before the activation.

use crate::conv::windows::Windows;
use crate::images::Pixels;
use crate::kernels::patches::Window;

/// One layer's part in a backward pass.
#[derive(Clone, Debug, Default)]
pub struct Captured {
    /// `[rows, inputs]`, or for a convolution its input images, whose patches are the rows.
    pub inputs: Vec<f32>,
    /// `[rows, outputs]`, before the activation.
    pub gradients: Vec<f32>,
    /// A convolution's geometry.
    pub(super) window: Option<Window>,
}

impl Captured {
    /// Nothing yet, of a convolution.
    pub fn of_images(window: Window) -> Self {
        Self { window: Some(window), ..Self::default() }
    }

    /// Rows that belong to one image; 1 for a fully connected layer.
    pub fn positions(&self) -> usize {
        self.window.map_or(1, |window| window.patches())
    }

    /// Shows the rows of inputs with a 1 behind each, for the bias, in blocks: the patches of all images together would be many
    /// times the images.
    pub fn each_block(&self, width: usize, mut show: impl FnMut(&[f32])) {
        let Some(window) = self.window else {
            let rows = self.inputs.chunks_exact(width);
            return show(&rows.flat_map(|row| row.iter().copied().chain([1.0])).collect::<Vec<_>>());
        };
        let images = self.inputs.len() / window.image_len();
        let group = window.group(images);
        let x = Pixels::Floats(&self.inputs);
        let mut windows = Windows::new(window, group, x);
        for first in (0..images).step_by(group) {
            let patches = windows.of(x, first, group.min(images - first)).values();
            show(&patches.flat_map(|patch| patch.chain([1.0])).collect::<Vec<_>>());
        }
    }
}
