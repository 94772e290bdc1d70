//! What a recorded episode must look like.

use super::{DatasetBuilder, Episode};
use crate::ring::frames::continues;
use axiomrl_envs::{Kind, ObsRef, ObsSpace, Space};

/// At which step, if it is at one, and what is wrong.
type Problem = (Option<usize>, String);

impl DatasetBuilder {
    pub(super) fn check(&self, episode: &Episode<'_>) -> Result<(), Problem> {
        self.check_lengths(episode).map_err(|problem| (None, problem))?;
        let steps = episode.reward.len();
        let width = self.ring.spec().action_width;
        for t in 0..=steps {
            let here = |problem: String| (Some(t), problem);
            self.check_obs(episode, t).map_err(here)?;
            if t == steps {
                break;
            }
            check_action(&self.spaces.action, &episode.action[t * width..(t + 1) * width]).map_err(here)?;
            if !episode.reward[t].is_finite() {
                return Err(here(format!("the reward is {}", episode.reward[t])));
            }
            if t + 1 < steps && (episode.terminated[t] || episode.truncated[t]) {
                let rest = steps - t - 1;
                return Err(here(format!("the episode ends here, and {rest} more steps follow; begin a new episode")));
            }
        }
        Ok(())
    }

    fn check_lengths(&self, episode: &Episode<'_>) -> Result<(), String> {
        let (steps, spec) = (episode.reward.len(), self.ring.spec());
        if steps == 0 {
            return Err("it has no steps; leave it out".into());
        }
        if episode.obs.rows != steps + 1 {
            return Err(format!(
                "{} observations for {steps} steps; there must be one more, the last being what the last step led to",
                episode.obs.rows
            ));
        }
        for (name, found, expected) in [
            ("observed numbers", episode.obs.floats.len(), (steps + 1) * spec.widths.floats),
            ("observed bytes", episode.obs.bytes.len(), (steps + 1) * spec.widths.bytes),
            ("mask entries", episode.masks.len(), (steps + 1) * spec.mask_width),
            ("numbers of actions", episode.action.len(), steps * spec.action_width),
            ("`terminated` marks", episode.terminated.len(), steps),
            ("`truncated` marks", episode.truncated.len(), steps),
        ] {
            if found != expected {
                return Err(format!("{found} {name} for {steps} steps, where its spaces ask for {expected}"));
            }
        }
        Ok(())
    }

    fn check_obs(&self, episode: &Episode<'_>, t: usize) -> Result<(), String> {
        let obs = episode.obs.row(t);
        check_observation(&self.obs, obs)?;
        let frames = self.ring.spec().byte_frames;
        let before = t.checked_sub(1).map(|before| episode.obs.row(before).bytes);
        if frames.count > 1 && !continues(frames, before, obs.bytes) {
            // The store keeps each frame once, so it would show something else than what was recorded.
            let problem = match before {
                None => "the first observation of an episode must show its first frame throughout",
                Some(_) => "the older frames are not those of the step before",
            };
            return Err(format!("{problem}; record single frames and let them be stacked"));
        }
        Ok(())
    }
}

/// What is wrong with an observation.
pub fn check_observation(space: &ObsSpace, obs: ObsRef<'_>) -> Result<(), String> {
    if let Some(value) = obs.floats.iter().find(|value| !value.is_finite()) {
        return Err(format!("{value} was observed"));
    }
    for part in &space.parts {
        let Kind::OneHot(sizes) = &part.kind else { continue };
        check_choices(&obs.floats[part.at.clone()], sizes.iter().copied())
            .map_err(|problem| format!("part `{}` of the observation: {problem}", part.name))?;
    }
    Ok(())
}

/// What is wrong with an action, in [−1, 1] for a Box.
pub fn check_action(space: &Space, action: &[f32]) -> Result<(), String> {
    let checked = match space {
        Space::Discrete { n } => check_choices(action, [*n].into_iter()),
        Space::MultiDiscrete { nvec } => check_choices(action, nvec.iter().copied()),
        Space::MultiBinary { n } => check_choices(action, std::iter::repeat_n(2, *n)),
        Space::Box(_) | Space::Dict { .. } => match action.iter().find(|value| !(-1.0..=1.0).contains(*value)) {
            Some(value) => Err(format!("{value} does not lie in [-1, 1]; map actions with `ActionMap::to_unit`")),
            None => Ok(()),
        },
    };
    checked.map_err(|problem| format!("action: {problem}"))
}

fn check_choices(values: &[f32], sizes: impl Iterator<Item = usize>) -> Result<(), String> {
    for (&value, size) in values.iter().zip(sizes) {
        if value.fract() != 0.0 || !(0.0..size as f32).contains(&value) {
            return Err(format!("{value} is none of the choices 0 to {}", size.saturating_sub(1)));
        }
    }
    Ok(())
}
