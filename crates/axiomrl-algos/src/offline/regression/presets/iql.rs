//! # IQL: implicit Q-learning
//!
//! **What it does.** Learns from recorded transitions how good the better recorded actions are, and imitates those. No network
//! is ever asked about an action that is not in the data, so none can be wrong about one.
//!
//! **When to use it.** The first thing to try where there is a dataset and no environment to practise in, or one to go on in
//! afterwards. Discrete and Box actions.
//!
//! **The update.** With slowly moving critics Q', in this order:
//! ```text
//! q       = min_i Q'_i(s, a)
//! value:    mean |tau_e - 1{u < 0}| * u^2,  u = q - V(s)
//! policy:   -mean w * log pi(a|s),  w = min(exp(beta * (q - V(s))), max_weight)
//! critics:  sum_i mean (Q_i(s, a) - y)^2,  y = R + D * V(s')
//! ```
//!
//! **Details that matter.**
//! - V is an expectile of q over the recorded actions of an observation. At an `expectile` of 0.5 it is their mean, which makes
//!   this a gentle improvement on imitation; towards 1 it is the best of them, which luck can pass for skill.
//! - `beta` multiplies the advantage. Its unit is the reward's: scale rewards (`reward_scale` of the `dataset` block) so that the
//!   best and the worst episode differ by about the number of steps of one; for Pendulum that is 0.1.
//! - Policy and critics use V after its step. There is no slow copy of V, and targets draw no actions.
//! - The policy is a Gaussian round a tanh, with one standard deviation for all observations; recorded actions at the bounds do
//!   no harm. Among Discrete actions it is a softmax, and critics have an output for each.
//! - The policy's step size falls to 0 along half a cosine. To go on in the environment (`online_timesteps`) give
//!   `actor_learning_rate` a number; actions are then drawn and clipped, and batches are mixed by `offline_batch_ratio`.
//! - Each network looks at images with convolutions of its own (`vision`).
//!
//! **What is left out.** Nothing of the method. `actor_dropout: 0.1` is what the publication uses where demonstrations are few.
//!
//! **Reference.** Kostrikov, Nair and Levine, Offline reinforcement learning with implicit Q-learning, 2021.

use super::super::settings::{AdvantageKind, AdvantageScale, PolicyKind, RegressionConfig, WeightKind};
use crate::parts::input::Vision;
use axiomrl_core::Schedule;
use axiomrl_nn::Activation;

pub const SUMMARY: &str = "Implicit Q-learning, from recorded transitions";

pub fn preset() -> RegressionConfig {
    RegressionConfig {
        learning_rate: Schedule::Constant(3e-4),
        actor_learning_rate: Some(Schedule::Cosine { start: 3e-4, end: 0.0 }),
        buffer_capacity: 1_000_000,
        batch_size: 256,
        learning_starts: 0,
        train_frequency: 1,
        gradient_steps: 1,
        gamma: 0.99,
        n_step: 1,
        offline: true,
        online_timesteps: 0,
        offline_batch_ratio: 0.5,
        offline_pretrain_updates: 0,
        vision: Vision::Auto,
        hidden_sizes: vec![256, 256],
        activation: Activation::Relu,
        orthogonal_init: true,
        policy: PolicyKind::Gaussian,
        log_std_init: 0.0,
        learn_std: true,
        bounds_penalty: 0.0,
        actor_dropout: 0.0,
        advantage: AdvantageKind::Expectile,
        n_action_samples: 1,
        target_policy: false,
        advantage_before_update: false,
        expectile: 0.7,
        gumbel_temperature: 2.0,
        gumbel_clip: 7.0,
        td_lambda: 0.95,
        value_updates: 200,
        actor_updates: 1000,
        value_layer_norm: false,
        weight: WeightKind::Exp,
        beta: 3.0,
        max_weight: 100.0,
        advantage_scale: AdvantageScale::None,
        advantage_rate: 0.01,
        n_critics: 2,
        critic_loss_coef: 2.0,
        critic_huber: None,
        tau: 0.005,
        target_update_interval: 1,
    }
}
