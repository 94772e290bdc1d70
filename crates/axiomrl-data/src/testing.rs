//! Small recordings for tests.

use crate::{Ending, EpisodeBuf, Recording};
use axiomrl_envs::{BoxSpace, ObsBuf, Space, Spaces};

/// Two numbers observed, one action in [−2, 2].
pub(crate) fn spaces() -> Spaces {
    let high = [9.0, f32::INFINITY];
    let observation = Space::Box(BoxSpace::vector(&high.map(|high| -high), &high));
    Spaces::new(observation, Space::Box(BoxSpace::uniform(1, -2.0, 2.0)))
}

/// Episodes of these lengths, in which no number occurs twice. They end in turn.
pub(crate) fn recording(lengths: &[usize]) -> Recording {
    let mut recording = Recording::new("recording", spaces());
    let mut count = 0;
    let mut next = || {
        count += 1;
        count as f32 / 1024.0
    };
    for (number, &steps) in lengths.iter().enumerate() {
        let mut obs = ObsBuf::zeros(recording.spaces.obs().widths, steps + 1);
        obs.floats.iter_mut().for_each(|value| *value = next());
        recording.episodes.push(EpisodeBuf {
            obs,
            masks: Vec::new(),
            actions: (0..steps).map(|_| next() % 2.0).collect(),
            rewards: (0..steps).map(|_| next()).collect(),
            ending: [Ending::Terminated, Ending::Truncated, Ending::Stopped][number % 3],
        });
    }
    recording
}
