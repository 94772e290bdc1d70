//! # CURL: contrastive features for control from pixels
//!
//! **What it does.** SAC from pixels whose encoder also learns to recognise two shifted views of the same image among
//! those of the rest of the batch.
//!
//! **When to use it.** To compare with `drq` and `drqv2`, which reach more with less.
//!
//! **The update.** Besides SAC's losses, with a slow copy f' of the encoder f and a learned matrix W:
//! ```text
//! logits_ij = f(x~_i)' W f'(x^_j)
//! loss      = mean_i cross-entropy(softmax_j logits_ij, i)          trains encoder and W
//! ```
//!
//! **Details that matter.**
//! - The encoder includes the compression to `feature_dim` numbers. Critics, actor and contrastive task share it; the
//!   actor does not train it.
//! - `encoder_tau` moves the slow copy, `tau` that of the critics, every `policy_delay` updates.
//! - Needs images: with vectors the contrastive task is left away, and what remains is SAC with a compressed input.
//!
//! **What is left out.** The paper cuts 84x84 views out of 100x100 images; here views are random shifts, as in `drq`. One
//! optimiser for encoder and critics.
//!
//! **Reference.** Laskin, Srinivas and Abbeel, CURL: contrastive unsupervised representations for reinforcement learning,
//! 2020.

use super::super::settings::AcConfig;

pub const SUMMARY: &str = "SAC from pixels with contrastive features";

pub fn preset() -> AcConfig {
    AcConfig {
        encoder_tau: Some(0.05),
        target_views: 1,
        prediction_views: 1,
        contrastive: true,
        ..super::drq::preset()
    }
}
