//! Learning from what somebody recorded, without asking the environment, and going on in it afterwards where a method can.

mod action_vae;
mod bcq;
mod bear;
mod candidates;
mod decision_transformer;
mod discrete_bcq;
pub mod regression;
#[cfg(test)]
mod testing;
mod twin_critic;

pub use bcq::{Bcq, BcqConfig};
pub use bear::{Bear, BearConfig, Kernel};
pub use decision_transformer::{DecisionTransformer, DecisionTransformerConfig};
pub use discrete_bcq::{DiscreteBcq, DiscreteBcqConfig};

use crate::config::Problem;
use crate::regimes::ReplaySettings;

/// Refuses environment steps where a method has nothing to say about them.
pub(crate) fn offline_only(name: &str, online_timesteps: u64) -> Result<(), Problem> {
    Problem::when(online_timesteps > 0, &["online_timesteps"], || {
        format!(
            "{name} keeps to what was recorded and does not explore, so it has nothing to learn from steps of its own; remove \
             `online_timesteps`, or take a method that goes on online, such as `iql` or `awac`"
        )
    })
}

/// Updates on recorded transitions alone, single steps drawn evenly.
pub(crate) fn recorded_settings(batch_size: usize, gamma: f32) -> Result<ReplaySettings, Problem> {
    // No step is taken, so there is next to nothing to keep.
    ReplaySettings { capacity: 1, batch_size, gamma, offline: Some(0), ..ReplaySettings::default() }.checked()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Algorithm;

    #[test]
    fn environment_steps_are_refused_with_the_reason() {
        let refused = [
            Bcq::check(&BcqConfig { online_timesteps: 5, ..BcqConfig::default() }),
            Bear::check(&BearConfig { online_timesteps: 5, ..BearConfig::default() }),
            DiscreteBcq::check(&DiscreteBcqConfig { online_timesteps: 5, ..DiscreteBcqConfig::default() }),
        ];
        for problem in refused.map(Result::unwrap_err) {
            assert_eq!(problem.keys, ["online_timesteps"]);
            assert!(problem.message.contains("does not explore") && problem.message.contains("remove"), "{problem}");
        }
        assert!(Bcq::check(&BcqConfig::default()).is_ok());
    }

    #[test]
    fn the_whole_run_is_updates_on_what_was_recorded() {
        let settings = recorded_settings(7, 0.8).unwrap();
        assert_eq!((settings.offline, settings.batch_size, settings.gamma), (Some(0), 7, 0.8));
        assert!(settings.wants_prior());
    }
}
