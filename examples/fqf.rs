//! FQF on CartPole from Rust: trains, then measures the best policy and shows what the agent thinks of a few states.
//!
//! ```sh
//! cargo run --release --example fqf -- --total-timesteps 50000 --seed 1
//! ```

mod common;

use axiomrl_algos::ActInput;
use axiomrl_envs::ObsRef;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let (_, mut trainer) = common::train_and_evaluate("fqf/cartpole")?;
    // Position, speed, angle, angular speed: upright, then falling further and further to the right.
    let states = [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.1, 0.5], [0.0, 0.0, 0.2, 1.5f32]];
    let mut values = [0.0; 3];
    let input = ActInput::of(ObsRef::of_floats(states.len(), states.as_flattened()));
    trainer.agent().values(input, &mut values);
    for (state, value) in states.iter().zip(values) {
        println!("value       {value:6.1} at angle {:.1}, angular speed {:.1}", state[2], state[3]);
    }
    Ok(())
}
