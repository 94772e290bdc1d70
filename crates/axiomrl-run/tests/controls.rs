//! Bootstrapping through termination, done on purpose: every algorithm must then be wrong.
//!
//! No setting allows it, so the test stands between environment and agent and calls each termination a time limit.

mod support;

use axiomrl_algos::{Progress, RunConfig, registry};
use axiomrl_envs::ObsRef;
use axiomrl_run::session::{build_agent, training_env};
use support::{config, forms};

const STEPS: u64 = 2500;

/// What is learned of Probe 1, where every episode is one step and pays 1: its value is 1, and 1 + γ + γ² + … for whoever
/// believes that the episode goes on.
fn learned_value(config: &RunConfig, call_termination_a_time_limit: bool) -> f32 {
    let mut env = training_env(config).unwrap();
    let mut agent = build_agent(config, env.as_ref()).unwrap();
    let mut actions = vec![0.0; env.action_space().width()];
    env.reset();
    for steps in 1..=STEPS {
        let before = Progress { steps: steps - 1, total: STEPS };
        agent.act(env.state(), before, &mut actions);
        env.step(0..1, &actions);
        let mut told = env.state().clone();
        assert!(told.terminated[0], "an episode of Probe 1 is one step");
        if call_termination_a_time_limit {
            told.terminated[0] = false;
            told.truncated[0] = true;
        }
        agent.observe(0..1, &actions, &told);
        agent.learn(&told, Progress { steps, total: STEPS }).unwrap();
    }
    let mut value = [0.0];
    agent.values(ObsRef::F32(&[0.0]), &[], 1, &mut value);
    value[0]
}

#[test]
fn bootstrapping_through_termination_learns_the_wrong_value() {
    for entry in registry() {
        for (suffix, _) in forms(entry) {
            let run = config(entry, &format!("Probe1{suffix}-v0"), STEPS, 1, &[]);
            let right = learned_value(&run, false);
            assert!((right - 1.0).abs() < 0.1, "{}{suffix}: {right} where the truth is 1", entry.name);
            let wrong = learned_value(&run, true);
            // Far beyond the tolerance of the probes, and on the side that believing in a future puts it.
            assert!(wrong > 1.5, "{}{suffix}: {wrong}, as if terminations had been told", entry.name);
        }
    }
}
