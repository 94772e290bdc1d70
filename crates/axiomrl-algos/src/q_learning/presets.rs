//! The members of the family: what each name sets apart from plain DQN.

use super::config::{Backup, DqnConfig, Exploration, HeadKind};
use crate::parts::torso::MemoryKind;
use axiomrl_core::Schedule;

/// The page of a variant, next to this crate's sources.
macro_rules! page {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/pages/", $name, ".md"))
    };
}

type Preset = fn() -> DqnConfig;

/// Those with a memory.
pub const WITH_MEMORY: &[(&str, &str, &str, Preset)] = &[
    ("drqn", "Deep Q-learning with an LSTM", page!("drqn"), drqn),
    ("r2d2", "Recurrent Q-learning with burn-in, stored memory and priorities", page!("r2d2"), r2d2),
];

/// Name, summary, page and settings of every variant without a memory.
pub const VARIANTS: &[(&str, &str, &str, Preset)] = &[
    ("double_dqn", "DQN that chooses and values the next action with different networks", page!("double_dqn"), || {
        DqnConfig { double_q: true, ..base() }
    }),
    ("dueling_dqn", "DQN with the state's value and the action's advantage apart", page!("dueling_dqn"), || {
        DqnConfig { dueling: true, ..base() }
    }),
    ("noisy_dqn", "DQN that explores by noise in its weights", page!("noisy_dqn"), || DqnConfig {
        noisy: true,
        ..base()
    }),
    ("prioritized_dqn", "DQN that learns more often from surprising transitions", page!("prioritized_dqn"), || {
        DqnConfig { prioritized_replay: true, ..base() }
    }),
    ("n_step_dqn", "DQN that sums several rewards before bootstrapping", page!("n_step_dqn"), || DqnConfig {
        n_step: 3,
        ..base()
    }),
    ("c51_dqn", "Distributional DQN over fixed returns", page!("c51_dqn"), || DqnConfig {
        head: HeadKind::Categorical,
        adam_eps: 0.01 / 32.0,
        ..base()
    }),
    ("qr_dqn", "Distributional DQN over fixed quantiles", page!("qr_dqn"), || DqnConfig {
        head: HeadKind::Quantile,
        num_quantiles: 25,
        ..base()
    }),
    ("iqn", "Distributional DQN over any quantile", page!("iqn"), || DqnConfig {
        head: HeadKind::Implicit,
        num_quantiles: 32,
        ..base()
    }),
    ("fqf", "Distributional DQN that learns which quantiles to ask for", page!("fqf"), || DqnConfig {
        head: HeadKind::Fqf,
        num_quantiles: 32,
        ..base()
    }),
    (
        "rainbow_dqn",
        "Double, dueling, noisy, prioritised, n-step and categorical together",
        page!("rainbow_dqn"),
        rainbow,
    ),
    ("munchausen_dqn", "Soft DQN rewarded for its own certainty", page!("munchausen_dqn"), || DqnConfig {
        backup: Backup::Soft,
        munchausen_alpha: 0.9,
        ..base()
    }),
    (
        "munchausen_double_dqn",
        "Munchausen DQN with the next policy from the online network",
        page!("munchausen_double_dqn"),
        || DqnConfig { backup: Backup::Soft, munchausen_alpha: 0.9, double_q: true, ..base() },
    ),
    ("mellowmax_dqn", "DQN with a smooth maximum", page!("mellowmax_dqn"), || DqnConfig {
        backup: Backup::Mellowmax,
        ..base()
    }),
    ("soft_dqn", "DQN that values the entropy of its next policy", page!("soft_dqn"), || DqnConfig {
        backup: Backup::Soft,
        ..base()
    }),
    ("soft_double_dqn", "Soft DQN with the next policy from the online network", page!("soft_double_dqn"), || {
        DqnConfig { backup: Backup::Soft, double_q: true, ..base() }
    }),
    ("boltzmann_dqn", "DQN that explores and backs up with a softmax policy", page!("boltzmann_dqn"), || DqnConfig {
        backup: Backup::Boltzmann,
        exploration: Exploration::Boltzmann,
        ..base()
    }),
    (
        "boltzmann_double_dqn",
        "Boltzmann DQN with the next policy from the online network",
        page!("boltzmann_double_dqn"),
        || DqnConfig { backup: Backup::Boltzmann, exploration: Exploration::Boltzmann, double_q: true, ..base() },
    ),
    ("expected_sarsa", "Values the policy that explores, not the greedy one", page!("expected_sarsa"), || DqnConfig {
        backup: Backup::Expected,
        ..base()
    }),
    (
        "expected_double_dqn",
        "Expected SARSA with the next policy from the online network",
        page!("expected_double_dqn"),
        || DqnConfig { backup: Backup::Expected, double_q: true, ..base() },
    ),
    (
        "advantage_learning_dqn",
        "DQN that widens the gap between best and other actions",
        page!("advantage_learning_dqn"),
        || DqnConfig { advantage_alpha: 0.9, ..base() },
    ),
    (
        "persistent_advantage_learning_dqn",
        "Advantage learning that favours repeating an action",
        page!("persistent_advantage_learning_dqn"),
        || DqnConfig { advantage_alpha: 0.9, persistent_advantage: true, ..base() },
    ),
    (
        "clipped_double_dqn",
        "DQN with two networks, of which the more cautious counts",
        page!("clipped_double_dqn"),
        || DqnConfig { twin: true, double_q: true, ..base() },
    ),
    ("hysteretic_dqn", "DQN that is slow to believe bad news", page!("hysteretic_dqn"), || DqnConfig {
        hysteretic_beta: 0.5,
        ..base()
    }),
    ("cql_dqn", "DQN with a conservative penalty on actions not taken", page!("cql_dqn"), || DqnConfig {
        cql_alpha: 1.0,
        ..base()
    }),
    ("cql_double_dqn", "Conservative double DQN", page!("cql_double_dqn"), || DqnConfig {
        cql_alpha: 1.0,
        double_q: true,
        ..base()
    }),
];

fn base() -> DqnConfig {
    DqnConfig::default()
}

/// Deep recurrent Q-learning: a memory, learned from sequences.
pub fn drqn() -> DqnConfig {
    DqnConfig {
        memory: MemoryKind::Lstm,
        hidden_sizes: vec![64],
        buffer_capacity: 50_000,
        batch_size: 32,
        train_frequency: 4,
        target_update_interval: 500,
        exploration_fraction: 0.2,
        ..base()
    }
}

/// What R2D2 adds.
pub fn r2d2() -> DqnConfig {
    DqnConfig {
        adam_eps: 1e-3,
        head_sizes: vec![64],
        dueling: true,
        sequence_length: 20,
        burn_in: 5,
        stored_state: true,
        double_q: true,
        n_step: 5,
        value_rescale: true,
        prioritized_replay: true,
        prioritized_alpha: 0.9,
        prioritized_beta: Schedule::Constant(0.6),
        ..drqn()
    }
}

fn rainbow() -> DqnConfig {
    DqnConfig {
        double_q: true,
        dueling: true,
        noisy: true,
        prioritized_replay: true,
        prioritized_alpha: 0.5,
        n_step: 3,
        head: HeadKind::Categorical,
        adam_eps: 1.5e-4,
        learning_rate: Schedule::Constant(5e-4),
        ..base()
    }
}
