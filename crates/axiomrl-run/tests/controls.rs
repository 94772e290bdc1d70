//! Bootstrapping through termination, done on purpose: every learner must then be wrong.
//!
//! No setting allows it, so the test stands between environment and agent and calls each termination a time limit.

mod support;

use axiomrl_algos::{ActInput, Clock, Need};
use axiomrl_core::Metrics;
use axiomrl_envs::{ActionMap, ObsRef};
use axiomrl_run::experiment::Experiment;
use axiomrl_run::memory::Purpose;
use support::{config, forms, learners};

const STEPS: u64 = 1800;

/// What is learned of Probe 1, where every episode is one step and pays 1: its value is 1, and 1 + γ + γ² + … for whoever
/// believes that the episode goes on.
fn learned_value(experiment: &Experiment, call_termination_a_time_limit: bool) -> f32 {
    let mut env = experiment.training_env().unwrap();
    let mut agent = experiment.agent(env.as_ref(), Purpose::Train).unwrap();
    let map = ActionMap::of(&env.spaces().action).unwrap();
    let mut actions = vec![0.0; env.spaces().action.width()];
    let mut executed = actions.clone();
    let mut metrics = Metrics::default();
    let mut clock = Clock { total: STEPS, ..Clock::default() };
    env.reset(None).unwrap();
    agent.restarted(0..1, env.state()).unwrap();
    while !clock.is_over() {
        agent.act(env.state(), clock, &mut actions).unwrap();
        map.to_env(&actions, &mut executed);
        env.step(0..1, &executed).unwrap();
        let mut told = env.state().clone();
        assert!(told.terminated[0], "an episode of Probe 1 is one step");
        if call_termination_a_time_limit {
            told.terminated[0] = false;
            told.truncated[0] = true;
        }
        agent.observe(0..1, &actions, &told).unwrap();
        (clock.env_steps, clock.at) = (clock.env_steps + 1, clock.at + 1);
        while agent.need(clock) == Need::Update {
            clock.updates += agent.update(clock, &mut metrics).unwrap();
        }
    }
    let mut value = [0.0];
    assert!(agent.values(ActInput::of(ObsRef::of_floats(1, &[0.0])), &mut value));
    value[0]
}

#[test]
fn bootstrapping_through_termination_learns_the_wrong_value() {
    for entry in learners() {
        for (suffix, _) in forms(entry) {
            let run = config(entry, &format!("Probe1{suffix}-v0"), STEPS, 1, &[]);
            // How near the truth an honest run comes is for the probes to say; here only the lie makes a difference.
            let (right, wrong) = (learned_value(&run, false), learned_value(&run, true));
            let error = wrong - 1.0;
            assert!(error > 0.1, "{}{suffix}: {wrong} is right in spite of it", entry.name);
            assert!(wrong > right + 0.4, "{}{suffix}: {wrong}, and {right} without the lie", entry.name);
        }
    }
}
