//! Pieces that several algorithms share.

pub mod actions;
pub mod checks;
pub mod encode;
pub mod temperature;
