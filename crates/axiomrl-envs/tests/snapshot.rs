//! Stopping anywhere and going on as if nothing had happened.

mod common;

use axiomrl_envs::rng::stream;
use axiomrl_envs::{Space, VecState, registry};
use common::{VecOptions, make_vec, no_kwargs, random_actions};

/// Steps `env` and a restored copy in parallel, after `warm_up` steps.
fn assert_goes_on_identically(id: &str, options: &VecOptions<'_>, warm_up: usize) {
    let mut env = make_vec(id, &no_kwargs(), options).unwrap();
    env.reset();
    let mut rng = stream(9, "actions");
    let all = 0..options.num_envs;
    for _ in 0..warm_up {
        let actions = random_actions(&env, &mut rng);
        env.step(all.clone(), &actions);
    }
    let saved = env.snapshot();
    // The copy has another seed and a past of its own; nothing of either may survive.
    let mut copy = make_vec(id, &no_kwargs(), &VecOptions { seed: options.seed + 1, ..options.clone() }).unwrap();
    copy.reset();
    let actions = random_actions(&copy, &mut rng);
    copy.step(all.clone(), &actions);
    copy.restore(&saved).unwrap();

    // Ends of episodes belong to the call that saw them, not to the state.
    assert_eq!(copy.state(), &VecState { episodes: Vec::new(), ..env.state().clone() }, "{id}: state after restoring");
    assert_eq!(copy.render(0), env.render(0), "{id}: picture");
    for step in 0..300 {
        let actions = random_actions(&env, &mut rng);
        env.step(all.clone(), &actions);
        copy.step(all.clone(), &actions);
        assert_eq!(copy.state(), env.state(), "{id}: step {step} after restoring");
    }
    assert_eq!(copy.snapshot(), env.snapshot(), "{id}: final snapshot");
}

#[test]
fn every_environment_goes_on_bit_for_bit() {
    for info in registry::list() {
        for warm_up in [0, 13] {
            assert_goes_on_identically(
                info.name,
                &VecOptions { num_envs: 3, seed: 4, ..VecOptions::default() },
                warm_up,
            );
        }
    }
}

#[test]
fn so_do_frame_stacks() {
    for info in registry::list() {
        let env = make_vec(info.name, &no_kwargs(), &VecOptions::default()).unwrap();
        if !matches!(env.observation_space(), Space::Box(_)) {
            continue;
        }
        let options = VecOptions { num_envs: 2, frame_stack: 3, ..VecOptions::default() };
        assert_goes_on_identically(info.name, &options, 17);
    }
}

#[test]
fn a_foreign_snapshot_is_refused_and_changes_nothing() {
    let make = |id, num_envs| {
        let mut env = make_vec(id, &no_kwargs(), &VecOptions { num_envs, ..VecOptions::default() }).unwrap();
        env.reset();
        env
    };
    let mut env = make("CartPole-v1", 2);
    let before = env.snapshot();
    // The first environment of this one is in order, and only the second is not.
    let mut half = make("CartPole-v1", 2);
    half.step(0..2, &[1.0; 2]);
    let mut half = half.snapshot();
    let second = half.windows(5).rposition(|bytes| bytes == b"state").expect("a state as JSON");
    half[second] = b'S';
    let cut = before[..before.len() - 1].to_vec();
    let longer = [&before[..], &[0]].concat();
    let foreign =
        [make("CartPole-v1", 3).snapshot(), make("Pendulum-v1", 2).snapshot(), b"[1]".to_vec(), half, cut, longer];
    for foreign in foreign {
        assert!(env.restore(&foreign).is_err());
        assert_eq!(env.snapshot(), before);
    }
}
