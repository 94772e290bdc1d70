//! Which settings contradict each other, and which have no effect beside others.

use super::choices::{CriticOutput, TargetAction, TargetReducer, WeightInit};
use super::settings::AcConfig;
use crate::config::{Idle, Problem, fixed_temperature, goals, offline, online, priorities, without_steps};
use crate::parts::noise::Exploration;
use crate::parts::squashed_actor::ActorKind;
use crate::parts::temperature::TemperatureSetting;
use crate::parts::torso::MemoryKind;

impl AcConfig {
    /// Finds settings that contradict each other; the message says what to change.
    pub fn check(&self) -> Result<(), Problem> {
        let stochastic = self.actor == ActorKind::TanhGaussian;
        Problem::when(!stochastic && self.ent_coef.is_some(), &["ent_coef", "actor"], || {
            "`ent_coef` weighs the entropy of a Gaussian policy; remove it, or set `actor: tanh_gaussian`".to_owned()
        })?;
        let clash = self.actor == ActorKind::ScheduledNoise && self.target_action == TargetAction::TargetActorSmoothed;
        Problem::when(clash, &["target_action", "actor"], || {
            "`actor: scheduled_noise` has noise in its targets already; set `target_action: online_actor`".to_owned()
        })?;
        Problem::when(!stochastic && self.exploration == Exploration::Policy, &["exploration", "actor"], || {
            "a deterministic actor explores only by noise; set `exploration` to `gaussian`, `ornstein_uhlenbeck`, `colored` or \
             `state_dependent`"
                .to_owned()
        })?;
        let (low, high) = (self.v_min, self.v_max);
        Problem::when(self.critic_output == CriticOutput::Categorical && low >= high, &["v_max", "v_min"], || {
            format!("`v_min` {low} is not below `v_max` {high}; they are the range of the return")
        })?;
        let truncated = self.target_reducer == TargetReducer::Truncated;
        let clash = truncated && self.critic_output != CriticOutput::Quantile;
        Problem::when(clash, &["target_reducer", "critic_output"], || {
            "`target_reducer: truncated` drops quantiles; set `critic_output: quantile`".to_owned()
        })?;
        let (drop, all) = (self.top_quantiles_to_drop, self.n_quantiles);
        Problem::when(truncated && drop >= all, &["top_quantiles_to_drop", "n_quantiles"], || {
            format!("`top_quantiles_to_drop` {drop} leaves nothing of `n_quantiles` {all}")
        })?;
        let (subset, all) = (self.subset_size, self.n_critics);
        let clash = self.target_reducer == TargetReducer::SubsetMin && subset > all;
        Problem::when(clash, &["subset_size", "n_critics"], || {
            format!("`subset_size` {subset} is more than `n_critics` {all}")
        })?;
        let clash = self.actor_batch_renorm && self.target_action != TargetAction::OnlineActor;
        Problem::when(clash, &["actor_batch_renorm", "target_action"], || {
            "`actor_batch_renorm` has no slow copy of the actor; set `target_action: online_actor`".to_owned()
        })?;
        let clash = self.batch_renorm && (self.critic_layer_norm || self.critic_dropout > 0.0);
        Problem::when(clash, &["batch_renorm", "critic_layer_norm", "critic_dropout"], || {
            "`batch_renorm` does not go with `critic_layer_norm` or `critic_dropout`; keep one".to_owned()
        })?;
        let clash = self.batch_renorm && (self.target_views > 1 || self.prediction_views > 1);
        Problem::when(clash, &["batch_renorm", "target_views", "prediction_views"], || {
            "`batch_renorm` looks at both ends of a transition in one batch; set `target_views` and `prediction_views` to 1"
                .to_owned()
        })?;
        let clash = self.contrastive && self.encoder_tau.is_none();
        Problem::when(clash, &["encoder_tau", "contrastive"], || {
            "`contrastive` compares with a slow copy of the encoder; set `encoder_tau`, 0.05 say".to_owned()
        })?;
        Problem::when(self.contrastive && self.batch_renorm, &["contrastive", "batch_renorm"], || {
            "`contrastive` compares with slow copies, and `batch_renorm` goes without them; keep one".to_owned()
        })?;
        self.check_memory()?;
        self.check_terms()
    }

    fn check_memory(&self) -> Result<(), Problem> {
        if self.memory == MemoryKind::None {
            return Ok(());
        }
        let views = self.shift > 0 || self.target_views > 1 || self.prediction_views > 1 || self.contrastive;
        Problem::when(views, &["shift", "target_views", "prediction_views", "contrastive", "memory"], || {
            "with a `memory` images are not shifted; set `shift: 0`, `target_views: 1`, `prediction_views: 1` and \
             `contrastive: false`"
                .to_owned()
        })?;
        Problem::when(self.batch_renorm || self.actor_batch_renorm, &["batch_renorm", "actor_batch_renorm"], || {
            "`batch_renorm` and `actor_batch_renorm` do not go with a `memory`: padded sequences have no statistics"
                .to_owned()
        })?;
        Problem::when(self.n_sampled_goal > 0, &["n_sampled_goal", "memory"], || {
            "`n_sampled_goal` relabels single steps; set it to 0, or `memory: none`".to_owned()
        })
    }

