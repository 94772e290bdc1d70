//! ARS on CartPole from Rust: searches for a linear policy, measures it, and shows which way it pushes in a few states.
//!
//! ```sh
//! cargo run --release --example ars -- --total-timesteps 50000 --seed 1
//! ```

mod common;

use axiomrl_algos::{ActContext, ActInput, Memory, Mode};
use axiomrl_envs::ObsRef;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut best, _) = common::train_and_evaluate("ars/cartpole")?;
    let states: [(&str, [f32; 4]); 2] =
        [("leans left", [0.0, 0.0, -0.05, 0.0]), ("leans right", [0.0, 0.0, 0.05, 0.0])];
    for (name, state) in states {
        let (mut action, mut rng) = ([0.0], axiomrl_core::stream(0, "example"));
        let input = ActInput::of(ObsRef::of_floats(1, &state));
        best.policy.act(input, ActContext::new(&mut Memory::new(1, 0), Mode::Best, &mut rng), &mut action)?;
        println!("pushes      {} when the pole {name}", if action[0] > 0.5 { "right" } else { "left" });
    }
    Ok(())
}
