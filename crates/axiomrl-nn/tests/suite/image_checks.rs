//! What every network over images must pass; each gives its two ways to evaluate.

use crate::reference::{assert_close, grad_of, normal};
use axiomrl_nn::{Params, Tensor, fused_loss, gradients, leaf, values, with_threads};

/// A network from `[images, inputs]` to `[images, outputs]`.
pub struct Case<'a> {
    pub what: String,
    pub params: &'a Params,
    pub images: usize,
    pub inputs: usize,
    pub outputs: usize,
    pub fused: &'a (dyn Fn(Tensor<2>, Tensor<2>) -> Tensor<2> + Sync),
}

impl Case<'_> {
    /// Outputs and gradients against another way to compute them, and against evaluation without a graph.
    pub fn against(
        &self,
        composed: impl Fn(Tensor<2>, Tensor<2>) -> Tensor<2>,
        infer: impl Fn(&[f32], usize, &mut Vec<f32>),
    ) {
        let Self { images, inputs, outputs, .. } = *self;
        let x = normal(images * inputs, 2);
        let weights = leaf(&normal(images * outputs, 3), [images, outputs]);
        let run = |network: &dyn Fn(Tensor<2>, Tensor<2>) -> Tensor<2>| {
            let (params, input) = (self.params.tracked(), leaf(&x, [images, inputs]).require_grad());
            let y = network(input.clone(), params.clone());
            let grads = (y.clone() * weights.clone()).sum().backward();
            [values(&y).to_vec(), grad_of(&params, &grads), grad_of(&input, &grads)]
        };
        let (got, want) = (run(self.fused), run(&composed));
        for (name, (got, want)) in ["outputs", "dp", "dx"].iter().zip(got.iter().zip(&want)) {
            assert_close(&format!("{name} of {}", self.what), got, want);
        }
        let mut inferred = Vec::new();
        infer(&x, images, &mut inferred);
        assert_eq!(inferred, got[0], "infer of {}", self.what);
    }

    /// The parameters' gradient along random directions against differences of the outputs with other parameters.
    pub fn against_differences(&self, step: f32) {
        let Self { images, inputs, outputs, .. } = *self;
        let (x, weights) = (normal(images * inputs, 1), normal(images * outputs, 2));
        let params = self.params.tracked();
        let y = (self.fused)(leaf(&x, [images, inputs]), params.clone());
        let grads = (y * leaf(&weights, [images, outputs])).sum().backward();
        let gradient = grad_of(&params, &grads);
        let size = gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
        for seed in 0..4 {
            let along = normal(gradient.len(), 100 + seed);
            let moved = |by: f32| -> f64 {
                let mut params = self.params.clone();
                params.make_mut().iter_mut().zip(&along).for_each(|(p, d)| *p += by * d);
                let y = values(&(self.fused)(leaf(&x, [images, inputs]), params.frozen()));
                y.iter().zip(&weights).map(|(y, w)| f64::from(*y) * f64::from(*w)).sum()
            };
            let numeric = (moved(step) - moved(-step)) / f64::from(2.0 * step);
            let exact: f64 = gradient.iter().zip(&along).map(|(g, d)| f64::from(*g) * f64::from(*d)).sum();
            assert!((numeric - exact).abs() < 5e-3 * size, "{}: {numeric} against {exact} ({size})", self.what);
        }
    }

    /// Outputs and gradients must not depend on the number of threads.
    pub fn same_bits_at_any_thread_count(&self) {
        let Self { images, inputs, .. } = *self;
        let run = |threads: usize| {
            with_threads(threads, || {
                let (params, x) = (self.params.tracked(), leaf(&normal(images * inputs, 1), [images, inputs]));
                let y = (self.fused)(x, params.clone());
                let out = values(&y).to_vec();
                let loss = fused_loss([y], |[y]| (y.iter().map(|y| 0.5 * y * y).sum(), [y.to_vec()]));
                let [grad] = gradients(loss, [&params]);
                out.iter().chain(grad.iter()).map(|v| v.to_bits()).collect::<Vec<_>>()
            })
        };
        assert_eq!(run(1), run(2), "{}", self.what);
        assert_eq!(run(1), run(3), "{}", self.what);
    }
}
