//! The algorithms that are settings of this learner.

use super::settings::{AcConfig, ActorReducer, CriticOutput, TargetAction, TargetReducer};
use crate::parts::input::Vision;
use crate::parts::noise::Exploration;
use crate::parts::squashed_actor::ActorKind;
use crate::parts::temperature::TemperatureSetting;
use crate::parts::torso::MemoryKind;
use axiomrl_core::{GoalStrategy, Schedule};
use axiomrl_nn::Activation;

/// Name, summary, user's page and settings of each.
pub const VARIANTS: &[(&str, &str, &str, fn() -> AcConfig)] = &[
    ("ddpg", "Deep deterministic policy gradient", include_str!("../../../pages/ddpg.md"), ddpg),
    ("td3", "Twin delayed DDPG", include_str!("../../../pages/td3.md"), td3),
    ("sac", "Soft actor-critic", include_str!("../../../pages/sac.md"), sac),
    ("d4pg", "Distributional DDPG with n-step returns", include_str!("../../../pages/d4pg.md"), d4pg),
    ("tqc", "SAC with truncated quantile critics", include_str!("../../../pages/tqc.md"), tqc),
    ("redq", "SAC with a randomised ensemble of ten critics", include_str!("../../../pages/redq.md"), redq),
    ("droq", "SAC with dropout and LayerNorm critics", include_str!("../../../pages/droq.md"), droq),
    ("crossq", "SAC without target networks", include_str!("../../../pages/crossq.md"), crossq),
];

/// The same for those that are meant for images.
pub const FROM_IMAGES: &[(&str, &str, &str, fn() -> AcConfig)] = &[
    (
        "drqv2",
        "Image augmentation and n-step returns for control from pixels",
        include_str!("../../../pages/drqv2.md"),
        drqv2,
    ),
    ("drq", "SAC from pixels with averaged augmentations", include_str!("../../../pages/drq.md"), drq),
    ("curl", "SAC from pixels with contrastive features", include_str!("../../../pages/curl.md"), curl),
];

/// The same for those that remember.
pub const WITH_MEMORY: &[(&str, &str, &str, fn() -> AcConfig)] = &[
    ("recurrent_sac", "Soft actor-critic with an LSTM", include_str!("../../../pages/recurrent_sac.md"), recurrent_sac),
    ("recurrent_td3", "Twin delayed DDPG with an LSTM", include_str!("../../../pages/recurrent_td3.md"), recurrent_td3),
];

/// Soft actor-critic with twin critics.
pub fn sac() -> AcConfig {
    AcConfig {
        learning_rate: Schedule::Constant(3e-4),
        actor_learning_rate: None,
        critic_learning_rate: None,
        ent_coef_learning_rate: None,
        adam_beta1: 0.9,
        max_grad_norm: None,
        max_action_grad_norm: None,
        buffer_capacity: 1_000_000,
        batch_size: 256,
        learning_starts: 100,
        train_frequency: 1,
        gradient_steps: 1,
        policy_delay: 1,
        actor_once_per_block: false,
        tau: 0.005,
        encoder_tau: None,
        gamma: 0.99,
        n_step: 1,
        reward_scale: 1.0,
        actor: ActorKind::TanhGaussian,
        log_std_min: -20.0,
        ent_coef: Some(TemperatureSetting::Auto),
        ent_coef_init: 1.0,
        target_entropy: None,
        entropy_backup: true,
        exploration: Exploration::Policy,
        exploration_noise: Schedule::Constant(1.0),
        exploration_horizon: 1000,
        target_action: TargetAction::OnlineActor,
        target_noise: 0.2,
        target_noise_clip: 0.5,
        vision: Vision::Auto,
        feature_dim: None,
        shift: 0,
        target_views: 1,
        prediction_views: 1,
        contrastive: false,
        memory: MemoryKind::None,
        recurrent_hidden_size: 128,
        head_sizes: vec![128],
        sequence_length: 40,
        burn_in: 0,
        overlap: None,
        stored_state: false,
        hidden_sizes: vec![256, 256],
        critic_hidden_sizes: None,
        activation: Activation::Relu,
        final_layer_bound: None,
        n_critics: 2,
        critic_output: CriticOutput::Scalar,
        critic_loss_coef: 1.0,
        n_atoms: 51,
        v_min: -150.0,
        v_max: 150.0,
        n_quantiles: 25,
        top_quantiles_to_drop: 2,
        critic_layer_norm: false,
        critic_dropout: 0.0,
        batch_renorm: false,
        actor_batch_renorm: false,
        batch_renorm_warmup: 100_000,
        target_reducer: TargetReducer::Min,
        subset_size: 2,
        actor_reducer: ActorReducer::Min,
        prioritized_replay: false,
        prioritized_alpha: 0.6,
        prioritized_beta: Schedule::Linear { start: 0.4, end: 1.0, fraction: 1.0 },
        prioritized_eps: 1e-6,
        n_sampled_goal: 0,
        goal_selection_strategy: GoalStrategy::Future,
    }
}

impl Default for AcConfig {
    fn default() -> Self {
        sac()
    }
}

