//! The fused operations written with Burn's own tensor operations, for devices that the fused ones do not know.
//!
//! Burn's `Tensor` has no backend type; a tensor's device decides what runs. `Mlp::forward`, `ConvNet::forward`,
//! `ResidualNet::forward`, `Decoder::forward`, `Recurrent::forward`, `Rssm::observe`, `fused_loss` and `tanh_gaussian` look at the device of
//! their tensors: on Burn's `flex` CPU device (with or without autodiff) they are one fused node each, on any other device they
//! call what is here. Values and gradients are the same within rounding, dropout masks included.
//!
//! What a program does on another device: make inputs with [`leaf_on`](crate::leaf_on) and parameters with
//! [`Params::tracked_on`](crate::Params::tracked_on); everything between them and
//! [`gradients`](crate::gradients()) stays as it is. Parameters, optimiser state and the slices of `infer`
//! stay in the host's memory: an update copies the parameters to the device and the gradients back, and a
//! [`fused_loss`](crate::fused_loss) reads its inputs back, because its formula is host code. All tensors of a call must live on
//! one device. The NdArray device is what the tests run on (feature `ndarray`); GPU devices have not been tried.

pub use crate::attention::composed::transformer;
pub use crate::conv::composed::conv;
pub use crate::decoder::composed::decoder;
pub use crate::distributions::composed::tanh_gaussian;
pub use crate::fused_loss::composed::loss;
pub use crate::mlp::composed::mlp;
pub use crate::recurrent::composed::recurrent;
pub use crate::residual::composed::residual;
pub use crate::rssm::composed::observe;

use crate::burn::tensor::{Tensor, activation};
use crate::kernels::activation::Activation;
use crate::layout::TensorLayout;

/// The values of one named tensor, `[members, len]`.
pub(crate) fn part(params: &Tensor<2>, tensor: &TensorLayout) -> Tensor<2> {
    let members = params.dims()[0];
    params.clone().slice([0..members, tensor.offset..tensor.offset + tensor.len()])
}

pub(crate) fn activate<const D: usize>(x: Tensor<D>, kind: Activation) -> Tensor<D> {
    match kind {
        Activation::Identity => x,
        Activation::Relu => activation::relu(x),
        Activation::Tanh => activation::tanh(x),
        Activation::Silu => activation::silu(x),
        Activation::Elu => activation::relu(x.clone()) + x.clamp_max(0.0).exp() - 1.0,
    }
}
