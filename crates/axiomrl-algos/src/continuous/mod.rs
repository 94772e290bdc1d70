//! Actor-critic methods for continuous actions, learning from replay.

mod discrete_sac;
mod mpo;
mod naf;
mod naf_head;
mod off_policy_ac;
mod pixels;

pub use discrete_sac::{DiscreteSac, DiscreteSacConfig};
pub use mpo::{Mpo, MpoConfig};
pub use naf::{Naf, NafConfig};
pub use off_policy_ac::{AcConfig, OffPolicyAc, presets};
pub use pixels::{PixelAc, PixelConfig, presets as pixel_presets};
