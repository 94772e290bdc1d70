//! Wrappers: each changes one thing about the environment inside it.

mod action_repeat;
mod frame_stack;
mod obs_mask;
mod time_limit;

pub use action_repeat::ActionRepeat;
pub use frame_stack::FrameStack;
pub use obs_mask::ObsMask;
pub use time_limit::TimeLimit;
