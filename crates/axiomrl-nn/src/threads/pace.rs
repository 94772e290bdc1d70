//! Whether to hand work over, judged by how it went before.
//!
//! On a busy machine the companion does not get a core when it is needed, and every attempt costs a little: waking it up, or
//! waiting for a part that it has begun and cannot go on with. So after some stalls in a row a thread does all by itself for a
//! while, and for longer each time that a new attempt stalls.

use std::time::{Duration, Instant};

/// Stalls in a row, after which hand-overs pause.
const STALLS: u32 = 3;
/// The first pause: a few updates of a small network.
const SHORTEST: Duration = Duration::from_millis(2);
/// The longest: some twenty times what a stall can cost, which is the time slice of another process, and short enough that a
/// core that becomes free is soon used again.
const LONGEST: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub struct Pace {
    /// Stalls since the last hand-over that went well.
    stalls: u32,
    /// Nothing is handed over until then.
    resume: Option<Instant>,
    /// The length of the next pause.
    pause: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { stalls: 0, resume: None, pause: SHORTEST }
    }
}

impl Pace {
    /// Whether work is shared now.
    pub fn hands_over(&self, now: Instant) -> bool {
        self.resume.is_none_or(|resume| now >= resume)
    }

    /// How a hand-over went that has just ended.
    pub fn went(&mut self, stalled: bool, now: Instant) {
        if !stalled {
            *self = Self::default();
            return;
        }
        self.stalls = self.stalls.saturating_add(1);
        if self.stalls >= STALLS {
            self.resume = Some(now + self.pause);
            self.pause = (2 * self.pause).min(LONGEST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long nothing is handed over.
    fn pause(pace: &Pace, now: Instant) -> Duration {
        let pause = pace.resume.map_or(Duration::ZERO, |resume| resume - now);
        assert!(pace.hands_over(now + pause));
        assert_eq!(pace.hands_over(now), pause.is_zero());
        pause
    }

    #[test]
    fn a_stall_now_and_then_is_no_reason_to_stop() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        for round in 0..100 {
            assert!(pace.hands_over(now));
            pace.went(round % STALLS != 0, now);
        }
    }

    #[test]
    fn stalls_in_a_row_pause_for_longer_and_longer_up_to_a_limit() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        let pauses = [(); 11].map(|()| {
            pace.went(true, now);
            pause(&pace, now).as_millis()
        });
        assert_eq!(pauses, [0, 0, 2, 4, 8, 16, 32, 64, 100, 100, 100]);
    }

    #[test]
    fn an_attempt_that_goes_well_ends_it() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        (0..20).for_each(|_| pace.went(true, now));
        assert_eq!(pause(&pace, now), LONGEST);
        pace.went(false, now);
        let pauses = [(); 3].map(|()| {
            pace.went(true, now);
            pause(&pace, now)
        });
        assert_eq!(pauses, [Duration::ZERO, Duration::ZERO, SHORTEST]);
    }
}
