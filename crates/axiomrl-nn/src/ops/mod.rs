//! Operations registered with Burn, each with a hand-written backward pass.

mod mlp_op;
mod scaled;

pub use mlp_op::{MlpCall, mlp};
pub use scaled::scaled_node;
