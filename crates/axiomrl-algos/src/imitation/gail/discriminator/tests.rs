use super::super::penalty::PenaltyKind;
use super::*;
use crate::testing::with_context;
use axiomrl_core::stream;

fn discriminator(weight: f32, kind: PenaltyKind) -> GailDiscriminator {
    let config =
        GailConfig { discriminator_hidden_sizes: vec![6], discriminator_entropy_coef: 0.1, ..GailConfig::default() };
    let mut made = GailDiscriminator::new(&config, GradientPenalty { weight, kind }, 2, &mut stream(1, "net"));
    // Away from the beginning, where everything is zero.
    let mut rng = stream(2, "net");
    made.net.params.make_mut().iter_mut().for_each(|w| *w += 0.5 * axiomrl_core::random::normal(&mut rng));
    made
}

fn rows(x: &[f32]) -> Rows {
    Rows { count: x.len() / 2, x: x.to_vec(), ..Rows::default() }
}

#[test]
fn forms_of_the_reward_by_hand() {
    let found = [RewardForm::Softplus, RewardForm::LogD, RewardForm::Logit].map(|form| form.of(2.0));
    for (found, wanted) in found.iter().zip([2.126_928, -0.126_928, 2.0]) {
        assert!((found - wanted).abs() < 1e-6, "{found} {wanted}");
    }
    for f in [-5.0, 0.0, 5.0] {
        assert!(RewardForm::Softplus.of(f) > 0.0 && RewardForm::LogD.of(f) < 0.0, "each form has its sign");
    }
}

#[test]
fn at_first_every_step_is_worth_the_same() {
    let config = GailConfig { reward_form: RewardForm::Logit, ..GailConfig::default() };
    let penalty = GradientPenalty { weight: 0.0, kind: PenaltyKind::Full };
    let fresh = GailDiscriminator::new(&config, penalty, 3, &mut stream(1, "net"));
    assert_eq!(fresh.reward_function(&[1.0, -2.0, 3.0, 9.0, 0.0, 1.0], 2), [0.0, 0.0]);
}

#[test]
fn the_whole_loss_agrees_with_differences_of_its_outputs() {
    for (weight, kind) in [(0.0, PenaltyKind::Full), (0.7, PenaltyKind::CentralDifference), (0.7, PenaltyKind::Full)] {
        let made = discriminator(weight, kind);
        let (expert, policy) = ([0.3, -0.2, 1.0, 0.5, -0.7, 0.1], [-0.4, 0.8, 0.2, 0.2, 0.9, -1.0]);
        let mut x = [expert, policy].concat();
        made.penalty.place(&expert, &policy, 2, &mut stream(3, "points"), &mut x);
        let points = x.len() / 2;
        let mut f = Vec::new();
        made.net.infer(&x, points, &mut f);
        let total = |f: &[f32]| {
            let (verdict, penalty) = made.loss(f, 3, 3, &mut vec![0.0; points]);
            f64::from(verdict.loss) + f64::from(penalty)
        };
        let mut by = vec![0.0; points];
        made.loss(&f, 3, 3, &mut by);
        for i in 0..points {
            let moved = |step: f32| {
                let mut f = f.clone();
                f[i] += step;
                total(&f)
            };
            let numeric = (moved(3e-4) - moved(-3e-4)) / 6e-4;
            assert!(
                (numeric - f64::from(by[i])).abs() < 1e-2 * (1.0 + numeric.abs()),
                "{kind:?} {i}: {numeric} {}",
                by[i]
            );
        }
    }
}

/// The mean squared slope along the first axis, by differences.
fn steepness(made: &GailDiscriminator) -> f32 {
    let x: Vec<f32> = (0..40).flat_map(|i| [i as f32 * 0.1 - 2.0, 0.3]).collect();
    let mut f = Vec::new();
    made.net.infer(&x, 40, &mut f);
    f.windows(2).map(|pair| ((pair[1] - pair[0]) / 0.1).powi(2)).sum::<f32>() / 39.0
}

#[test]
fn steps_tell_the_sides_apart_and_a_penalty_keeps_them_from_being_steep() {
    let (expert, policy) = (rows(&[0.2, 0.3, 0.3, 0.3, 0.25, 0.3]), rows(&[-0.2, 0.3, -0.3, 0.3, -0.25, 0.3]));
    let trained = |weight, kind| {
        let mut made = discriminator(weight, kind);
        let verdict = with_context(|context| {
            (0..300).map(|_| made.step(&expert, &policy, 1e-2, context).unwrap()).last().unwrap()
        });
        (verdict, steepness(&made))
    };
    let (verdict, free) = trained(0.0, PenaltyKind::CentralDifference);
    assert_eq!(verdict.accuracy, 1.0);
    let (_, cheap) = trained(1.0, PenaltyKind::CentralDifference);
    let (_, full) = trained(10.0, PenaltyKind::Full);
    assert!(cheap < 0.3 * free && full < 0.5 * free, "{free} {cheap} {full}");
    assert!((0.3..2.0).contains(&full), "slopes of length one are what the full penalty wants: {full}");
}

#[test]
fn a_discriminator_wants_entropy() {
    let sure = |entropy_coef| {
        let mut made = discriminator(0.0, PenaltyKind::Full);
        made.entropy_coef = entropy_coef;
        let (expert, policy) = (rows(&[0.5, 0.0]), rows(&[-0.5, 0.0]));
        with_context(|context| {
            (0..200).for_each(|_| {
                made.step(&expert, &policy, 1e-2, context).unwrap();
            })
        });
        made.reward_function(&[0.5, 0.0], 1)[0]
    };
    assert!(sure(1.0) < sure(0.0), "{} {}", sure(1.0), sure(0.0));
}
