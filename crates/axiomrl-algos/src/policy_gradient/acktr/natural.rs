//! Natural steps of one network: its curvature and its momentum, from the pixels to the outputs.

use crate::parts::input::{EncoderPass, ObsEncoder};
use crate::state::{StateError, StateIo};
use axiomrl_nn::{Captured, ConvSpec, Kfac, Mlp, MlpPass, Params};

/// One network's curvature, and its momentum.
pub struct Natural {
    pub kfac: Kfac,
    pub velocity: Vec<f32>,
}

impl Natural {
    /// Of what looks at observations, and of the layers after it.
    pub fn new(encoder: &ObsEncoder, layers: &Mlp) -> Self {
        let stacks: Vec<&ConvSpec> = encoder.stacks().map(|net| &*net.spec).collect();
        let kfac = Kfac::new(&stacks, &layers.spec);
        Self { velocity: vec![0.0; kfac.param_count()], kfac }
    }

    pub fn visit_state(&mut self, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.floats(&format!("{name}.velocity"), &mut self.velocity)?;
        io.value(&format!("{name}.count"), &mut self.kfac.count)?;
        for (part, values) in self.kfac.buffers_mut() {
            io.floats(&format!("{name}.factor.{part}"), values)?;
        }
        Ok(())
    }
}

/// A forward pass of one network, and the ways back to all of its parameters: those of the convolutions first.
pub struct Pass<'a> {
    look: &'a EncoderPass<'a>,
    layers: MlpPass<'a>,
}

impl<'a> Pass<'a> {
    pub fn new(look: &'a EncoderPass<'a>, layers: &'a Mlp, rows: usize) -> Self {
        Self { look, layers: layers.pass(&look.seen, rows, None) }
    }

    pub fn outputs(&self) -> &[f32] {
        self.layers.outputs()
    }

    /// The gradient of the parameters, given that of the outputs.
    pub fn params_gradient(&self, by_outputs: &[f32]) -> Vec<f32> {
        if !self.look.sees_images() {
            return self.layers.params_gradient(by_outputs).to_vec();
        }
        let (of_layers, by_seen) = self.layers.gradients(by_outputs);
        let mut gradient = self.look.params_gradient(&by_seen);
        gradient.extend_from_slice(&of_layers);
        gradient
    }

    /// What curvature is made of, layer by layer, given the gradient of each row's own term by its outputs.
    pub fn captures(&self, by_outputs: &[f32]) -> Vec<Captured> {
        let of_layers = self.layers.captures(by_outputs);
        if !self.look.sees_images() {
            return of_layers;
        }
        let mut captured = self.look.captures(&self.layers.input_gradient(by_outputs));
        captured.extend(of_layers);
        captured
    }
}

/// A gradient and what curvature makes of it.
pub struct Direction {
    pub gradient: Vec<f32>,
    pub natural: Vec<f32>,
}

impl Direction {
    /// gradient · natural
    pub fn product(&self) -> f64 {
        self.gradient.iter().zip(&self.natural).map(|(g, n)| f64::from(*g) * f64::from(*n)).sum()
    }
}

/// min(1, √(κ / (η² Σ G·N))): how much of the step the region leaves.
pub fn trust_scale(trust_region: f32, rate: f32, product: f64) -> f32 {
    let scale = (f64::from(trust_region) / (f64::from(rate).powi(2) * product)).sqrt();
    if product > 0.0 && rate > 0.0 { scale.min(1.0) as f32 } else { 1.0 }
}

/// m ← momentum · m + ν N, and the step that it makes: -η (1 - momentum) m.
pub fn step_along(velocity: &mut [f32], natural: &[f32], scale: f32, rate: f32, momentum: f32) -> Vec<f32> {
    velocity.iter_mut().zip(natural).for_each(|(m, n)| *m = momentum * *m + scale * n);
    velocity.iter().map(|m| -rate * (1.0 - momentum) * m).collect()
}

/// Takes a step of all parameters, which lie in it one after the other.
pub fn add(params: Vec<&mut Params>, mut step: &[f32]) {
    for params in params {
        let own;
        (own, step) = step.split_at(params.as_slice().len());
        params.make_mut().iter_mut().zip(own).for_each(|(p, s)| *p += s);
    }
    assert!(step.is_empty(), "a step of {} more parameters than there are", step.len());
}
