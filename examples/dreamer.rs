//! DreamerV3 on Catch from Rust: trains a model of the world and a policy in what it imagines, measures the best policy, and asks
//! the critic what an episode is worth at its beginning.
//!
//! ```sh
//! cargo run --release --example dreamer -- --total-timesteps 8000 --seed 1
//! ```

mod common;

use axiomrl_algos::ActInput;
use axiomrl_envs::ObsRef;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (_, mut trainer) = common::train_and_evaluate("dreamerv3/catch")?;
    for column in [0, 2, 4] {
        // The ball in the first of ten rows, the paddle in the middle of the last.
        let mut board = [0u8; 50];
        (board[column], board[9 * 5 + 2]) = (255, 255);
        let mut value = [0.0];
        trainer.agent().values(ActInput::of(ObsRef::of_bytes(1, &board)), &mut value);
        println!("value       {:5.2} when the ball falls in column {column}", value[0]);
    }
    Ok(())
}
