//! Each family against brute force, sampling and finite differences.

use crate::reference::rng;
use axiomrl_nn::Distribution;

struct Case {
    family: Distribution,
    head: Vec<f32>,
    other: Vec<f32>,
    log_std: Vec<f32>,
    other_log_std: Vec<f32>,
    mask: Vec<bool>,
}

fn cases() -> Vec<Case> {
    let plain = |family, head: &[f32], other: &[f32]| Case {
        family,
        head: head.to_vec(),
        other: other.to_vec(),
        log_std: Vec::new(),
        other_log_std: Vec::new(),
        mask: Vec::new(),
    };
    vec![
        plain(Distribution::Categorical { n: 3 }, &[0.3, -1.2, 2.0], &[1.0, 0.0, -0.5]),
        Case {
            mask: vec![true, false, true, true],
            ..plain(Distribution::Categorical { n: 4 }, &[0.5, 9.0, -0.3, 0.1], &[0.0, -3.0, 0.4, 0.2])
        },
        plain(
            Distribution::MultiCategorical { nvec: vec![2, 3] },
            &[0.1, 0.9, -1.0, 0.2, 0.4],
            &[0.0, 0.3, 1.0, -0.2, 0.1],
        ),
        Case {
            mask: vec![true, true, true, false, true],
            ..plain(
                Distribution::MultiCategorical { nvec: vec![2, 3] },
                &[0.1, 0.9, -1.0, 0.2, 0.4],
                &[0.0, 0.3, 1.0, 0.0, 0.1],
            )
        },
        plain(Distribution::Bernoulli { n: 3 }, &[0.4, -2.0, 1.0], &[0.1, 0.5, -0.7]),
    ]
}

/// Every action of a discrete family.
fn all_actions(family: &Distribution) -> Vec<Vec<f32>> {
    let sizes = match family {
        Distribution::Categorical { n } => vec![*n],
        Distribution::MultiCategorical { nvec } => nvec.clone(),
        Distribution::Bernoulli { n } => vec![2; *n],
        Distribution::DiagGaussian { .. } => panic!("not discrete"),
    };
    let mut actions = vec![Vec::new()];
    for size in sizes {
        let longer = |a: &Vec<f32>| (0..size).map(|c| [a.clone(), vec![c as f32]].concat()).collect::<Vec<_>>();
        actions = actions.iter().flat_map(longer).collect();
    }
    actions
}

impl Case {
    fn log_prob(&self, head: &[f32], action: &[f32]) -> f64 {
        f64::from(self.family.log_prob(head, &self.log_std, &self.mask, action))
    }
}

#[test]
fn drawing_with_the_log_probability_is_drawing_and_then_asking_for_it() {
    let gaussian = Case {
        family: Distribution::DiagGaussian { d: 2 },
        head: vec![0.3, -1.0],
        other: Vec::new(),
        log_std: vec![0.2, -0.7],
        other_log_std: Vec::new(),
        mask: Vec::new(),
    };
    for Case { family, head, log_std, mask, .. } in cases().into_iter().chain([gaussian]) {
        let (mut apart, mut together) = (rng(5), rng(5));
        let (mut drawn, mut action) = (vec![0.0; family.action_width()], vec![0.0; family.action_width()]);
        for _ in 0..50 {
            family.sample(&head, &log_std, &mask, &mut apart, &mut drawn);
            let asked = family.log_prob(&head, &log_std, &mask, &drawn);
            let told = family.sample_log_prob(&head, &log_std, &mask, &mut together, &mut action);
            assert_eq!((&action, told.to_bits()), (&drawn, asked.to_bits()), "{family:?}");
        }
    }
}

#[test]
fn discrete_families_match_brute_force() {
    for case in cases() {
        let Case { family, head, other, mask, .. } = &case;
        let actions = all_actions(family);
        let probabilities: Vec<f64> = actions.iter().map(|a| case.log_prob(head, a).exp()).collect();
        assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{family:?}");

        let possible = || actions.iter().zip(&probabilities).filter(|(_, p)| **p > 0.0);
        let entropy: f64 = possible().map(|(_, p)| -p * p.ln()).sum();
        assert!((entropy - f64::from(family.entropy(head, &[], mask))).abs() < 1e-5, "{family:?}");
        let kl: f64 = possible().map(|(a, p)| p * (p.ln() - case.log_prob(other, a))).sum();
        assert!((kl - f64::from(family.kl(head, &[], other, &[], mask))).abs() < 1e-5, "{family:?}");
        assert!(family.kl(head, &[], head, &[], mask).abs() < 1e-6);

        let best = probabilities.iter().fold(0.0f64, |m, p| m.max(*p));
        let mut mode = vec![0.0; family.action_width()];
        family.mode(head, &[], mask, &mut mode);
        assert!((case.log_prob(head, &mode).exp() - best).abs() < 1e-9, "{family:?}");
    }
}

