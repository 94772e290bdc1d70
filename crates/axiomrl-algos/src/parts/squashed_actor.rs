//! Policies over actions in [-1, 1]: what a network's outputs mean, drawing from it, and the loss that improves it.

use crate::export::{Graph, Value};
use crate::parts::noise::fill_normal;
use axiomrl_core::random::normal;
use axiomrl_envs::Rng;
use axiomrl_nn::{Activation, LogStdBounds, MlpSpec, Tensor, fused_loss, tanh_gaussian, tanh_gaussian_sample, values};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the policy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    /// One action per observation.
    Deterministic,
    /// A Gaussian squashed into [-1, 1].
    TanhGaussian,
    /// One action, with noise of the size of `exploration_noise` in updates, too, clipped there to `target_noise_clip`.
    ScheduledNoise,
}

/// Normal noise of size `std` within `clip`, as a policy with scheduled noise has it at this moment.
#[derive(Clone, Copy, Debug)]
pub struct Jitter {
    pub std: f32,
    pub clip: f32,
}

impl Jitter {
    /// Adds the noise and keeps actions within their bounds.
    pub fn add_to(self, actions: &mut [f32], rng: &mut Rng) {
        let Self { std, clip } = self;
        for action in actions {
            *action = (*action + (std * normal(rng)).clamp(-clip, clip)).clamp(-1.0, 1.0);
        }
    }
}

/// Actions with their log-probabilities (0 for a policy without a density).
#[derive(Default)]
pub struct Drawn {
    pub action: Vec<f32>,
    pub log_prob: Vec<f32>,
    noise: Vec<f32>,
}

/// Actions as a function of the policy's parameters.
pub struct DrawnNode {
    /// `[rows, width]`, with a column of log-probabilities at the end where the policy has a density.
    node: Tensor<2>,
    /// As they reach the critics.
    pub action: Vec<f32>,
    log_prob: Option<Vec<f32>>,
}

/// How the critics see actions: their value, and its derivative by every number of every action.
pub struct ActionGradient {
    pub value_mean: f32,
    pub by_action: Vec<f32>,
}

/// The rows that count, as a share of each in a mean.
#[derive(Clone, Copy)]
pub struct Counted<'a> {
    pub valid: &'a [bool],
    /// How many are valid, at least 1.
    pub count: usize,
}

impl<'a> Counted<'a> {
    pub fn of(valid: &'a [bool]) -> Self {
        Self { valid, count: valid.iter().filter(|valid| **valid).count().max(1) }
    }
}

/// The loss of an actor.
pub struct ActorLoss {
    pub node: Tensor<1>,
    pub value: f32,
    pub log_prob_mean: f32,
}

/// What a policy's outputs mean.
#[derive(Clone, Copy, Debug)]
pub struct SquashedHead {
    pub kind: ActorKind,
    /// Numbers of an action.
    pub width: usize,
    pub log_std: LogStdBounds,
}

impl SquashedHead {
    /// Outputs per row.
    pub fn outputs(&self) -> usize {
        if self.is_gaussian() { 2 * self.width } else { self.width }
    }

    pub fn is_gaussian(&self) -> bool {
        self.kind == ActorKind::TanhGaussian
    }

    /// A network that ends in this head: outputs that are actions are bounded by a tanh.
    pub fn network(&self, inputs: usize, hidden: &[usize], activation: Activation) -> MlpSpec {
        let spec = MlpSpec::new(inputs, hidden, self.outputs(), activation);
        if self.is_gaussian() { spec } else { spec.with_output_activation(Activation::Tanh) }
    }

    /// The mean action of each row.
    pub fn mean(&self, out: &[f32], action: &mut Vec<f32>) {
        action.clear();
        if self.is_gaussian() {
            for row in out.chunks_exact(2 * self.width) {
                action.extend(row[..self.width].iter().map(|mean| mean.tanh()));
            }
        } else {
            action.extend_from_slice(out);
        }
    }

