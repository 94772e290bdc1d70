//! Numbers computed by hand, and slopes by finite differences.

use super::*;

const LAWS: [ActionLaw; 4] = [
    ActionLaw::Choice { n: 4, unimix: 0.01 },
    ActionLaw::Choice { n: 4, unimix: 0.0 },
    ActionLaw::Normal { d: 2 },
    ActionLaw::TanhNormal { d: 2 },
];

#[test]
fn a_clipped_action_is_judged_where_it_was_drawn() {
    let law = ActionLaw::Normal { d: 1 };
    let (mean, std) = law.gaussian(&[0.0, 0.0], 0);
    assert!(mean == 0.0 && (std - 0.892_72).abs() < 1e-5, "{std}");
    let (log_prob, _) = law.likelihood(&[0.0, 0.0], &[1.5], [0.0; 2], &mut [0.0; 2]);
    assert!((log_prob + 2.2171).abs() < 1e-4, "{log_prob}");
    // What leaves the range is clipped where the model sees it.
    let mut drawn = Drawn::default();
    law.sample(&[50.0, 50.0].repeat(200), &mut axiomrl_core::stream(1, "test"), &mut drawn);
    assert!(drawn.raw.iter().any(|raw| *raw > 1.5) && drawn.encoded.iter().all(|done| done.abs() <= 1.0));
}

#[test]
fn choices_are_drawn_from_the_mixed_distribution() {
    let law = ActionLaw::Choice { n: 2, unimix: 0.2 };
    let mut drawn = Drawn::default();
    law.sample(&[60.0, 0.0].repeat(20_000), &mut axiomrl_core::stream(1, "test"), &mut drawn);
    let rare = drawn.raw.iter().filter(|choice| **choice == 1.0).count();
    assert!((1800..2200).contains(&rare), "a tenth: {rare}");
    assert!(drawn.encoded.chunks_exact(2).zip(&drawn.raw).all(|(row, &raw)| row[raw as usize] == 1.0));
}

/// One row: outputs, and something drawn from them.
fn example(law: ActionLaw) -> (Vec<f32>, Drawn) {
    let (outputs, mut drawn) = (vec![0.3, -0.4, 0.2, -0.5], Drawn::default());
    law.sample(&outputs, &mut axiomrl_core::stream(2, "test"), &mut drawn);
    (outputs, drawn)
}

fn check(outputs: &[f32], gradient: &[f32], value: impl Fn(&[f32]) -> f32, what: &str) {
    for at in 0..outputs.len() {
        let moved = |step: f32| {
            let mut outputs = outputs.to_vec();
            outputs[at] += step;
            value(&outputs)
        };
        let wanted = (moved(5e-3) - moved(-5e-3)) / 1e-2;
        assert!((gradient[at] - wanted).abs() < 2e-3 * wanted.abs().max(1.0), "{what} {at}: {} {wanted}", gradient[at]);
    }
}

#[test]
fn slopes_of_the_likelihood_are_those_of_finite_differences() {
    for law in LAWS {
        let (outputs, drawn) = example(law);
        let loss = |outputs: &[f32]| law.reinforce(outputs, &drawn.raw, &[0.7], &[1.3], 0.4);
        check(&outputs, &loss(&outputs).1, |outputs| loss(outputs).0, &format!("{law:?}"));
    }
}

#[test]
fn slopes_through_an_action_are_those_of_finite_differences() {
    let by = [0.8, -0.3];
    let law = ActionLaw::TanhNormal { d: 2 };
    let (outputs, drawn) = example(law);
    let (_, gradient, _) = law.reparametrised(&outputs, &drawn.raw, &by, &[0.0], 0.0);
    let done = |outputs: &[f32]| {
        let sample = |i: usize| {
            let (mean, std) = law.gaussian(outputs, i);
            tanh(mean + std * drawn.raw[i])
        };
        by[0] * sample(0) + by[1] * sample(1)
    };
    check(&outputs, &gradient, done, "squashed");
    // Straight through: the slope of the probabilities, whatever was drawn.
    let (law, by) = (ActionLaw::Choice { n: 4, unimix: 0.0 }, [1.0, 0.2, 0.0, -0.5]);
    let (_, gradient, _) = law.reparametrised(&outputs, &[2.0], &by, &[0.0], 0.0);
    let soft = |outputs: &[f32]| probabilities(outputs, 0.0).iter().zip(by).map(|(p, d)| p * d).sum();
    check(&outputs, &gradient, soft, "straight through");
}

#[test]
fn the_entropy_lies_inside_of_the_weight_and_the_mean_is_over_rows() {
    let law = ActionLaw::Choice { n: 2, unimix: 0.0 };
    let (even, half) = (2f32.ln(), 0.5);
    let (loss, _, entropy) = law.reinforce(&[0.0; 4], &[0.0, 1.0], &[1.0, 0.5], &[2.0, 0.0], half);
    // -(1 (2 log 1/2 + H/2) + 1/2 (0 + H/2)) / 2
    let wanted = -(-2.0 * even + half * even + 0.5 * half * even) / 2.0;
    assert!((loss - wanted).abs() < 1e-6 && (entropy - even).abs() < 1e-6, "{loss} {wanted}");
}

#[test]
fn actions_go_to_the_model_and_come_back() {
    let law = LAWS[0];
    let (mut encoded, mut back) = ([9.0; 8], [0.0; 2]);
    law.encode(&[2.0, 0.0], &mut encoded);
    assert_eq!(encoded, [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    law.decode(&encoded, &mut back);
    assert_eq!(back, [2.0, 0.0]);
    let mut best = [0.0; 4];
    law.mode(&[0.1, 0.9, 0.3, 0.0], &mut best);
    assert_eq!(best, [0.0, 1.0, 0.0, 0.0]);
}
