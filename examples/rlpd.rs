//! RLPD on MountainCarContinuous from Rust: trains from twenty demonstrations and steps of its own, then measures the best policy
//! and shows what the agent thinks of a few states.
//!
//! ```sh
//! axiomrl dataset make mountaincarcontinuous/demos-v0
//! cargo run --release --example rlpd -- --total-timesteps 10000 --seed 1
//! ```

mod common;

use axiomrl_algos::ActInput;
use axiomrl_envs::ObsRef;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (_, mut trainer) = common::train_and_evaluate("rlpd/mountaincarcontinuous")?;
    let states =
        [("at rest in the valley", [-0.5, 0.0]), ("rolling up the hill", [0.2, 0.04]), ("near the flag", [0.4, 0.03])];
    for (name, state) in states {
        let mut value = [0.0];
        trainer.agent().values(ActInput::of(ObsRef::of_floats(1, &state)), &mut value);
        println!("value       {:7.1} when {name}", value[0]);
    }
    Ok(())
}
