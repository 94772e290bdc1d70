//! Stepping many environments: auto-reset, ranges, masks, action mapping.

mod common;

use axiomrl_envs::rng::stream;
use axiomrl_envs::{
    ActionMap, Env, EnvError, ObsMut, Purpose, Rng, Seeding, Space, Step, SyncVecEnv, VecEnv, Wrapping, make, source,
};
use common::{Batch, VecOptions, floats, kwargs, make_vec, no_kwargs, random_actions, vec_env};
use serde_json::json;

#[test]
fn an_ended_episode_leaves_its_last_observation_and_shows_the_next_first_one() {
    // The same world stepped by hand, with the same generator, says what to expect.
    let mut batch = vec_env("CartPole-v1", &VecOptions { seed: 5, ..VecOptions::default() });
    let mut alone = make("CartPole-v1", &no_kwargs()).unwrap();
    let mut rng = stream(5, "env/0");
    let observed = |env: &dyn Env| {
        let mut obs = [0.0; 4];
        env.observe(ObsMut::of_floats(&mut obs));
        obs
    };
    alone.reset(&mut rng).unwrap();
    let (mut length, mut ends) = (0, 0);
    for _ in 0..200 {
        batch.step(0..1, &[1.0]);
        let step = alone.step(&[1.0], &mut rng).unwrap();
        length += 1;
        let state = batch.state();
        assert_eq!((state.terminated[0], state.truncated[0]), (step.terminated, step.truncated));
        assert_eq!(state.reward[0], 1.0);
        if step.terminated {
            assert_eq!(floats(&state.final_obs), observed(&alone));
            assert_eq!(state.episodes.len(), 1);
            let end = state.episodes[0];
            assert_eq!((end.env, end.episode_return, end.length), (0, f64::from(length), length as u64));
            alone.reset(&mut rng).unwrap();
            (length, ends) = (0, ends + 1);
        } else {
            assert!(state.episodes.is_empty());
        }
        assert_eq!(floats(&state.obs), observed(&alone));
    }
    assert!(ends > 10, "always pushing right fails within some ten steps");
}

#[test]
fn stepping_ranges_equals_stepping_all() {
    for id in ["CartPole-v1", "Pendulum-v1", "IdentityMasked-v0", "Probe2Continuous-v0"] {
        let options = VecOptions { num_envs: 5, seed: 3, ..VecOptions::default() };
        let (mut whole, mut parts) = (vec_env(id, &options), vec_env(id, &options));
        let mut rng = stream(1, "actions");
        for _ in 0..250 {
            let actions = random_actions(&whole, &mut rng);
            whole.step(0..5, &actions);
            let mut episodes = Vec::new();
            for range in [3..5, 0..1, 1..3] {
                parts.step(range, &actions);
                episodes.extend_from_slice(&parts.state().episodes);
            }
            episodes.sort_by_key(|end| end.env);
            assert_eq!(episodes, whole.state().episodes, "{id}");
            let mut joined = parts.state().clone();
            joined.episodes = episodes;
            assert_eq!(&joined, whole.state(), "{id}");
        }
    }
}

#[test]
fn stepping_a_range_leaves_the_others_alone() {
    let mut env = vec_env("Pendulum-v1", &VecOptions { num_envs: 3, ..VecOptions::default() });
    let before = floats(&env.state().obs).to_vec();
    env.step(1..2, &[0.5; 3]);
    let after = floats(&env.state().obs);
    assert_eq!(after[..3], before[..3]);
    assert_ne!(after[3..6], before[3..6]);
    assert_eq!(after[6..], before[6..]);
}

