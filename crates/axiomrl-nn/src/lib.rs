//! Neural networks on a CPU: whole-network operations on flat parameters, fused losses, distributions and optimisers.
//!
//! A network is a [`MlpSpec`] plus one flat parameter tensor `[members, parameters]` ([`Params`]). [`Mlp`] evaluates it,
//! either on plain slices ([`Mlp::infer`]) or as **one** node of Burn's autodiff graph ([`Mlp::forward`]). A loss is one
//! node too ([`fused_loss`], with formulas ready in [`losses`]), so an update costs a handful of graph nodes however deep the
//! network is. [`ConvNet`] does the same for a stack of convolutions over images, [`ResidualNet`] for IMPALA's residual
//! encoder, [`Decoder`] for the way back from features to an image, [`Recurrent`] for an LSTM or GRU over a whole sequence,
//! [`Transformer`] for causal attention over sequences of any lengths, [`Rssm`] for the state of a world model.
//!
//! Every kind of network is a module of its own: `mlp`, `conv`, `residual`, `decoder`, `recurrent`, `attention`, `rssm`; what those over images share is
//! in `images`. Its `mod.rs` has its shape and what the outside sees, `passes` the arithmetic on plain slices that know nothing
//! of Burn, `op` the node of the graph, `composed` the same in Burn's own operations. The loops themselves are in `kernels`.
//!
//! Work is split in two by its size alone, never by the number of threads, so results do not depend on the thread count. All of
//! this is for Burn's `flex` CPU device; on other devices the same calls run as Burn's own operations, see [`composed`].
//!
//! Whether a second thread may be used is a setting of the calling thread: [`with_threads`], [`threads`].

mod attention;
mod buffers;
mod burn;
mod conv;
mod decoder;
mod error;
mod fused_loss;
mod grads;
mod images;
mod init;
mod kernels;
mod kfac;
mod layout;
mod mlp;
mod named;
mod onnx;
mod params;
mod recurrent;
mod residual;
mod rssm;
mod tensors;
mod threads;

pub mod composed;
pub mod distributions;
pub mod losses;
pub mod optim;
pub mod two_hot;

pub use attention::{Transformer, TransformerPass, TransformerSpec};
pub use buffers::{Pooled, take as recycled};
pub use burn::tensor::{Device, Tensor};
pub use conv::{ConvLayer, ConvNet, ConvPass, ConvSpec};
pub use decoder::{Decoder, DecoderSpec};
pub use distributions::sampling::tanh_gaussian;
pub use distributions::{Distribution, LogStdBounds, tanh_gaussian_log_prob, tanh_gaussian_sample};
pub use error::NnError;
pub use fused_loss::fused_loss;
pub use grads::{Grad, gradients, gradients_of, try_gradients};
pub use images::ImageNet;
pub use init::Init;
pub use kernels::activation::Activation;
pub use kernels::dispatch::{SimdLevel, limit_simd};
pub use kernels::math;
pub use kfac::{Captured, Kfac, WIDEST_FACTOR};
pub use layout::TensorLayout;
pub use mlp::{Mlp, MlpPass, MlpSpec};
pub use named::NamedTensors;
pub use optim::{
    Adam, AdamConfig, LaProp, LaPropConfig, Optimizer, OptimizerConfig, RmsProp, RmsPropConfig, Sgd, SgdConfig,
    clip_scale, global_norm,
};
pub use params::Params;
pub use recurrent::{CellKind, Recurrent, RecurrentSpec};
pub use residual::{ResidualNet, ResidualSpec};
pub use rssm::{
    Dream, FreeNats, Imagination, KlSides, KlValues, Latent, LatentKl, Observed, Rssm, RssmCore, RssmPass, RssmSpec,
    Window,
};
pub use tensors::{Values, leaf, leaf_on, leaf_vec, values};
pub use threads::{PARTS, join, threads, with_threads};
