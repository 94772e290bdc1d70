//! Making environments by name: options, hints, wrappers.

mod common;

use axiomrl_envs::{Env, ObsMut, Space, make, registry, rng::stream};
use common::{VecOptions, clocked, floats, kwargs, make_vec, no_kwargs, vec_env};
use serde_json::json;

fn error(id: &str, options: serde_json::Value) -> String {
    make(id, &kwargs(options)).err().expect("this must be refused").to_string()
}

#[test]
fn names_are_unique_and_every_environment_lies_in_its_space() {
    for info in registry::list() {
        assert_eq!(registry::list().iter().filter(|other| other.name == info.name).count(), 1);
        assert!(info.summary.len() > 10);
        let env = vec_env(info.name, &VecOptions { num_envs: 20, ..VecOptions::default() });
        let Space::Box(space) = env.observation_space() else { continue };
        let obs = &env.state().obs;
        let numbers: Vec<f32> = obs.floats.iter().copied().chain(obs.bytes.iter().map(|&b| f32::from(b))).collect();
        for (i, x) in numbers.iter().enumerate() {
            let j = i % space.dim();
            assert!(space.low[j] <= *x && *x <= space.high[j], "{}: {x} lies outside its bounds", info.name);
        }
    }
}

#[test]
fn an_unknown_name_suggests_the_nearest() {
    assert!(error("cartpole-v1", json!({})).contains("did you mean `CartPole-v1`"));
    assert!(error("MountanCar-v0", json!({})).contains("did you mean `MountainCar-v0`"));
    let nothing_like_it = error("Zzz", json!({}));
    assert!(nothing_like_it.contains("axiomrl envs") && !nothing_like_it.contains("did you mean"));
}

#[test]
fn bad_options_are_refused_by_name() {
    let unknown = error("Pendulum-v1", json!({"gravity": 9.8}));
    assert!(unknown.contains("`gravity`") && unknown.contains("g, max_episode_steps"), "{unknown}");
    assert!(error("Pendulum-v1", json!({"g": "heavy"})).contains("must be a number, not \"heavy\""));
    assert!(error("CartPole-v1", json!({"sutton_barto_reward": 1})).contains("true or false"));
    assert!(error("IdentityDiscrete-v0", json!({"n": 1})).contains("from 2 to"));
    assert!(error("IdentityMasked-v0", json!({"n": 5})).contains("even"));
    assert!(error("CatchTold-v0", json!({"hide": "bord"})).contains("one of board, told, not \"bord\""));
    assert!(error("DeepSea-v0", json!({"size": 1})).contains("from 2 to 1000, not 1"));
    assert!(error("Probe1-v0", json!({"max_episode_steps": 0})).contains("max_episode_steps"));
}

#[test]
fn options_do_what_they_say() {
    let mut rng = stream(0, "env/0");
    let mut env = make("CartPole-v1", &kwargs(json!({"sutton_barto_reward": true, "max_episode_steps": 50}))).unwrap();
    env.reset(&mut rng).unwrap();
    let mut rewards = vec![];
    loop {
        let step = env.step(&[1.0], &mut rng).unwrap();
        rewards.push(step.reward);
        if step.terminated {
            break;
        }
    }
    assert_eq!(rewards.pop(), Some(-1.0));
    assert!(rewards.iter().all(|&r| r == 0.0));

    let mut floating = make("Pendulum-v1", &kwargs(json!({"g": 0, "max_episode_steps": 2}))).unwrap();
    floating.restore(&clocked(json!({"state": [1.5, 1.0]}))).unwrap();
    assert!(!floating.step(&[0.0], &mut rng).unwrap().truncated);
    assert!(floating.step(&[0.0], &mut rng).unwrap().truncated);
    let mut obs = [0.0; 3];
    floating.observe(ObsMut::of_floats(&mut obs));
    assert_eq!(obs[2], 1.0, "nothing accelerates a pendulum without gravity and torque");

    let wide = make("IdentityMultiDiscrete-v0", &kwargs(json!({"n": 5, "dim": 3}))).unwrap();
    assert_eq!(wide.action_space(), &Space::MultiDiscrete { nvec: vec![5, 5, 5] });
}

#[test]
fn hidden_velocities_are_the_only_difference() {
    for (whole, hidden, keep) in
        [("CartPole-v1", "CartPoleNoVel-v1", [0, 2]), ("Pendulum-v1", "PendulumNoVel-v1", [0, 1])]
    {
        let (mut whole, mut hidden) = (vec_env(whole, &VecOptions::default()), vec_env(hidden, &VecOptions::default()));
        for _ in 0..100 {
            let all = floats(&whole.state().obs);
            assert_eq!(floats(&hidden.state().obs), keep.map(|i| all[i]));
            assert_eq!(hidden.state().reward, whole.state().reward);
            whole.step(0..1, &[1.0]);
            hidden.step(0..1, &[1.0]);
        }
    }
}

#[test]
fn stacked_vectors_are_concatenated_oldest_first() {
    let mut plain = vec_env("CartPole-v1", &VecOptions::default());
    let mut stacked = vec_env("CartPole-v1", &VecOptions { frame_stack: 3, ..VecOptions::default() });
    assert_eq!(stacked.observation_space().width(), 12);
    let mut last = vec![floats(&plain.state().obs).to_vec(); 3];
    assert_eq!(floats(&stacked.state().obs), last.concat());
    let mut ends = 0;
    for _ in 0..60 {
        plain.step(0..1, &[0.0]);
        stacked.step(0..1, &[0.0]);
        last.remove(0);
        if plain.state().terminated[0] {
            last.push(floats(&plain.state().final_obs).to_vec());
            assert_eq!(floats(&stacked.state().final_obs), last.concat());
            last = vec![floats(&plain.state().obs).to_vec(); 3];
            ends += 1;
        } else {
            last.push(floats(&plain.state().obs).to_vec());
        }
        assert_eq!(floats(&stacked.state().obs), last.concat());
    }
    assert!(ends > 1);
}

#[test]
fn wrappers_that_do_not_fit_name_the_environment() {
    let refused = |options: VecOptions<'_>| {
        make_vec("IdentityDiscrete-v0", &no_kwargs(), &options).err().expect("this must be refused").to_string()
    };
    for message in [
        refused(VecOptions { frame_stack: 4, ..VecOptions::default() }),
        refused(VecOptions { num_envs: 0, ..VecOptions::default() }),
        refused(VecOptions { frame_stack: 0, ..VecOptions::default() }),
    ] {
        assert!(message.contains("IdentityDiscrete-v0"), "{message}");
    }
}
