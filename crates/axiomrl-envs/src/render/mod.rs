//! Pictures of the classic environments and a few others.

mod canvas;
mod downscale;
mod scenes;

pub(crate) use scenes::{acrobot, cartpole, mountain_car, pendulum, point_mass};
