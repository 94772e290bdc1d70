//! DRQN on CartPole without velocities from Rust: trains, measures the best policy, and then once more with its memory
//! wiped before every step.
//!
//! ```sh
//! cargo run --release --example drqn -- --total-timesteps 150000 --seed 1
//! ```

mod common;

use axiomrl_algos::{ActContext, ActInput, Memory, Mode};
use axiomrl_envs::rng::stream;
use axiomrl_envs::{Purpose, Seeding};
use axiomrl_run::catalogue::Catalogue;
use axiomrl_run::evaluate::EVALUATION_SEED;
use std::error::Error;

const EPISODES: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut trained, _) = common::train_and_evaluate("drqn/cartpole_novel")?;
    let source = trained.environments(&Catalogue::builtin())?;
    let mut env = source.make(1, &Seeding::new(EVALUATION_SEED, "forgetful"), Purpose::Evaluation)?;
    let policy = trained.policy.as_mut();
    let mut rng = stream(EVALUATION_SEED, "forgetful/act");
    let (mut steps, mut episodes, mut action) = (0, 0, [0.0]);
    env.reset(None)?;
    while episodes < EPISODES {
        let mut forgotten = Memory::new(1, policy.memory_width());
        let input = ActInput::of(env.state().obs.as_ref());
        policy.act(input, ActContext::new(&mut forgotten, Mode::Best, &mut rng), &mut action)?;
        env.step(0..1, &action)?;
        steps += 1;
        episodes += env.state().episodes.len();
    }
    println!("forgetful   {:.1} over {EPISODES} episodes", steps as f64 / EPISODES as f64);
    Ok(())
}
