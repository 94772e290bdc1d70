//! Learning to act like somebody: from recorded episodes (GAIL, AIRL), or from somebody who can be asked (DAgger).

mod adversarial;
mod airl;
mod dagger;
mod gail;

pub use adversarial::{GeneratorKind, InputStatistics};
pub use airl::{Airl, AirlConfig, AirlRewardForm};
pub use dagger::{BetaSchedule, Dagger, DaggerConfig};
pub use gail::{Gail, GailConfig, PenaltyKind, RewardForm};
