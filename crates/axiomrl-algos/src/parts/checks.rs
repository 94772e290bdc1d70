//! Does an algorithm fit an environment?

use crate::agent::Setup;
use crate::config::Problem;
use crate::registry::{ActionKind, AlgoEntry, registry};
use axiomrl_core::StoreError;
use axiomrl_envs::{EnvError, Space};

/// Why an agent could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("`{algo}` does not act in {kind} spaces, and `{env}` has one; algorithms that do: {fits}")]
    ActionSpace { algo: String, env: String, kind: &'static str, fits: String },
    #[error("`{algo}` needs bounded actions, and `{env}` has an unbounded Box; give the environment finite bounds")]
    Unbounded { algo: String, env: String },
    #[error("algo_kwargs: {0}")]
    Setting(#[from] Problem),
    #[error(transparent)]
    Env(#[from] EnvError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Refuses combinations that cannot work, with the ones that can.
pub fn check_fit(entry: &AlgoEntry, env: &str, setup: &Setup) -> Result<(), BuildError> {
    let algo = entry.name.to_owned();
    let env = env.to_owned();
    let kind = ActionKind::of(setup.action_space());
    let acts = |entry: &AlgoEntry| kind.is_some_and(|kind| entry.actions.contains(&kind));
    if !acts(entry) {
        return Err(BuildError::ActionSpace { algo, env, kind: setup.action_space().kind(), fits: fitting(acts) });
    }
    if let Space::Box(space) = setup.action_space()
        && !space.is_bounded()
    {
        return Err(BuildError::Unbounded { algo, env });
    }
    Ok(())
}

/// The names of the algorithms that fit.
fn fitting(fits: impl Fn(&AlgoEntry) -> bool) -> String {
    let names: Vec<&str> = registry().iter().filter(|entry| fits(entry)).map(|entry| entry.name).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
