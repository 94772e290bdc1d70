//! Windows against the oracle and against Burn's own operations.

use super::oracle::{Draw, Oracle, differences, wide};
use super::{Data, model, small_specs};
use crate::reference::{difference, normal};
use axiomrl_nn::{Latent, Observed, Rssm, Tensor, composed, leaf, try_gradients, values};

/// Weights of a loss that is linear in everything a window gives.
struct Weights {
    features: Vec<f32>,
    posterior: Vec<f32>,
    prior: Vec<f32>,
}

impl Weights {
    fn new(model: &Rssm, total: usize) -> Self {
        let stats = total * model.spec.latent.stats();
        let features = normal(total * model.spec.features(), 31);
        Self { features, posterior: normal(stats, 32), prior: normal(stats, 33) }
    }
}

/// The loss by the oracle. `base` receives the probabilities, or holds those at the base point.
fn oracle_loss(
    oracle: &Oracle,
    params: &[f64],
    tokens: &[f64],
    data: &Data,
    (weights, drawn): (&Weights, &[f32]),
    base: &mut Option<Vec<Vec<f64>>>,
) -> f64 {
    let spec = &oracle.spec;
    let (features, deter, stats, z_width) = (spec.features(), spec.deter, spec.latent.stats(), spec.latent.width());
    let recording = base.is_none();
    let mut recorded = Vec::new();
    let mut loss = 0.0;
    for row in 0..data.rows {
        let start = wide(&data.start[row * features..(row + 1) * features]);
        let mut state = (start[..deter].to_vec(), start[deter..].to_vec());
        for step in 0..data.steps {
            let at = step * data.rows + row;
            let mut a = wide(&data.actions[at * spec.actions..(at + 1) * spec.actions]);
            if data.is_first[at] {
                state = (vec![0.0; deter], vec![0.0; z_width]);
                a.fill(0.0);
            }
            let h = oracle.cell(params, &state, &a);
            let prior = oracle.head(params, "prior", &h, spec.prior_layers);
            let mut seen = h.clone();
            seen.extend(&tokens[at * spec.tokens..(at + 1) * spec.tokens]);
            let posterior = oracle.head(params, "posterior", &seen, spec.posterior_layers);
            recorded.push(oracle.probabilities(&posterior));
            let draw = Draw {
                noise: &data.noise[at * spec.latent.noise()..(at + 1) * spec.latent.noise()],
                one_hot: &drawn[at * z_width..(at + 1) * z_width],
                base: base.as_ref().map(|base| &base[recorded.len() - 1][..]),
            };
            let z = oracle.sample(&posterior, &draw);
            let mut add = |values: &[f64], weights: &[f32], width: usize| {
                loss += values.iter().zip(&weights[at * width..]).map(|(v, w)| v * f64::from(*w)).sum::<f64>();
            };
            let both: Vec<f64> = h.iter().chain(&z).copied().collect();
            add(&both, &weights.features, features);
            add(&posterior, &weights.posterior, stats);
            add(&prior, &weights.prior, stats);
            state = (h, z);
        }
    }
    if recording {
        *base = Some(recorded);
    }
    loss
}

fn drawn(model: &Rssm, features: &[f32]) -> Vec<f32> {
    features.chunks_exact(model.spec.features()).flat_map(|row| row[model.spec.deter..].to_vec()).collect()
}

#[test]
fn values_and_gradients_match_the_oracle() {
    for (index, spec) in small_specs().iter().enumerate() {
        let (model, data) = (model(spec, 7 + index as u64), Data::new(spec, 5, 3, 11 + index as u64));
        let weights = Weights::new(&model, 15);
        let pass = model.pass(&data.tokens, data.window());
        let (by_params, by_tokens) = pass.gradients(&weights.features, &weights.posterior, &weights.prior);
        let z = drawn(&model, pass.features());
        if let Latent::Categorical { groups, .. } = spec.latent {
            assert_eq!(z.iter().sum::<f32>() as usize, 15 * groups, "one choice for each group");
        }

        let (oracle, params, tokens) = (Oracle::new(&model), wide(model.params.as_slice()), wide(&data.tokens));
        let mut base = None;
        let value = oracle_loss(&oracle, &params, &tokens, &data, (&weights, &z), &mut base);
        let sum = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
        let got = sum(pass.features(), &weights.features)
            + sum(pass.posterior(), &weights.posterior)
            + sum(pass.prior(), &weights.prior);
        assert!((got - value).abs() < 1e-4 * value.abs().max(1.0), "{spec:?}: {got} {value}");

        let at_base = |params: &[f64], tokens: &[f64]| {
            oracle_loss(&oracle, params, tokens, &data, (&weights, &z), &mut base.clone())
        };
        let d = difference(&by_params, &differences(&params, |params| at_base(params, &tokens)));
        assert!(d < 1e-4, "{spec:?}: parameters {d:e}");
        let d = difference(&by_tokens, &differences(&tokens, |tokens| at_base(&params, tokens)));
        assert!(d < 1e-4, "{spec:?}: tokens {d:e}");
    }
}