#[test]
fn an_episode_that_begins_with_a_seeding_owes_nothing_to_its_place_and_its_past() {
    let seeding = Seeding::new(9, "episode");
    let played = |lanes: usize, lane: usize, before: usize| {
        let mut env = source("Context-v0", &no_kwargs(), Wrapping::default())
            .unwrap()
            .make(lanes, &Seeding::new(lanes as u64, "env"), Purpose::Training)
            .unwrap();
        env.reset(None).unwrap();
        let actions = vec![1.0; lanes];
        for _ in 0..before {
            env.step(0..lanes, &actions).unwrap();
        }
        let others = env.state().obs.row(0).floats.to_vec();
        assert!(env.begin(lane, &seeding).unwrap());
        assert!(lane == 0 || env.state().obs.row(0).floats == others, "the others go on");
        let mut seen = vec![env.state().obs.row(lane).floats.to_vec()];
        for _ in 0..50 {
            env.step(lane..lane + 1, &actions).unwrap();
            seen.push(env.state().final_obs.row(lane).floats.to_vec());
            seen.push(env.state().obs.row(lane).floats.to_vec());
        }
        assert_eq!(env.state().episodes[0].length, 50);
        // What is shown after the end belongs to another episode.
        seen.pop();
        seen
    };
    let alone = played(1, 0, 0);
    assert_eq!(alone, played(1, 0, 17));
    assert_eq!(alone, played(4, 3, 5));
}

#[test]
fn environments_of_a_batch_are_told_apart_by_their_streams() {
    let env = vec_env("CartPole-v1", &VecOptions { num_envs: 2, ..VecOptions::default() });
    let eval = vec_env("CartPole-v1", &VecOptions { num_envs: 2, stream: "eval", ..VecOptions::default() });
    let (env, eval) = (floats(&env.state().obs), floats(&eval.state().obs));
    assert_ne!(env[..4], env[4..]);
    assert_ne!(env, eval);
}

/// Reports the action it was given as its reward, ends as told by the number of the step, and fails at the step named.
struct Echo {
    space: Space,
    action: Space,
    time: u32,
    fails_at: u32,
}

impl Env for Echo {
    fn observation_space(&self) -> &Space {
        &self.space
    }
    fn action_space(&self) -> &Space {
        &self.action
    }
    fn reset(&mut self, _: &mut Rng) -> Result<(), EnvError> {
        self.time = 0;
        Ok(())
    }
    fn step(&mut self, action: &[f32], _: &mut Rng) -> Result<Step, EnvError> {
        self.time += 1;
        if self.time == self.fails_at {
            return Err(EnvError::failed("the gripper does not answer"));
        }
        Ok(Step { reward: f64::from(action[0]), terminated: self.time == 2, truncated: self.time == 2 })
    }
    fn observe(&self, mut out: ObsMut<'_>) {
        out.write(&[self.time as f32]);
    }
    fn info_names(&self) -> Vec<String> {
        vec!["time".into(), "success".into()]
    }
    fn info(&self, out: &mut [f32]) {
        out.copy_from_slice(&[self.time as f32, 1.0]);
    }
}

fn echo(low: f32, high: f32, fails_at: u32) -> SyncVecEnv {
    let space = Space::Box(axiomrl_envs::BoxSpace::uniform(1, 0.0, 2.0));
    let action = Space::Box(axiomrl_envs::BoxSpace::uniform(1, low, high));
    let env = || Box::new(Echo { space: space.clone(), action: action.clone(), time: 0, fails_at }) as Box<dyn Env>;
    SyncVecEnv::new(vec![env(), env()], &Seeding::new(0, "env")).unwrap()
}

#[test]
fn actions_are_clipped_and_mapped_to_the_box() {
    let mut env = Batch::new(Box::new(echo(-1.0, 5.0, 0)));
    env.reset();
    for (given, executed) in [(-1.0, -1.0), (1.0, 5.0), (0.0, 2.0), (0.5, 3.5), (7.0, 5.0), (-1.5, -1.0)] {
        env.step(0..1, &[given, 0.0]);
        assert_eq!(env.state().reward[0], executed);
    }
    assert!(ActionMap::of(&echo(0.0, f32::INFINITY, 0).spaces().action).is_err());
}

#[test]
fn an_end_by_world_and_clock_at_once_is_the_worlds() {
    let mut env = Batch::new(Box::new(echo(-1.0, 1.0, 0)));
    env.reset();
    env.step(0..1, &[0.0; 2]);
    assert!(!env.state().terminated[0]);
    env.step(0..1, &[0.0; 2]);
    assert!(env.state().terminated[0] && !env.state().truncated[0]);
    assert_eq!((floats(&env.state().final_obs)[0], floats(&env.state().obs)[0]), (2.0, 0.0));
}

