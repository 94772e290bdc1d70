use super::*;
use crate::testing::with_context;

fn search(elite: usize) -> CemSearch {
    CemSearch {
        directions: Directions::new(1, 3),
        population: 4,
        elite,
        std: vec![1.0; 3],
        extra_std: 1.0,
        extra_iterations: 100,
    }
}

#[test]
fn an_elite_by_hand_and_what_is_drawn_after_it() {
    assert_eq!(fitted([1.0, 3.0].into_iter(), 2), (2.0, 1.0));
    let search = search(2);
    // Deviation 1 and extra noise 1 that is gone after 100 iterations.
    for (iteration, wanted) in [(0, std::f64::consts::SQRT_2), (50, 1.224745), (100, 1.0), (1000, 1.0)] {
        let drawn = (1.0 + search.extra_variance(iteration)).sqrt();
        assert!((drawn - wanted).abs() < 1e-6, "{iteration}: {drawn}");
    }
}

#[test]
fn a_candidate_is_the_mean_and_noise_of_both_deviations() {
    let (search, mean) = (search(2), [1.0, 2.0, 3.0]);
    let (mut params, mut noise) = ([0.0; 3], [0.0; 3]);
    search.candidate(&mean, 50, 1, &mut params);
    search.directions.add_to(&mut noise, 50, 1, 1.224745);
    for at in 0..3 {
        assert!((f64::from(params[at] - mean[at]) - noise[at]).abs() < 1e-5);
    }
}

#[test]
fn the_gaussian_is_fitted_to_the_best_and_the_extra_noise_is_not_kept() {
    let (mut search, before) = (search(2), vec![1.0, 2.0, 3.0]);
    let mut drawn = [[0.0; 3]; 4];
    drawn.iter_mut().enumerate().for_each(|(i, params)| search.candidate(&before, 0, i, params));
    let mut mean = Params::from_vec(1, 3, before);
    with_context(|context| {
        search.update(&mut mean, Iteration { number: 0, scores: &[0.0, 5.0, 1.0, 5.0] }, context).unwrap()
    });
    for at in 0..3 {
        let (a, b) = (drawn[1][at], drawn[3][at]);
        assert!((mean.as_slice()[at] - (a + b) / 2.0).abs() < 1e-6);
        assert!((search.std[at] - (a - b).abs() / 2.0).abs() < 1e-6, "of the elite alone");
    }
}

#[test]
fn of_equals_the_first_are_best() {
    assert_eq!(best(&[1.0, 3.0, 3.0, 3.0, 2.0], 2), [1, 2]);
    assert_eq!(best(&[1.0, 1.0], 1), [0]);
}

#[test]
fn what_cannot_be_searched_is_refused_with_the_remedy() {
    let refused = |config: CemConfig| Cem::check(&config).unwrap_err().to_string();
    let still = refused(CemConfig { init_std: 0.0, extra_std: 0.0, ..CemConfig::default() });
    assert!(still.contains("`init_std`") && still.contains("set one of them"), "{still}");
    for elite_fraction in [0.0, 1.0] {
        let all_or_none = refused(CemConfig { elite_fraction, ..CemConfig::default() });
        assert!(all_or_none.contains("`elite_fraction`") && all_or_none.contains("0.1"), "{all_or_none}");
    }
    assert!(Cem::check(&CemConfig { init_std: 0.0, ..CemConfig::default() }).is_ok());
    let idle = Cem::idle(&CemConfig { extra_std: 0.0, ..CemConfig::default() });
    assert!(idle.iter().any(|idle| idle.now && idle.keys == ["extra_iterations"]));
}