/// The loss of `weights` in the graph.
fn graph_loss(observed: &Observed, weights: &Weights) -> Tensor<1> {
    let term = |values: &Tensor<2>, weights: &[f32]| (values.clone() * leaf(weights, values.dims())).sum();
    term(&observed.features, &weights.features)
        + term(&observed.posterior, &weights.posterior)
        + term(&observed.prior, &weights.prior)
}

#[test]
fn the_node_gives_the_bits_of_the_pass_and_composed_operations_agree() {
    for spec in &small_specs() {
        let (model, data) = (model(spec, 3), Data::new(spec, 4, 3, 5));
        let weights = Weights::new(&model, 12);
        let pass = model.pass(&data.tokens, data.window());
        let (by_params, by_tokens) = pass.gradients(&weights.features, &weights.posterior, &weights.prior);
        let run = |fused: bool| {
            let (params, tokens) = (model.params.tracked(), leaf(&data.tokens, [12, spec.tokens]).require_grad());
            let observed = match fused {
                true => model.observe(tokens.clone(), params.clone(), data.window()),
                false => composed::observe(&model.spec, tokens.clone(), params.clone(), data.window()),
            };
            let outputs = [&observed.features, &observed.posterior, &observed.prior].map(|y| values(y).to_vec());
            let [by_params, by_tokens] = try_gradients(graph_loss(&observed, &weights), [&params, &tokens]);
            let grad = |grad: Option<axiomrl_nn::Grad>| grad.expect("tracked").to_vec();
            (outputs, grad(by_params), grad(by_tokens))
        };
        let (outputs, node_params, node_tokens) = run(true);
        assert_eq!(outputs[0], pass.features());
        assert_eq!((&outputs[1][..], &outputs[2][..]), (pass.posterior(), pass.prior()));
        assert_eq!((&node_params[..], &node_tokens[..]), (&by_params[..], &by_tokens[..]));
        let (composed, params, tokens) = run(false);
        for (got, want) in
            composed.iter().chain([&params, &tokens]).zip(outputs.iter().chain([&node_params, &node_tokens]))
        {
            let d = difference(got, want);
            assert!(d < 3e-5, "{spec:?}: {d:e}");
        }
    }
}

#[test]
fn what_is_not_asked_for_gets_nothing_and_one_output_is_enough() {
    let spec = &small_specs()[5];
    let (model, data) = (model(spec, 3), Data::new(spec, 4, 3, 5));
    let weights = Weights::new(&model, 12);
    let tokens = || leaf(&data.tokens, [12, spec.tokens]).require_grad();
    let (frozen, x) = (model.params.frozen(), tokens());
    let observed = model.observe(x.clone(), frozen.clone(), data.window());
    let [none, some] = try_gradients(graph_loss(&observed, &weights), [&frozen, &x]);
    assert!(none.is_none() && some.is_some_and(|g| g.iter().any(|g| *g != 0.0)));

    // The prior alone: the tokens of the last step have no part in it, and the graph's factor reaches all of it.
    let (params, x) = (model.params.tracked(), tokens());
    let observed = model.observe(x.clone(), params.clone(), data.window());
    let loss = (observed.prior.clone() * leaf(&weights.prior, [12, spec.latent.stats()])).sum() * 3.0;
    let [by_params, by_tokens] = try_gradients(loss, [&params, &x]).map(|g| g.expect("tracked"));
    let pass = model.pass(&data.tokens, data.window());
    let tripled: Vec<f32> = weights.prior.iter().map(|w| 3.0 * w).collect();
    let (want_params, want_tokens) = pass.gradients(&[], &[], &tripled);
    assert_eq!((&by_params[..], &by_tokens[..]), (&want_params[..], &want_tokens[..]));
    assert!(by_tokens[9 * spec.tokens..].iter().all(|g| *g == 0.0));
    assert!(by_tokens[..9 * spec.tokens].iter().any(|g| *g != 0.0), "earlier ones reach it through the state");
}
