//! Running the backward pass and getting flat gradients out.

use crate::tensors::{Values, into_values};
use burn::tensor::Tensor;
use std::ops::Deref;

/// The gradient of one parameter tensor: dereferences to the flat slice, and recycles its storage when dropped.
#[derive(Debug)]
pub struct Grad(Option<Values>);

impl Deref for Grad {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        self.0.as_deref().unwrap_or(&[])
    }
}

impl Drop for Grad {
    fn drop(&mut self) {
        if let Some(values) = self.0.take() {
            values.recycle();
        }
    }
}

/// Gradients of `loss` with respect to each of `params`.
///
/// # Panics
/// When the loss does not depend on one of them or it is not tracked: a mistake in the calling code. Use
/// [`try_gradients`] where that may happen.
pub fn gradients<const N: usize>(loss: Tensor<1>, params: [&Tensor<2>; N]) -> [Grad; N] {
    try_gradients(loss, params).map(|grad| grad.expect("the loss does not depend on a tracked tensor it was asked for"))
}

/// As [`gradients`], with `None` for a tensor that is frozen or that the loss does not depend on.
pub fn try_gradients<const N: usize>(loss: Tensor<1>, params: [&Tensor<2>; N]) -> [Option<Grad>; N] {
    let mut gradients = loss.backward();
    params.map(|param| {
        let grad = param.grad_remove(&mut gradients)?;
        Some(Grad(Some(into_values(grad))))
    })
}
