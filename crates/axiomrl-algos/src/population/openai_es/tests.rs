use super::*;
use crate::regimes::{Iteration, Search};
use crate::testing::with_context;

fn search(weight_decay: f32, rate: f64, count: usize) -> Mirrored<EsRule> {
    let adam = Optimizer::new(&OptimizerConfig::Adam(AdamConfig::default()), count);
    let rule = EsRule { weight_decay, learning_rate: Schedule::Constant(rate), adam };
    Mirrored { directions: Directions::new(1, count), pairs: 2, noise_std: 0.1, rule }
}

fn near(found: f64, wanted: f64) {
    assert!((found - wanted).abs() < 1e-6, "{found} where {wanted} belongs");
}

#[test]
fn ranks_by_hand_where_equals_share_theirs() {
    let ranks = centred_ranks(&[3.0, 1.0, 1.0, 4.0]);
    for (found, wanted) in ranks.iter().zip([0.166667, -0.333333, -0.333333, 0.5]) {
        near(*found, wanted);
    }
    // g = .125 ε₁ − .208333 ε₂
    near((ranks[0] - ranks[1]) / 4.0, 0.125);
    near((ranks[2] - ranks[3]) / 4.0, -0.208333);
    assert_eq!(centred_ranks(&[5.0, 9.0]), [-0.5, 0.5]);
}

#[test]
fn the_first_step_has_the_signs_of_the_estimate() {
    let (mut search, mut mean) = (search(0.0, 0.01, 6), Params::from_vec(1, 6, vec![0.0; 6]));
    let mut estimate = vec![0.0; 6];
    search.directions.add_to(&mut estimate, 5, 0, 0.125);
    search.directions.add_to(&mut estimate, 5, 1, -0.208333);
    with_context(|context| {
        search.update(&mut mean, Iteration { number: 5, scores: &[3.0, 1.0, 1.0, 4.0] }, context).unwrap()
    });
    // Adam's first step is the rate, whatever the size of the gradient.
    for (found, g) in mean.as_slice().iter().zip(&estimate) {
        near(f64::from(*found), 0.01 * g.signum());
    }
}

#[test]
fn equal_scores_give_an_estimate_of_exactly_nothing() {
    let (mut search, mut mean) = (search(0.0, 0.01, 3), Params::from_vec(1, 3, vec![0.7; 3]));
    with_context(|context| search.update(&mut mean, Iteration { number: 0, scores: &[2.0; 4] }, context).unwrap());
    assert_eq!(mean.as_slice(), [0.7; 3]);
}

#[test]
fn the_pull_to_zero_goes_through_adam() {
    let (mut search, mut mean) = (search(0.005, 0.01, 1), Params::from_vec(1, 1, vec![1.0]));
    with_context(|context| search.update(&mut mean, Iteration { number: 0, scores: &[2.0; 4] }, context).unwrap());
    // Decoupled from Adam it would be .01 · .005.
    near(f64::from(mean.as_slice()[0]), 0.99);
}

#[test]
fn hidden_units_begin_with_weights_of_norm_one_and_outputs_with_a_hundredth() {
    let spec = MlpSpec::new(3, &[5], 2, Activation::Tanh);
    let mut params: Vec<f32> = (0..spec.param_count()).map(|i| (i as f32).sin() + 0.1).collect();
    let biases = params[15..20].to_vec();
    unit_columns(&spec, &mut params);
    let norm = |offset: usize, inputs: usize, outputs: usize, unit: usize| {
        (0..inputs).map(|i| f64::from(params[offset + i * outputs + unit]).powi(2)).sum::<f64>().sqrt()
    };
    (0..5).for_each(|unit| near(norm(0, 3, 5, unit), 1.0));
    (0..2).for_each(|unit| near(norm(20, 5, 2, unit), 0.01));
    assert_eq!(params[15..20], biases, "biases are left alone");
}

#[test]
fn no_noise_is_refused() {
    let still = OpenAiEs::check(&OpenAiEsConfig { noise_std: 0.0, ..OpenAiEsConfig::default() }).unwrap_err();
    assert!(still.to_string().contains("`noise_std` 0"), "{still}");
    assert!(OpenAiEs::check(&OpenAiEsConfig::default()).is_ok());
}
