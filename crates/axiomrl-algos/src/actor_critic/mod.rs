//! Actors with critics that learn from replay: one learner for the DDPG and SAC families, from
//! vectors and images, and a few of their own.

mod discrete_sac;
mod mpo;
mod off_policy_ac;

pub use discrete_sac::{DiscreteSac, DiscreteSacConfig};
pub use mpo::{Mpo, MpoConfig};
pub(crate) use off_policy_ac::AcLearner;
pub use off_policy_ac::{
    AcConfig, ActorKind, ActorReducer, BcDistance, CriticOutput, OffPolicyAc, TargetAction, TargetReducer, UpdateOrder,
    WeightInit, presets,
};