    /// As [`SquashedHead::mean`], as nodes of a graph.
    pub fn onnx(&self, graph: &mut Graph, out: Value) -> Value {
        if !self.is_gaussian() {
            return out;
        }
        let mean = graph.columns(out, 0..self.width, 2 * self.width);
        graph.tanh(mean)
    }

    /// Draws an action for each row; a deterministic policy has only one.
    pub fn sample(&self, out: &[f32], jitter: Jitter, rng: &mut Rng, drawn: &mut Drawn) {
        if self.is_gaussian() {
            fill_normal(&mut drawn.noise, out.len() / 2, rng);
            return self.apply_noise(out, drawn);
        }
        self.mean(out, &mut drawn.action);
        drawn.log_prob.clear();
        drawn.log_prob.resize(out.len() / self.width, 0.0);
        if self.kind == ActorKind::ScheduledNoise {
            jitter.add_to(&mut drawn.action, rng);
        }
    }

    /// Draws from a Gaussian policy with given standard noise, one number per action element.
    pub fn sample_with(&self, out: &[f32], noise: impl Iterator<Item = f32>, drawn: &mut Drawn) {
        drawn.noise.clear();
        drawn.noise.extend(noise);
        self.apply_noise(out, drawn);
    }

    fn apply_noise(&self, out: &[f32], drawn: &mut Drawn) {
        let rows = out.len() / self.outputs();
        drawn.action.resize(rows * self.width, 0.0);
        drawn.log_prob.clear();
        drawn.log_prob.resize(rows, 0.0);
        tanh_gaussian_sample(out, &drawn.noise, self.log_std, &mut drawn.action, &mut drawn.log_prob);
    }

    /// Draws with a graph from the outputs `[rows, outputs]` to the actions: the noise is a constant.
    pub fn draw(&self, out: Tensor<2>, jitter: Jitter, rng: &mut Rng) -> DrawnNode {
        let (rows, d) = (out.dims()[0], self.width);
        if self.is_gaussian() {
            let mut noise = Vec::new();
            fill_normal(&mut noise, rows * d, rng);
            let node = tanh_gaussian(out, &noise, self.log_std);
            let drawn = values(&node);
            let action = drawn.chunks_exact(d + 1).flat_map(|row| &row[..d]).copied().collect();
            let log_prob = drawn.chunks_exact(d + 1).map(|row| row[d]).collect();
            return DrawnNode { node, action, log_prob: Some(log_prob) };
        }
        let mut action = values(&out).to_vec();
        if self.kind == ActorKind::ScheduledNoise {
            // The bounds let the gradient through: it is that of the mean.
            jitter.add_to(&mut action, rng);
        }
        DrawnNode { node: out, action, log_prob: None }
    }

