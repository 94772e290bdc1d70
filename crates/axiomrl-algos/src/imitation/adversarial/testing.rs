//! For tests: recorded episodes, and rollouts of noise.

use crate::agent::Setup;
use crate::policy::{ActContext, ActInput, Memory, Mode};
use crate::policy_gradient::testing::saved;
use crate::regimes::{ActedRow, RolloutLearner};
use axiomrl_core::{Dataset, DatasetBuilder, Episode, Rollout, RolloutSpec, stream};
use axiomrl_envs::{BoxSpace, ObsBuf, ObsRef, Space, Spaces};
use rand::RngExt;

/// One number is observed.
pub fn spaces(action: Space) -> Spaces {
    Spaces::new(Space::Box(BoxSpace::uniform(1, -100.0, 100.0)), action)
}

/// Episodes of an expert of two choices that always takes the first; episode `e` shows `10 e + t`, and odd ones end the world.
pub fn recorded(episodes: usize, steps: usize) -> Dataset {
    recorded_with(spaces(Space::Discrete { n: 2 }), episodes, steps, 0.0)
}

/// The same for any action of one number.
pub fn recorded_with(spaces: Spaces, episodes: usize, steps: usize, action: f32) -> Dataset {
    let mut builder = DatasetBuilder::new(spaces).unwrap();
    for e in 0..episodes {
        let obs: Vec<f32> = (0..=steps).map(|t| (10 * e + t) as f32).collect();
        let mut ends = vec![false; steps];
        let goes_on = ends.clone();
        ends[steps - 1] = true;
        let (terminated, truncated) = if e % 2 == 1 { (&ends, &goes_on) } else { (&goes_on, &ends) };
        builder
            .push(&Episode {
                obs: ObsRef::of_floats(steps + 1, &obs),
                masks: &[],
                action: &vec![action; steps],
                reward: &vec![0.0; steps],
                terminated,
                truncated,
            })
            .unwrap();
    }
    builder.build().unwrap()
}

/// Two environments with an expert.
pub fn setup(data: Dataset) -> Setup {
    Setup { num_envs: 2, seed: 3, prior: Some(data.clone()), ..Setup::new(data.spaces().clone()) }
}

/// Steps of two environments that a learner plays in noise; at step 1 the world of the first ends, and the time of the second.
pub fn rollout(learner: &mut dyn RolloutLearner, setup: &Setup, steps: usize) -> (Rollout, Vec<bool>) {
    let mut rng = stream(5, "rollout");
    let (lanes, widths, action_width) = (2, setup.spaces.obs().widths, setup.action_width());
    let mut rollout =
        Rollout::new(RolloutSpec { steps, lanes, widths, action_width, mask_width: 0, raw: true, intrinsic: false });
    let mut memory = Memory::new(lanes, learner.memory_width());
    let mut starts = vec![false; steps * lanes];
    starts[..lanes].fill(true);
    for t in 0..steps {
        let mut noise = || {
            let mut obs = ObsBuf::zeros(widths, lanes);
            obs.floats.iter_mut().for_each(|x| *x = rng.random_range(-20.0..20.0));
            obs
        };
        let (raw, next) = (noise(), noise());
        let mut scaled = raw.clone();
        if let Some(stats) = learner.fixed_statistics() {
            stats.scale_into(raw.as_ref(), &mut scaled);
        }
        let (mut actions, mut log_probs, mut values) = (vec![0.0; lanes * action_width], [0.0; 2], [0.0; 2]);
        let row = ActedRow { actions: &mut actions, log_probs: &mut log_probs, values: &mut values };
        learner.play(ActInput::of(scaled.as_ref()), ActContext::new(&mut memory, Mode::Sample, &mut rng), row).unwrap();
        rollout.begin_row(t, scaled.as_ref(), &[], &actions, &log_probs, &values);
        rollout.set_raw(t, raw.as_ref());
        for lane in 0..lanes {
            rollout.set_next_obs(t, lane, next.row(lane));
            // A reward that nobody is to learn from.
            rollout.set_outcome(t, lane, 1e6, t == 1 && lane == 0, t == 1 && lane == 1);
        }
    }
    if steps > 2 {
        starts[2 * lanes..3 * lanes].fill(true);
    }
    (rollout, starts)
}

/// The names of the tensors that `work` changes.
pub fn changed<L: RolloutLearner>(learner: &mut L, work: impl FnOnce(&mut L)) -> Vec<String> {
    let before = saved(learner);
    work(learner);
    let after = saved(learner);
    before.into_iter().filter(|(name, values)| after[name] != *values).map(|(name, _)| name).collect()
}
