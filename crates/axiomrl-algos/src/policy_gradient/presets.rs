//! Names that are settings of PPO, a file each: the settings and the page.

use super::PpoConfig;
use crate::registry::presets;

presets! {
    /// With a memory.
    WITH_MEMORY: PpoConfig => "policy_gradient/presets", recurrent_ppo
}

presets! {
    /// Paid by themselves, too.
    CURIOUS: PpoConfig => "policy_gradient/presets", rnd, icm
}
