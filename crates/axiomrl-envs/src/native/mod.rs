//! Built-in environments, one file each.

mod acrobot;
mod bit_flip;
mod cartpole;
mod cartpole_fixed_horizon;
mod cartpole_pixels;
mod catch;
mod catch_told;
mod context;
mod deep_sea;
mod faulty;
mod identity;
mod mountain_car;
mod mountain_car_continuous;
mod pendulum;
mod pendulum_pixels;
mod point_goal;
mod point_mass;
mod probes;

pub use acrobot::Acrobot;
pub use bit_flip::BitFlip;
pub use cartpole::CartPole;
pub use cartpole_fixed_horizon::CartPoleFixedHorizon;
pub use cartpole_pixels::CartPolePixels;
pub use catch::Catch;
pub use catch_told::{CatchTold, Hidden};
pub use context::Context;
pub(crate) use context::right_action;
pub use deep_sea::DeepSea;
pub use faulty::Faulty;
pub use identity::{Identity, IdentityMasked};
pub use mountain_car::MountainCar;
pub use mountain_car_continuous::MountainCarContinuous;
pub use pendulum::Pendulum;
pub use pendulum_pixels::PendulumPixels;
pub use point_goal::PointGoal;
pub use point_mass::PointMass;
pub use probes::{Probe, ProbeKind};

use std::f64::consts::PI;

/// The chosen action of a Discrete space.
#[inline]
fn choice(action: &[f32]) -> usize {
    action[0] as usize
}

/// The same angle in [−π, π).
fn wrapped(angle: f64) -> f64 {
    (angle + PI).rem_euclid(2.0 * PI) - PI
}
