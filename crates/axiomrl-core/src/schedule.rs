//! Values that change over a run: a learning rate, an exploration rate.
//!
//! A schedule is a pure function of progress, the share of the whole run that is done. A resumed run has the same
//! progress, so it can never jump.

mod form;

/// How a value moves while progress goes from 0 to 1. In YAML: a number, or a map with one key:
/// `{linear: [3e-4, 0]}`, `{exponential: [1e-3, 1e-5]}`, `{cosine: [3e-4, 0]}`,
/// `{piecewise: [[0, 1.0], [0.5, 0.1], [1, 0.05]]}`.
#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    Constant(f64),
    /// A straight line that reaches `end` after `fraction` of the run and stays there.
    Linear {
        start: f64,
        end: f64,
        fraction: f64,
    },
    /// The same factor in each equal part of the run; both numbers have the same sign.
    Exponential {
        start: f64,
        end: f64,
    },
    /// Half a cosine wave: slow, fast, slow.
    Cosine {
        start: f64,
        end: f64,
    },
    /// Straight lines through `(progress, value)` points in the order of their progress; constant outside of them.
    Piecewise(Vec<(f64, f64)>),
}

impl From<f64> for Schedule {
    fn from(value: f64) -> Self {
        Schedule::Constant(value)
    }
}

impl Schedule {
    /// From `start` to `end` over the whole run.
    pub fn linear(start: f64, end: f64) -> Self {
        Schedule::Linear { start, end, fraction: 1.0 }
    }

    /// The value at `progress`, which is clamped to `[0, 1]`.
    pub fn at(&self, progress: f64) -> f64 {
        let progress = progress.clamp(0.0, 1.0);
        match *self {
            Schedule::Constant(value) => value,
            Schedule::Linear { start, end, fraction } => between(start, end, progress / fraction),
            Schedule::Exponential { start, end } if progress < 1.0 => start * (end / start).powf(progress),
            Schedule::Exponential { end, .. } => end,
            Schedule::Cosine { start, end } => between(start, end, 0.5 - 0.5 * (std::f64::consts::PI * progress).cos()),
            Schedule::Piecewise(ref points) => {
                let after = points.partition_point(|&(at, _)| at <= progress);
                match (after.checked_sub(1).map(|i| points[i]), points.get(after)) {
                    (Some((from, start)), Some(&(to, end))) => between(start, end, (progress - from) / (to - from)),
                    (Some((_, value)), None) | (None, Some(&(_, value))) => value,
                    (None, None) => 0.0,
                }
            }
        }
    }

    /// The numbers a user wrote as values; every value of the schedule lies between the least and the greatest.
    fn corners(&self) -> Vec<f64> {
        match self {
            Schedule::Constant(value) => vec![*value],
            Schedule::Linear { start, end, .. }
            | Schedule::Exponential { start, end }
            | Schedule::Cosine { start, end } => vec![*start, *end],
            Schedule::Piecewise(points) => points.iter().map(|&(_, value)| value).collect(),
        }
    }

    /// For garde's `custom`: every value is finite and within `[lo, hi]`.
    ///
    /// ```
    /// # use axiomrl_core::Schedule;
    /// #[derive(garde::Validate)]
    /// struct Config {
    ///     #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
    ///     epsilon: Schedule,
    /// }
    /// assert!(garde::Validate::validate(&Config { epsilon: Schedule::linear(1.0, 0.05) }).is_ok());
    /// assert!(garde::Validate::validate(&Config { epsilon: Schedule::linear(2.0, 0.05) }).is_err());
    /// ```
    pub fn range_ok<C>(lo: f64, hi: f64) -> impl Fn(&Schedule, &C) -> garde::Result {
        move |schedule, _| match schedule.corners().iter().find(|v| !v.is_finite() || **v < lo || **v > hi) {
            None => Ok(()),
            Some(value) => Err(garde::Error::new(format!("{value} is outside of {lo} to {hi}"))),
        }
    }
}

/// Exactly `end` from `share` 1 on: rounding must not leave a rate of 1e-20 where the user wrote 0.
fn between(start: f64, end: f64, share: f64) -> f64 {
    if share >= 1.0 { end } else { start + (end - start) * share }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    }

    #[test]
    fn values_on_the_way() {
        assert_eq!(Schedule::from(0.5).at(0.3), 0.5);
        close(Schedule::linear(1.0, 0.0).at(0.25), 0.75);
        close(Schedule::Exponential { start: 1.0, end: 0.01 }.at(0.5), 0.1);
        close(Schedule::Cosine { start: 2.0, end: 0.0 }.at(0.25), 1.0 + std::f64::consts::FRAC_1_SQRT_2);
        let early = Schedule::Linear { start: 1.0, end: 0.1, fraction: 0.5 };
        close(early.at(0.25), 0.55);
        assert_eq!((early.at(0.5), early.at(0.9)), (0.1, 0.1));
        let points = Schedule::Piecewise(vec![(0.2, 1.0), (0.5, 0.1), (0.9, 0.5)]);
        for (progress, value) in [(0.0, 1.0), (0.2, 1.0), (0.35, 0.55), (0.5, 0.1), (0.7, 0.3), (0.95, 0.5)] {
            close(points.at(progress), value);
        }
    }

    #[test]
    fn a_jump_takes_the_later_value() {
        let jump = Schedule::Piecewise(vec![(0.0, 1.0), (0.5, 1.0), (0.5, 0.1), (1.0, 0.1)]);
        assert_eq!((jump.at(0.499), jump.at(0.5), jump.at(0.7)), (1.0, 0.1, 0.1));
    }

    #[test]
    fn nothing_but_finite_values_in_range_passes() {
        let check = |s: Schedule| Schedule::range_ok(0.0, 1.0)(&s, &()).is_ok();
        assert!(check(Schedule::Constant(1.0)));
        assert!(!check(Schedule::Constant(f64::NAN)));
        assert!(!check(Schedule::Piecewise(vec![(0.0, 0.5), (1.0, -0.1)])));
        assert!(!check(Schedule::Cosine { start: 0.0, end: f64::INFINITY }));
    }

    proptest! {
        #[test]
        fn ends_are_exact_and_values_stay_between_them(start in 1e-6f64..10.0, end in 1e-6f64..10.0, p in -0.5f64..1.5) {
            for schedule in [
                Schedule::linear(start, end),
                Schedule::Exponential { start, end },
                Schedule::Cosine { start, end },
                Schedule::Piecewise(vec![(0.0, start), (1.0, end)]),
            ] {
                prop_assert_eq!(schedule.at(0.0), start);
                prop_assert_eq!(schedule.at(1.0), end);
                let (lo, hi) = (start.min(end), start.max(end));
                prop_assert!((lo * (1.0 - 1e-12)..=hi * (1.0 + 1e-12)).contains(&schedule.at(p)));
            }
        }
    }
}
