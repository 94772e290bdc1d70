//! Generalised advantage estimation, and the steps it and its relatives work on.

/// Consecutive steps of several environments, `[T, lanes]` row by row.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    pub lanes: usize,
    pub reward: &'a [f32],
    pub terminated: &'a [bool],
    pub truncated: &'a [bool],
    /// V of the observation each step led to, before any restart: at a truncated step that of the last observation of
    /// the episode. Not read where the step terminated.
    pub next_value: &'a [f32],
}

impl Segment<'_> {
    /// γ·(1−terminated)·V(next), zero after a termination whatever stands in `next_value`.
    pub(crate) fn bootstrap(&self, i: usize, gamma: f32) -> f32 {
        if self.terminated[i] { 0.0 } else { gamma * self.next_value[i] }
    }

    /// Whether step `i + lanes` goes on where step `i` stopped, so that what is known of the one says something about
    /// the other.
    pub(crate) fn continues(&self, i: usize) -> bool {
        i + self.lanes < self.reward.len() && !self.terminated[i] && !self.truncated[i]
    }

    pub(crate) fn check(&self, others: &[usize]) {
        let n = self.reward.len();
        assert!(self.lanes > 0 && n.is_multiple_of(self.lanes), "a segment has whole rows");
        let own = [self.terminated.len(), self.truncated.len(), self.next_value.len()];
        assert!(own.iter().chain(others).all(|&len| len == n), "all columns of a segment are equally long");
    }
}

/// Advantages and returns:
/// `δ_t = r_t + γ(1−term_t)·V(next_t) − V_t`, `A_t = δ_t + γλ(1−done_t)·A_{t+1}`, `return_t = A_t + V_t`.
pub fn gae(steps: &Segment<'_>, value: &[f32], gamma: f32, lambda: f32, advantage: &mut [f32], returns: &mut [f32]) {
    steps.check(&[value.len(), advantage.len(), returns.len()]);
    for i in (0..value.len()).rev() {
        let delta = steps.reward[i] + steps.bootstrap(i, gamma) - value[i];
        let later = if steps.continues(i) { gamma * lambda * advantage[i + steps.lanes] } else { 0.0 };
        advantage[i] = delta + later;
        returns[i] = advantage[i] + value[i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three steps of one environment with γ = 0.5, λ = 0.5; `ends` are (terminated, truncated).
    fn advantages(ends: [(bool, bool); 3], next_value: [f32; 3]) -> ([f32; 3], [f32; 3]) {
        let (terminated, truncated) = (ends.map(|e| e.0), ends.map(|e| e.1));
        let (mut advantage, mut returns) = ([0.0; 3], [0.0; 3]);
        let steps = Segment {
            lanes: 1,
            reward: &[1.0, 2.0, 4.0],
            terminated: &terminated,
            truncated: &truncated,
            next_value: &next_value,
        };
        gae(&steps, &[10.0, 20.0, 40.0], 0.5, 0.5, &mut advantage, &mut returns);
        (advantage, returns)
    }

    const ON: (bool, bool) = (false, false);

    #[test]
    fn unfinished_episode_bootstraps_from_the_last_value() {
        // δ = 1+10−10, 2+20−20, 4+40−40 = 1, 2, 4; A_2 = 4, A_1 = 2 + 4/4, A_0 = 1 + 3/4.
        let (advantage, returns) = advantages([ON, ON, ON], [20.0, 40.0, 80.0]);
        assert_eq!(advantage, [1.75, 3.0, 4.0]);
        assert_eq!(returns, [11.75, 23.0, 44.0]);
    }

    #[test]
    fn termination_has_no_future_and_cuts_the_trace() {
        // δ_1 = 2 + 0 − 20 = −18 whatever stands in next_value.
        for next in [40.0, f32::NAN] {
            let (advantage, _) = advantages([ON, (true, false), ON], [20.0, next, 80.0]);
            assert_eq!(advantage, [1.0 - 18.0 / 4.0, -18.0, 4.0]);
        }
    }

    #[test]
    fn truncation_keeps_the_future_and_cuts_the_trace() {
        // V(final_obs) = 60: δ_1 = 2 + 30 − 20 = 12.
        let (advantage, _) = advantages([ON, (false, true), ON], [20.0, 60.0, 80.0]);
        assert_eq!(advantage, [1.0 + 12.0 / 4.0, 12.0, 4.0]);
    }

    #[test]
    fn both_at_once_is_termination() {
        let (advantage, _) = advantages([ON, (true, true), ON], [20.0, 60.0, 80.0]);
        assert_eq!(advantage[1], -18.0);
    }

    #[test]
    fn lanes_do_not_mix() {
        let (mut advantage, mut returns) = ([0.0; 4], [0.0; 4]);
        let steps = Segment {
            lanes: 2,
            reward: &[1.0, 100.0, 2.0, 200.0],
            terminated: &[false, true, false, false],
            truncated: &[false; 4],
            next_value: &[0.0; 4],
        };
        gae(&steps, &[0.0; 4], 1.0, 1.0, &mut advantage, &mut returns);
        assert_eq!(advantage, [3.0, 100.0, 2.0, 200.0]);
    }
}
