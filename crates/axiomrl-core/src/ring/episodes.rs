//! Stored episodes on their own, for whoever wants to keep or write them.

use super::{Ring, TERMINATED};
use crate::ring::rows::copy_rows;
use axiomrl_envs::ObsBuf;
use std::ops::Range;

/// An episode as far as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredEpisode {
    /// One row more than steps: the last is what the last step led to.
    pub obs: ObsBuf,
    /// As many rows; empty without masks.
    pub masks: Vec<bool>,
    pub action: Vec<f32>,
    pub reward: Vec<f32>,
    pub terminated: bool,
    /// Whether a clock ended it. Neither is set where it is still under way.
    pub truncated: bool,
}

impl Ring {
    /// All episodes of a lane, the unfinished one included.
    pub fn stored_episodes(&self, lane: usize) -> impl Iterator<Item = StoredEpisode> {
        let (finished, next) = (self.lanes[lane].episode.max(self.lanes[lane].oldest), self.lanes[lane].next);
        let open = (finished < next).then_some(finished..next);
        self.episodes(lane).chain(open).map(move |numbers| self.stored_episode(lane, numbers))
    }

    fn stored_episode(&self, lane: usize, numbers: Range<u64>) -> StoredEpisode {
        let rows: Vec<usize> = numbers.map(|number| self.row(lane, number)).collect();
        let (steps, spec) = (rows.len(), &self.spec);
        let last = rows[steps - 1];
        let mut obs = ObsBuf::zeros(spec.widths, steps + 1);
        let mut masks = vec![true; (steps + 1) * spec.mask_width];
        let mut action = vec![0.0; steps * spec.action_width];
        self.copy_obs(&rows, &mut obs, 0);
        copy_rows(&self.masks, &rows, &mut masks, 0, spec.mask_width);
        copy_rows(&self.action, &rows, &mut action, 0, spec.action_width);
        if self.flags[last] != 0 {
            self.copy_final(last, &mut obs, &mut masks, steps);
        } else {
            let open = self.after(last);
            self.copy_obs(&[open], &mut obs, steps);
            copy_rows(&self.masks, &[open], &mut masks, steps, spec.mask_width);
        }
        let terminated = self.flags[last] & TERMINATED != 0;
        StoredEpisode {
            obs,
            masks,
            action,
            reward: rows.iter().map(|&row| self.reward[row]).collect(),
            terminated,
            truncated: self.flags[last] != 0 && !terminated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RingSpec;
    use axiomrl_envs::{FrameSpec, ObsRef, ObsWidths};

    #[test]
    fn episodes_come_back_as_they_were_stored() {
        let widths = ObsWidths { floats: 1, bytes: 0 };
        let spec =
            RingSpec { capacity: 4, lanes: 1, widths, byte_frames: FrameSpec::SINGLE, action_width: 1, mask_width: 0 };
        let mut ring = Ring::new(spec);
        let seen = |x: &f32| [*x];
        ring.begin(0, ObsRef::of_floats(1, &[0.0]), &[]);
        // Seen 0 1 | 10 11 12 | 20 ..: the first transition is dropped again.
        let steps = [(1.0, None), (2.0, Some((true, 10.0))), (11.0, None), (12.0, Some((false, 20.0))), (21.0, None)];
        for (number, (led_to, end)) in steps.into_iter().enumerate() {
            let begins = end.map_or(led_to, |(_, begins)| begins);
            let (next, last) = (seen(&begins), seen(&led_to));
            let (next, last) = (ObsRef::of_floats(1, &next), ObsRef::of_floats(1, &last));
            let (terminated, truncated) = (end.is_some_and(|end| end.0), end.is_some_and(|end| !end.0));
            ring.push(0, &[number as f32], led_to, terminated, truncated, next, &[], last, &[]);
        }
        let found: Vec<_> = ring.stored_episodes(0).collect();
        let floats: Vec<_> = found.iter().map(|episode| episode.obs.floats.clone()).collect();
        assert_eq!(floats, [vec![1.0, 2.0], vec![10.0, 11.0, 12.0], vec![20.0, 21.0]]);
        let ends: Vec<_> = found.iter().map(|episode| (episode.terminated, episode.truncated)).collect();
        assert_eq!(ends, [(true, false), (false, true), (false, false)]);
        assert_eq!((found[1].action.clone(), found[1].reward.clone()), (vec![2.0, 3.0], vec![11.0, 12.0]));
    }
}
