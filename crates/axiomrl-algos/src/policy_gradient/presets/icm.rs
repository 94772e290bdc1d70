//! # ICM: the intrinsic curiosity module
//!
//! **What it does.** PPO that pays itself for what it could not foresee. A model learns features of observations in which the action
//! between two of them can be named, and foresees the features that an action leads to; its error is a bonus.
//!
//! **When to use it.** As `rnd`: rewards that chance alone does not find. What no action can change leaves no trace in features that are
//! learned to name actions, so that leaves on a tree in the wind are soon no news. `rnd` is simpler, and on most tasks at
//! least as good.
//!
//! **The update.** With the features u, u' of what was seen before and after the action a, and k = `forward_loss_coef`:
//! ```text
//! bonus:  b = bonus_scale * 1/2 |forward(u, a) - u'|^2, by the networks of before the rollout
//! loss of the model  = (1 - k) * cross-entropy(inverse(u, u'), a) + k * mean 1/2 |forward(u, a) - u'|^2
//! loss of the policy = that of ppo, with values of rewards and of bonuses
//! ```
//!
//! **Details that matter.**
//! - `feature_gradient: inverse` keeps the forward model's loss away from the features: they cannot shrink to be foreseen. With `both`
//!   it moves them, too, as in the publication.
//! - `two_streams: true` treats bonuses as `rnd` does: divided by the running deviation of their own discounted sum, with values and a
//!   discount of their own, and without ends. The features' scale drifts while they are learned, which a fixed weight would feel.
//!   With `false` the bonus is added to the reward, `intrinsic_coef` times, in one value that ends with the episode: the publication's.
//! - Box actions are named by a tanh and a squared error; what is compared is the action as it is executed. Of several choices at once
//!   each is named by itself.
//! - Observations are standardised by statistics of its own and clipped at ±5; `warm_up_steps` random steps set them, and count as
//!   steps. Choices and images are left as they are.
//! - A step that ends an episode is judged by the last observation of that episode.
//! - The model has an Adam of its own (`curiosity_learning_rate`), clipped at a norm of 40, and takes as many passes over a rollout as
//!   the policy.
//! - `intrinsic_coef: 0` and `permute_bonus: true` are controls: the one pays nothing, the other pays for no reason.
//! - `inverse_accuracy` says how well the features tell actions apart; near chance, the bonus means little.
//! - Everything of `ppo` is here, images, masks and memories included; `memory: lstm` gives the policy one. `a2c` has the same settings.
//!
//! **What is left out.** Statistics of pixels; the asynchronous actors of the publication.
//!
//! **Reference.** Pathak and others, Curiosity-driven exploration by self-supervised prediction, 2017.

use super::super::{CuriosityKind, PpoConfig};
use axiomrl_core::Schedule;

pub const SUMMARY: &str = "Exploration by the intrinsic curiosity module, on PPO";

pub fn preset() -> PpoConfig {
    PpoConfig {
        curiosity: CuriosityKind::Icm,
        warm_up_steps: 1000,
        num_steps: 128,
        minibatch_size: 512,
        update_epochs: 4,
        ent_coef: Schedule::Constant(0.001),
        ..PpoConfig::default()
    }
}
