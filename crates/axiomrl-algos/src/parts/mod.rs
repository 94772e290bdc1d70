//! Pieces that several algorithms share.

pub mod actions;
pub mod checks;
pub mod columns;
pub mod encode;
pub mod group;
pub mod hindsight;
pub mod noise;
pub mod renorm;
pub mod sight;
pub mod statistics;
pub mod temperature;
pub mod torso;
pub mod weight_noise;
