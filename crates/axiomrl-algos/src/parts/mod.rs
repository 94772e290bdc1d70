//! Pieces that several algorithms share.

pub mod actions;
pub mod checks;
pub mod columns;
pub mod descend;
pub mod hindsight;
pub mod input;
pub mod noise;
pub mod renorm;
pub mod seeing;
pub mod squashed_actor;
pub mod statistics;
pub mod temperature;
pub mod torso;
pub mod tracked;
pub mod trunk;
pub mod value_head;
pub mod weight_noise;
