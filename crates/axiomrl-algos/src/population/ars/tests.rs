use super::*;
use crate::regimes::{Iteration, Search};
use crate::testing::with_context;

fn near(found: f64, wanted: f64, tolerance: f64) {
    assert!((found - wanted).abs() < tolerance, "{found} where {wanted} belongs");
}

fn search(kept: usize) -> Mirrored<ArsRule> {
    let rule = ArsRule { kept, learning_rate: Schedule::Constant(0.02) };
    Mirrored { directions: Directions::new(1, 4), pairs: 3, noise_std: 0.05, rule }
}

/// Returns of + and − in turn, as by hand: r⁺ (3, 1, 5), r⁻ (1, 2, 4).
const SCORES: [f64; 6] = [3.0, 1.0, 1.0, 2.0, 5.0, 4.0];

#[test]
fn the_best_directions_and_their_step_by_hand() {
    let kept = Kept::of(&SCORES, 2);
    assert_eq!(kept.gains, [(2, 1.0), (0, 2.0)]);
    near(kept.deviation, 1.479020, 1e-6);
    let size = kept.step_size(0.02);
    near(size * 1.0, 0.00676123, 1e-8);
    near(size * 2.0, 0.0135225, 1e-7);
}

#[test]
fn of_equal_directions_the_first_are_kept() {
    let kept = Kept::of(&[1.0, 2.0, 2.0, 0.0, 2.0, 2.0], 2);
    assert_eq!(kept.gains, [(0, -1.0), (1, 2.0)]);
}

#[test]
fn an_update_moves_the_mean_along_the_directions_that_are_kept() {
    let (mut search, mut mean) = (search(2), Params::from_vec(1, 5, vec![1.0; 5]));
    with_context(|context| search.update(&mut mean, Iteration { number: 9, scores: &SCORES }, context).unwrap());
    let mut wanted = vec![0.0; 5];
    search.directions.add_to(&mut wanted, 9, 2, 0.00676123);
    search.directions.add_to(&mut wanted, 9, 0, 0.0135225);
    for (found, step) in mean.as_slice().iter().zip(&wanted) {
        near(f64::from(*found), 1.0 + step, 1e-6);
    }
    assert_eq!(mean.as_slice()[4], 1.0, "what is not searched stays");
    // The direction that was not kept, and other iterations, are others.
    let mut other = vec![0.0; 5];
    search.directions.add_to(&mut other, 9, 1, 0.01);
    assert!(wanted.iter().zip(&other).take(4).all(|(a, b)| (a - b).abs() > 1e-9));
}

#[test]
fn equal_returns_make_no_step() {
    let (mut search, mut mean) = (search(3), Params::from_vec(1, 4, vec![0.5; 4]));
    with_context(|context| search.update(&mut mean, Iteration { number: 0, scores: &[7.0; 6] }, context).unwrap());
    assert_eq!(mean.as_slice(), [0.5; 4]);
}

#[test]
fn candidates_are_mirrored_and_share_their_luck() {
    let (search, mean) = (search(3), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!((search.candidates(), search.luck(0), search.luck(1), search.luck(4)), (6, 0, 0, 2));
    let (mut plus, mut minus) = ([0.0; 4], [0.0; 4]);
    search.candidate(&mean, 3, 2, &mut plus);
    search.candidate(&mean, 3, 3, &mut minus);
    let mut direction = [0.0; 4];
    search.directions.add_to(&mut direction, 3, 1, 0.05);
    for at in 0..4 {
        near(f64::from(plus[at] - mean[at]), direction[at], 1e-6);
        near(f64::from(minus[at] - mean[at]), -direction[at], 1e-6);
    }
}

#[test]
fn what_cannot_be_searched_is_refused_with_the_remedy() {
    let refused = |config: ArsConfig| Ars::check(&config).unwrap_err().to_string();
    let few = refused(ArsConfig { num_directions: 2, num_top_directions: 3, ..ArsConfig::default() });
    assert!(few.contains("`num_top_directions` 3") && few.contains("keep fewer, or try more"), "{few}");
    let still = refused(ArsConfig { noise_std: 0.0, ..ArsConfig::default() });
    assert!(still.contains("`noise_std` 0") && still.contains("0.05"), "{still}");
    assert!(Ars::check(&ArsConfig::default()).is_ok());
    assert!(Ars::idle(&ArsConfig::default())[0].now);
    assert!(!Ars::idle(&ArsConfig { hidden_sizes: vec![16], ..ArsConfig::default() })[0].now);
}
