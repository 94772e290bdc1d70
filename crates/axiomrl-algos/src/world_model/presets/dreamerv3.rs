//! # DreamerV3: one set of settings for many worlds
//!
//! **What it does.** Learns a model of the world from replayed sequences: a recurrent state that is updated by what is seen
//! and done, and that predicts observations, rewards and ends. Policy and critic learn in what the model imagines, without
//! another step in the environment. Whatever differs between tasks in scale is compressed, normalised or bounded, so that the same
//! settings do for images and numbers, rare rewards and dense ones, choices and continuous actions.
//!
//! **When to use it.** Steps are dear and computation is not; images; partial observation, since the state remembers. A
//! step of learning costs far more than one of `sac` or `dqn`.
//!
//! **The update.** On `batch_size` windows of `batch_length` rows, each row an observation x, the reward r for arriving there and
//! the action a taken from it. The model, with posterior q and prior p of the stochastic part of a state:
//! ```text
//! h_t = core(h_t-1, z_t-1, a_t-1),  z_t ~ q(h_t, encoder(x_t)),  prior p(h_t)
//! loss  = |decoder(h_t, z_t) - x_t|^2 - log p(r_t | h_t, z_t) - log p(c_t | h_t, z_t)
//!         + max(1, KL[stop(q) | p]) + 0.1 max(1, KL[q | stop(p)]),   c_t = gamma (1 - terminal_t)
//! ```
//! Behaviour, in trajectories s_0 ... s_H that are imagined from every row with the prior and the policy:
//! ```text
//! R_t    = r_t+1 + c_t+1 ((1 - lambda) v_t+1 + lambda R_t+1),   R_H = v_H
//! w_t    = c_0 c_1 ... c_t
//! actor  = - w_t (log pi(a_t | s_t) (R_t - v_t) / max(1, S) + entropy_coef H_t),   S = P95(R) - P5(R), slowly
//! critic = w_t (CE(v_t, R_t) + CE(v_t, slow v_t))
//! ```
//! and 0.3 times the same critic's loss on the replayed rows themselves, which teaches the model too.
//!
//! **Details that matter.**
//! - A state is `deter_size` numbers of a GRU in eight blocks, and `latent_groups` choices out of `latent_classes` each, one-hot,
//!   1 % of every distribution uniform (`unimix`). At the beginning of an episode state and action are emptied.
//! - Rewards and values are distributions over 255 bins whose distances grow exponentially; the heads begin with 0. Observed
//!   numbers pass through symlog.
//! - One optimiser for everything, LaProp, each tensor's gradient clipped at `adaptive_clip` of the tensor's norm.
//! - `train_ratio` replayed rows for each environment step: 32 to 1024. With 16 windows of 64 rows, 512 is an update every other
//!   step.
//! - Windows begin anywhere and cross ends of episodes. They begin with the state that the model had there
//!   (`stored_latents`): kept in half precision when the row is collected, and written back when it was learned from. What
//!   just arrived is drawn first (`online_queue`).
//! - `size` is one of `cpu_tiny`, `1m`, `12m`, `25m`, `50m`, `100m`, `200m`, `400m`. The publication uses 200 million parameters;
//!   here 12 million are the default.
//! - Images have sides that can be halved to four to sixteen pixels: 16, 32, 64, 96, 128. `vision: flat` takes the pixels of a
//!   smaller board as numbers.
//! - On a board of a few pixels one pixel is worth less to the decoder than the nats it costs to remember: raise
//!   `observation_loss_scale` (10), or the ball is left out of the state. The same goes for numbers of small size.
//! - `entropy_coef` is for returns of a spread of 1; 0.0003 is the publication's, 0.01 or more finds a small task sooner.
//! - `reward_scale` and `reward_tanh` are not needed, and best left alone.
//! - Evaluation takes the likeliest action; the state is drawn.
//! - `open_loop_error` in the log is the error of five rows that the model foresees from actions alone, as a part of that of
//!   showing the last one again.
//!
//! **What is left out.** Convolutions have stride 2 where the publication pools; the decoder enlarges and convolves with three
//! by three pixels, and takes the whole state through one linear map. Numbers have one encoder for all of them.
//!
//! **Reference.** Hafner, Pasukonis, Ba and Lillicrap, Mastering diverse domains through world models, 2023; Nature, 2025.

use super::super::choices::{ActorGradient, Core, FreeNatsOf, Heads, Latents, OptimizerKind, Returns, Sight, Size};
use super::super::settings::WorldModelConfig;
use axiomrl_core::Schedule;

pub const SUMMARY: &str = "A world model, and a policy in what it imagines";

pub fn preset() -> WorldModelConfig {
    WorldModelConfig {
        buffer_capacity: 1_000_000,
        batch_size: 16,
        batch_length: 64,
        train_ratio: 32.0,
        learning_starts: 0,
        stored_latents: true,
        online_queue: true,
        gamma: 1.0 - 1.0 / 333.0,
        reward_scale: 1.0,
        reward_tanh: false,
        vision: Sight::Auto,
        size: Some(Size::M12),
        deter_size: None,
        hidden_size: None,
        latent_groups: None,
        latent_classes: None,
        conv_depth: None,
        units: None,
        latent_size: 32,
        encoder_layers: 3,
        reward_layers: 1,
        continue_layers: 1,
        actor_layers: 3,
        critic_layers: 3,
        latents: Latents::Categorical,
        core: Core::BlockGru,
        heads: Heads::TwoHot,
        unimix: 0.01,
        observation_loss_scale: 1.0,
        reward_loss_scale: 1.0,
        continue_head: true,
        continue_loss_scale: 1.0,
        dyn_scale: Some(1.0),
        rep_scale: Some(0.1),
        free_nats: Some(1.0),
        free_nats_of: FreeNatsOf::Row,
        imagination_horizon: 15,
        imagination_last: None,
        lambda: 0.95,
        returns: Returns::Next,
        actor_gradient: ActorGradient::Reinforce,
        entropy_coef: Some(3e-4),
        exploration_noise: 0.0,
        normalize_returns: true,
        slow_critic_fraction: 0.02,
        slow_critic_interval: 1,
        slow_critic_targets: false,
        slow_critic_scale: 1.0,
        replay_critic_scale: 0.3,
        optimizer: OptimizerKind::Laprop,
        learning_rate: Schedule::Constant(4e-5),
        actor_learning_rate: Schedule::Constant(4e-5),
        critic_learning_rate: Schedule::Constant(4e-5),
        warmup_updates: 1000,
        max_grad_norm: 1000.0,
        adaptive_clip: 0.3,
        weight_decay: 0.0,
    }
}
