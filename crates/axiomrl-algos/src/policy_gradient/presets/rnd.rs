//! # RND: random network distillation
//!
//! **What it does.** PPO that pays itself for seeing what it has seldom seen. A network learns to imitate another one, which is random
//! and never changes; where it errs it has been seldom, and the error is a bonus. Bonus and reward have values of their own.
//!
//! **When to use it.** Rewards that chance alone does not find: a long way without any, mazes, hard games. Where chance finds rewards
//! often enough, `ppo` needs fewer steps. Bonuses of steps that cannot be foreseen whatever one learns (noise in the observation) never
//! fade; `icm` looks at what actions do instead.
//!
//! **The update.** With f the random network, p its imitator, x' the standardised observation that a step led to:
//! ```text
//! bonus:  b = mean_d (p(x') - f(x'))^2, by the networks of before the rollout
//!         R <- gamma_i R + b in each environment, over ends of episodes;  r_i = b / running deviation of R
//! A     = c_e * GAE(reward, V_e, gamma, ends) + c_i * GAE(r_i, V_i, gamma_i, no ends)
//! loss of the imitator = mean_d (p(x') - f(x'))^2
//! loss of the policy   = that of ppo, with 1/2 (V_e - G_e)^2 + 1/2 (V_i - G_i)^2
//! ```
//!
//! **Details that matter.**
//! - The bonus knows no ends (`two_streams: true`): what is new stays so when an episode is over, and dying is no way out. Rewards end
//!   with the episode as always. Their discounts differ: `gamma` and `intrinsic_gamma`.
//! - Bonuses are divided by the running deviation of their own discounted sum and never centred: they shrink as the learner
//!   learns, and the policy should not feel it.
//! - What the bonus sees is standardised by statistics of its own and clipped at ±5; they begin with `warm_up_steps` random steps,
//!   which count as steps. Without them the first observations look like nothing or like everything. Choices and images are left
//!   as they are.
//! - A step that ends an episode is paid for the last observation of that episode, not for the first of the next one.
//! - The imitator takes as many passes over a rollout as the policy does, from 32 environments or as many rows of more
//!   (`predictor_share`): one that learns too fast leaves nothing to be curious about.
//! - `intrinsic_coef: 0` and `permute_bonus: true` are controls: the one pays nothing, the other pays for no reason.
//! - `two_streams: false` adds the bonus to the reward, `intrinsic_coef` times and not scaled.
//! - Everything of `ppo` is here, images, masks and memories included; `memory: lstm` gives the policy one. `a2c` has the same settings.
//! - `intrinsic_reward_mean` is the bonus before scaling. It falls while the learner gets to know the place, and rises where it gets
//!   further than before.
//!
//! **What is left out.** Statistics of pixels, and looking at the last frame of a stack alone; leaky ReLU, for which ELU stands; rewards
//! clipped to their sign.
//!
//! **Reference.** Burda and others, Exploration by random network distillation, 2018.

use super::super::{CuriosityKind, PpoConfig};
use axiomrl_core::Schedule;

pub const SUMMARY: &str = "Exploration by random network distillation, on PPO";

pub fn preset() -> PpoConfig {
    PpoConfig {
        curiosity: CuriosityKind::Rnd,
        warm_up_steps: 1000,
        curiosity_learning_rate: Schedule::Constant(1e-4),
        learning_rate: Schedule::Constant(1e-4),
        num_steps: 128,
        minibatch_size: 512,
        update_epochs: 4,
        clip_coef: Schedule::Constant(0.1),
        ent_coef: Schedule::Constant(0.001),
        gamma: 0.999,
        ..PpoConfig::default()
    }
}
