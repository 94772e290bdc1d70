//! One step of sb3-contrib's TRPO on the same rollout, recorded by `scripts/record_trpo.py`.

use super::*;
use crate::policy_gradient::trpo::natural::Product;
use axiomrl_nn::{Activation, Distribution, Init, Mlp, MlpSpec, NamedTensors};
use serde::Deserialize;

#[derive(Clone, Deserialize)]
struct Numbers {
    shape: Vec<usize>,
    values: Vec<f32>,
}

/// Tensors of a policy by PyTorch's names.
type Tensors = BTreeMap<String, Numbers>;

#[derive(Deserialize)]
struct Fixture {
    observations: Numbers,
    actions: Numbers,
    log_prob: Numbers,
    advantages: Numbers,
    max_kl: f32,
    damping: f32,
    policy: Tensors,
    gradient: Tensors,
    vector: Tensors,
    product: Tensors,
    step: Tensors,
    kl_old_new: f64,
    gain: f64,
}

impl Fixture {
    /// A policy whose tensors are these, and its log standard deviations.
    fn network(&self, tensors: &Tensors) -> (Mlp, Vec<f32>) {
        let (inputs, hidden) = (self.observations.shape[1], self.policy["0.bias"].shape[0]);
        let spec = MlpSpec::new(inputs, &[hidden, hidden], self.policy["2.bias"].shape[0], Activation::Tanh);
        let mut net = Mlp::new(spec, 1, &Init::pytorch(), &mut axiomrl_core::stream(1, "init"));
        let mut get = |name: &str| {
            let name = name.trim_start_matches("net.");
            tensors.get(name).cloned().map(|numbers| (numbers.shape, numbers.values))
        };
        net.import("net", &mut get).unwrap();
        (net, tensors.get("log_std").map_or(Vec::new(), |numbers| numbers.values.clone()))
    }

    /// The same as one vector in our layout.
    fn flat(&self, tensors: &Tensors) -> Vec<f32> {
        let (net, log_std) = self.network(tensors);
        [net.params.as_slice(), &log_std].concat()
    }
}

fn close(what: &str, found: &[f32], wanted: &[f32]) {
    let size = dot(wanted, wanted).sqrt();
    let distance = found.iter().zip(wanted).map(|(f, w)| f64::from(f - w).powi(2)).sum::<f64>().sqrt();
    assert!(found.len() == wanted.len() && distance < 1e-4 * size, "{what}: {distance} of {size}");
}

fn check(text: &str, family: Distribution) {
    let fixture: Fixture = serde_json::from_str(text).unwrap();
    let (net, log_std) = fixture.network(&fixture.policy);
    let (rows, x) = (fixture.log_prob.values.len(), &fixture.observations.values);
    let mut batch = Minibatch {
        action: fixture.actions.values.clone(),
        log_prob: fixture.log_prob.values.clone(),
        advantage: fixture.advantages.values.clone(),
        ..Minibatch::default()
    };
    batch.learn_from_all(rows);
    let pass = net.pass(x, rows, None);
    let (report, gradient) = batch.policy_gradient(&family, pass.outputs(), &log_std, 0.0);
    assert!(report.ratio_error < 1e-4);
    let g: Vec<f32> =
        pass.params_gradient(&gradient.head).iter().chain(&gradient.log_std).map(|gradient| -gradient).collect();
    close("gradient", &g, &fixture.flat(&fixture.gradient));

    let damping = fixture.damping;
    let curvature = Curvature { pass, rows, distribution: &family, log_std: &log_std, masks: &[], damping };
    let Product { vector, .. } = curvature.product(&fixture.flat(&fixture.vector));
    close("product", &vector, &fixture.flat(&fixture.product));

    let solution = conjugate_gradients(&g, 2000, |v| curvature.product(v));
    let step = full_step(&solution.x, &curvature.product(&solution.x), fixture.max_kl).unwrap();
    close("step", &step, &fixture.flat(&fixture.step));

    // Where the whole step leads: divergence and gain.
    let (mut moved, mut deviations) = (net.clone(), log_std.clone());
    let count = net.params.as_slice().len();
    moved.params.make_mut().iter_mut().zip(&step).for_each(|(p, s)| *p += s);
    deviations.iter_mut().zip(&step[count..]).for_each(|(p, s)| *p += s);
    let mut after = Vec::new();
    moved.infer(x, rows, &mut after);
    let (width, actions) = (family.head_width(), family.action_width());
    let (mut kl, mut gain) = (0.0, 0.0);
    for row in 0..rows {
        let at = row * width..(row + 1) * width;
        let (old, new) = (&curvature.pass.outputs()[at.clone()], &after[at]);
        kl += f64::from(family.kl(old, &log_std, new, &deviations, &[])) / rows as f64;
        let action = &batch.action[row * actions..(row + 1) * actions];
        let ratio = (family.log_prob(new, &deviations, &[], action) - batch.log_prob[row]).exp();
        gain += f64::from((ratio - 1.0) * batch.advantage[row]) / rows as f64;
    }
    assert!((kl - fixture.kl_old_new).abs() < 1e-4 * fixture.kl_old_new.max(0.01), "{kl} {}", fixture.kl_old_new);
    assert!((gain - fixture.gain).abs() < 1e-4, "{gain} {}", fixture.gain);
}

#[test]
fn discrete_actions_as_in_sb3_contrib() {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/trpo_cartpole.json"));
    check(text, Distribution::Categorical { n: 2 });
}

#[test]
fn box_actions_as_in_sb3_contrib() {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/trpo_pendulum.json"));
    check(text, Distribution::DiagGaussian { d: 1 });
}
