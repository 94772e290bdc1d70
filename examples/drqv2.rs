//! DrQ-v2 on Pendulum seen in 32x32 pixels, from Rust: trains, then measures the best policy.
//!
//! ```sh
//! cargo run --release --example drqv2 -- --total-timesteps 12000 --seed 1
//! ```

mod common;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (policy, _) = common::train_and_evaluate("drqv2/pendulum_pixels")?;
    let frames = policy.config.frame_stack;
    println!("it saw      {frames} frames at a time, and held each action for {} steps", policy.config.action_repeat);
    Ok(())
}
