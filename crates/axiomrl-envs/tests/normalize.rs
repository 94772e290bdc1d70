//! The normalising wrapper against a direct computation over everything seen.

mod common;

use axiomrl_envs::rng::stream;
use axiomrl_envs::{VecOptions, make_vec};
use common::{floats, no_kwargs, random_actions, vec_env};

const N: usize = 3;

fn both(gamma: f64) -> VecOptions<'static> {
    VecOptions {
        num_envs: N,
        seed: 2,
        normalize_observation: true,
        normalize_reward: true,
        gamma,
        ..VecOptions::default()
    }
}

/// Mean and standard deviation in two passes, with the wrapper's guard against a constant column.
fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let n = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / n;
    (mean, (values.map(|x| (x - mean).powi(2)).sum::<f64>() / n + 1e-8).sqrt())
}

#[test]
fn observations_and_rewards_match_a_two_pass_computation() {
    for id in ["CartPole-v1", "Pendulum-v1"] {
        let gamma = 0.9;
        let mut env = vec_env(id, &both(gamma));
        let mut raw = vec_env(id, &VecOptions { num_envs: N, seed: 2, ..VecOptions::default() });
        let width = raw.observation_space().width();
        let mut rng = stream(1, "actions");
        let mut seen: Vec<Vec<f32>> = floats(&raw.state().obs).chunks(width).map(<[f32]>::to_vec).collect();
        let (mut returns, mut returns_seen) = ([0.0; N], Vec::new());
        let mut ends = 0;
        for step in 0..220 {
            let actions = random_actions(&*raw, &mut rng);
            // Every third step moves only some of the environments: only they may count.
            let range = if step % 3 == 0 { 1..N } else { 0..N };
            raw.step(range.clone(), &actions);
            env.step(range.clone(), &actions);
            let (state, raw) = (env.state(), raw.state());
            for i in range.clone() {
                seen.push(floats(&raw.obs)[i * width..][..width].to_vec());
                returns[i] = gamma * returns[i] + f64::from(raw.reward[i]);
                returns_seen.push(returns[i]);
            }
            let (_, return_scale) = moments(returns_seen.iter().copied());
            for i in range {
                let reward = (f64::from(raw.reward[i]) / return_scale).clamp(-10.0, 10.0);
                assert!((f64::from(state.reward[i]) - reward).abs() < 1e-5 * reward.abs().max(1.0), "{id} {step}");
                let ended = raw.terminated[i] || raw.truncated[i];
                for j in 0..width {
                    let (mean, scale) = moments(seen.iter().map(|row| f64::from(row[j])));
                    let expected = |x: f32| ((f64::from(x) - mean) / scale).clamp(-10.0, 10.0);
                    let k = i * width + j;
                    let close = |ours: f32, theirs: f64| (f64::from(ours) - theirs).abs() < 1e-4;
                    assert!(close(floats(&state.obs)[k], expected(floats(&raw.obs)[k])), "{id} step {step}");
                    if ended {
                        let last = floats(&raw.final_obs)[k];
                        assert!(close(floats(&state.final_obs)[k], expected(last)), "{id} step {step}: final");
                    }
                }
                if ended {
                    returns[i] = 0.0;
                    ends += 1;
                }
            }
            assert_eq!(state.episodes, raw.episodes, "episode returns stay raw");
        }
        assert!(ends > 0, "{id}: the test must see final observations");
    }
}

#[test]
fn a_frozen_copy_scales_like_the_original_and_does_not_learn() {
    let mut training = vec_env("Pendulum-v1", &both(0.99));
    let mut rng = stream(1, "actions");
    for _ in 0..100 {
        let actions = random_actions(&*training, &mut rng);
        training.step(0..N, &actions);
    }
    let mut frozen = training.normalizer().unwrap().clone();
    frozen.frozen = true;

    let mut evaluation = make_vec("Pendulum-v1", &no_kwargs(), &VecOptions { stream: "eval", ..both(0.99) }).unwrap();
    evaluation.set_normalizer(frozen.clone());
    evaluation.reset();
    for _ in 0..50 {
        let actions = random_actions(&*evaluation, &mut rng);
        evaluation.step(0..N, &actions);
    }
    assert_eq!(evaluation.normalizer(), Some(&frozen));

    let mut raw = vec_env("Pendulum-v1", &VecOptions { num_envs: N, seed: 2, stream: "eval", ..VecOptions::default() });
    raw.step(0..N, &[0.0; N]);
    evaluation = make_vec("Pendulum-v1", &no_kwargs(), &VecOptions { stream: "eval", ..both(0.99) }).unwrap();
    evaluation.set_normalizer(frozen.clone());
    evaluation.reset();
    evaluation.step(0..N, &[0.0; N]);
    let mut rows = floats(&raw.state().obs).to_vec();
    rows.chunks_mut(3).for_each(|row| frozen.scale_observation(row));
    assert_eq!(rows, floats(&evaluation.state().obs), "single rows are scaled to the same bits");
    let stats = frozen.obs.unwrap();
    for (k, (ours, x)) in floats(&evaluation.state().obs).iter().zip(floats(&raw.state().obs)).enumerate() {
        let expected = (f64::from(*x) - stats.mean()[k % 3]) / (stats.variance(k % 3) + 1e-8).sqrt();
        assert!((f64::from(*ours) - expected).abs() < 1e-5);
    }
}

#[test]
fn either_half_can_be_left_out() {
    let options = VecOptions { normalize_observation: false, ..both(0.99) };
    let mut rewards_only = vec_env("Pendulum-v1", &options);
    let mut raw = vec_env("Pendulum-v1", &VecOptions { normalize_reward: false, ..options.clone() });
    let mut obs_only = vec_env("Pendulum-v1", &VecOptions { normalize_reward: false, ..both(0.99) });
    for _ in 0..20 {
        for env in [&mut rewards_only, &mut raw, &mut obs_only] {
            env.step(0..N, &[0.3; N]);
        }
    }
    assert!(raw.normalizer().is_none());
    assert_eq!(rewards_only.state().obs, raw.state().obs);
    assert_eq!(rewards_only.observation_space(), raw.observation_space());
    assert_ne!(rewards_only.state().reward, raw.state().reward);
    assert_eq!(obs_only.state().reward, raw.state().reward);
    assert_ne!(obs_only.state().obs, raw.state().obs);
}
