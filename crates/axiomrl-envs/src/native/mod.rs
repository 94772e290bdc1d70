//! Built-in environments, one file each.

mod acrobot;
mod bit_flip;
mod cartpole;
mod catch;
mod catch_told;
mod faulty;
mod identity;
mod mountain_car;
mod mountain_car_continuous;
mod pendulum;
mod pendulum_pixels;
mod point_goal;
mod probes;

pub use acrobot::Acrobot;
pub use bit_flip::BitFlip;
pub use cartpole::CartPole;
pub use catch::Catch;
pub use catch_told::{CatchTold, Hidden};
pub use faulty::Faulty;
pub use identity::{Identity, IdentityMasked};
pub use mountain_car::MountainCar;
pub use mountain_car_continuous::MountainCarContinuous;
pub use pendulum::Pendulum;
pub use pendulum_pixels::PendulumPixels;
pub use point_goal::PointGoal;
pub use probes::{Probe, ProbeKind};

/// The chosen action of a Discrete space.
#[inline]
fn choice(action: &[f32]) -> usize {
    action[0] as usize
}
