//! A price on a discriminator's slope, by differences of its outputs: no gradient of a gradient is needed.

use axiomrl_core::random;
use axiomrl_envs::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far the points lie apart between which a slope is measured.
const STEP: f32 = 1e-2;

/// How the slope of a discriminator is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PenaltyKind {
    /// Along one random direction, where it should be 0: two evaluations a row.
    #[default]
    CentralDifference,
    /// Along every input, where the whole should be of length 1: twice as many evaluations as there are inputs.
    Full,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientPenalty {
    pub weight: f32,
    pub kind: PenaltyKind,
}

impl GradientPenalty {
    /// Directions that a row is looked along.
    fn directions(self, width: usize) -> usize {
        match self.kind {
            _ if self.weight == 0.0 => 0,
            PenaltyKind::CentralDifference => 1,
            PenaltyKind::Full => width,
        }
    }

    /// Appends the points to evaluate: for each pair of rows a point between them, and of that two for each direction, ahead and
    /// behind.
    pub fn place(self, expert: &[f32], policy: &[f32], width: usize, rng: &mut Rng, points: &mut Vec<f32>) {
        if self.weight == 0.0 {
            return;
        }
        for (expert, policy) in expert.chunks_exact(width).zip(policy.chunks_exact(width)) {
            let share = random::uniform(rng) as f32;
            let between: Vec<f32> = expert.iter().zip(policy).map(|(e, p)| share * e + (1.0 - share) * p).collect();
            let random = match self.kind {
                PenaltyKind::CentralDifference => direction(width, rng),
                PenaltyKind::Full => Vec::new(),
            };
            for axis in 0..self.directions(width) {
                for side in [STEP, -STEP] {
                    match self.kind {
                        PenaltyKind::CentralDifference => {
                            points.extend(between.iter().zip(&random).map(|(x, v)| x + side * v));
                        }
                        PenaltyKind::Full => {
                            let moved = |(i, x): (usize, &f32)| if i == axis { x + side } else { *x };
                            points.extend(between.iter().enumerate().map(moved));
                        }
                    }
                }
            }
        }
    }

    /// The penalty, given the outputs at the points that were placed; its gradient by each of them is added to `by`.
    pub fn of(self, outputs: &[f32], width: usize, by: &mut [f32]) -> f32 {
        let directions = self.directions(width);
        if directions == 0 {
            return 0.0;
        }
        let rows = outputs.len() / (2 * directions);
        let mut total = 0.0f64;
        for (row, by) in outputs.chunks_exact(2 * directions).zip(by.chunks_exact_mut(2 * directions)) {
            let slopes: Vec<f32> = row.chunks_exact(2).map(|pair| (pair[0] - pair[1]) / (2.0 * STEP)).collect();
            let squares: f32 = slopes.iter().map(|slope| slope * slope).sum();
            let (price, by_slope) = match self.kind {
                // n · d² is |gradient|² on average over directions.
                PenaltyKind::CentralDifference => (width as f32 * squares, 2.0 * width as f32),
                PenaltyKind::Full => {
                    let length = squares.sqrt();
                    ((length - 1.0).powi(2), 2.0 * (length - 1.0) / length.max(1e-12))
                }
            };
            total += f64::from(price);
            for (slope, by) in slopes.iter().zip(by.chunks_exact_mut(2)) {
                let each = self.weight * by_slope * slope / (2.0 * STEP * rows as f32);
                by[0] += each;
                by[1] -= each;
            }
        }
        (f64::from(self.weight) * total / rows as f64) as f32
    }
}

