//! TRPO on Pendulum from Rust: trains, then measures the best policy and shows what the agent thinks of a few states.
//!
//! ```sh
//! cargo run --release --example trpo -- --total-timesteps 100000 --seed 1
//! ```

mod common;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (_, mut trainer) = common::train_and_evaluate("trpo/pendulum")?;
    common::show_pendulum_values(&mut trainer);
    Ok(())
}
