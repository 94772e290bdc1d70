//! Operations registered with Burn, each with a hand-written backward pass.

mod conv_op;
mod mlp_op;
mod recurrent_op;
mod scaled;

pub use conv_op::{encode, encode_bytes};
pub use mlp_op::{MlpCall, mlp};
pub use recurrent_op::recurrent;
pub use scaled::scaled_node;
