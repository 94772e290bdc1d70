//! # SAC: soft actor-critic
//!
//! **What it does.** Learns a stochastic policy for continuous actions that earns much and stays as random as it can
//! afford, from a store of past transitions.
//!
//! **When to use it.** Continuous actions, a simulator that is slow enough to make every step count. Robust with its
//! defaults.
//!
//! **The update.** With a' and log pi(a') drawn from the current policy at s', and slowly moving critics Q':
//! ```text
//! y        = R + D * (min_i Q'_i(s', a') - alpha * log pi(a'))
//! critics:   sum_i mean (Q_i(s, a) - y)^2 / 2
//! actor:     mean (alpha * log pi(a) - min_i Q_i(s, a)),  a drawn from the policy at s
//! alpha:     -log alpha * mean (log pi(a) + target_entropy)
//! ```
//!
//! **Details that matter.**
//! - Actions are tanh-squashed Gaussians in [-1, 1]; the log-probability uses the form that stays exact at the edges.
//! - The critics are one ensemble network; the actor's gradient passes through them and leaves them unchanged.
//! - `ent_coef: auto` adapts alpha to `target_entropy` (minus the number of actions by default); a number fixes it.
//! - `exploration: colored` replaces the independent draws by pink noise of the same size while collecting: where reward
//!   lies far from the start, independent noise trembles on the spot. `exploration: state_dependent` (gSDE) replaces them
//!   by a random linear function of the policy's last hidden layer, drawn anew for each episode: smooth where the state
//!   is.
//! - Termination and time limits are told apart: a time limit does not make the future worthless.
//! - Before `learning_starts`, actions are uniformly random.
//! - Images are seen by convolutions (`vision`) that the critics train; actor and critics each compress what was seen to
//!   `feature_dim` numbers, 50 if nothing is said, and the actor does not train what it sees by. Parts of a Dict that are
//!   no images are seen beside them. `shift: 4` shows them shifted at random, as `drq` does, and learns far faster.
//!
//! **What is left out.** The value network of the first publication.
//!
//! **Reference.** Haarnoja and others, Soft actor-critic algorithms and applications, 2018. Pink noise: Eberhard and
//! others, Pink noise is all you need, 2023.

use super::super::settings::{
    AcConfig, ActorReducer, BcDistance, CriticOutput, TargetAction, TargetReducer, UpdateOrder, WeightInit,
};
use crate::config::defaults;
use crate::parts::input::Vision;
use crate::parts::noise::Exploration;
use crate::parts::squashed_actor::ActorKind;
use crate::parts::temperature::{TemperatureLoss, TemperatureSetting};
use crate::parts::torso::MemoryKind;
use axiomrl_core::Schedule;
use axiomrl_nn::Activation;

pub const SUMMARY: &str = "Soft actor-critic";

pub fn preset() -> AcConfig {
    defaults! { AcConfig {
        ..priorities,
        ..prior,
        ..goals,
        learning_rate: Schedule::Constant(3e-4),
        actor_learning_rate: None,
        critic_learning_rate: None,
        ent_coef_learning_rate: None,
        adam_beta1: 0.9,
        max_grad_norm: None,
        max_action_grad_norm: None,
        buffer_capacity: 1_000_000,
        batch_size: 256,
        learning_starts: 100,
        train_frequency: 1,
        gradient_steps: 1,
        policy_delay: 1,
        actor_once_per_block: false,
        update_order: UpdateOrder::CriticsFirst,
        tau: 0.005,
        encoder_tau: None,
        gamma: 0.99,
        n_step: 1,
        reward_scale: 1.0,
        actor: ActorKind::TanhGaussian,
        log_std_min: -20.0,
        log_std_offset: 0.0,
        ent_coef: Some(TemperatureSetting::Auto),
        ent_coef_init: 1.0,
        ent_coef_loss: TemperatureLoss::Log,
        target_entropy: None,
        target_entropy_ratio: 1.0,
        entropy_backup: true,
        exploration: Exploration::Policy,
        exploration_noise: Schedule::Constant(1.0),
        exploration_horizon: 1000,
        target_action: TargetAction::OnlineActor,
        target_noise: 0.2,
        target_noise_clip: 0.5,
        target_samples: 1,
        vision: Vision::Auto,
        feature_dim: None,
        shift: 0,
        target_views: 1,
        prediction_views: 1,
        contrastive: false,
        memory: MemoryKind::None,
        recurrent_hidden_size: 128,
        head_sizes: vec![128],
        sequence_length: 40,
        burn_in: 0,
        overlap: None,
        stored_state: false,
        hidden_sizes: vec![256, 256],
        critic_hidden_sizes: None,
        activation: Activation::Relu,
        weight_init: WeightInit::Uniform,
        final_layer_bound: None,
        actor_final_layer_bound: None,
        n_critics: 2,
        critic_output: CriticOutput::Scalar,
        critic_loss_coef: 1.0,
        n_atoms: 51,
        v_min: -150.0,
        v_max: 150.0,
        n_quantiles: 25,
        top_quantiles_to_drop: 2,
        critic_layer_norm: false,
        layer_norm_after: false,
        critic_dropout: 0.0,
        batch_renorm: false,
        actor_batch_renorm: false,
        batch_renorm_warmup: 100_000,
        target_reducer: TargetReducer::Min,
        subset_size: 2,
        actor_reducer: ActorReducer::Min,
        actor_bc_weight: 0.0,
        bc_distance: BcDistance::Mean,
        bc_alpha: None,
        bc_warmup: 0,
        critic_bc_weight: 0.0,
        cql_alpha: 0.0,
        num_cql_samples: 10,
        cql_temperature: 1.0,
        cql_gap_min: None,
        cql_gap_max: None,
        cql_target_gap: None,
        cql_calibrated: false,
        diversity_coef: 0.0,
    } }
}
