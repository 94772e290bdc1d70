//! What can go wrong when networks meet files.

use thiserror::Error;

/// Errors of this crate; each message says what to do.
#[derive(Debug, Error, PartialEq)]
pub enum NnError {
    /// A file lacks a tensor the network needs.
    #[error(
        "tensor `{name}` is missing: the file belongs to another network; load it with the configuration it was saved with"
    )]
    MissingTensor {
        /// Full name looked for.
        name: String,
    },
    /// A file holds a tensor of another shape.
    #[error(
        "tensor `{name}` has shape {found:?} but this network needs {expected:?}: use the hidden sizes and spaces it was saved with"
    )]
    WrongShape {
        /// Full name of the tensor.
        name: String,
        /// Shape this network needs.
        expected: Vec<usize>,
        /// Shape found in the file.
        found: Vec<usize>,
    },
    /// A convolution that does not fit its image.
    #[error(
        "convolution {layer} (kernel {kernel}) does not fit an image of {height}x{width}: use larger images or an encoder with fewer or smaller layers"
    )]
    KernelTooLarge {
        /// Index of the layer.
        layer: usize,
        /// Side of its kernel.
        kernel: usize,
        /// Height of the image it gets.
        height: usize,
        /// Width of the image it gets.
        width: usize,
    },
    /// A network with nothing in one of its layers.
    #[error("a {network} needs at least one pixel, channel and feature everywhere: no size may be zero")]
    EmptyLayer {
        /// The kind of network.
        network: &'static str,
    },
    /// A world model with nothing in one of its parts.
    #[error("a world model needs a deterministic state, a latent, layers and tokens: none of these widths may be zero")]
    EmptyModel,
    /// More classes than a choice may have.
    #[error("a latent of {classes} classes is too large: use at most 256 classes, and more latents instead")]
    TooManyClasses {
        /// Classes of each choice.
        classes: usize,
    },
    /// Blocks that do not share a state evenly.
    #[error(
        "{blocks} blocks cannot share a deterministic state of {deter} evenly: use a width that is a multiple of the blocks"
    )]
    UnevenBlocks {
        /// Width of the state.
        deter: usize,
        /// Blocks that share it.
        blocks: usize,
    },
    /// Heads of attention that do not share a width evenly.
    #[error("{heads} heads cannot share {width} numbers evenly: use a width that is a multiple of the heads")]
    UnevenHeads {
        /// Numbers of a token.
        width: usize,
        /// Heads that share them.
        heads: usize,
    },
    /// An image that no run of doublings reaches.
    #[error(
        "a decoder cannot draw images of {height}x{width}: use sides of 4 to 7 pixels times the same power of two, for instance 16, 32 or 64"
    )]
    NotDoubled {
        /// Height asked for.
        height: usize,
        /// Width asked for.
        width: usize,
    },
    /// Optimiser state of another size.
    #[error(
        "optimiser state has {found} values but the network has {expected} parameters: load it with the network it was saved with"
    )]
    WrongMomentLength {
        /// Number of parameters.
        expected: usize,
        /// Number of values given.
        found: usize,
    },
}