#[test]
fn info_columns_come_with_each_step_and_say_whether_the_task_was_done() {
    let mut env = echo(-1.0, 1.0, 0);
    env.reset(None).unwrap();
    env.step(0..2, &[0.0; 2]).unwrap();
    assert_eq!(env.state().info, [1.0, 1.0, 1.0, 1.0]);
    env.step(1..2, &[0.0; 2]).unwrap();
    assert_eq!(env.state().info, [1.0, 1.0, 2.0, 1.0]);
    assert_eq!(env.state().episodes[0].success, Some(true));
}

#[test]
fn a_failure_names_the_environment_and_keeps_its_words() {
    let mut env = echo(-1.0, 1.0, 2);
    env.reset(None).unwrap();
    env.step(0..2, &[0.0; 2]).unwrap();
    let error = env.step(1..2, &[0.0; 2]).unwrap_err().to_string();
    assert_eq!(error, "environment 1 failed: the gripper does not answer");
    assert!(env.snapshot().is_none(), "it has no snapshots");
    assert!(env.restore(&[]).is_err());
}

/// Remembers its whole life, which a reset does not end.
#[test]
fn environments_for_evaluation_forget_their_life_when_seeded_anew() {
    let options = kwargs(json!({"nan_reward_at": 13}));
    let source = axiomrl_envs::source("Faulty-v0", &options, Default::default()).unwrap();
    let seeding = Seeding::new(0, "eval/0");
    let mut env = source.make(1, &seeding, axiomrl_envs::Purpose::Evaluation).unwrap();
    for _ in 0..2 {
        env.reset(Some(&seeding)).unwrap();
        let rewards: Vec<f32> = (0..15)
            .map(|_| {
                env.step(0..1, &[0.0]).unwrap();
                env.state().reward[0]
            })
            .collect();
        assert_eq!(rewards.iter().position(|reward| reward.is_nan()), Some(12));
    }
}

#[test]
fn a_reset_with_a_seeding_is_as_newly_made() {
    for id in ["CartPole-v1", "IdentityMasked-v0", "Catch-v0"] {
        let options = VecOptions { num_envs: 3, seed: 8, ..VecOptions::default() };
        let (fresh, mut used) = (vec_env(id, &options), vec_env(id, &VecOptions { seed: 9, ..options.clone() }));
        let mut rng = stream(1, "actions");
        for _ in 0..20 {
            let actions = random_actions(&used, &mut rng);
            used.step(0..3, &actions);
        }
        used.reseed(&Seeding::new(8, "env"));
        assert_eq!(used.state(), fresh.state(), "{id}");
        assert_eq!(used.snapshot(), fresh.snapshot(), "{id}");
    }
}

#[test]
fn masks_come_with_the_observation_and_with_the_final_one() {
    let options = VecOptions { num_envs: 2, ..VecOptions::default() };
    let mut env = make_vec("IdentityMasked-v0", &kwargs(json!({"n": 6, "max_episode_steps": 3})), &options).unwrap();
    env.reset();
    let mut ends = 0;
    for _ in 0..60 {
        let state = env.state();
        assert_eq!(state.masks.len(), 12);
        assert!(state.masks.chunks(2).all(|pair| pair[0] != pair[1]), "one of each pair is allowed");
        // The allowed member of the observed pair earns 1, its masked partner −1.
        let right: Vec<usize> = (0..2)
            .map(|env| {
                let pair = floats(&state.obs)[env] as usize;
                2 * pair + usize::from(state.masks[6 * env + 2 * pair + 1])
            })
            .collect();
        env.step(0..2, &[right[0] as f32, (right[1] ^ 1) as f32]);
        let state = env.state();
        assert_eq!(state.reward, [1.0, -1.0]);
        if state.truncated[0] {
            ends += 1;
            assert!(state.final_masks.chunks(2).all(|pair| pair[0] != pair[1]));
        }
    }
    assert_eq!(ends, 20);
    assert!(vec_env("CartPole-v1", &options).state().masks.is_empty());
}

#[test]
fn a_batch_needs_environments_of_one_kind() {
    let seeding = Seeding::new(0, "env");
    assert!(SyncVecEnv::new(vec![], &seeding).is_err());
    let mixed = vec![make("CartPole-v1", &no_kwargs()).unwrap(), make("Acrobot-v1", &no_kwargs()).unwrap()];
    assert!(SyncVecEnv::new(mixed, &seeding).is_err());
}
