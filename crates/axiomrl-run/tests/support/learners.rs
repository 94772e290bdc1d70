//! Which names stand for which: the one place that says so.
//!
//! Most names are settings of a learner they share with others. A test that trains for seconds asks one name for each path
//! through the code; what differs by a setting alone is covered by that setting's own unit tests and by the third probe, which
//! every name must pass.

use axiomrl_algos::{AlgoEntry, registry};

/// Learners that several names share, each with the names that are settings over it. A name that stands in no table of this file
/// takes a path of its own, and goes through every test.
pub const SHARED: &[(&str, &[&str])] = &[
    (
        "dqn",
        &[
            "double_dqn",
            "mellowmax_dqn",
            "soft_dqn",
            "expected_sarsa",
            "expected_double_dqn",
            "advantage_learning_dqn",
            "persistent_advantage_learning_dqn",
            "hysteretic_dqn",
            "cql_dqn",
            "cql_double_dqn",
        ],
    ),
    // Noise in the weights, categorical values, dueling heads, priorities and several steps, all at once.
    ("rainbow_dqn", &["dueling_dqn", "noisy_dqn", "prioritized_dqn", "n_step_dqn", "c51_dqn"]),
    ("munchausen_double_dqn", &["munchausen_dqn", "soft_double_dqn"]),
    ("boltzmann_dqn", &["boltzmann_double_dqn"]),
    ("td3", &["ddpg"]),
    // Critics with dropout and LayerNorm, bursts of updates, an actor updated once in each.
    ("droq", &["redq"]),
    // The Gaussian actor of pixels, and the contrastive task on top.
    ("curl", &["drq"]),
    ("recurrent_sac", &["recurrent_td3"]),
];

/// Learners and the names over them that plan instead of learning values: tests of values are not for them.
pub const PLANNERS: &[(&str, &[&str])] = &[("pets", &[])];

/// The same for names that learn from recorded data, or from an expert: `tests/recorded.rs` is about them.
pub const FROM_DATA: &[(&str, &[&str])] = &[
    // Recorded rows beside the run's own; then recorded ones alone, with every term once.
    ("rlpd", &[]),
    ("rebrac", &["td3_bc"]),
    ("cal_ql", &["cql"]),
    ("edac", &["sac_n"]),
    ("bc", &[]),
    ("iql", &["xql", "awac", "crr"]),
    ("marwil", &[]),
    ("awr", &[]),
    ("bcq", &[]),
    ("bear", &[]),
    ("mopo", &[]),
    ("discrete_bcq", &[]),
    ("decision_transformer", &[]),
    ("gail", &[]),
    ("airl", &[]),
    ("dagger", &[]),
];

/// The same for names that learn a model of the world: `tests/world_models.rs` is about them.
pub const WORLD_MODELS: &[(&str, &[&str])] = &[
    // Gaussian states and the way back through the model for Box actions; categorical ones and likelihoods for Discrete.
    ("dreamer", &[]),
    // States that are kept with their rows and written back, and the optimiser of its own.
    ("dreamerv3", &[]),
];

/// The same for those that search in the parameters of a policy, which know no values: `tests/population.rs` is about them.
pub const POPULATIONS: &[(&str, &[&str])] = &[("ars", &[]), ("openai_es", &[]), ("cem", &[])];

/// One registered algorithm for each path through the code; all of them but those that are tested elsewhere. Whoever works on one
/// name has it alone by the environment's variable `AXIOMRL_TEST_ONLY`.
pub fn learners() -> impl Iterator<Item = &'static AlgoEntry> {
    let elsewhere = [is_from_data, is_planner, is_world_model, is_population, is_settings];
    let only = std::env::var("AXIOMRL_TEST_ONLY").ok();
    if let Some(name) = &only {
        let known = registry().iter().any(|entry| entry.name == name && !elsewhere.iter().any(|is| is(entry)));
        assert!(known, "AXIOMRL_TEST_ONLY is `{name}`, which is no learner of its own");
    }
    let wanted = move |entry: &AlgoEntry| only.as_deref().is_none_or(|name| name == entry.name);
    registry().iter().filter(move |entry| wanted(entry) && !elsewhere.iter().any(|is| is(entry)))
}

/// Whether a name is only settings over another one.
fn is_settings(entry: &AlgoEntry) -> bool {
    SHARED.iter().any(|(_, over)| over.contains(&entry.name))
}

/// The same of those that learn from recorded data.
pub fn from_data() -> impl Iterator<Item = &'static AlgoEntry> {
    registry().iter().filter(|entry| FROM_DATA.iter().any(|(name, _)| *name == entry.name))
}

/// The same of those that learn a model of the world.
pub fn world_models() -> impl Iterator<Item = &'static AlgoEntry> {
    registry().iter().filter(|entry| is_world_model(entry))
}

pub fn is_world_model(entry: &AlgoEntry) -> bool {
    WORLD_MODELS.iter().any(|(name, over)| *name == entry.name || over.contains(&entry.name))
}

/// Whether a name is one of those that learn from recorded data.
pub fn is_from_data(entry: &AlgoEntry) -> bool {
    FROM_DATA.iter().any(|(name, over)| *name == entry.name || over.contains(&entry.name))
}

/// Those that plan.
pub fn planners() -> impl Iterator<Item = &'static AlgoEntry> {
    registry().iter().filter(|entry| is_planner(entry))
}

/// Whether a name has no values to be asked for.
pub fn is_planner(entry: &AlgoEntry) -> bool {
    PLANNERS.iter().any(|(name, over)| *name == entry.name || over.contains(&entry.name))
}

pub fn populations() -> impl Iterator<Item = &'static AlgoEntry> {
    registry().iter().filter(|entry| is_population(entry))
}

pub fn is_population(entry: &AlgoEntry) -> bool {
    POPULATIONS.iter().any(|(name, _)| *name == entry.name)
}
