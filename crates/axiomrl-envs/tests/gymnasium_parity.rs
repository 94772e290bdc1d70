//! The classic environments against recorded episodes of Gymnasium (`scripts/record_gymnasium.py`).

mod common;

use axiomrl_envs::{Env, ObsMut, make, rng::stream};
use common::{clocked, no_kwargs};
use serde::Deserialize;
use serde_json::json;

const TOLERANCE: f64 = 1e-6;

#[derive(Deserialize)]
struct Fixture {
    env: String,
    episodes: Vec<Episode>,
}

#[derive(Deserialize)]
struct Episode {
    state: Vec<f64>,
    actions: Vec<f32>,
    /// One more than there are actions: the first is that of the initial state.
    obs: Vec<Vec<f32>>,
    rewards: Vec<f64>,
    terminated: bool,
    truncated: bool,
}

fn assert_close(ours: f64, theirs: f64, place: &str) {
    assert!((ours - theirs).abs() <= TOLERANCE * theirs.abs().max(1.0), "{place}: {ours}, Gymnasium has {theirs}");
}

fn assert_observes(env: &dyn Env, expected: &[f32], place: &str) {
    let mut obs = vec![f32::NAN; env.observation_space().width()];
    env.observe(ObsMut::of_floats(&mut obs));
    assert_eq!(obs.len(), expected.len());
    for (i, (ours, theirs)) in obs.iter().zip(expected).enumerate() {
        assert_close(f64::from(*ours), f64::from(*theirs), &format!("{place}, observation[{i}]"));
    }
}

fn replay(fixture: &str, endings: [bool; 2]) {
    let fixture: Fixture = serde_json::from_str(fixture).unwrap();
    let mut env = make(&fixture.env, &no_kwargs()).unwrap();
    let mut rng = stream(0, "unused");
    let mut seen = [false; 2];
    for (number, episode) in fixture.episodes.iter().enumerate() {
        env.restore(&clocked(json!({ "state": episode.state }))).unwrap();
        assert_observes(&env, &episode.obs[0], &format!("{} episode {number} start", fixture.env));
        for (t, (&action, &reward)) in episode.actions.iter().zip(&episode.rewards).enumerate() {
            let place = format!("{} episode {number} step {t}", fixture.env);
            let step = env.step(&[action], &mut rng).unwrap();
            assert_observes(&env, &episode.obs[t + 1], &place);
            assert_close(step.reward, reward, &place);
            let last = t + 1 == episode.actions.len();
            assert_eq!(step.terminated, last && episode.terminated, "{place}: terminated");
            assert_eq!(step.truncated, last && episode.truncated, "{place}: truncated");
        }
        seen[0] |= episode.terminated;
        seen[1] |= episode.truncated;
    }
    assert_eq!(seen, endings, "the fixture shows the endings (terminated, truncated) that exist");
}

#[test]
fn cartpole() {
    replay(include_str!("fixtures/CartPole-v1.json"), [true, true]);
}

#[test]
fn pendulum() {
    replay(include_str!("fixtures/Pendulum-v1.json"), [false, true]);
}

#[test]
fn acrobot() {
    replay(include_str!("fixtures/Acrobot-v1.json"), [true, true]);
}

#[test]
fn mountain_car() {
    replay(include_str!("fixtures/MountainCar-v0.json"), [true, true]);
}

#[test]
fn mountain_car_continuous() {
    replay(include_str!("fixtures/MountainCarContinuous-v0.json"), [true, true]);
}
