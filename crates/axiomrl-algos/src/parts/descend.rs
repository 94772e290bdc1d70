//! One step down the gradient of a loss: the same for every network of every algorithm.

use crate::agent::{Diverged, finite};
use crate::state::{StateError, StateIo};
use axiomrl_nn::{Grad, Optimizer, OptimizerConfig, Params, Pooled, Tensor, clip_scale, global_norm, gradients_of};

/// Gradients as plain slices.
pub fn slices(gradients: &[Grad]) -> Vec<&[f32]> {
    gradients.iter().map(|g| &g[..]).collect()
}

/// A loss as a node of the graph, with its value and the parameters it came from.
pub struct Loss {
    pub node: Tensor<1>,
    pub value: f32,
    /// In the order in which the group has them.
    pub tracked: Vec<Tensor<2>>,
}

/// One optimiser for each tensor of parameters, the gradient of all clipped as one.
pub struct ParamGroup {
    optimizers: Vec<Optimizer>,
    max_norm: f32,
}

impl ParamGroup {
    pub fn new(config: &OptimizerConfig, params: &[&mut Params], max_norm: f32) -> Self {
        let optimizers = params.iter().map(|p| Optimizer::new(config, p.as_slice().len())).collect();
        Self { optimizers, max_norm }
    }

    /// As [`ParamGroup::new`], with the lengths of the tensors inside of each of the parameters, for optimisers that treat them
    /// one by one.
    pub fn of_tensors(config: &OptimizerConfig, lens: &[Vec<usize>], max_norm: f32) -> Self {
        let optimizers = lens.iter().map(|lens| Optimizer::for_tensors(config, lens.iter().sum(), lens)).collect();
        Self { optimizers, max_norm }
    }

    /// One step down the gradient of `loss`; gives the gradient's norm. `whose` names what is learned, should a number stop
    /// being one: then nothing is changed.
    pub fn descend(
        &mut self,
        whose: &str,
        loss: Loss,
        params: &mut [&mut Params],
        rate: f32,
        update: u64,
    ) -> Result<f32, Diverged> {
        self.descend_with(whose, loss, params, rate, update, |_| Vec::new())
    }

    /// As [`ParamGroup::descend`], where the last tensors of `params` have no place in the graph: `rest` gives their gradients
    /// from those of the others.
    pub fn descend_with(
        &mut self,
        whose: &str,
        loss: Loss,
        params: &mut [&mut Params],
        rate: f32,
        update: u64,
        rest: impl FnOnce(&[&[f32]]) -> Vec<Vec<f32>>,
    ) -> Result<f32, Diverged> {
        finite(&format_loss(whose), loss.value, update)?;
        let gradients = gradients_of(loss.node, &loss.tracked);
        // What the graph holds on to would have to be copied before it is changed.
        drop(loss.tracked);
        self.follow(whose, &slices(&gradients), params, rate, update, rest)
    }

    /// As [`ParamGroup::descend_with`], with gradients that were found without a graph.
    pub fn descend_along(
        &mut self,
        whose: &str,
        value: f32,
        gradients: &[Pooled],
        params: &mut [&mut Params],
        rate: f32,
        update: u64,
        rest: impl FnOnce(&[&[f32]]) -> Vec<Vec<f32>>,
    ) -> Result<f32, Diverged> {
        finite(&format_loss(whose), value, update)?;
        let gradients: Vec<&[f32]> = gradients.iter().map(|gradient| &gradient[..]).collect();
        self.follow(whose, &gradients, params, rate, update, rest)
    }

    fn follow(
        &mut self,
        whose: &str,
        gradients: &[&[f32]],
        params: &mut [&mut Params],
        rate: f32,
        update: u64,
        rest: impl FnOnce(&[&[f32]]) -> Vec<Vec<f32>>,
    ) -> Result<f32, Diverged> {
        let rest = rest(gradients);
        let all: Vec<&[f32]> = gradients.iter().copied().chain(rest.iter().map(Vec::as_slice)).collect();
        let norm = self.step(params, &all, rate);
        finite(&format_gradient(whose), norm, update)
    }

    /// One step. Gives the norm of the gradient; if that is not finite, nothing is changed.
    pub fn step(&mut self, params: &mut [&mut Params], gradients: &[&[f32]], rate: f32) -> f32 {
        debug_assert_eq!((params.len(), gradients.len()), (self.optimizers.len(), self.optimizers.len()));
        let norm = global_norm(gradients);
        if norm.is_finite() {
            let scale = clip_scale(norm, self.max_norm);
            for ((optimizer, params), gradient) in self.optimizers.iter_mut().zip(params).zip(gradients) {
                optimizer.step(params, gradient, rate, scale);
            }
        }
        norm
    }

    pub fn visit_state(&mut self, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
        for (i, optimizer) in self.optimizers.iter_mut().enumerate() {
            io.optimizer(&format!("{name}.{i}"), optimizer)?;
        }
        Ok(())
    }
}

fn format_loss(whose: &str) -> String {
    format!("the loss of {whose}")
}

fn format_gradient(whose: &str) -> String {
    format!("the gradient of {whose}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_nn::{SgdConfig, fused_loss, leaf};

    fn group(params: &mut Params, max_norm: f32) -> ParamGroup {
        ParamGroup::new(&OptimizerConfig::Sgd(SgdConfig::default()), &[params], max_norm)
    }

    /// The loss `3 x + 4 y` of the parameters x and y.
    fn slope(params: &Params, value: f32) -> Loss {
        let tracked = params.tracked();
        let node = fused_loss([tracked.clone()], |[_]| (value, [vec![3.0, 4.0]]));
        Loss { node, value, tracked: vec![tracked] }
    }

    #[test]
    fn a_step_goes_down_the_clipped_gradient_and_tells_the_whole_norm() {
        let mut params = Params::from_vec(1, 2, vec![1.0, 1.0]);
        let mut group = group(&mut params, 2.5);
        let loss = slope(&params, 7.0);
        let norm = group.descend("the test", loss, &mut [&mut params], 0.1, 1).unwrap();
        assert!((norm - 5.0).abs() < 1e-6);
        // Half of the gradient is left by the clipping.
        let wanted = [1.0 - 0.1 * 1.5, 1.0 - 0.1 * 2.0];
        assert!(params.as_slice().iter().zip(wanted).all(|(p, w)| (p - w).abs() < 1e-5), "{:?}", params.as_slice());
    }

    #[test]
    fn a_loss_or_a_gradient_that_is_no_number_changes_nothing_and_is_named() {
        let mut params = Params::from_vec(1, 2, vec![1.0, 1.0]);
        let mut group = group(&mut params, 1.0);
        let loss = slope(&params, f32::NAN);
        let error = group.descend("the test", loss, &mut [&mut params], 0.1, 9).unwrap_err();
        assert_eq!((error.what.as_str(), error.update), ("the loss of the test", 9));
        let tracked = params.tracked();
        let node = fused_loss([tracked.clone() * leaf(&[f32::INFINITY, 0.0], [1, 2])], |[_]| (1.0, [vec![1.0, 1.0]]));
        let loss = Loss { node, value: 1.0, tracked: vec![tracked] };
        let error = group.descend("the test", loss, &mut [&mut params], 0.1, 9).unwrap_err();
        assert_eq!(error.what, "the gradient of the test");
        assert_eq!(params.as_slice(), [1.0, 1.0]);
    }
}
