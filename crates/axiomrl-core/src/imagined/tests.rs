//! Numbers computed by hand.

use super::*;

const HAND: Imagined<'static> =
    Imagined { lanes: 1, reward: &[9.0, 1.0, 2.0], discount: &[0.9, 0.8, 0.5], value: &[10.0, 20.0, 30.0] };

fn near(found: &[f32], wanted: &[f32]) {
    assert_eq!(found.len(), wanted.len(), "{found:?}");
    assert!(
        found.iter().zip(wanted).all(|(f, w)| (f - w).abs() < 1e-5 * w.abs().max(1.0)),
        "{found:?}, not {wanted:?}"
    );
}

#[test]
fn a_reward_belongs_to_the_state_it_is_received_in() {
    near(&HAND.returns(Convention::Next, 0.5), &[15.8, 17.0]);
    near(&HAND.returns(Convention::Own, 0.5), &[29.25, 25.0]);
    // What the start itself paid is no consequence of what is done there.
    let other = Imagined { reward: &[-7.0, 1.0, 2.0], ..HAND };
    near(&other.returns(Convention::Next, 0.5), &[15.8, 17.0]);
}

#[test]
fn states_count_as_much_as_it_is_likely_to_be_in_them() {
    near(&HAND.weights(Convention::Next, 1.0), &[0.9, 0.72]);
    near(&HAND.weights(Convention::Own, 1.0), &[1.0, 0.9]);
    near(&HAND.weights(Convention::Next, 0.9), &[1.0, 0.8]);
    // An episode that is over at its start teaches nothing.
    let over = Imagined { discount: &[0.0, 0.8, 0.5], ..HAND };
    near(&over.weights(Convention::Next, 0.9), &[0.0, 0.0]);
}

#[test]
fn trajectories_side_by_side_know_nothing_of_each_other() {
    let reward = [9.0, 0.0, 1.0, 5.0, 2.0, 5.0];
    let discount = [0.9, 0.1, 0.8, 0.2, 0.5, 0.3];
    let value = [10.0, 1.0, 20.0, 2.0, 30.0, 3.0];
    let two = Imagined { lanes: 2, reward: &reward, discount: &discount, value: &value };
    let returns = two.returns(Convention::Next, 0.5);
    near(&[returns[0], returns[2]], &[15.8, 17.0]);
    // 5 + 0.3 * 3, then 5 + 0.2 * (0.5 * 2 + 0.5 * 5.9)
    near(&[returns[1], returns[3]], &[5.79, 5.9]);
}

#[test]
fn slopes_of_returns_are_those_of_finite_differences() {
    let mut rng = crate::stream(1, "imagined");
    let mut draw = || -> Vec<f32> { (0..8).map(|_| rand::RngExt::random_range(&mut rng, 0.1..0.9)).collect() };
    let (columns, slope) = ([draw(), draw(), draw()], &draw()[..6]);
    for convention in [Convention::Next, Convention::Own] {
        let gain = |columns: &[Vec<f32>; 3]| {
            let imagined = Imagined { lanes: 2, reward: &columns[0], discount: &columns[1], value: &columns[2] };
            let returns = imagined.returns(convention, 0.7);
            (returns.iter().zip(slope).map(|(r, s)| f64::from(r * s)).sum::<f64>(), returns)
        };
        let imagined = Imagined { lanes: 2, reward: &columns[0], discount: &columns[1], value: &columns[2] };
        let by = imagined.returns_adjoint(convention, 0.7, &gain(&columns).1, slope);
        for (column, by) in [by.reward, by.discount, by.value].iter().enumerate() {
            for at in 0..8 {
                let moved = |step: f32| {
                    let mut columns = columns.clone();
                    columns[column][at] += step;
                    gain(&columns).0
                };
                let wanted = (moved(1e-2) - moved(-1e-2)) / 2e-2;
                assert!((f64::from(by[at]) - wanted).abs() < 2e-3, "{convention:?} {column} {at}: {} {wanted}", by[at]);
            }
        }
    }
}

#[test]
fn replayed_returns_end_with_the_world_and_begin_anew_behind_the_clock() {
    let terminal = [false, false, true, false];
    let rows = Replayed { lanes: 1, reward: &[0.0, 1.0, 2.0, 0.0], last: &terminal, terminal: &terminal };
    let bootstrap = [5.0, 6.0, 7.0, 8.0];
    near(&rows.returns(&bootstrap, 0.9, 0.5), &[4.6, 2.0, 7.2]);
    let cut = Replayed { terminal: &[false; 4], ..rows };
    near(&cut.returns(&bootstrap, 0.9, 0.5)[..2], &[7.435, 8.3]);
}

#[test]
fn the_scale_of_returns_is_slow_and_never_below_one() {
    assert_eq!(quantile(&[0.0, 1.0, 2.0, 3.0, 4.0], 0.05), 0.2);
    assert_eq!((quantile(&[], 0.5), quantile(&[3.0], 0.95)), (0.0, 3.0));
    let mut scale = ReturnScale::default();
    let returns: Vec<f32> = (0..=1000).map(|i| i as f32).collect();
    // The percentiles are 50 and 950: a hundredth of their distance.
    near(&[scale.update(&returns)], &[9.0]);
    near(&[scale.update(&returns)], &[17.91]);
    assert_eq!(ReturnScale::default().update(&[0.1, 0.2]), 1.0);
}
