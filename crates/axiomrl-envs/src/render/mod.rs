//! Pictures of the classic environments and a few others.

mod canvas;
mod scenes;

pub(crate) use scenes::{acrobot, cartpole, mountain_car, pendulum, point_mass};
