//! FQF's proposal: which fractions of the return are worth asking for.
//!
//! The fractions are the running sums of a softmax. Their loss is the Wasserstein error of the staircase they make of
//! the quantile function, whose gradient is known exactly:
//! ```text
//! dW/dtau_i = 2 F(tau_i) - F(hat_i) - F(hat_(i-1)),   hat_i the middle of tau_i and tau_(i+1)
//! ```

use super::model::Lesson;
use crate::agent::{Diverged, UpdateContext};
use crate::export::{Graph, Value};
use crate::parts::descend::{Loss, ParamGroup};
use crate::state::{StateError, StateIo};
use axiomrl_core::Schedule;
use axiomrl_nn::{Activation, Init, Mlp, MlpSpec, OptimizerConfig, RmsPropConfig, fused_loss, leaf};
use axiomrl_onnx::Attribute;
use rand_chacha::ChaCha8Rng;

/// The middles of `n` equal parts.
pub fn even_fractions(n: usize) -> Vec<f32> {
    (0..n).map(|i| (i as f32 + 0.5) / n as f32).collect()
}

pub struct Fractions {
    net: Mlp,
    group: ParamGroup,
    rate: Schedule,
    entropy_weight: f32,
    count: usize,
    /// Of the latest proposal: `[row][count]`.
    shares: Vec<f32>,
    logits: Vec<f32>,
}

impl Fractions {
    pub fn new(features: usize, count: usize, rate: Schedule, entropy_weight: f32, rng: &mut ChaCha8Rng) -> Self {
        // One layer, near zero at the start, so that the first fractions are nearly even.
        let spec = MlpSpec::new(features, &[], count, Activation::Identity);
        let mut net = Mlp::new(spec, 1, &Init::Xavier { output_scale: 0.01 }, rng);
        let config = RmsPropConfig { alpha: 0.95, eps: 1e-5, centred: true, ..RmsPropConfig::default() };
        let group = ParamGroup::new(&OptimizerConfig::RmsProp(config), &[&mut net.params], f32::MAX);
        Self { net, group, rate, entropy_weight, count, shares: Vec::new(), logits: Vec::new() }
    }

    /// Middles `[row][count]` of the proposed parts, and the parts' widths.
    pub fn propose(&mut self, features: &[f32], rows: usize, middles: &mut Vec<f32>, shares: &mut Vec<f32>) {
        self.net.infer(features, rows, &mut self.logits);
        self.shares.clear();
        middles.clear();
        for logits in self.logits.chunks_exact(self.count) {
            let peak = logits.iter().fold(f32::MIN, |m, l| m.max(*l));
            let total: f32 = logits.iter().map(|l| (l - peak).exp()).sum();
            let mut edge = 0.0;
            for logit in logits {
                let share = (logit - peak).exp() / total;
                self.shares.push(share);
                middles.push(edge + 0.5 * share);
                edge += share;
            }
        }
        shares.clone_from(&self.shares);
    }

    /// As [`Fractions::propose`], as nodes of a graph: middles and widths, both `[rows, count]`.
    pub fn onnx(&self, graph: &mut Graph, features: Value) -> (Value, Value) {
        let logits = self.net.onnx(graph, features);
        let (shares, last) = (graph.softmax(logits), graph.ints(&[], &[-1]));
        let edges = graph.node("CumSum", &[shares, last], &[("exclusive", Attribute::Int(1))]);
        let half = graph.scale(shares, 0.5);
        (graph.add(edges, half), shares)
    }

    /// The edges between the parts of the latest proposal: `[row][count - 1]`.
    pub fn inner_edges(&self, rows: usize) -> Vec<f32> {
        let mut edges = Vec::with_capacity(rows * (self.count - 1));
        for shares in self.shares.chunks_exact(self.count) {
            let mut edge = 0.0;
            edges.extend(shares[..self.count - 1].iter().map(|s| {
                edge += s;
                edge
            }));
        }
        edges
    }

