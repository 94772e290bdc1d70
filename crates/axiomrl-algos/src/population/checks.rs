//! What no search can do with an environment or a run's settings.

use crate::agent::Setup;
use crate::config::{Idle, Problem};
use crate::parts::statistics::ObsScaling;

/// Refuses images, and statistics that would move while candidates are compared. `instead` is what to set for them, if anything.
pub fn check_setup(setup: &Setup, instead: Option<&str>) -> Result<(), Problem> {
    Problem::when(setup.spaces.obs().widths.bytes > 0, &[], || {
        "it searches in policies of a few numbers, and these observations have images; use an environment without them"
            .to_owned()
    })?;
    Problem::when(setup.scaling == ObsScaling::Running, &[], || {
        let remedy =
            instead.map_or(String::new(), |key| format!(" and set `{key}`, whose statistics stand still meanwhile"));
        format!(
            "with `normalize_observation` the candidates of an iteration would see the world differently; leave it out{remedy}"
        )
    })?;
    Problem::when(setup.normalize_reward, &[], || {
        "`normalize_reward` has no effect: whole episodes are scored, and scores are brought to scale anyway; leave it out"
            .to_owned()
    })
}

/// A perturbation of nothing perturbs nothing.
pub fn check_noise(key: &'static str, std: f32, usual: &str) -> Result<(), Problem> {
    Problem::when(std == 0.0, &[key], || {
        format!("`{key}` 0 makes all candidates the same, and nothing can be learned from them; set it to {usual}, say")
    })
}

/// A linear policy has no layer to bend.
pub fn linear(hidden: &[usize]) -> Idle {
    Idle {
        now: hidden.is_empty(),
        keys: &["activation"],
        switch: Some("hidden_sizes"),
        why: "the policy is linear; give it `hidden_sizes`",
    }
}
