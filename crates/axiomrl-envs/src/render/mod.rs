//! Pictures of the classic environments.

mod canvas;
mod scenes;

pub(crate) use scenes::{acrobot, cartpole, mountain_car, pendulum};
