//! # DDPG: deep deterministic policy gradient
//!
//! **What it does.** Learns a critic from past transitions and moves a deterministic policy uphill on it.
//!
//! **When to use it.** As the simplest actor-critic for continuous actions. TD3 and SAC are steadier.
//!
//! **The update.** With slowly moving copies Q' and pi':
//! ```text
//! y      = R + D * Q'(s', pi'(s'))
//! critic:  mean (Q(s, a) - y)^2 / 2
//! actor:   - mean Q(s, pi(s))
//! ```
//!
//! **Details that matter.**
//! - Exploration is noise on the action: `gaussian` (default), `ornstein_uhlenbeck` or `colored`, of size
//!   `exploration_noise`. What is stored is the action after clipping to [-1, 1].
//! - The last layers start within `final_layer_bound` (0.003), so the first actions and values are near zero.
//! - The critic's gradient by the action is taken first and enters the actor's loss as a constant: the actor's update
//!   cannot touch the critic.
//! - Termination and time limits are told apart: a time limit does not make the future worthless.
//! - Every setting of the shared learner may be combined: prioritised replay, n-step returns, several critics.
//!
//! **What is left out.** Batch normalisation and weight decay of the critic; image observations.
//!
//! **Reference.** Lillicrap and others, Continuous control with deep reinforcement learning, 2016.

use super::super::settings::{AcConfig, ActorReducer, TargetAction};
use crate::parts::noise::Exploration;
use crate::parts::squashed_actor::ActorKind;
use axiomrl_core::Schedule;

pub const SUMMARY: &str = "Deep deterministic policy gradient";

pub fn preset() -> AcConfig {
    AcConfig {
        learning_rate: Schedule::Constant(1e-3),
        learning_starts: 1000,
        actor: ActorKind::Deterministic,
        ent_coef: None,
        exploration: Exploration::Gaussian,
        exploration_noise: Schedule::Constant(0.1),
        target_action: TargetAction::TargetActor,
        final_layer_bound: Some(3e-3),
        n_critics: 1,
        actor_reducer: ActorReducer::First,
        ..super::sac::preset()
    }
}
