//! Operations registered with Burn, each with a hand-written backward pass.

mod image_op;
mod mlp_op;
mod recurrent_op;
mod scaled;

pub use image_op::{map_byte_images, map_images};
pub use mlp_op::{MlpCall, mlp};
pub use recurrent_op::recurrent;
pub use scaled::scaled_node;
