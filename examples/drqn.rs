//! DRQN on CartPole without velocities from Rust: trains, measures the best policy, and then once more with its memory
//! wiped before every step.
//!
//! ```sh
//! cargo run --release --example drqn -- --total-timesteps 150000 --seed 1
//! ```

mod common;

use axiomrl_algos::PolicyMemory;
use axiomrl_envs::rng::stream;
use axiomrl_run::evaluate::{EVALUATION_SEED, evaluation_env};
use std::error::Error;

const EPISODES: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let mut policy = common::train_and_evaluate("drqn/cartpole_novel")?;
    let mut env = evaluation_env(&policy.config, 1, EVALUATION_SEED, "forgetful", policy.normalizer.as_ref())?;
    let mut rng = stream(EVALUATION_SEED, "forgetful/act");
    let (mut steps, mut episodes, mut action) = (0, 0, [0.0]);
    env.reset();
    while episodes < EPISODES {
        let mut forgotten = PolicyMemory { starts: vec![true], ..PolicyMemory::default() };
        policy.agent.predict(env.state().obs.as_ref(), &[], 1, true, &mut forgotten, &mut rng, &mut action);
        env.step(0..1, &action);
        steps += 1;
        episodes += env.state().episodes.len();
    }
    println!("forgetful   {:.1} over {EPISODES} episodes", steps as f64 / EPISODES as f64);
    Ok(())
}
