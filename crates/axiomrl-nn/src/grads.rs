//! Running the backward pass and getting flat gradients out.

use crate::burn::tensor::{Gradients, Tensor};
use crate::tensors::{Values, into_values};
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

/// As [`gradients`], for a number of tensors that is known only at run time.
///
/// # Panics
/// As [`gradients`].
pub fn gradients_of(loss: Tensor<1>, params: &[Tensor<2>]) -> Vec<Grad> {
    let mut gradients = loss.backward();
    let all = params.iter().map(|param| take(param, &mut gradients));
    all.map(|grad| grad.expect("the loss does not depend on a tracked tensor it was asked for")).collect()
}

/// As [`gradients`], with `None` for a tensor that is frozen or that the loss does not depend on.
pub fn try_gradients<const N: usize>(loss: Tensor<1>, params: [&Tensor<2>; N]) -> [Option<Grad>; N] {
    let mut gradients = loss.backward();
    params.map(|param| take(param, &mut gradients))
}

fn take(param: &Tensor<2>, gradients: &mut Gradients) -> Option<Grad> {
    let grad = param.grad_remove(gradients)?;
    Some(Grad(Some(into_values(grad))))
}
