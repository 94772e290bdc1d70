//! D4PG on Pendulum from Rust: trains, then measures the best policy and shows what it thinks of a few states.
//!
//! ```sh
//! cargo run --release --example d4pg -- --total-timesteps 20000 --seed 1
//! ```

mod common;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut policy = common::train_and_evaluate("d4pg/pendulum")?;
    common::show_pendulum_values(&mut policy);
    Ok(())
}
