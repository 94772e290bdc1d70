//! GAIL on CartPole with a fixed horizon from Rust: imitates a scripted expert, measures the best policy, and asks the
//! discriminator what it would pay for a pole that stands and for one that lies.
//!
//! ```sh
//! cargo run --release --example gail -- --total-timesteps 100000 --seed 1
//! ```

mod common;

use axiomrl_envs::ObsRef;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (_, mut trainer) = common::train_and_evaluate("gail/cartpole_fixed")?;
    let states: [(&str, [f32; 4]); 2] = [("stands", [0.0; 4]), ("has fallen", [0.0, 0.0, 2.0, 0.0])];
    for (name, state) in states {
        let mut rewards = [0.0; 2];
        trainer.agent().rewards(ObsRef::of_floats(2, &[state, state].concat()), &[0.0, 1.0], &mut rewards);
        println!("reward      {:7.2} left, {:7.2} right when the pole {name}", rewards[0], rewards[1]);
    }
    Ok(())
}
