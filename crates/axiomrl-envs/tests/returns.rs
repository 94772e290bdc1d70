//! What known policies earn.

mod common;

use axiomrl_envs::rng::stream;
use common::{Batch, VecOptions, floats, random_actions, vec_env};

/// Mean return of the first `episodes` to end under `policy(observations, masks) -> actions`.
fn mean_return(id: &str, episodes: usize, mut policy: impl FnMut(&Batch) -> Vec<f32>) -> f64 {
    let mut env = vec_env(id, &VecOptions { num_envs: 10, seed: 11, ..VecOptions::default() });
    let mut returns = Vec::new();
    while returns.len() < episodes {
        let actions = policy(&env);
        env.step(0..10, &actions);
        returns.extend(env.state().episodes.iter().map(|end| end.episode_return));
    }
    returns.iter().sum::<f64>() / returns.len() as f64
}

fn random_return(id: &str, episodes: usize) -> f64 {
    let mut rng = stream(1, "actions");
    mean_return(id, episodes, |env| random_actions(env, &mut rng))
}

#[test]
fn random_play_earns_what_it_does_in_gymnasium() {
    let cartpole = random_return("CartPole-v1", 300);
    assert!((cartpole - 22.2).abs() < 3.0, "CartPole: {cartpole}");
    let pendulum = random_return("Pendulum-v1", 300);
    assert!((pendulum + 1223.0).abs() < 80.0, "Pendulum: {pendulum}");
    let continuous_car = random_return("MountainCarContinuous-v0", 50);
    assert!((continuous_car + 33.3).abs() < 2.0, "MountainCarContinuous: {continuous_car}");
    assert_eq!(random_return("MountainCar-v0", 50), -200.0);
    assert!(random_return("Acrobot-v1", 50) < -480.0);
}

#[test]
fn random_play_is_far_from_the_experts() {
    let fallen = random_return("CartPoleFixedHorizon-v0", 100);
    assert!((10.0..60.0).contains(&fallen), "{fallen}");
    let guessed = random_return("Context-v0", 200);
    assert!((guessed - 12.5).abs() < 1.0, "{guessed}");
    let adrift = random_return("PointMass-v0", 100);
    assert!((-130.0..-75.0).contains(&adrift), "{adrift}");
}

#[test]
fn repeating_the_observation_solves_the_identity_tasks() {
    let repeat = |env: &Batch| floats(&env.state().obs).to_vec();
    for id in ["IdentityDiscrete-v0", "IdentityMultiDiscrete-v0", "IdentityMultiBinary-v0"] {
        assert_eq!(mean_return(id, 20, repeat), 100.0, "{id}");
    }
    assert!(mean_return("IdentityBox-v0", 20, repeat).abs() < 1e-9);
    let [half, quarter] = ["IdentityDiscrete-v0", "IdentityMultiDiscrete-v0"].map(|id| random_return(id, 100));
    assert!((half - 50.0).abs() < 3.0 && (quarter - 25.0).abs() < 3.0, "{half}, {quarter}");
    // E(a − x)² of two uniform numbers in [−1, 1] is 2/3.
    assert!((random_return("IdentityBox-v0", 100) + 66.7).abs() < 4.0);
}

#[test]
fn the_masked_task_needs_masks_and_observation() {
    let with_both = |env: &Batch| {
        let state = env.state();
        let pick = |i: usize| {
            let first = 2 * floats(&state.obs)[i] as usize;
            (first + usize::from(!state.masks[4 * i + first])) as f32
        };
        (0..10).map(pick).collect()
    };
    let without_masks = |env: &Batch| floats(&env.state().obs).iter().map(|pair| 2.0 * pair).collect();
    let without_observation =
        |env: &Batch| env.state().masks.chunks(4).map(|mask| if mask[0] { 0.0 } else { 1.0 }).collect();
    assert_eq!(mean_return("IdentityMasked-v0", 100, with_both), 100.0);
    assert!(mean_return("IdentityMasked-v0", 100, without_masks).abs() < 3.0);
    assert!((mean_return("IdentityMasked-v0", 100, without_observation) - 50.0).abs() < 3.0);
}

#[test]
fn probes_pay_what_their_documentation_says() {
    // (probe, observation, action, reward); the continuous ones where the action matters.
    for (id, obs, action, reward) in [
        ("Probe1-v0", 0.0, 0.0, 1.0),
        ("Probe1Continuous-v0", 0.0, -0.3, 1.0),
        ("Probe2-v0", 1.0, 0.0, 1.0),
        ("Probe2-v0", -1.0, 1.0, -1.0),
        ("Probe2Continuous-v0", -1.0, 0.9, -1.0),
        ("Probe4-v0", 0.0, 1.0, 1.0),
        ("Probe4-v0", 0.0, 0.0, -1.0),
        ("Probe4Continuous-v0", 0.0, 0.5, 1.0),
        ("Probe4Continuous-v0", 0.0, -0.5, 0.0),
        ("Probe5-v0", 1.0, 1.0, 1.0),
        ("Probe5-v0", 1.0, 0.0, -1.0),
        ("Probe5-v0", -1.0, 0.0, 1.0),
        ("Probe5-v0", -1.0, 1.0, -1.0),
        ("Probe5Continuous-v0", 1.0, 0.5, 0.0),
        ("Probe5Continuous-v0", -1.0, 0.5, -1.0),
        ("Probe5Continuous-v0", -1.0, -0.5, 0.0),
    ] {
        let mut env = vec_env(id, &VecOptions { num_envs: 20, ..VecOptions::default() });
        let shown = floats(&env.state().obs).to_vec();
        assert!(shown.contains(&obs), "{id} shows {obs}");
        env.step(0..20, &[action; 20]);
        for (i, _) in shown.iter().enumerate().filter(|(_, shown)| **shown == obs) {
            assert_eq!(env.state().reward[i], reward, "{id}: observation {obs}, action {action}");
            assert!(env.state().terminated[i]);
        }
    }
}

#[test]
fn the_third_probe_takes_two_steps() {
    for id in ["Probe3-v0", "Probe3Continuous-v0"] {
        let mut env = vec_env(id, &VecOptions::default());
        for _ in 0..3 {
            assert_eq!(floats(&env.state().obs), [0.0]);
            env.step(0..1, &[0.0]);
            assert_eq!(
                (floats(&env.state().obs)[0], env.state().reward[0], env.state().terminated[0]),
                (1.0, 0.0, false)
            );
            env.step(0..1, &[0.0]);
            assert_eq!((env.state().reward[0], env.state().terminated[0]), (1.0, true));
        }
    }
}
