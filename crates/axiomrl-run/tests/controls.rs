//! Bootstrapping through termination, done on purpose: every algorithm must then be wrong.
//!
//! No setting allows it, so the test stands between environment and agent and calls each termination a time limit.

mod support;

use axiomrl_algos::{Progress, RunConfig, registry};
use axiomrl_envs::ObsRef;
use axiomrl_run::session::{build_agent, training_env};
use support::{config, forms};

const STEPS: u64 = 1800;

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
            // How near the truth an honest run comes is for the probes to say; here only the lie makes a difference.
            let (right, wrong) = (learned_value(&run, false), learned_value(&run, true));
            let error = wrong - 1.0;
            assert!(error > 0.1, "{}{suffix}: {wrong} is right in spite of it", entry.name);
            assert!(wrong > right + 0.4, "{}{suffix}: {wrong}, and {right} without the lie", entry.name);
        }
    }
}
