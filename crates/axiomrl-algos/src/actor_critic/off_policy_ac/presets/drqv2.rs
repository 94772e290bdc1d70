//! # DrQ-v2: control from pixels
//!
//! **What it does.** Learns continuous control from images: deterministic actor, twin critics, random shifts of the
//! images, and returns over several steps.
//!
//! **When to use it.** Box actions seen through a camera. From vectors, `sac` or `td3` learn faster.
//!
//! **The update.** With an encoder f that actor and critics share, and views x~, x~' shifted at random:
//! ```text
//! a'   = clamp(mu(f(x~')) + clip(sigma * noise, -c, c))
//! y    = R + D * min(Q'1(f(x~'), a'), Q'2(f(x~'), a'))
//! loss = mean (Q1(f(x~), a) - y)^2 + mean (Q2(f(x~), a) - y)^2        trains critics and encoder
//!      - mean min(Q1, Q2)(f(x~), mu(f(x~)) + clipped noise)           trains the actor, the encoder held fixed
//! ```
//!
//! **Details that matter.**
//! - Images are padded with their own edge by `shift` pixels and cut out again at a random place: one shift for a whole
//!   stack of frames, another for the next observation.
//! - The size of the noise falls with `exploration_noise` over the run; it is clipped in updates, not when acting.
//! - Actor and critics each compress what the encoder saw to `feature_dim` numbers, with LayerNorm and tanh.
//! - Only the critics have a slow copy; targets look with the encoder itself.
//! - One update every two steps (`train_frequency`). Use `frame_stack: 3`, and `action_repeat: 2` as in the paper.
//! - Stacked frames are stored once: 100,000 observations of 84x84 with three grey frames take 0.7 GB.
//! - The sizes of the paper (`vision: drq`, 1024 hidden units) are meant for 84x84 images and patience; `vision: small`
//!   learns 32x32 images in minutes.
//! - Works with vectors, too: then there is nothing to shift.
//!
//! **What is left out.** Pixels are scaled to 0..1, not to -0.5..0.5. Transitions are drawn uniformly, not episode by
//! episode.
//!
//! **Reference.** Yarats, Fergus, Lazaric and Pinto, Mastering visual continuous control: improved data-augmented
//! reinforcement learning, 2021.

use super::super::settings::AcConfig;
use crate::parts::input::Vision;
use crate::parts::noise::Exploration;
use crate::parts::squashed_actor::ActorKind;
use axiomrl_core::Schedule;

pub const SUMMARY: &str = "Image augmentation and n-step returns for control from pixels";

pub fn preset() -> AcConfig {
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
        ..super::sac::preset()
    }
}
