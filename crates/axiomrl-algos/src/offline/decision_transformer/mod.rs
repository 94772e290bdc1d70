//! # Decision transformer: acting as a sequence to be continued
//!
//! **What it does.** A transformer learns to tell what was done next in recorded episodes, from what was seen and done before and
//! from what the rest of the episode was to bring. Asked for a high return, it continues as the good episodes did; asked for a low
//! one, as the bad ones.
//!
//! **When to use it.** Recorded episodes of many qualities, whole and with their rewards, where a supervised loss is preferred to
//! values. It has none: nothing bootstraps, nothing can run away. What no recorded episode reached it will not reach either, and
//! where luck made the returns it asks for luck.
//!
//! **The update.** `batch_size` windows: a recorded transition, each as likely, and the steps that follow it in its episode, up to
//! `context_length` in all. Every step has three tokens, in this order:
//! ```text
//! R_t = (r_t + r_t+1 + ... to the end of the episode) / return_scale
//! tokens   W_R R_t + E[t],  W_s s_t + E[t],  W_a a_t + E[t]
//! x        dropout(norm(tokens)), then n_layers times
//!            x += dropout(attention(norm(x)));  x += dropout(W_2 relu(W_1 norm(x)))
//! y_t      = head(norm(x)) at the token of s_t
//! loss       mean over steps (and numbers) of (tanh(y_t) - a_t)^2, or of -log softmax(y_t)[a_t]
//! ```
//! and one step of AdamW, whose rate rises over the first `warmup_updates` updates.
//!
//! **Details that matter.**
//! - A token sees itself and those before it. So y_t knows R_t and s_t and all earlier steps, and not a_t.
//! - Returns go on to the end of the episode, not of the window, and are not discounted.
//! - Acting keeps the last `context_length` steps. The first return is `target_return / return_scale`; each reward is taken off it.
//!   What is remembered is the action that was done, whoever chose it. Choices are made by the highest logit; `--stochastic` draws
//!   them.
//! - Absent, `target_return` is the best recorded return, and `return_scale` makes that 5: returns of 1 to 10 are a good size. Both
//!   are kept with the policy. They are in the environment's own units, so the `dataset` block may not change rewards.
//! - `E` is learned for each of `max_timestep` step numbers; later ones share the last. There is no other code of a position.
//! - Windows at the end of an episode are shorter, and nothing is filled up: sequences of any lengths lie one after the other.
//! - `normalize_observation` in the `dataset` block is worth its line.
//!
//! **What is left out.** Images. Updates on steps of its own: it learns from what was recorded alone.
//!
//! **Reference.** Chen and others, Decision transformer: reinforcement learning via sequence modeling, 2021.

mod history;
mod learner;
mod model;
mod windows;

use crate::agent::Setup;
use crate::config::{Problem, settings};
use crate::parts::checks::BuildError;
use crate::regimes::{Learner, ReplaySettings};
use crate::registry::Algorithm;
use axiomrl_core::Schedule;
use axiomrl_nn::TransformerSpec;
use learner::DecisionTransformerLearner;

