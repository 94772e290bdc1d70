//! The algorithms that are settings of this learner, a file each: the settings and the page.

use super::settings::RegressionConfig;
use crate::registry::presets;

presets! {
    /// For Discrete and Box actions.
    VARIANTS: RegressionConfig => "offline/regression/presets", bc, marwil, awr, iql
}

presets! {
    /// For Box actions.
    CONTINUOUS: RegressionConfig => "offline/regression/presets", xql, awac, crr
}

impl Default for RegressionConfig {
    fn default() -> Self {
        iql()
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::{AdvantageKind, AdvantageScale, PolicyKind, WeightKind};
    use super::*;
    use garde::Validate;

    #[test]
    fn every_preset_is_sound() {
        for (name, _, _, settings) in VARIANTS.iter().chain(CONTINUOUS) {
            settings().validate().unwrap();
            settings().check().unwrap_or_else(|problem| panic!("{name}: {problem}"));
        }
    }

    #[test]
    fn contradictions_are_refused_with_the_remedy() {
        let refused = |config: RegressionConfig, remedy: &str| {
            let message = config.check().unwrap_err().message;
            assert!(message.contains(remedy), "{message}");
        };
        refused(RegressionConfig { weight: WeightKind::Exp, ..bc() }, "weight: one");
        refused(RegressionConfig { online_timesteps: 1, ..bc() }, "online_timesteps: 0");
        refused(RegressionConfig { offline: false, ..marwil() }, "recorded episodes alone");
        refused(RegressionConfig { online_timesteps: 1, ..awr() }, "recorded episodes alone");
        refused(RegressionConfig { n_step: 3, ..marwil() }, "n_step: 1");
        refused(RegressionConfig { policy: PolicyKind::Deterministic, ..awac() }, "policy: gaussian");
        refused(RegressionConfig { policy: PolicyKind::Deterministic, online_timesteps: 9, ..iql() }, "explore");
        refused(RegressionConfig { advantage_scale: AdvantageScale::Dataset, ..iql() }, "moving_average");
        refused(RegressionConfig { advantage_scale: AdvantageScale::None, ..awr() }, "advantage_scale: dataset");
        refused(RegressionConfig { target_policy: true, ..iql() }, "target_policy: false");
        for preset in [iql(), xql(), awac(), crr()] {
            RegressionConfig { online_timesteps: 1000, ..preset }.check().unwrap();
        }
        RegressionConfig { advantage: AdvantageKind::Expectile, weight: WeightKind::One, ..iql() }.check().unwrap();
    }
}
