//! Networks that give the outputs of every action at once: scalar, categorical and fixed-quantile heads.

use super::fractions::even_fractions;
use super::model::Outputs;
use super::outcomes::Outcomes;
use crate::export::{Graph, Value};
use crate::parts::weight_noise::WeightNoise;
use crate::state::{StateError, StateIo};
use axiomrl_nn::{Init, Mlp, MlpSpec, Params, Tensor};
use rand_chacha::ChaCha8Rng;

/// One or two streams over the same input; with two, the second is the value of the state.
#[derive(Clone)]
pub struct DirectNet {
    action: Mlp,
    value: Option<Mlp>,
    /// For each stream, where weights are noisy.
    noise: Vec<WeightNoise>,
    actions: usize,
    width: usize,
    /// The middles of equal parts: where a quantile head has its returns.
    fractions: Vec<f32>,
    /// All returns count alike.
    share: Vec<f32>,
    advantages: Vec<f32>,
    state_values: Vec<f32>,
}

impl DirectNet {
    pub fn new(
        spec: impl Fn(usize) -> MlpSpec,
        actions: usize,
        width: usize,
        members: usize,
        dueling: bool,
        noise: Option<f32>,
        rng: &mut ChaCha8Rng,
    ) -> Self {
        let action = Mlp::new(spec(actions * width), members, &Init::pytorch(), rng);
        let value = dueling.then(|| Mlp::new(spec(width), members, &Init::pytorch(), rng));
        let streams = std::iter::once(&action).chain(&value);
        let noise = noise.map_or(Vec::new(), |size| streams.map(|net| WeightNoise::new(net, size)).collect());
        Self {
            action,
            value,
            noise,
            actions,
            width,
            fractions: even_fractions(width),
            share: vec![1.0 / width as f32; width],
            advantages: Vec::new(),
            state_values: Vec::new(),
        }
    }

    /// How many actions there are, and numbers for each.
    pub fn sizes(&self) -> (usize, usize) {
        (self.actions, self.width)
    }

    pub fn members(&self) -> usize {
        self.action.params.members()
    }

    /// What the streams said together, with what belongs to it.
    pub fn outputs<'a>(&'a self, rows: usize, values: &'a [f32]) -> Outputs<'a> {
        let (members, actions, width) = (self.members(), self.actions, self.width);
        Outputs { members, rows, actions, width, values, fractions: &self.fractions, share: &self.share }
    }

    /// Draws new noise, where there is any.
    pub fn draw_noise(&mut self, rng: &mut ChaCha8Rng) {
        let streams = std::iter::once(&self.action).chain(&self.value);
        self.noise.iter_mut().zip(streams).for_each(|(noise, net)| noise.draw(net, rng));
    }

    /// With `noisy`, with the noise drawn last; otherwise with the weights' means.
    pub fn infer(&mut self, input: &[f32], rows: usize, noisy: bool, out: &mut Outcomes) {
        (out.members, out.rows, out.actions, out.width) = (self.members(), rows, self.actions, self.width);
        let noise = if noisy { &self.noise[..] } else { &[] };
        let action = noise.first().map_or(&self.action, |n| &n.noisy);
        if let Some(value) = &self.value {
            let value = noise.get(1).map_or(value, |n| &n.noisy);
            action.infer(input, rows, &mut self.advantages);
            value.infer(input, rows, &mut self.state_values);
            combine(&self.advantages, &self.state_values, self.actions, self.width, &mut out.values);
        } else {
            action.infer(input, rows, &mut out.values);
        }
        if out.share.len() != self.width {
            out.share.clone_from(&self.share);
            out.fractions.clone_from(&self.fractions);
        }
    }

    /// What the first member says without noise, as nodes of a graph: `[rows, actions, width]`.
    pub fn onnx(&self, graph: &mut Graph, input: Value) -> Value {
        let (actions, width) = (self.actions as i64, self.width as i64);
        let said = self.action.onnx(graph, input);
        let mut said = graph.reshape(said, &[-1, actions, width]);
        if let Some(value) = &self.value {
            let value = value.onnx(graph, input);
            let value = graph.reshape(value, &[-1, 1, width]);
            let mean = graph.mean(said, 1);
            let above = graph.sub(said, mean);
            said = graph.add(value, above);
        }
        said
    }

    /// The streams as nodes of the graph, with the parameters they came from.
    pub fn forward(&self, input: Tensor<2>) -> (Vec<Tensor<3>>, Vec<Tensor<2>>) {
        self.streams()
            .into_iter()
            .map(|net| {
                let params = net.params.tracked();
                (net.forward(input.clone(), params.clone(), None), params)
            })
            .unzip()
    }

