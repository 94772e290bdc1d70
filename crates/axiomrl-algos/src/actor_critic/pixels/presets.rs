//! The algorithms that are settings of this learner.

use super::settings::{PixelActor, PixelConfig};
use crate::parts::input::Vision;
use crate::parts::temperature::TemperatureSetting;
use axiomrl_core::Schedule;

/// Name, summary, user's page and settings of each.
pub const VARIANTS: &[(&str, &str, &str, fn() -> PixelConfig)] = &[
    (
        "drqv2",
        "Image augmentation and n-step returns for control from pixels",
        include_str!("../../../pages/drqv2.md"),
        drqv2,
    ),
    ("drq", "SAC from pixels with averaged augmentations", include_str!("../../../pages/drq.md"), drq),
    ("curl", "SAC from pixels with contrastive features", include_str!("../../../pages/curl.md"), curl),
];

/// DrQ-v2 with the sizes of its paper.
pub fn drqv2() -> PixelConfig {
    PixelConfig {
        learning_rate: Schedule::Constant(1e-4),
        buffer_capacity: 100_000,
        batch_size: 256,
        learning_starts: 2000,
        train_frequency: 2,
        gradient_steps: 1,
        policy_delay: 1,
        tau: 0.01,
        encoder_tau: None,
        gamma: 0.99,
        n_step: 3,
        reward_scale: 1.0,
        vision: Vision::Drq,
        feature_dim: 50,
        hidden_sizes: vec![1024, 1024],
        actor: PixelActor::ScheduledNoise,
        exploration_noise: Schedule::Linear { start: 1.0, end: 0.1, fraction: 0.5 },
        noise_clip: 0.3,
        ent_coef: None,
        ent_coef_init: 0.1,
        target_entropy: None,
        shift: 4,
        target_views: 1,
        prediction_views: 1,
        contrastive: false,
    }
}

/// DrQ: soft actor-critic with two views on both sides.
pub fn drq() -> PixelConfig {
    PixelConfig {
        learning_rate: Schedule::Constant(1e-3),
        batch_size: 128,
        learning_starts: 1000,
        train_frequency: 1,
        policy_delay: 2,
        encoder_tau: Some(0.01),
        n_step: 1,
        actor: PixelActor::TanhGaussian,
        ent_coef: Some(TemperatureSetting::Auto),
        target_views: 2,
        prediction_views: 2,
        ..drqv2()
    }
}

/// CURL: soft actor-critic with a contrastive task for the encoder.
pub fn curl() -> PixelConfig {
    PixelConfig { encoder_tau: Some(0.05), target_views: 1, prediction_views: 1, contrastive: true, ..drq() }
}