#[test]
fn samples_follow_the_probabilities() {
    let mut rng = rng(3);
    for case in cases() {
        let actions = all_actions(&case.family);
        let mut counts = vec![0u32; actions.len()];
        let mut action = vec![0.0; case.family.action_width()];
        let n = 40_000;
        for _ in 0..n {
            case.family.sample(&case.head, &[], &case.mask, &mut rng, &mut action);
            counts[actions.iter().position(|a| *a == action).expect("a valid action")] += 1;
        }
        for (a, count) in actions.iter().zip(counts) {
            let (p, share) = (case.log_prob(&case.head, a).exp(), f64::from(count) / f64::from(n));
            assert!((p - share).abs() < 0.012, "{:?} {a:?}: {share} against {p}", case.family);
            assert!(p > 0.0 || count == 0, "a masked action was drawn");
        }
    }
}

#[test]
fn masked_choices_have_no_probability_and_no_gradient() {
    let d = Distribution::Categorical { n: 3 };
    let (head, mask) = ([1.0, 50.0, 0.5], [true, false, true]);
    assert_eq!(d.log_prob(&head, &[], &mask, &[1.0]), f32::NEG_INFINITY);
    let mut grad = [0.0; 3];
    d.d_log_prob(&head, &[], &mask, &[0.0], 1.0, &mut grad, &mut []);
    d.d_entropy(&head, &[], &mask, 1.0, &mut grad, &mut []);
    d.d_kl(&head, &[], &[0.0, 1.0, 2.0], &[], &mask, 1.0, &mut grad, &mut []);
    assert_eq!(grad[1], 0.0);
    assert!(grad[0] != 0.0 && grad[2] != 0.0);
}

#[test]
fn gaussian_numbers() {
    let d = Distribution::DiagGaussian { d: 2 };
    let (mean, log_std) = ([0.5, -1.0], [0.2, -0.7]);
    // Density by its definition, in f64.
    let action = [0.9f32, -0.8];
    let want: f64 = (0..2)
        .map(|i| {
            let (m, s, a) = (f64::from(mean[i]), f64::from(log_std[i]).exp(), f64::from(action[i]));
            (-0.5 * ((a - m) / s).powi(2)).exp() / (s * (2.0 * std::f64::consts::PI).sqrt())
        })
        .product();
    assert!((f64::from(d.log_prob(&mean, &log_std, &[], &action)) - want.ln()).abs() < 1e-5);

    // Entropy and KL as means over samples.
    let (other, other_log_std) = ([0.0, -0.5], [0.0, -0.2]);
    let (mut rng, mut drawn) = (rng(5), [0.0; 2]);
    let (mut entropy, mut kl, n) = (0.0f64, 0.0f64, 60_000);
    for _ in 0..n {
        d.sample(&mean, &log_std, &[], &mut rng, &mut drawn);
        let log_prob = f64::from(d.log_prob(&mean, &log_std, &[], &drawn));
        entropy -= log_prob;
        kl += log_prob - f64::from(d.log_prob(&other, &other_log_std, &[], &drawn));
    }
    assert!((entropy / f64::from(n) - f64::from(d.entropy(&mean, &log_std, &[]))).abs() < 0.02);
    let exact = f64::from(d.kl(&mean, &log_std, &other, &other_log_std, &[]));
    assert!((kl / f64::from(n) - exact).abs() < 0.02);
}

fn gaussian() -> Case {
    Case {
        family: Distribution::DiagGaussian { d: 2 },
        head: vec![0.5, -1.0],
        other: vec![0.3, -0.6],
        log_std: vec![0.2, -0.3],
        other_log_std: vec![-0.1, 0.1],
        mask: Vec::new(),
    }
}

#[test]
fn one_pass_equals_the_separate_functions() {
    let mut rng = rng(9);
    for case in cases().into_iter().chain([gaussian()]) {
        let Case { family, head, log_std, mask, .. } = &case;
        let mut action = vec![0.0; family.action_width()];
        family.sample(head, log_std, mask, &mut rng, &mut action);
        let mut kept = vec![f32::NAN; family.kept_width()];
        let (log_prob, entropy) = family.log_prob_entropy(head, log_std, mask, &action, &mut kept);
        assert!((log_prob - family.log_prob(head, log_std, mask, &action)).abs() < 1e-6, "{family:?}");
        assert!((entropy - family.entropy(head, log_std, mask)).abs() < 1e-6, "{family:?}");

        let start = || (vec![1.0; head.len()], vec![1.0; log_std.len()]);
        let ((mut dh, mut ds), (mut want_h, mut want_s)) = (start(), start());
        family.d_log_prob_entropy(mask, &action, &kept, 0.7, -0.3, &mut dh, &mut ds);
        family.d_log_prob(head, log_std, mask, &action, 0.7, &mut want_h, &mut want_s);
        family.d_entropy(head, log_std, mask, -0.3, &mut want_h, &mut want_s);
        for (got, want) in dh.iter().chain(&ds).zip(want_h.iter().chain(&want_s)) {
            assert!((got - want).abs() < 1e-6, "{family:?}: {got} {want}");
        }
    }
}

