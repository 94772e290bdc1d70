//! What a model of the world believes, beside what is.

use super::Record;
use crate::catalogue;
use crate::failure::Failure;
use axiomrl_algos::{ActContext, ActInput, Memory, Mode, Picture};
use axiomrl_envs::rng::stream;
use axiomrl_envs::{Frame, Purpose, Seeding};
use axiomrl_run::evaluate::check_spaces;
use axiomrl_run::policy::TrainedPolicy;

/// Small images are enlarged to this height, or nearly.
const HEIGHT: usize = 160;
/// Pixels between two of them, and their colour: green while the model sees, red when it does not.
const GAP: usize = 4;
const SEEING: [u8; 3] = [60, 160, 60];
const BLIND: [u8; 3] = [200, 60, 60];

impl Record {
    /// Truth, belief and difference at every step. For `context` steps of each episode the model sees, then it goes on by the
    /// actions of a policy that still does.
    pub(super) fn watch(&self, policy: &mut TrainedPolicy, context: usize) -> Result<Vec<Frame>, Failure> {
        let seed = self.seed.unwrap_or(policy.config.seed);
        let mut env = policy.environments(catalogue())?.make(1, &Seeding::new(seed, "eval/0"), Purpose::Evaluation)?;
        check_spaces(policy.policy.as_ref(), env.as_ref()).map_err(Failure::bad_input)?;
        let (mut rng, mut dreams) = (stream(seed, "eval/0/act"), stream(seed, "eval/0/imagine"));
        let mode = if self.stochastic { Mode::Sample } else { Mode::Best };
        let mut actions = vec![0.0; env.num_envs() * env.spaces().action.width()];
        let mut executed = actions.clone();
        let width = policy.policy.memory_width();
        let mut memory = Memory::new(env.num_envs(), width);
        let mut believed = memory.clone();
        let (mut frames, mut ended, mut step) = (Vec::new(), 0, 0);
        env.reset(None)?;
        while ended < self.episodes.get() {
            let state = env.state();
            let input = ActInput { obs: state.obs.as_ref(), masks: &state.masks };
            policy
                .policy
                .act(input, ActContext::new(&mut memory, mode, &mut rng), &mut actions)
                .map_err(Failure::other)?;
            let (algo, env_id) = (&policy.config.algo, &policy.config.env_id);
            let Some(model) = policy.policy.imagination() else {
                return Err(Failure::bad_input(format!(
                    "`{algo}` has no model of the world to watch; leave out --imagine"
                )));
            };
            let blind = step >= context.max(1);
            if blind {
                model.foresee(&mut believed, &mut dreams)
            } else {
                believed.clone_from(&memory)
            }
            let pictures = model.shown(state.obs.row(0)).zip(model.believed(believed.row(0)));
            let Some((shown, belief)) = pictures else {
                return Err(Failure::bad_input(format!("`{env_id}` shows no image; leave out --imagine")));
            };
            frames.push(beside(&shown, &belief, blind).downscaled(self.downscale.into()));
            policy.policy.action_map().to_env(&actions, &mut executed);
            env.step(0..env.num_envs(), &executed)?;
            let reward = &env.state().reward;
            for memory in [&mut memory, &mut believed] {
                policy.policy.feedback(memory, 0..env.num_envs(), &actions, reward);
            }
            let over = env.state().episodes.iter().any(|end| end.env == 0);
            memory.starts.fill(over);
            step = if over { 0 } else { step + 1 };
            ended += usize::from(over);
        }
        Ok(frames)
    }
}

/// Truth, belief and their difference from left to right.
fn beside(shown: &Picture, belief: &Picture, blind: bool) -> Frame {
    let [height, width, _] = shown.shape;
    let times = (HEIGHT / height.max(1)).max(1);
    let apart = shown.pixels.iter().zip(&belief.pixels).map(|(a, b)| (a - b).abs()).collect();
    let difference = Picture { shape: shown.shape, pixels: apart };
    let mut rgb = Vec::new();
    for row in 0..height * times {
        for (at, picture) in [shown, belief, &difference].into_iter().enumerate() {
            if at > 0 {
                rgb.extend([if blind { BLIND } else { SEEING }; GAP].as_flattened());
            }
            for column in 0..width * times {
                rgb.extend(colour(picture, row / times, column / times));
            }
        }
    }
    Frame { width: 3 * width * times + 2 * GAP, height: height * times, rgb }
}

/// Of several frames the newest, which lies behind the others.
fn colour(picture: &Picture, row: usize, column: usize) -> [u8; 3] {
    let [_, width, channels] = picture.shape;
    let pixel = &picture.pixels[(row * width + column) * channels..][..channels];
    let byte = |x: f32| (255.0 * x.clamp(0.0, 1.0)).round() as u8;
    match pixel {
        [.., red, green, blue] if channels.is_multiple_of(3) => [byte(*red), byte(*green), byte(*blue)],
        [.., grey] => [byte(*grey); 3],
        [] => [0; 3],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truth_belief_and_difference_stand_side_by_side() {
        let picture = |pixels: [f32; 2]| Picture { shape: [1, 2, 1], pixels: pixels.to_vec() };
        let frame = beside(&picture([0.0, 1.0]), &picture([0.0, 0.5]), true);
        assert_eq!((frame.width, frame.height), (3 * 2 * 160 + 8, 160));
        let at = |x: usize| [frame.rgb[3 * x], frame.rgb[3 * x + 1], frame.rgb[3 * x + 2]];
        assert_eq!((at(0), at(200)), ([0; 3], [255; 3]));
        assert_eq!((at(320), at(324 + 200)), (BLIND, [128; 3]));
        assert_eq!((at(648), at(648 + 200)), ([0; 3], [128; 3]));
    }
}
