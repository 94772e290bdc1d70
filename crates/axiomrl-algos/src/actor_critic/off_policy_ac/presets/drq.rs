//! # DrQ: soft actor-critic with image augmentation
//!
//! **What it does.** SAC from pixels, with every target averaged over `target_views` shifted views of the next image and
//! learned by `prediction_views` shifted views of the image.
//!
//! **When to use it.** As `drqv2`, which is simpler and usually faster; DrQ explores by entropy instead of a schedule.
//!
//! **The update.** As `sac`, with K = M = 2 views:
//! ```text
//! y    = R + D * mean_k [ min Q'(f'(x~'_k), a'_k) - alpha log pi(a'_k) ]       a'_k ~ pi(f(x~'_k))
//! loss = mean_m mean (Q(f(x~_m), a) - y)^2
//! ```
//!
//! **Details that matter.**
//! - The encoder is trained by the critics alone. Its slow copy f' (`encoder_tau`) and that of the critics (`tau`) are
//!   moved, and the actor is trained, every `policy_delay` updates.
//! - Actor and critics each compress what was seen to `feature_dim` numbers, with LayerNorm and tanh.
//! - The temperature is adapted as in `sac`, from `ent_coef_init`.
//! - Stacked frames are stored once. Works with vectors, too: then there is nothing to shift.
//!
//! **What is left out.** The actor is trained on what the encoder saw before the critics' step, not after it.
//!
//! **Reference.** Yarats, Kostrikov and Fergus, Image augmentation is all you need, 2021.

use super::super::settings::AcConfig;
use crate::parts::noise::Exploration;
use crate::parts::squashed_actor::ActorKind;
use crate::parts::temperature::TemperatureSetting;
use axiomrl_core::Schedule;

pub const SUMMARY: &str = "SAC from pixels with averaged augmentations";

pub fn preset() -> AcConfig {
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
        ..super::drqv2::preset()
    }
}
