//! MBPO on Pendulum from Rust: trains a model and a policy that learns from what the model imagines, then measures the best policy
//! and shows what the agent thinks of a few states.
//!
//! ```sh
//! cargo run --release --example mbpo -- --total-timesteps 5000 --seed 1
//! ```

mod common;

use axiomrl_algos::ActInput;
use axiomrl_envs::ObsRef;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (_, mut trainer) = common::train_and_evaluate("mbpo/pendulum")?;
    let states = [
        ("upright at rest", [1.0, 0.0, 0.0]),
        ("level at rest", [0.0, 1.0, 0.0]),
        ("hanging at rest", [-1.0, 0.0, 0.0]),
    ];
    for (name, state) in states {
        let mut value = [0.0];
        trainer.agent().values(ActInput::of(ObsRef::of_floats(1, &state)), &mut value);
        println!("value       {:7.1} when {name}", value[0]);
    }
    Ok(())
}
