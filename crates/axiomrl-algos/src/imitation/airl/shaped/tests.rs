use super::*;
use axiomrl_core::{random, stream};

/// Linear g of an observation and an action, linear h of the observation, γ = 0.9.
fn made(form: AirlRewardForm, state_only: bool) -> ShapedReward {
    let config = AirlConfig {
        gamma: 0.9,
        reward_hidden_sizes: vec![],
        potential_hidden_sizes: vec![],
        reward_form: form,
        state_only,
        ..AirlConfig::default()
    };
    let mut made = ShapedReward::new(&config, 2, 1, &mut stream(1, "net"));
    // g = 0.5, h(s) = s.
    let weights = made.g.params.as_slice().len();
    made.g.params.make_mut()[weights - 1] = 0.5;
    made.h.params.make_mut().copy_from_slice(&[1.0, 0.0]);
    made
}

fn rows(goes_on: f32, log_prob: f32) -> Rows {
    Rows { count: 1, x: vec![0.3, 0.7], next: vec![0.2], goes_on: vec![goes_on], log_prob: vec![log_prob] }
}

#[test]
fn logits_by_hand_of_a_step_a_termination_and_a_time_limit() {
    assert!((logit(shaped(0.5, 0.3, 0.2, 0.9, 1.0), -1.2) - 1.58).abs() < 1e-6);
    assert!((logit(shaped(0.5, 0.3, 0.2, 0.9, 0.0), -1.2) - 1.40).abs() < 1e-6);
    assert_eq!(logit(1.0, -500.0), 21.0, "an action at the bounds is not infinitely unlikely");
}

#[test]
fn forms_of_the_reward_by_hand() {
    let wanted = [(AirlRewardForm::F, 0.38), (AirlRewardForm::FMinusLogProb, 1.58), (AirlRewardForm::G, 0.5)];
    for (form, wanted) in wanted {
        let found = made(form, false).rewards(&rows(1.0, -1.2))[0];
        assert!((found - wanted).abs() < 1e-6, "{form:?}: {found}");
    }
    let ended = made(AirlRewardForm::F, false).rewards(&rows(0.0, -1.2))[0];
    assert!((ended - 0.2).abs() < 1e-6, "{ended}");
    // softplus(-1.58) + softplus(-0.28) for an expert's step of -1.2 and a policy's that was likely: f - 0.1 = 0.28.
    let (verdict, _) = made(AirlRewardForm::F, false).gradients(&rows(1.0, -1.2), &rows(1.0, 0.1));
    let wanted = (1.0 + (-1.58f32).exp()).ln() + (1.0 + 0.28f32.exp()).ln();
    assert!((verdict.loss - wanted).abs() < 1e-5, "{verdict:?} {wanted}");
    assert_eq!(verdict.accuracy, 0.5);
}

#[test]
fn gradients_of_reward_and_potential_agree_with_differences() {
    let config = AirlConfig {
        gamma: 0.9,
        reward_hidden_sizes: vec![3],
        potential_hidden_sizes: vec![3],
        ..AirlConfig::default()
    };
    let mut made = ShapedReward::new(&config, 3, 2, &mut stream(1, "net"));
    let mut rng = stream(2, "net");
    for params in [&mut made.g.params, &mut made.h.params] {
        params.make_mut().iter_mut().for_each(|w| *w += 0.5 * random::normal(&mut rng));
    }
    let mut noise = |count: usize| -> Vec<f32> { (0..count).map(|_| random::normal(&mut rng)).collect() };
    let mut rows = |goes_on: [f32; 2]| Rows {
        count: 2,
        x: noise(6),
        next: noise(4),
        goes_on: goes_on.to_vec(),
        log_prob: vec![-0.4, -2.0],
    };
    let (expert, policy) = (rows([1.0, 0.0]), rows([0.0, 1.0]));
    let (_, gradients) = made.gradients(&expert, &policy);
    let gradients: Vec<Vec<f32>> = gradients.iter().map(|gradient| gradient.to_vec()).collect();
    for net in 0..2 {
        for i in 0..gradients[net].len() {
            let mut moved = |step: f32| {
                let params = if net == 0 { &mut made.g.params } else { &mut made.h.params };
                params.make_mut()[i] += step;
                let loss = f64::from(made.gradients(&expert, &policy).0.loss);
                let params = if net == 0 { &mut made.g.params } else { &mut made.h.params };
                params.make_mut()[i] -= step;
                loss
            };
            let numeric = (moved(4e-3) - moved(-4e-3)) / 8e-3;
            assert!(
                (numeric - f64::from(gradients[net][i])).abs() < 2e-3,
                "{net} {i}: {numeric} {}",
                gradients[net][i]
            );
        }
    }
}

#[test]
fn a_reward_of_states_alone_sees_no_action() {
    let differs = |state_only| {
        let mut made = made(AirlRewardForm::G, state_only);
        made.g.params.make_mut().fill(1.0);
        let found = made.reward_function(&[0.3, 0.7, 0.3, -0.7], 2);
        found[0] != found[1]
    };
    assert!(differs(false) && !differs(true));
}

#[test]
fn a_step_moves_both_networks() {
    let mut made = made(AirlRewardForm::F, false);
    let before = (made.g.params.as_slice().to_vec(), made.h.params.as_slice().to_vec());
    let (expert, mut policy) = (rows(1.0, -1.2), rows(1.0, -0.5));
    policy.x = vec![-0.4, 0.1];
    crate::testing::with_context(|context| made.step(&expert, &policy, 1e-2, context).unwrap());
    assert_ne!(made.g.params.as_slice(), before.0);
    assert_ne!(made.h.params.as_slice(), before.1);
}
