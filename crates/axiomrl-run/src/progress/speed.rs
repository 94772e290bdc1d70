//! Steps per second, as they are now.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The speed over the last half minute. Not over the whole run: many algorithms first collect and only then learn,
/// and an average over both would promise an end that never comes.
#[derive(Debug)]
pub(super) struct Speed {
    /// At most one per [`GRAIN`], oldest first.
    samples: VecDeque<(Instant, u64)>,
    latest: (Instant, u64),
}

const WINDOW: Duration = Duration::from_secs(30);
const GRAIN: Duration = Duration::from_secs(1);

impl Speed {
    pub fn new(now: Instant, step: u64) -> Self {
        Self { samples: [(now, step)].into(), latest: (now, step) }
    }

    pub fn record(&mut self, now: Instant, step: u64) {
        self.latest = (now, step);
        if self.samples.back().is_none_or(|(at, _)| now.duration_since(*at) >= GRAIN) {
            self.samples.push_back(self.latest);
        }
        while self.samples.len() > 1 && now.duration_since(self.samples[0].0) > WINDOW {
            self.samples.pop_front();
        }
    }

    /// `None` until there is something to measure.
    pub fn per_second(&self) -> Option<f64> {
        let (since, from) = *self.samples.front()?;
        let (now, to) = self.latest;
        let seconds = now.duration_since(since).as_secs_f64();
        (seconds > 0.0 && to > from).then(|| (to - from) as f64 / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_a_run_that_slows_down() {
        let start = Instant::now();
        let mut speed = Speed::new(start, 500);
        assert_eq!(speed.per_second(), None);
        let mut step = 500;
        for second in 1..=120u64 {
            step += if second <= 60 { 1000 } else { 10 };
            speed.record(start + Duration::from_secs(second), step);
            if second == 60 {
                assert_eq!(speed.per_second(), Some(1000.0));
            }
        }
        assert_eq!(speed.per_second(), Some(10.0));
        assert!(speed.samples.len() <= 32);
    }
}