    /// One step on the Wasserstein error of the entries. `at_middles` is `[row][action][count]`, `at_edges`
    /// `[row][count - 1][action]`.
    pub fn learn(
        &mut self,
        lesson: Lesson<'_>,
        features: &[f32],
        at_middles: &[f32],
        at_edges: &[f32],
        actions: usize,
        context: &mut UpdateContext<'_>,
    ) -> Result<(), Diverged> {
        let Lesson { batch, entries, .. } = lesson;
        let (count, n) = (self.count, entries.len().max(1) as f32);
        let rows = self.shares.len() / count;
        let tracked = self.net.params.tracked();
        let logits = self.net.forward(leaf(features, [rows, features.len() / rows]), tracked.clone(), None);
        let (mut value, mut entropy_mean) = (0.0, 0.0);
        let (shares, entropy_weight) = (&self.shares, self.entropy_weight);
        let node = fused_loss([logits], |[_]| {
            let mut gradient = vec![0.0; rows * count];
            for entry in entries {
                let (row, action) = (entry.here, batch.action[entry.at] as usize);
                let start = (row * actions + action) * count;
                let middles = &at_middles[start..start + count];
                let edges: Vec<f32> =
                    (0..count - 1).map(|i| at_edges[(row * (count - 1) + i) * actions + action]).collect();
                let slopes = edge_slopes(middles, &edges);
                let share = &shares[row * count..(row + 1) * count];
                let weight = batch.weight[entry.row] / n;
                let out = &mut gradient[row * count..(row + 1) * count];
                let (error, entropy) = through_softmax(share, &slopes, entropy_weight, weight, out);
                value += weight * (error - entropy_weight * entropy);
                entropy_mean += entropy / n;
            }
            (value, [gradient])
        });
        let rate = self.rate.at(context.fraction()) as f32;
        let loss = Loss { node, value, tracked: vec![tracked] };
        self.group.descend("the fractions", loss, &mut [&mut self.net.params], rate, context.number())?;
        context.metrics.add("fraction_loss", value);
        context.metrics.add("entropy", entropy_mean);
        Ok(())
    }

    /// Saves or loads what the proposals come from.
    pub fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("fractions", &mut self.net)
    }

    /// Saves or loads what learning them needs besides.
    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.group.visit_state("fractions", io)
    }
}

/// dW/dtau of each inner edge. Where quantiles cross, a difference counts with the sign it should have had.
fn edge_slopes(middles: &[f32], edges: &[f32]) -> Vec<f32> {
    let last = edges.len();
    (0..last)
        .map(|i| {
            let here = edges[i];
            let before = if i == 0 { middles[0] } else { edges[i - 1] };
            let after = if i + 1 == last { middles[last] } else { edges[i + 1] };
            let left = here - middles[i];
            let right = here - middles[i + 1];
            (if here > before { left } else { -left }) + (if here < after { right } else { -right })
        })
        .collect()
}

