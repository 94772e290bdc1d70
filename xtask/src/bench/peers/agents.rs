//! Agents whose updates are timed as wholes: their settings, equal to those of the peers' scripts.

use super::peer::UPDATE_ROUNDS;

/// A run file and changed settings.
pub struct Agent {
    pub config: &'static str,
    pub set: &'static [&'static str],
    pub rounds: u32,
    /// What is counted as an update.
    pub counts: Counts,
    /// Whether it learns from `RECORDED` alone, as the peers do.
    pub recorded: bool,
}

pub enum Counts {
    /// Updates of the policy. So many are not alike and belong together.
    Updates(u32),
    /// Gradient steps of a model.
    ModelSteps,
}

/// The ready set that learners of recorded transitions learn from; all sides read the same file.
pub const RECORDED: &str = "pendulum/mixed-v0";

/// With as few images as can be learned from, and an update for every step. One takes so long that few rounds do, as in the
/// peers' scripts.
pub const DRQV2: Agent = Agent {
    config: "drqv2/pendulum_pixels_84",
    set: &["algo_kwargs.learning_starts=300", "algo_kwargs.train_frequency=1", "algo_kwargs.buffer_capacity=1000"],
    rounds: 4,
    counts: Counts::Updates(1),
    recorded: false,
};

/// Two updates at a time, since only every second one moves the actor.
pub const TD3: Agent = Agent {
    config: "td3/pendulum",
    set: &[
        "algo_kwargs.learning_starts=300",
        "algo_kwargs.train_frequency=2",
        "algo_kwargs.gradient_steps=2",
        "algo_kwargs.batch_size=256",
        "algo_kwargs.hidden_sizes=[256, 256]",
    ],
    rounds: UPDATE_ROUNDS,
    counts: Counts::Updates(2),
    recorded: false,
};

/// More updates than are ever timed: a run of them would end.
const WITHOUT_END: &str = "total_timesteps=1000000";

pub const IQL: Agent = Agent {
    config: "iql/pendulum_mixed",
    set: &[WITHOUT_END, "algo_kwargs.hidden_sizes=[256, 256]"],
    rounds: UPDATE_ROUNDS,
    counts: Counts::Updates(1),
    recorded: true,
};

pub const CQL: Agent = Agent {
    config: "cql/pendulum_mixed",
    set: &[
        WITHOUT_END,
        "algo_kwargs.batch_size=256",
        "algo_kwargs.hidden_sizes=[256, 256]",
        "algo_kwargs.num_cql_samples=10",
    ],
    rounds: UPDATE_ROUNDS,
    counts: Counts::Updates(1),
    recorded: true,
};

pub const TD3_BC: Agent = Agent {
    config: "td3_bc/pendulum_mixed",
    set: &[WITHOUT_END, "algo_kwargs.hidden_sizes=[256, 256]"],
    rounds: UPDATE_ROUNDS,
    counts: Counts::Updates(2),
    recorded: true,
};

/// The publication's networks. Of 3200 rows a fifth is held out, which leaves ten whole batches; those held out are never looked
/// at, so the fit does not end.
pub const MBPO_MODEL: Agent = Agent {
    config: "mbpo/pendulum",
    set: &[
        "algo_kwargs.learning_starts=3200",
        "algo_kwargs.num_ensembles=7",
        "algo_kwargs.model_hidden_sizes=[200, 200, 200, 200]",
        "algo_kwargs.model_batch_size=256",
        "algo_kwargs.model_check_interval=1000000",
        "algo_kwargs.model_updates_first=1000000",
    ],
    rounds: UPDATE_ROUNDS,
    counts: Counts::ModelSteps,
    recorded: false,
};
