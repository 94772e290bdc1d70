//! Neural networks on a CPU: whole-network operations on flat parameters, fused losses, distributions and optimisers.
//!
//! A network is a [`MlpSpec`] plus one flat parameter tensor `[members, parameters]` ([`Params`]). [`Mlp`] evaluates it,
//! either on plain slices ([`Mlp::infer`]) or as **one** node of Burn's autodiff graph ([`Mlp::forward`]). A loss is one
//! node too ([`fused_loss`], with formulas ready in [`losses`]), so an update costs a handful of graph nodes however deep the
//! network is. [`ConvNet`] does the same for a stack of convolutions over images, [`ResidualNet`] for IMPALA's residual
//! encoder, [`Decoder`] for the way back from features to an image, [`Recurrent`] for an LSTM or GRU over a whole sequence.
//!
//! The arithmetic lives in `kernels`, `network`, `images`, `encoder`, `residual`, `decoder` and `sequence`, on plain slices that
//! know nothing of Burn. Work is split in two by its size alone, never by the number of threads, so results do not depend on the
//! thread count. All of this is for Burn's `flex` CPU device; on other devices the same calls run as Burn's own operations, see
//! [`composed`].
//!
//! Training loops should run inside a rayon pool, whose size says whether a second thread may be used.

mod buffers;
mod conv;
mod convolution;
mod decoder;
mod encoder;
mod error;
mod grads;
mod image_net;
mod images;
mod init;
mod kernels;
mod loss;
mod mlp;
mod named;
mod network;
mod ops;
mod params;
mod recurrent;
mod residual;
mod sampling;
mod sequence;
mod spec;
mod tensors;
mod threads;
mod windows;

pub mod composed;
pub mod distributions;
pub mod losses;
pub mod optim;

pub use buffers::take as recycled;
pub use burn::tensor::{Device, Tensor};
pub use conv::{ConvLayer, ConvNet, ConvSpec};
pub use decoder::{Decoder, DecoderSpec};
pub use distributions::{Distribution, LogStdBounds, tanh_gaussian_log_prob, tanh_gaussian_sample};
pub use error::NnError;
pub use grads::{Grad, gradients, gradients_of, try_gradients};
pub use image_net::ImageNet;
pub use init::Init;
pub use kernels::dispatch::{SimdLevel, limit_simd};
pub use kernels::math;
pub use loss::fused_loss;
pub use mlp::Mlp;
pub use named::{export_flat, import_flat};
pub use optim::{
    Adam, AdamConfig, Optimizer, OptimizerConfig, RmsProp, RmsPropConfig, Sgd, SgdConfig, clip_scale, global_norm,
};
pub use params::Params;
pub use recurrent::{CellKind, Recurrent, RecurrentSpec};
pub use residual::{ResidualNet, ResidualSpec};
pub use sampling::tanh_gaussian;
pub use spec::{Activation, MlpSpec, TensorLayout};
pub use tensors::{Values, leaf, leaf_on, leaf_vec, values};