/// Carries slopes at the edges back to the logits of the softmax whose running sums the edges are, and adds the pull of
/// the entropy. Gives sum(slope * edge) and the entropy.
fn through_softmax(shares: &[f32], slopes: &[f32], entropy_weight: f32, weight: f32, out: &mut [f32]) -> (f32, f32) {
    let count = shares.len();
    // An edge lies after every part before it, so a part feels all edges behind it.
    let mut felt = vec![0.0; count];
    for part in (0..count - 1).rev() {
        felt[part] = felt[part + 1] + slopes[part];
    }
    let mean: f32 = shares.iter().zip(&felt).map(|(s, f)| s * f).sum();
    let entropy: f32 = -shares.iter().map(|s| s * s.max(1e-12).ln()).sum::<f32>();
    for ((o, share), f) in out.iter_mut().zip(shares).zip(&felt) {
        *o = weight * share * ((f - mean) + entropy_weight * (share.max(1e-12).ln() + entropy));
    }
    (mean, entropy)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quantile function with a known staircase error.
    fn quantile(fraction: f32) -> f32 {
        fraction * fraction + 0.3 * fraction
    }

    /// W1 distance between the quantile function and its staircase with these edges, by brute force.
    fn staircase_error(logits: &[f32]) -> f64 {
        let total: f64 = logits.iter().map(|l| f64::from(*l).exp()).sum();
        let mut edge = 0.0;
        let mut error = 0.0;
        for logit in logits {
            let share = f64::from(*logit).exp() / total;
            let level = f64::from(quantile((edge + 0.5 * share) as f32));
            let n = 4000;
            for i in 0..n {
                let at = edge + share * (f64::from(i) + 0.5) / f64::from(n);
                error += share / f64::from(n) * (at * at + 0.3 * at - level).abs();
            }
            edge += share;
        }
        error
    }

    #[test]
    fn the_gradient_is_that_of_the_wasserstein_error() {
        let logits = [0.2, -0.4, 0.5, 0.0];
        let total: f32 = logits.iter().map(|l: &f32| l.exp()).sum();
        let shares: Vec<f32> = logits.iter().map(|l| l.exp() / total).collect();
        let (mut edge, mut middles, mut edges) = (0.0, Vec::new(), Vec::new());
        for (i, share) in shares.iter().enumerate() {
            middles.push(quantile(edge + 0.5 * share));
            edge += share;
            if i + 1 < shares.len() {
                edges.push(quantile(edge));
            }
        }
        let mut exact = vec![0.0; 4];
        through_softmax(&shares, &edge_slopes(&middles, &edges), 0.0, 1.0, &mut exact);
        for i in 0..4 {
            let moved = |by: f32| {
                let mut logits = logits;
                logits[i] += by;
                staircase_error(&logits)
            };
            let numeric = (moved(1e-2) - moved(-1e-2)) / 2e-2;
            assert!((numeric - f64::from(exact[i])).abs() < 1e-4, "{i}: {numeric} against {}", exact[i]);
        }
    }

    #[test]
    fn proposals_cover_everything_and_start_nearly_even() {
        let mut rng = axiomrl_core::stream(2, "test");
        let mut fractions = Fractions::new(8, 5, Schedule::Constant(1e-3), 0.0, &mut rng);
        let (mut middles, mut shares) = (Vec::new(), Vec::new());
        fractions.propose(&[0.5; 16], 2, &mut middles, &mut shares);
        for (m, s) in middles.chunks(5).zip(shares.chunks(5)) {
            assert!((s.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            assert!(m.windows(2).all(|w| w[0] < w[1]) && m[0] > 0.0 && m[4] < 1.0);
            assert!(s.iter().all(|s| (s - 0.2).abs() < 0.02), "{s:?}");
        }
        assert_eq!(fractions.inner_edges(2).len(), 8);
    }

    #[test]
    fn entropy_evens_the_parts_out() {
        // -H has the derivative s (ln s + H) by a logit; H of (0.8, 0.2) is 0.500402.
        let mut gradient = [0.0; 2];
        let (_, entropy) = through_softmax(&[0.8, 0.2], &[0.0], 0.5, 2.0, &mut gradient);
        assert!((entropy - 0.500_402).abs() < 1e-5);
        assert!((gradient[0] - 0.221_807).abs() < 1e-5 && (gradient[1] + 0.221_807).abs() < 1e-5, "{gradient:?}");
    }

    #[test]
    fn where_quantiles_cross_a_difference_has_the_sign_it_should_have() {
        // The return at the edge between 0 and 2: in order, below both, above both.
        assert_eq!(edge_slopes(&[0.0, 2.0], &[1.5]), [1.5 - 0.5]);
        assert_eq!(edge_slopes(&[0.0, 2.0], &[-1.0]), [1.0 - 3.0]);
        assert_eq!(edge_slopes(&[0.0, 2.0], &[3.0]), [3.0 - 1.0]);
    }
}
