//! The members of the family, a file each: what a name sets apart from plain DQN, and its page.

use super::config::DqnConfig;
use crate::registry::presets;

presets! {
    /// Every variant without a memory.
    VARIANTS: DqnConfig => "q_learning/presets", double_dqn, dueling_dqn, noisy_dqn, prioritized_dqn, n_step_dqn, c51_dqn, qr_dqn, iqn, fqf, rainbow_dqn, munchausen_dqn, munchausen_double_dqn, mellowmax_dqn, soft_dqn, soft_double_dqn, boltzmann_dqn, boltzmann_double_dqn, expected_sarsa, expected_double_dqn, advantage_learning_dqn, persistent_advantage_learning_dqn, clipped_double_dqn, hysteretic_dqn, cql_dqn, cql_double_dqn
}

presets! {
    /// Those with a memory.
    WITH_MEMORY: DqnConfig => "q_learning/presets", drqn, r2d2
}