/// A direction, every one as likely.
fn direction(width: usize, rng: &mut Rng) -> Vec<f32> {
    loop {
        let drawn: Vec<f32> = (0..width).map(|_| random::normal(rng)).collect();
        let length = drawn.iter().map(|x| x * x).sum::<f32>().sqrt();
        if length > 1e-6 {
            return drawn.into_iter().map(|x| x / length).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOPE: [f32; 3] = [3.0, 0.0, -4.0];

    /// The penalty of `f(x) = 3 x0 - 4 x2 + curve * x1²`, whose gradient has length 5 without the curve.
    fn penalty(kind: PenaltyKind, rows: usize, curve: f32) -> (f32, Vec<f32>) {
        let mut rng = axiomrl_core::stream(1, "penalty");
        let penalty = GradientPenalty { weight: 2.0, kind };
        let (expert, policy) = (vec![1.0; 3 * rows], vec![-1.0; 3 * rows]);
        let mut points = Vec::new();
        penalty.place(&expert, &policy, 3, &mut rng, &mut points);
        let f = |x: &[f32]| x.iter().zip(SLOPE).map(|(x, s)| x * s).sum::<f32>() + curve * x[1] * x[1];
        let outputs: Vec<f32> = points.chunks_exact(3).map(f).collect();
        let mut by = vec![0.0; outputs.len()];
        let found = penalty.of(&outputs, 3, &mut by);
        // The gradient by outputs against differences.
        for i in 0..outputs.len().min(4) {
            let moved = |step: f32| {
                let mut outputs = outputs.clone();
                outputs[i] += step;
                f64::from(penalty.of(&outputs, 3, &mut vec![0.0; outputs.len()]))
            };
            let numeric = (moved(1e-3) - moved(-1e-3)) / 2e-3;
            let scale = 1.0 + numeric.abs();
            assert!((numeric - f64::from(by[i])).abs() / scale < 2e-2, "{kind:?} {i}: {numeric} {}", by[i]);
        }
        (found, by)
    }

    #[test]
    fn one_random_direction_gives_the_squared_slope_on_average() {
        // Exact for a linear function: weight 2 times 5².
        let (found, by) = penalty(PenaltyKind::CentralDifference, 20_000, 0.0);
        assert!((found - 50.0).abs() < 1.5, "{found}");
        assert_eq!(by.len(), 40_000);
    }

    #[test]
    fn all_directions_give_the_distance_from_length_one() {
        // Weight 2 times (5 - 1)².
        let (found, by) = penalty(PenaltyKind::Full, 8, 0.0);
        assert!((found - 32.0).abs() < 0.05, "{found}");
        assert_eq!(by.len(), 8 * 6);
    }

    #[test]
    fn points_lie_between_the_rows_at_unit_directions() {
        let mut rng = axiomrl_core::stream(4, "penalty");
        let penalty = GradientPenalty { weight: 1.0, kind: PenaltyKind::CentralDifference };
        let (mut points, mut shares) = (Vec::new(), Vec::new());
        for _ in 0..500 {
            points.clear();
            penalty.place(&[1.0, 10.0], &[0.0, 0.0], 2, &mut rng, &mut points);
            let (ahead, behind) = points.split_at(2);
            let gap: f32 = ahead.iter().zip(behind).map(|(a, b)| (a - b) * (a - b)).sum::<f32>().sqrt();
            assert!((gap - 2.0 * STEP).abs() < 1e-5, "{gap}");
            let middle = [0.5 * (ahead[0] + behind[0]), 0.5 * (ahead[1] + behind[1])];
            assert!((middle[1] - 10.0 * middle[0]).abs() < 1e-4, "on the line between the two");
            shares.push(middle[0]);
        }
        assert!(shares.iter().all(|s| (0.0..=1.0).contains(s)));
        let mean = shares.iter().sum::<f32>() / 500.0;
        assert!((mean - 0.5).abs() < 0.05, "{mean}");
    }

    #[test]
    fn without_weight_nothing_is_placed_and_at_no_slope_nothing_breaks() {
        let none = GradientPenalty { weight: 0.0, kind: PenaltyKind::Full };
        let mut points = Vec::new();
        none.place(&[1.0], &[0.0], 1, &mut axiomrl_core::stream(1, "x"), &mut points);
        assert_eq!((points.len(), none.of(&[], 1, &mut [])), (0, 0.0));
        let full = GradientPenalty { weight: 10.0, kind: PenaltyKind::Full };
        let mut by = [0.0; 2];
        assert_eq!((full.of(&[0.5, 0.5], 1, &mut by), by), (10.0, [0.0; 2]));
    }
}
