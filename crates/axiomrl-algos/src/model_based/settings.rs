//! From the settings that algorithms share to those of the parts.

use crate::config::{Idle, Problem};

/// The actor-critic that the group `..soft_policy` speaks of.
macro_rules! soft_policy {
    ($config:expr) => {
        $crate::actor_critic::AcConfig {
            learning_rate: $config.learning_rate.clone(),
            actor_learning_rate: $config.policy_learning_rate.clone(),
            batch_size: $config.batch_size,
            gamma: $config.gamma,
            hidden_sizes: $config.hidden_sizes.clone(),
            activation: $config.activation,
            tau: $config.tau,
            ent_coef: Some($config.ent_coef),
            ent_coef_init: $config.ent_coef_init,
            target_entropy: $config.target_entropy,
            ..$crate::actor_critic::presets::sac()
        }
    };
}

/// The ensemble that the groups `..dynamics` and `..model_fit` speak of.
macro_rules! dynamics_settings {
    ($config:expr) => {
        $crate::model_based::dynamics::DynamicsSettings {
            members: $config.num_ensembles,
            elites: $config.num_elites,
            hidden: $config.model_hidden_sizes.clone(),
            with_reward: true,
            standardize_targets: $config.standardize_targets,
            learned_bounds: $config.logvar_bounds == $crate::model_based::LogVarBounds::Learned,
            weight_decay: $config.model_weight_decay.clone(),
            max_grad_norm: $config.model_max_grad_norm,
            fit: $crate::model_based::dynamics::FitSettings {
                batch_size: $config.model_batch_size,
                holdout: Some(($config.holdout_ratio, $config.holdout_max)),
                patience: match $config.model_patience {
                    Some(patience) => $crate::model_based::dynamics::Patience::Steps {
                        interval: $config.model_check_interval,
                        patience,
                    },
                    None => $crate::model_based::dynamics::Patience::Epochs(5),
                },
                from_warm: $config.model_keep_best,
                most: [$config.model_updates_first.or($config.model_updates), $config.model_updates],
                epochs: 0,
                fewest: 0,
                permute: $config.permute_targets,
            },
        }
    };
}

/// Refuses what cannot be in the group `..model_fit`.
macro_rules! check_fit {
    ($config:expr) => {
        $crate::model_based::settings::elites_fit($config.num_elites, $config.num_ensembles)
    };
}

pub(crate) use {check_fit, dynamics_settings, soft_policy};

pub fn elites_fit(elites: usize, members: usize) -> Result<(), Problem> {
    Problem::when(elites > members, &["num_elites", "num_ensembles"], || {
        format!("`num_elites` {elites} is more than `num_ensembles` {members}")
    })
}

pub fn fit_idle(by_epochs: bool) -> Idle {
    Idle {
        now: by_epochs,
        keys: &["model_check_interval"],
        switch: Some("model_patience"),
        why: "rows held out are looked at after each epoch; set `model_patience`, 400 say",
    }
}
