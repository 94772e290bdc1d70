//! Actors with critics that learn from replay: one learner for the DDPG and SAC families, one for pixels, and a few of their own.

mod discrete_sac;
mod mpo;
mod off_policy_ac;
mod pixels;

pub use discrete_sac::{DiscreteSac, DiscreteSacConfig};
pub use mpo::{Mpo, MpoConfig};
pub use off_policy_ac::{
    AcConfig, ActorKind, ActorReducer, CriticOutput, OffPolicyAc, TargetAction, TargetReducer, presets,
};
pub use pixels::{PixelAc, PixelActor, PixelConfig, presets as pixel_presets};
