//! What several runs of one row come to together.
//!
//! The interquartile mean and its bootstrap are those of Agarwal and others, Deep reinforcement learning at the edge of the
//! statistical precipice, 2021.

/// Resamples that an interval is made of.
const RESAMPLES: usize = 2000;

/// The mean without the lowest and the highest quarter.
pub fn interquartile_mean(scores: &[f64]) -> f64 {
    let mut sorted = scores.to_vec();
    sorted.sort_by(f64::total_cmp);
    let cut = sorted.len() / 4;
    let middle = &sorted[cut..sorted.len() - cut];
    middle.iter().sum::<f64>() / middle.len() as f64
}

/// Where 95 % of the interquartile means of resamples lie; none for a single score, which says nothing of others.
pub fn interval(scores: &[f64]) -> Option<(f64, f64)> {
    if scores.len() < 2 {
        return None;
    }
    let mut state = 0;
    let mut drawn = vec![0.0; scores.len()];
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            drawn.iter_mut().for_each(|place| *place = scores[(split_mix(&mut state) % scores.len() as u64) as usize]);
            interquartile_mean(&drawn)
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let at = |share: f64| means[(share * (RESAMPLES - 1) as f64).round() as usize];
    Some((at(0.025), at(0.975)))
}

/// The one in the middle, the lower of two; none of nothing.
pub fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}

/// Steele, Lea and Flood's generator: the same intervals every time.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outliers_do_not_reach_the_mean_of_the_middle() {
        assert_eq!(interquartile_mean(&[100.0, 1.0, 2.0, 3.0, -50.0]), 2.0);
        assert_eq!(interquartile_mean(&[1.0, 2.0]), 1.5);
        assert_eq!(interquartile_mean(&[7.0]), 7.0);
    }

    #[test]
    fn an_interval_holds_the_mean_is_repeatable_and_needs_two_scores() {
        let scores = [500.0, 480.0, 120.0, 500.0, 490.0, 500.0];
        let (low, high) = interval(&scores).unwrap();
        let mean = interquartile_mean(&scores);
        assert!((120.0..mean).contains(&low) && mean <= high && high <= 500.0, "{low} {mean} {high}");
        assert_eq!(interval(&scores), Some((low, high)));
        assert_eq!(interval(&[3.0, 3.0, 3.0]), Some((3.0, 3.0)));
        assert_eq!(interval(&[3.0]), None);
    }

    #[test]
    fn the_median_is_one_of_the_values() {
        assert_eq!(median([5.0, 1.0, 3.0].into_iter()), Some(3.0));
        assert_eq!(median([4.0, 1.0, 2.0, 3.0].into_iter()), Some(2.0));
        assert_eq!(median(std::iter::empty()), None);
    }

    #[test]
    fn the_generator_is_the_published_one() {
        let mut state = 0;
        assert_eq!(split_mix(&mut state), 0xe220_a839_7b1d_cdaf);
    }
}
