//! # RLPD: reinforcement learning with prior data
//!
//! **What it does.** SAC that learns from its own steps and from transitions that somebody recorded, half of every batch
//! each, from the first update on. The recorded ones may be of any quality: demonstrations, a poor policy, a mixture.
//!
//! **When to use it.** There is recorded data and there is an environment to step in. A few demonstrations are enough
//! where reward lies too far from the start to be found by chance. Without an environment use `cql`, `iql` or `td3_bc`.
//!
//! **The update.** `gradient_steps` (20) times per step, each time on a new batch, with a random subset Z of the slowly
//! moving critics:
//! ```text
//! y       = R + D * (min_{i in Z} Q'_i(s', a') - alpha * log pi(a'))
//! critics:  mean over all ten, mean (Q_i(s, a) - y)^2
//! ```
//! and once, on the last of these batches:
//! ```text
//! actor:    mean (alpha * log pi(a) - mean_i Q_i(s, a))
//! alpha:    alpha * (H - target entropy),  H = - mean log pi(a) of the same actions
//! ```
//!
//! **Details that matter.**
//! - `offline_batch_ratio` (0.5) of a batch are recorded rows, drawn anew for each update. They are neither copied into the
//!   store nor pushed out of it, so their share does not shrink as the run goes on; `offline_fraction` in the log says what
//!   it is.
//! - Critics have LayerNorm, Linear then LayerNorm then ReLU (`critic_layer_norm`). The last layer then sees a vector of
//!   bounded length, and no action that was never recorded can be worth more than that allows. Without it, values may run
//!   away within a few thousand steps.
//! - The subset Z of `subset_size` critics is drawn for each update. Actor and temperature are constant during the twenty
//!   updates of the critics.
//! - The entropy aimed for is half of what `sac` aims for (`target_entropy_ratio`).
//! - What to try where the defaults do not do, as the publication does for each family of tasks: `subset_size: 1`, a third
//!   hidden layer, `entropy_backup: false`. Where reward is sparse, `ent_coef_init: 0.1` keeps the entropy from drowning it.
//! - `learning_starts` (5000) steps are random. On a small task that is the whole budget: use a few hundred.
//! - `offline_pretrain_updates` (0) are whole bursts on recorded rows alone before the first step, each with its actor's step.
//! - Recorded actions are kept within 0.00001 of the bounds. Scaled or shifted rewards (the block `dataset`) are those of
//!   recorded and own rows alike.
//! - Images: `vision: drq`, `shift: 4`, `encoder_tau: 0.005`, `gradient_steps: 1`, `subset_size: 1`,
//!   `entropy_backup: false`, `ent_coef_init: 0.1`. The critics train what looks at the images, and actor and critics each
//!   compress it to `feature_dim` numbers.
//!
//! **What is left out.** LayerNorm adds 0.00001 to a variance, a tenth of which the publication adds. Means and deviations
//! of the policy are one layer of weights, not two. From images: convolutions of 32 channels each in place of 32 to 256.
//!
//! **Reference.** Ball, Smith, Kostrikov and Levine, Efficient online reinforcement learning with offline data, 2023.

use super::super::settings::{AcConfig, WeightInit};
use crate::parts::temperature::TemperatureLoss;

pub const SUMMARY: &str = "SAC from its own and from recorded transitions";

pub fn preset() -> AcConfig {
    AcConfig {
        offline_batch_ratio: 0.5,
        learning_starts: 5000,
        critic_layer_norm: true,
        weight_init: WeightInit::Xavier,
        target_entropy_ratio: 0.5,
        ent_coef_loss: TemperatureLoss::Linear,
        // The squared error, averaged over ten critics.
        critic_loss_coef: 0.2,
        ..super::redq::preset()
    }
}
