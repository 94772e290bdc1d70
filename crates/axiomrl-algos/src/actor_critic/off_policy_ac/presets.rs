//! The algorithms that are settings of this learner, a file each: the settings and the page.

use super::settings::AcConfig;
use crate::registry::presets;

presets! {
    /// Vectors or images.
    VARIANTS: AcConfig => "actor_critic/off_policy_ac/presets", ddpg, td3, sac, d4pg, tqc, redq, droq, crossq
}

presets! {
    /// With recorded transitions beside the run's own.
    WITH_PRIOR: AcConfig => "actor_critic/off_policy_ac/presets", rlpd
}

presets! {
    /// From recorded transitions alone.
    OFFLINE: AcConfig => "actor_critic/off_policy_ac/presets", td3_bc, rebrac, cql, cal_ql, sac_n, edac
}

presets! {
    /// Meant for images.
    FROM_IMAGES: AcConfig => "actor_critic/off_policy_ac/presets", drqv2, drq, curl
}

presets! {
    /// With a memory.
    WITH_MEMORY: AcConfig => "actor_critic/off_policy_ac/presets", recurrent_sac, recurrent_td3
}

impl Default for AcConfig {
    fn default() -> Self {
        sac()
    }
}

#[cfg(test)]
mod tests {
    use super::super::choices::{TargetAction, TargetReducer};
    use super::*;
    use crate::parts::noise::Exploration;
    use crate::parts::temperature::TemperatureSetting;
    use crate::parts::torso::MemoryKind;
    use garde::Validate;

    #[test]
    fn every_preset_is_sound() {
        for (name, _, _, settings) in
            VARIANTS.iter().chain(FROM_IMAGES).chain(WITH_MEMORY).chain(WITH_PRIOR).chain(OFFLINE)
        {
            settings().validate().unwrap();
            settings().check().unwrap_or_else(|problem| panic!("{name}: {problem}"));
        }
    }

    #[test]
    fn contradictions_are_refused_with_the_remedy() {
        let refused = |config: AcConfig, remedy: &str| {
            let message = config.check().unwrap_err().message;
            assert!(message.contains(remedy), "{message}");
        };
        refused(AcConfig { ent_coef: Some(TemperatureSetting::Auto), ..td3() }, "actor: tanh_gaussian");
        refused(AcConfig { exploration: Exploration::Policy, ..ddpg() }, "gaussian");
        refused(AcConfig { v_min: 3.0, v_max: 3.0, ..d4pg() }, "v_max");
        refused(AcConfig { target_reducer: TargetReducer::Truncated, ..sac() }, "critic_output: quantile");
        refused(AcConfig { top_quantiles_to_drop: 25, ..tqc() }, "n_quantiles");
        refused(AcConfig { subset_size: 11, ..redq() }, "n_critics");
        refused(AcConfig { critic_layer_norm: true, ..crossq() }, "batch_renorm");
        refused(AcConfig { target_views: 2, ..crossq() }, "target_views");
        refused(AcConfig { contrastive: true, encoder_tau: Some(0.1), ..crossq() }, "keep one");
        refused(AcConfig { encoder_tau: None, ..curl() }, "encoder_tau");
        refused(AcConfig { exploration: Exploration::Policy, ..drqv2() }, "gaussian");
        refused(AcConfig { target_action: TargetAction::TargetActorSmoothed, ..drqv2() }, "online_actor");
        refused(AcConfig { memory: MemoryKind::Lstm, ..drqv2() }, "shift: 0");
        refused(AcConfig { memory: MemoryKind::Lstm, ..crossq() }, "memory");
        refused(AcConfig { memory: MemoryKind::Lstm, n_sampled_goal: 4, ..sac() }, "memory: none");
    }
}