    /// Settings without an effect beside the others.
    pub fn idle(&self) -> Vec<Idle> {
        let idle = |now, keys, switch, why| Idle { now, keys, switch: Some(switch), why };
        let no_targets = self.batch_renorm && self.target_action == TargetAction::OnlineActor;
        vec![
            Idle {
                now: no_targets,
                keys: &["tau"],
                // That renormalisation goes without target networks is not plain from its name.
                switch: None,
                why: "with `batch_renorm` there are no target networks to follow; set `batch_renorm: false`",
            },
            idle(
                !self.batch_renorm && !self.actor_batch_renorm,
                &["batch_renorm_warmup"],
                "batch_renorm",
                "nothing is renormalised; set `batch_renorm: true`",
            ),
            idle(
                self.target_action != TargetAction::TargetActorSmoothed,
                &["target_noise"],
                "target_action",
                "target actions have no noise of their own; set `target_action: target_actor_smoothed`",
            ),
            Idle {
                now: self.target_action != TargetAction::TargetActorSmoothed && self.actor != ActorKind::ScheduledNoise,
                keys: &["target_noise_clip"],
                switch: None,
                why: "target actions have no noise; set `target_action: target_actor_smoothed`, or `actor: scheduled_noise`",
            },
            idle(
                self.actor != ActorKind::TanhGaussian,
                &["log_std_min"],
                "actor",
                "the policy has no standard deviation; set `actor: tanh_gaussian`",
            ),
            idle(
                self.memory == MemoryKind::None,
                &["recurrent_hidden_size", "head_sizes", "sequence_length", "burn_in", "overlap", "stored_state"],
                "memory",
                "nothing is remembered; set `memory: lstm`",
            ),
            idle(
                self.critic_output != CriticOutput::Categorical,
                &["v_min", "v_max", "n_atoms"],
                "critic_output",
                "critics have no range of returns; set `critic_output: categorical`",
            ),
            idle(
                self.critic_output != CriticOutput::Quantile,
                &["n_quantiles"],
                "critic_output",
                "critics have no quantiles; set `critic_output: quantile`",
            ),
            idle(
                self.target_reducer != TargetReducer::Truncated,
                &["top_quantiles_to_drop"],
                "target_reducer",
                "no quantiles are dropped; set `target_reducer: truncated`",
            ),
            idle(
                self.target_reducer != TargetReducer::SubsetMin,
                &["subset_size"],
                "target_reducer",
                "every critic counts; set `target_reducer: subset_min`",
            ),
            idle(
                self.exploration == Exploration::Policy,
                &["exploration_noise"],
                "exploration",
                "actions are drawn from the policy without more noise; set `exploration: gaussian`",
            ),
            idle(
                self.exploration != Exploration::Colored,
                &["exploration_horizon"],
                "exploration",
                "only coloured noise has a slowest movement; set `exploration: colored`",
            ),
            idle(
                self.actor != ActorKind::TanhGaussian,
                &["log_std_offset"],
                "actor",
                "the policy has no standard deviation; set `actor: tanh_gaussian`",
            ),
            idle(
                !self.critic_layer_norm,
                &["layer_norm_after"],
                "critic_layer_norm",
                "critics have no LayerNorm; set `critic_layer_norm: true`",
            ),
            idle(
                self.weight_init == WeightInit::Xavier,
                &["final_layer_bound", "actor_final_layer_bound"],
                "weight_init",
                "`weight_init: xavier` has bounds of its own; set `weight_init: uniform`",
            ),
            idle(
                self.actor_bc_weight == 0.0,
                &["bc_distance", "bc_alpha"],
                "actor_bc_weight",
                "nothing holds the actor to recorded actions; set `actor_bc_weight`, 1 say",
            ),
            idle(
                self.cql_alpha == 0.0,
                &[
                    "num_cql_samples",
                    "cql_temperature",
                    "cql_gap_min",
                    "cql_gap_max",
                    "cql_target_gap",
                    "cql_calibrated",
                ],
                "cql_alpha",
                "the gap to other actions weighs nothing; set `cql_alpha`, 5 say",
            ),
            fixed_temperature(self.ent_coef != Some(TemperatureSetting::Auto)),
            priorities(!self.prioritized_replay),
            goals(self.n_sampled_goal == 0),
            online(!self.offline),
            offline(self.offline),
            without_steps(self.offline && self.online_timesteps == 0),
        ]
    }
}
