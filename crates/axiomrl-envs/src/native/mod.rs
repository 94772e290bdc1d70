//! Built-in environments, one file each.

mod acrobot;
mod cartpole;
mod faulty;
mod identity;
mod mountain_car;
mod mountain_car_continuous;
mod pendulum;
mod probes;

pub use acrobot::Acrobot;
pub use cartpole::CartPole;
pub use faulty::Faulty;
pub use identity::{Identity, IdentityMasked};
pub use mountain_car::MountainCar;
pub use mountain_car_continuous::MountainCarContinuous;
pub use pendulum::Pendulum;
pub use probes::{Probe, ProbeKind};

/// The chosen action of a Discrete space.
#[inline]
fn choice(action: &[f32]) -> usize {
    action[0] as usize
}
