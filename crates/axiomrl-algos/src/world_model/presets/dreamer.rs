//! # Dreamer: acting by imagination
//!
//! **What it does.** Learns a model of the world from replayed sequences: encoder, recurrent state-space model, decoder, and
//! heads for reward and end. Policy and critic learn in trajectories that the model imagines. For Discrete actions it is
//! DreamerV2's recipe: categorical states, a policy that learns by the likelihood of its actions. For Box actions it is the
//! first Dreamer's: Gaussian states, and a policy that learns by going back through the imagined steps into its actions.
//!
//! **When to use it.** As `dreamerv3`, which needs less care for the scale of rewards; this one is smaller and simpler.
//!
//! **The update.** On `batch_size` windows of `batch_length` rows, each row an observation x, the reward r for arriving there and
//! the action a taken from it:
//! ```text
//! h_t = GRU(h_t-1, z_t-1, a_t-1),  z_t ~ q(h_t, encoder(x_t)),  prior p(h_t)
//! model = |decoder(h_t, z_t) - x_t|^2 / 2 + (r - r_t)^2 / 2 - log p(c_t | h_t, z_t)
//!         + dyn_scale max(f, KL[stop(q) | p]) + rep_scale max(f, KL[q | stop(p)]),   c_t = gamma (1 - terminal_t)
//! ```
//! and in trajectories s_0 ... s_H that are imagined from every row:
//! ```text
//! R_t    = r_t+1 + c_t+1 ((1 - lambda) v'_t+1 + lambda R_t+1),   R_H = v'_H
//! w_t    = c_0 c_1 ... c_t / gamma,   c_0 that of the row
//! actor  = - w_t (log pi(a_t | s_t) (R_t - v'_t) + entropy_coef H_t)      Discrete
//! actor  = - w_t (R_t + entropy_coef H_t), through the model              Box
//! critic = w_t (v_t - R_t)^2 / 2
//! ```
//! with v' a copy of the critic that is renewed every `slow_critic_interval` updates.
//!
//! **Details that matter.**
//! - `latents`, `core` and `actor_gradient` follow from the action space while they are `auto`, and with them `dyn_scale`,
//!   `rep_scale`, `free_nats` and `entropy_coef` while they are absent. Every combination can be had.
//! - Values are in units of reward. A critic that begins with 0 takes thousands of updates to reach a value of 100: choose
//!   `reward_scale` so that returns are of the order of ten, or `reward_tanh` where rewards are rare and large.
//! - `train_ratio` replayed rows for each environment step: 160 is an update every five steps with 16 windows of 50.
//! - Windows begin anywhere, cross ends of episodes and begin with an empty state. At the beginning of an episode state and
//!   action are emptied.
//! - Box actions: a squashed Gaussian, explored with noise of deviation `exploration_noise`. Its `entropy_coef` weighs the entropy of
//!   the Gaussian before it is squashed; the publication has none.
//! - No gradient reaches the model from what is imagined, though the way back leads through it.
//! - Three optimisers, Adam, each with its own step size: `learning_rate` is that of the model.
//! - Images have sides that can be halved to four to sixteen pixels: 16, 32, 64, 96, 128. `vision: flat` takes the pixels of a
//!   smaller board as numbers; there, raise `observation_loss_scale`.
//! - `returns: own` is DreamerV2 as it was published: the value of a state contains its own reward, and an action is judged by the
//!   return of the next state.
//! - Evaluation takes the likeliest action; the state is drawn.
//!
//! **What is left out.** The mixture of both gradients of DreamerV2. The decoder enlarges and convolves with three by three pixels
//! in place of transposed convolutions. DreamerV1's critic had no slow copy, its start counted among no returns, and for Discrete actions it
//! explored by epsilon.
//!
//! **Reference.** Hafner, Lillicrap, Ba and Norouzi, Dream to control: learning behaviors by latent imagination, 2020; Hafner,
//! Lillicrap, Norouzi and Ba, Mastering Atari with discrete world models, 2021.

use super::super::choices::{ActorGradient, Core, FreeNatsOf, Heads, Latents, OptimizerKind};
use super::super::settings::WorldModelConfig;
use axiomrl_core::Schedule;

pub const SUMMARY: &str = "A world model of images or numbers, and a policy in what it imagines";

pub fn preset() -> WorldModelConfig {
    WorldModelConfig {
        batch_length: 50,
        train_ratio: 160.0,
        learning_starts: 1000,
        stored_latents: false,
        online_queue: false,
        gamma: 0.99,
        size: None,
        deter_size: Some(200),
        hidden_size: Some(200),
        latent_groups: Some(32),
        latent_classes: Some(32),
        conv_depth: Some(48),
        units: Some(400),
        latent_size: 30,
        encoder_layers: 4,
        reward_layers: 4,
        continue_layers: 4,
        actor_layers: 4,
        critic_layers: 4,
        latents: Latents::Auto,
        core: Core::Auto,
        heads: Heads::Normal,
        unimix: 0.0,
        dyn_scale: None,
        rep_scale: None,
        free_nats: None,
        free_nats_of: FreeNatsOf::Batch,
        actor_gradient: ActorGradient::Auto,
        entropy_coef: None,
        exploration_noise: 0.3,
        normalize_returns: false,
        slow_critic_fraction: 1.0,
        slow_critic_interval: 100,
        slow_critic_targets: true,
        slow_critic_scale: 0.0,
        replay_critic_scale: 0.0,
        optimizer: OptimizerKind::Adam,
        learning_rate: Schedule::Constant(3e-4),
        actor_learning_rate: Schedule::Constant(8e-5),
        critic_learning_rate: Schedule::Constant(8e-5),
        warmup_updates: 0,
        max_grad_norm: 100.0,
        weight_decay: 1e-6,
        ..super::dreamerv3::preset()
    }
}
