//! Learning to reach goals.

mod her;

pub use her::{Her, HerBase, HerConfig};