settings! {
    /// Settings of the decision transformer.
    pub struct DecisionTransformerConfig {
        ..learning_rate,
        /// Windows per update.
        #[garde(range(min = 1, max = 65_536))]
        pub batch_size: usize,
        /// Steps that are looked back on, the current one included.
        #[garde(range(min = 1, max = 10_000))]
        pub context_length: usize,
        /// Return to act for; absent is the best that was recorded.
        #[garde(inner(range(min = -1e9, max = 1e9)))]
        pub target_return: Option<f32>,
        /// What returns are divided by; absent makes the largest recorded one 5.
        #[garde(inner(range(min = 1e-6, max = 1e9)))]
        pub return_scale: Option<f32>,
        /// Step numbers that are told apart.
        #[garde(range(min = 1, max = 1_000_000))]
        pub max_timestep: usize,
        /// Numbers of a token.
        #[garde(range(min = 1, max = 8192))]
        pub embed_dim: usize,
        /// Blocks of attention.
        #[garde(range(min = 1, max = 64))]
        pub n_layers: usize,
        /// Heads of each; they share `embed_dim`.
        #[garde(range(min = 1, max = 1024))]
        pub n_heads: usize,
        /// Chance that a number is dropped while learning.
        #[garde(range(min = 0.0, max = 0.9))]
        pub dropout: f32,
        /// Pull of all parameters to zero, as a part of the step size.
        #[garde(range(min = 0.0, max = 1.0))]
        pub weight_decay: f32,
        /// Largest global norm of a gradient.
        #[garde(range(min = 0.0))]
        pub max_grad_norm: f32,
        /// Updates over which the step size rises; absent is a tenth of the run, and 10,000 at most.
        #[garde(inner(range(max = 1_000_000_000_000_u64)))]
        pub warmup_updates: Option<u64>,
    }
}

impl Default for DecisionTransformerConfig {
    fn default() -> Self {
        Self {
            learning_rate: Schedule::Constant(1e-4),
            batch_size: 64,
            context_length: 20,
            target_return: None,
            return_scale: None,
            max_timestep: 1024,
            embed_dim: 128,
            n_layers: 3,
            n_heads: 1,
            dropout: 0.1,
            weight_decay: 1e-4,
            max_grad_norm: 0.25,
            warmup_updates: None,
        }
    }
}

/// Parameters of the largest network: half a gigabyte of them, before an optimiser adds its own numbers.
const MOST_PARAMETERS: usize = 1 << 27;

impl DecisionTransformerConfig {
    fn trunk(&self) -> TransformerSpec {
        TransformerSpec::new(self.embed_dim, self.n_layers).with_heads(self.n_heads).with_dropout(self.dropout)
    }

    /// Updates over which the step size rises, in a run of `total`.
    fn warm_up(&self, total: u64) -> u64 {
        self.warmup_updates.unwrap_or((total / 10).min(10_000)).max(1)
    }
}

pub struct DecisionTransformer;

impl Algorithm for DecisionTransformer {
    type Config = DecisionTransformerConfig;

    fn check(config: &DecisionTransformerConfig) -> Result<(), Problem> {
        let trunk = config.trunk();
        trunk.check().map_err(|error| Problem::new(&["n_heads", "embed_dim"], error.to_string()))?;
        let parameters = trunk.param_count() + config.max_timestep * config.embed_dim;
        Problem::when(parameters > MOST_PARAMETERS, &["embed_dim", "n_layers", "max_timestep"], || {
            format!(
                "{parameters} parameters; at most {MOST_PARAMETERS}: lower `embed_dim`, `n_layers` or `max_timestep`"
            )
        })
    }

    fn check_setup(_config: &DecisionTransformerConfig, setup: &Setup) -> Result<(), Problem> {
        Problem::when(setup.spaces.obs().widths.bytes > 0, &[], || {
            "the decision transformer does not look at images; use an environment that shows numbers".to_owned()
        })?;
        Problem::when(!setup.reward.is_identity() || setup.normalize_reward, &["return_scale"], || {
            "the decision transformer is asked for returns in the environment's own units; leave rewards as they are \
             and set `return_scale`"
                .to_owned()
        })
    }

    fn wants_data(_config: &DecisionTransformerConfig) -> bool {
        true
    }

    fn takes_steps(_config: &DecisionTransformerConfig) -> bool {
        false
    }

    fn build(config: DecisionTransformerConfig, setup: &Setup) -> Result<Learner, BuildError> {
        // No step of its own is ever stored.
        let batch_size = config.batch_size;
        let settings = ReplaySettings { capacity: 1, batch_size, offline: Some(0), ..ReplaySettings::default() };
        Ok(Learner::OffPolicy(Box::new(DecisionTransformerLearner::new(config, setup)?), settings))
    }
}
