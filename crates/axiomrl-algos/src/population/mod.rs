//! Searching in the parameters of a policy, by the returns of many perturbed ones: no gradient, no values.

pub mod ars;
pub mod cem;
mod checks;
mod directions;
mod input_scale;
mod mirrored;
pub mod openai_es;
mod policy;

pub use ars::{Ars, ArsConfig};
pub use cem::{Cem, CemConfig};
pub use openai_es::{OpenAiEs, OpenAiEsConfig};
pub use policy::SearchPolicy;