    /// mean (alpha * log pi(a|s) - Q(s, a)) over the rows that count. The critics enter by their gradient, as a constant: they
    /// cannot be changed by it.
    pub fn loss(&self, drawn: DrawnNode, by: &ActionGradient, alpha: f32, counted: Counted<'_>) -> ActorLoss {
        let d = self.width;
        let share = 1.0 / counted.count as f32;
        let counts = |log_prob: &Vec<f32>| {
            share * log_prob.iter().zip(counted.valid).filter(|(_, valid)| **valid).map(|(l, _)| l).sum::<f32>()
        };
        let log_prob_mean = drawn.log_prob.as_ref().map_or(0.0, counts);
        let width = if drawn.log_prob.is_some() { d + 1 } else { d };
        let value = alpha * log_prob_mean - by.value_mean;
        let node = fused_loss([drawn.node], |[out]| {
            let mut gradient = vec![share * alpha; out.len()];
            let rows = gradient.chunks_exact_mut(width).zip(by.by_action.chunks_exact(d)).zip(counted.valid);
            for ((gradient, by_action), valid) in rows {
                if *valid {
                    gradient.iter_mut().zip(by_action).for_each(|(g, by_action)| *g = -share * by_action);
                } else {
                    gradient.fill(0.0);
                }
            }
            (value, [gradient])
        });
        ActorLoss { node, value, log_prob_mean }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_core::stream;
    use axiomrl_nn::{gradients, leaf};

    const CALM: Jitter = Jitter { std: 0.0, clip: 0.0 };

    fn head(kind: ActorKind) -> SquashedHead {
        SquashedHead { kind, width: 2, log_std: LogStdBounds::Clamp(-20.0, 2.0) }
    }

    #[test]
    fn scheduled_noise_stays_within_its_bounds() {
        let mut actions = vec![0.5; 1000];
        Jitter { std: 10.0, clip: 0.3 }.add_to(&mut actions, &mut stream(1, "noise"));
        assert!(actions.iter().all(|a| (0.2 - 1e-6..=0.8 + 1e-6).contains(a)));
        let mut actions = vec![0.9; 1000];
        Jitter { std: 10.0, clip: 0.3 }.add_to(&mut actions, &mut stream(1, "noise"));
        assert!(actions.iter().all(|a| (0.6 - 1e-6..=1.0).contains(a)));
    }

    #[test]
    fn draws_with_and_without_a_graph_are_the_same() {
        for kind in [ActorKind::Deterministic, ActorKind::TanhGaussian, ActorKind::ScheduledNoise] {
            let head = head(kind);
            let out: Vec<f32> = (0..3 * head.outputs()).map(|i| 0.1 * i as f32 - 0.4).collect();
            let jitter = Jitter { std: 0.2, clip: 0.3 };
            let mut drawn = Drawn::default();
            head.sample(&out, jitter, &mut stream(1, "draw"), &mut drawn);
            let node = head.draw(leaf(&out, [3, head.outputs()]), jitter, &mut stream(1, "draw"));
            assert_eq!(node.action, drawn.action);
            assert_eq!(node.log_prob.unwrap_or(vec![0.0; 3]), drawn.log_prob);
            let mut mean = Vec::new();
            head.mean(&out, &mut mean);
            assert_eq!(mean == drawn.action, kind == ActorKind::Deterministic);
        }
    }

    #[test]
    fn the_loss_of_a_deterministic_policy_by_hand() {
        let head = head(ActorKind::Deterministic);
        let out = leaf(&[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [3, 2]).require_grad();
        let drawn = head.draw(out.clone(), CALM, &mut stream(1, "draw"));
        let by = ActionGradient { value_mean: 7.0, by_action: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0] };
        let loss = head.loss(drawn, &by, 0.0, Counted::of(&[true, false, true]));
        assert_eq!((loss.value, loss.log_prob_mean), (-7.0, 0.0));
        // The second row does not count; each of the others is half of the mean.
        let [gradient] = gradients(loss.node, [&out]);
        assert_eq!(&gradient[..], [-0.5, -1.0, 0.0, 0.0, -2.5, -3.0]);
    }

    #[test]
    fn the_entropy_of_a_gaussian_policy_is_climbed() {
        let head = head(ActorKind::TanhGaussian);
        let values_at = [0.1, -0.2, -0.5, 0.3, 0.4, 0.2, 0.1, -0.3];
        let by = ActionGradient { value_mean: 0.5, by_action: vec![0.3, -0.4, 0.7, 0.2] };
        let loss_at = |out: &[f32]| {
            let out = leaf(out, [2, 4]).require_grad();
            let drawn = head.draw(out.clone(), CALM, &mut stream(3, "draw"));
            // Linear critics, so that finite differences see the same slope.
            let q: f32 = drawn.action.iter().zip(&by.by_action).map(|(a, g)| a * g).sum();
            let by = ActionGradient { value_mean: q / 2.0, by_action: by.by_action.clone() };
            let loss = head.loss(drawn, &by, 0.2, Counted::of(&[true, true]));
            let [gradient] = gradients(loss.node, [&out]);
            (loss.value, gradient.to_vec())
        };
        let (_, gradient) = loss_at(&values_at);
        for i in 0..values_at.len() {
            let at = |step: f32| {
                let mut moved = values_at;
                moved[i] += step;
                loss_at(&moved).0
            };
            let numeric = (at(1e-2) - at(-1e-2)) / 2e-2;
            assert!((numeric - gradient[i]).abs() < 2e-3, "output {i}: {numeric} {}", gradient[i]);
        }
    }
}