    /// The streams as they learn: with noise in their weights, where there is any.
    pub fn streams(&self) -> Vec<&Mlp> {
        let means = std::iter::once(&self.action).chain(&self.value);
        if self.noise.is_empty() { means.collect() } else { self.noise.iter().map(|n| &n.noisy).collect() }
    }

    /// The joint outputs of both streams.
    pub fn join(&self, [advantages, values]: [&[f32]; 2]) -> Vec<f32> {
        let mut joint = Vec::with_capacity(advantages.len());
        combine(advantages, values, self.actions, self.width, &mut joint);
        joint
    }

    /// The gradients of both streams, given that of their joint outputs.
    pub fn split(&self, gradient: Vec<f32>) -> [Vec<f32>; 2] {
        let (actions, width) = (self.actions, self.width);
        let mut state = vec![0.0; gradient.len() / actions];
        let mut action = gradient;
        for (row, total) in action.chunks_exact_mut(actions * width).zip(state.chunks_exact_mut(width)) {
            for one in row.chunks_exact(width) {
                total.iter_mut().zip(one).for_each(|(t, g)| *t += g);
            }
            // A - mean A: each action loses the mean of the gradients.
            for one in row.chunks_exact_mut(width) {
                one.iter_mut().zip(total.iter()).for_each(|(g, t)| *g -= t / actions as f32);
            }
        }
        [action, state]
    }

    /// All that is learned: the streams, then the size of their noise.
    pub fn params(&mut self) -> Vec<&mut Params> {
        self.params_and_draws().0
    }

    /// As [`DirectNet::params`], with the noise that was drawn last for each stream.
    pub fn params_and_draws(&mut self) -> (Vec<&mut Params>, Vec<&[f32]>) {
        let mut params: Vec<_> =
            std::iter::once(&mut self.action).chain(&mut self.value).map(|net| &mut net.params).collect();
        let (sigmas, draws): (Vec<_>, Vec<_>) = self.noise.iter_mut().map(WeightNoise::sigma_and_draw).unzip();
        params.extend(sigmas);
        (params, draws)
    }

    pub fn visit_state(&mut self, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network(&format!("{name}.action"), &mut self.action)?;
        if let Some(value) = &mut self.value {
            io.network(&format!("{name}.value"), value)?;
        }
        for (noise, stream) in self.noise.iter_mut().zip(["action", "value"]) {
            noise.visit_state(&format!("{name}.{stream}"), io)?;
        }
        Ok(())
    }
}

/// Q = V + A - mean_a A, number by number.
fn combine(advantages: &[f32], values: &[f32], actions: usize, width: usize, out: &mut Vec<f32>) {
    out.clear();
    let mut mean = vec![0.0; width];
    for (row, value) in advantages.chunks_exact(actions * width).zip(values.chunks_exact(width)) {
        mean.fill(0.0);
        for one in row.chunks_exact(width) {
            mean.iter_mut().zip(one).for_each(|(m, a)| *m += a / actions as f32);
        }
        for one in row.chunks_exact(width) {
            out.extend(one.iter().zip(value).zip(&mean).map(|((a, v), m)| v + a - m));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dueling_by_hand() {
        let mut out = Vec::new();
        // Two actions, two numbers each: advantages (1, 2) and (3, 6), value (10, 20).
        combine(&[1.0, 2.0, 3.0, 6.0], &[10.0, 20.0], 2, 2, &mut out);
        assert_eq!(out, [9.0, 18.0, 11.0, 22.0]);
    }

    #[test]
    fn the_gradient_of_dueling_is_its_transpose() {
        let mut rng = axiomrl_core::stream(1, "test");
        let spec = |outputs| MlpSpec::new(2, &[3], outputs, axiomrl_nn::Activation::Relu);
        let net = DirectNet::new(spec, 3, 2, 1, true, None, &mut rng);
        let (advantages, values) = ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.7, 0.8]);
        let gradient = vec![1.0, -2.0, 0.5, 0.25, 3.0, -1.0];
        let parts = net.split(gradient.clone());
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
        // Linear, so <g, J x> = <J^T g, x>.
        let left = dot(&gradient, &net.join([&advantages, &values]));
        assert!((left - dot(&parts[0], &advantages) - dot(&parts[1], &values)).abs() < 1e-6);
    }
}
