//! The five probe environments and the identity environments, for every learner in each space it supports.

mod support;

use axiomrl_algos::registry::ActionKind;
use axiomrl_algos::{AlgoEntry, registry};
use support::{
    actions, config, forms, is_from_data, is_planner, is_population, is_world_model, learners, remembers, trained,
    values,
};

const STEPS: u64 = 2500;

fn close(found: f32, wanted: f32, what: &str) {
    assert!((found - wanted).abs() < 0.1, "{what}: learned {found}, the truth is {wanted}");
}

fn each(check: impl Fn(&'static AlgoEntry, &str, bool)) {
    each_of(learners(), check);
}

fn each_of(entries: impl Iterator<Item = &'static AlgoEntry>, check: impl Fn(&'static AlgoEntry, &str, bool)) {
    for entry in entries {
        for (suffix, continuous) in forms(entry) {
            check(entry, suffix, continuous);
        }
    }
}

/// With one or two observations in all, the statistics of a batch say more about the draw than about the task: a policy that
/// normalises by them is shown to learn without.
fn plain_actor(entry: &AlgoEntry) -> &'static [&'static str] {
    let normalises = entry.defaults().get("actor_batch_renorm").and_then(|on| on.as_bool()) == Some(true);
    if normalises { &["algo_kwargs.actor_batch_renorm=false"] } else { &[] }
}

#[test]
fn probe_1_a_constant_reward_is_valued() {
    each(|entry, suffix, _| {
        let (mut policy, _) = trained(config(entry, &format!("Probe1{suffix}-v0"), STEPS, 1, &[]));
        close(values(&mut policy, &[0.0])[0], 1.0, entry.name);
    });
}

#[test]
fn probe_2_the_value_depends_on_the_observation() {
    each(|entry, suffix, _| {
        let (mut policy, _) = trained(config(entry, &format!("Probe2{suffix}-v0"), STEPS, 2, &[]));
        let found = values(&mut policy, &[1.0, -1.0]);
        close(found[0], 1.0, entry.name);
        close(found[1], -1.0, entry.name);
    });
}

#[test]
fn probe_3_the_future_is_discounted() {
    // Every name, not only every learner: this is where its own way to value the future shows.
    let elsewhere = [is_from_data, is_planner, is_world_model, is_population];
    let values_futures = |entry: &&AlgoEntry| !elsewhere.iter().any(|is| is(entry));
    each_of(registry().iter().filter(values_futures), |entry, suffix, _| {
        let (mut policy, _) = trained(config(entry, &format!("Probe3{suffix}-v0"), STEPS, 3, &[]));
        let found = values(&mut policy, &[0.0, 1.0]);
        close(found[0], 0.9, entry.name);
        // No episode begins with the second observation, so a policy with memory has never met it first.
        if !remembers(&entry.defaults()) {
            close(found[1], 1.0, entry.name);
        }
    });
}

#[test]
fn probe_4_the_policy_follows_the_reward() {
    each(|entry, suffix, continuous| {
        let (mut policy, _) = trained(config(entry, &format!("Probe4{suffix}-v0"), STEPS, 4, plain_actor(entry)));
        let action = actions(&mut policy, &[0.0], 1, 1)[0];
        close(action, if continuous { 0.5 } else { 1.0 }, &format!("action of {}", entry.name));
        close(values(&mut policy, &[0.0])[0], 1.0, entry.name);
    });
}

#[test]
fn probe_5_the_policy_depends_on_the_observation() {
    each(|entry, suffix, continuous| {
        let (mut policy, _) = trained(config(entry, &format!("Probe5{suffix}-v0"), STEPS, 5, plain_actor(entry)));
        let chosen = actions(&mut policy, &[1.0, -1.0], 2, 1);
        let wanted = if continuous { [0.5, -0.5] } else { [1.0, 0.0] };
        let worth = if continuous { 0.0 } else { 1.0 };
        for (row, value) in values(&mut policy, &[1.0, -1.0]).into_iter().enumerate() {
            close(chosen[row], wanted[row], &format!("action of {}", entry.name));
            close(value, worth, entry.name);
        }
    });
}

#[test]
fn identity_environments_are_solved_in_every_space() {
    for entry in learners() {
        for kind in entry.actions {
            let env = format!("Identity{}-v0", kind.name());
            let (_, outcome) = trained(config(entry, &env, 6000, 6, &["algo_kwargs.gamma=0.0"]));
            let mean = outcome.evaluation.unwrap().mean_reward();
            // A Box cannot be met exactly: its reward is minus the squared distance, over 100 steps.
            let mark = if *kind == ActionKind::Box { -2.0 } else { 90.0 };
            assert!(mean >= mark, "{} on {env}: {mean}", entry.name);
        }
    }
}

#[test]
fn masked_actions_are_never_taken() {
    for entry in learners().filter(|e| e.actions.contains(&ActionKind::Discrete)) {
        let (_, outcome) = trained(config(entry, "IdentityMasked-v0", 8000, 7, &["algo_kwargs.gamma=0.0"]));
        let mean = outcome.evaluation.unwrap().mean_reward();
        assert!(mean >= 90.0, "{}: {mean} of 100; observation alone gives 0", entry.name);
    }
}

/// What must fail, so that passing means something.
#[test]
fn a_learning_rate_of_zero_learns_nothing() {
    each(|entry, suffix, _| {
        let run = config(entry, &format!("Probe2{suffix}-v0"), STEPS, 2, &["algo_kwargs.learning_rate=0"]);
        let (mut policy, _) = trained(run);
        let found = values(&mut policy, &[1.0, -1.0]);
        assert!((found[0] - 1.0).abs() > 0.1 || (found[1] + 1.0).abs() > 0.1, "{}: {found:?}", entry.name);
    });
}