#[test]
fn gradients_match_finite_differences() {
    let mut rng = rng(8);
    for case in cases().into_iter().chain([gaussian()]) {
        let Case { family, head, other, log_std, other_log_std, mask } = &case;
        let mut action = vec![0.0; family.action_width()];
        family.sample(head, log_std, mask, &mut rng, &mut action);
        let functions: [&dyn Fn(&[f32], &[f32]) -> f32; 3] =
            [&|h, s| family.log_prob(h, s, mask, &action), &|h, s| family.entropy(h, s, mask), &|h, s| {
                family.kl(other, other_log_std, h, s, mask)
            }];
        for (which, f) in functions.into_iter().enumerate() {
            // Start from something else than zero: the functions must add.
            let (mut dh, mut ds) = (vec![1.0; head.len()], vec![1.0; log_std.len()]);
            match which {
                0 => family.d_log_prob(head, log_std, mask, &action, 0.5, &mut dh, &mut ds),
                1 => family.d_entropy(head, log_std, mask, 0.5, &mut dh, &mut ds),
                _ => family.d_kl(other, other_log_std, head, log_std, mask, 0.5, &mut dh, &mut ds),
            }
            let step = 1e-2;
            let moved = |x: &[f32], i: usize, by: f32| {
                let mut x = x.to_vec();
                x[i] += by;
                x
            };
            for (i, got) in dh.iter().enumerate() {
                let change = f(&moved(head, i, step), log_std) - f(&moved(head, i, -step), log_std);
                let numeric = 1.0 + 0.5 * change / (2.0 * step);
                assert!((numeric - got).abs() < 1e-3, "{family:?} function {which} head {i}: {numeric} {got}");
            }
            for (i, got) in ds.iter().enumerate() {
                let change = f(head, &moved(log_std, i, step)) - f(head, &moved(log_std, i, -step));
                let numeric = 1.0 + 0.5 * change / (2.0 * step);
                assert!((numeric - got).abs() < 1e-3, "{family:?} function {which} log_std {i}: {numeric} {got}");
            }
        }
    }
}

#[test]
fn fisher_products_are_the_second_derivative_of_the_divergence() {
    let gaussian = Case {
        family: Distribution::DiagGaussian { d: 2 },
        head: vec![0.3, -0.4],
        other: Vec::new(),
        log_std: vec![-0.5, 0.2],
        other_log_std: Vec::new(),
        mask: Vec::new(),
    };
    for case in cases().into_iter().chain([gaussian]) {
        let Case { family, head, log_std, mask, .. } = case;
        let movement: Vec<f32> = (0..head.len()).map(|i| (1.3 * i as f32 + 0.4).sin()).collect();
        let mut product = vec![9.0; head.len()];
        family.fisher_product(&head, &log_std, &mask, &movement, &mut product);
        // The gradient of KL(p ‖ p + h ż) by the second, over h.
        let by_difference = |step: f32| {
            let moved: Vec<f32> = head.iter().zip(&movement).map(|(x, m)| x + step * m).collect();
            let (mut gradient, mut rest) = (vec![0.0; head.len()], vec![0.0; log_std.len()]);
            family.d_kl(&head, &log_std, &moved, &log_std, &mask, 1.0, &mut gradient, &mut rest);
            gradient
        };
        let (above, below) = (by_difference(1e-2), by_difference(-1e-2));
        for (i, (a, b)) in above.iter().zip(&below).enumerate() {
            let difference = (a - b) / 2e-2;
            assert!((difference - product[i]).abs() < 1e-3, "{family:?}: {difference} and {}", product[i]);
        }
    }
}

#[test]
fn fisher_products_and_divergences_by_hand() {
    let head = [0.5f32.ln(), 0.3f32.ln(), 0.2f32.ln()];
    let (movement, mut product) = ([1.0, 0.0, -1.0], [0.0; 3]);
    Distribution::Categorical { n: 3 }.fisher_product(&head, &[], &[], &movement, &mut product);
    let close = |found: f32, wanted: f32| assert!((found - wanted).abs() < 1e-6, "{found} {wanted}");
    [0.35, -0.09, -0.26].iter().zip(product).for_each(|(wanted, found)| close(found, *wanted));
    close(product.iter().zip(movement).map(|(p, m)| p * m).sum(), 0.61);
    // A Gaussian of deviation 0.5 whose mean moves by 0.1 and whose log deviation by 0.05.
    let gaussian = Distribution::DiagGaussian { d: 1 };
    let (mean, log_std) = ([0.0], [0.5f32.ln()]);
    let mut by_mean = [0.0];
    gaussian.fisher_product(&mean, &log_std, &[], &[0.1], &mut by_mean);
    close(0.5 * (by_mean[0] * 0.1 + 2.0 * 0.05 * 0.05), 0.0225);
    let moved = ([0.1], [log_std[0] + 0.05]);
    close(gaussian.kl(&mean, &log_std, &moved.0, &moved.1, &[]), 0.020_515_5);
    close(gaussian.kl(&moved.0, &moved.1, &mean, &log_std, &[]), 0.022_585_5);
}