/// One critic, a deterministic actor, copies of both.
pub fn ddpg() -> AcConfig {
    AcConfig {
        learning_rate: Schedule::Constant(1e-3),
        learning_starts: 1000,
        actor: ActorKind::Deterministic,
        ent_coef: None,
        exploration: Exploration::Gaussian,
        exploration_noise: Schedule::Constant(0.1),
        target_action: TargetAction::TargetActor,
        final_layer_bound: Some(3e-3),
        n_critics: 1,
        actor_reducer: ActorReducer::First,
        ..sac()
    }
}

/// DDPG with the lower of two critics, smoothed targets and a slower actor.
pub fn td3() -> AcConfig {
    AcConfig {
        target_action: TargetAction::TargetActorSmoothed,
        final_layer_bound: None,
        n_critics: 2,
        policy_delay: 2,
        ..ddpg()
    }
}

/// DDPG with a categorical critic and n-step returns.
fn d4pg() -> AcConfig {
    AcConfig {
        learning_rate: Schedule::Constant(3e-4),
        n_step: 5,
        exploration_noise: Schedule::Constant(0.2),
        critic_output: CriticOutput::Categorical,
        critic_layer_norm: true,
        max_action_grad_norm: Some(1.0),
        max_grad_norm: Some(40.0),
        ..ddpg()
    }
}

/// Quantile critics whose highest quantiles do not count.
fn tqc() -> AcConfig {
    AcConfig {
        critic_output: CriticOutput::Quantile,
        target_reducer: TargetReducer::Truncated,
        actor_reducer: ActorReducer::Mean,
        ..sac()
    }
}

/// Ten critics, the lower of two random ones as target, twenty updates per step.
fn redq() -> AcConfig {
    AcConfig {
        n_critics: 10,
        target_reducer: TargetReducer::SubsetMin,
        subset_size: 2,
        actor_reducer: ActorReducer::Mean,
        gradient_steps: 20,
        actor_once_per_block: true,
        learning_starts: 1000,
        ..sac()
    }
}

/// Two critics with dropout and LayerNorm do the work of REDQ's ten.
fn droq() -> AcConfig {
    AcConfig {
        n_critics: 2,
        critic_layer_norm: true,
        critic_dropout: 0.01,
        target_reducer: TargetReducer::Min,
        ..redq()
    }
}

/// Batch renormalisation over both halves of the transition makes target critics needless.
fn crossq() -> AcConfig {
    AcConfig {
        learning_rate: Schedule::Constant(1e-3),
        adam_beta1: 0.5,
        batch_renorm: true,
        actor_batch_renorm: true,
        policy_delay: 3,
        ..sac()
    }
}

/// DrQ-v2 with the sizes of its paper: a deterministic actor whose noise shrinks, over shifted images.
pub fn drqv2() -> AcConfig {
    AcConfig {
        learning_rate: Schedule::Constant(1e-4),
        buffer_capacity: 100_000,
        learning_starts: 2000,
        train_frequency: 2,
        tau: 0.01,
        n_step: 3,
        vision: Vision::Drq,
        feature_dim: Some(50),
        hidden_sizes: vec![1024, 1024],
        actor: ActorKind::ScheduledNoise,
        exploration: Exploration::Gaussian,
        exploration_noise: Schedule::Linear { start: 1.0, end: 0.1, fraction: 0.5 },
        target_noise_clip: 0.3,
        ent_coef: None,
        ent_coef_init: 0.1,
        log_std_min: -10.0,
        shift: 4,
        // The squared error, without the half that others put before it.
        critic_loss_coef: 2.0,
        ..sac()
    }
}

/// DrQ: soft actor-critic with two views on both sides.
pub fn drq() -> AcConfig {
    AcConfig {
        learning_rate: Schedule::Constant(1e-3),
        batch_size: 128,
        learning_starts: 1000,
        train_frequency: 1,
        policy_delay: 2,
        encoder_tau: Some(0.01),
        n_step: 1,
        actor: ActorKind::TanhGaussian,
        exploration: Exploration::Policy,
        ent_coef: Some(TemperatureSetting::Auto),
        target_views: 2,
        prediction_views: 2,
        ..drqv2()
    }
}

/// CURL: soft actor-critic with a contrastive task for the encoder.
pub fn curl() -> AcConfig {
    AcConfig { encoder_tau: Some(0.05), target_views: 1, prediction_views: 1, contrastive: true, ..drq() }
}

/// SAC whose actor and critics remember.
pub fn recurrent_sac() -> AcConfig {
    AcConfig {
        memory: MemoryKind::Lstm,
        hidden_sizes: vec![128],
        recurrent_hidden_size: 128,
        head_sizes: vec![128],
        batch_size: 32,
        sequence_length: 32,
        learning_starts: 1000,
        ..sac()
    }
}

/// TD3 whose actor and critics remember.
pub fn recurrent_td3() -> AcConfig {
    AcConfig {
        learning_rate: Schedule::Constant(3e-4),
        memory: MemoryKind::Lstm,
        hidden_sizes: vec![128],
        recurrent_hidden_size: 128,
        head_sizes: vec![128],
        batch_size: 32,
        sequence_length: 32,
        ..td3()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use garde::Validate;

    #[test]
    fn every_preset_is_sound() {
        for (name, _, _, settings) in VARIANTS.iter().chain(FROM_IMAGES).chain(WITH_MEMORY) {
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
