//! Settings of the off-policy actor-critic learner. Each is a choice of its own; a preset is a point among them.

use crate::config::{Idle, Problem, choices, fixed_temperature, goals, layer_widths, priorities, some_updates};
use crate::parts::noise::Exploration;
use crate::parts::temperature::TemperatureSetting;
use axiomrl_core::{GoalStrategy, Schedule};
use axiomrl_nn::Activation;
use garde::Validate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the policy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    /// One action per observation.
    Deterministic,
    /// A Gaussian squashed into [-1, 1].
    TanhGaussian,
}

/// Which policy values the next observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetAction {
    /// A slowly moving copy of the actor.
    TargetActor,
    /// The copy with clipped noise on its action, which smooths the critics.
    TargetActorSmoothed,
    /// The actor itself.
    OnlineActor,
}

/// What a critic predicts of the return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CriticOutput {
    /// Its mean.
    Scalar,
    /// Its distribution over fixed atoms.
    Categorical,
    /// Its quantiles.
    Quantile,
}

/// How the critics' opinions on the next observation become one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetReducer {
    /// The lowest.
    Min,
    /// All in equal parts.
    Mean,
    /// The lowest of `subset_size` critics, drawn anew for each update.
    SubsetMin,
    /// The quantiles of all critics in one pool, without the highest.
    Truncated,
}

/// Which opinion the actor follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActorReducer {
    /// That of the first critic.
    First,
    /// The lowest.
    Min,
    /// The mean.
    Mean,
}

/// Settings of the actor-critic methods that learn from replay.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
#[garde(allow_unvalidated)]
pub struct AcConfig {
    /// Step size of Adam, for actor, critics and temperature.
    #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
    pub learning_rate: Schedule,
    /// Another step size for the actor.
    #[garde(inner(custom(Schedule::range_ok(0.0, 1.0))))]
    pub actor_learning_rate: Option<Schedule>,
    /// Another step size for the critics.
    #[garde(inner(custom(Schedule::range_ok(0.0, 1.0))))]
    pub critic_learning_rate: Option<Schedule>,
    /// Adam's decay of the gradient's running mean.
    #[garde(range(min = 0.0, max = 0.999))]
    pub adam_beta1: f32,
    /// Largest global norm of a gradient; absent: no limit.
    #[garde(inner(range(min = 0.0)))]
    pub max_grad_norm: Option<f32>,
    /// Largest norm of the critics' gradient by one action; absent: no limit.
    #[garde(inner(range(min = 0.0)))]
    pub max_action_grad_norm: Option<f32>,
    /// Transitions kept.
    #[garde(range(min = 1, max = 100_000_000))]
    pub buffer_capacity: usize,
    /// Transitions per update.
    #[garde(range(min = 1, max = 65_536))]
    pub batch_size: usize,
    /// Random steps before the first update.
    #[garde(range(max = 1_000_000_000_000_000_u64))]
    pub learning_starts: u64,
    /// Environment steps between bursts of updates.
    #[garde(range(min = 1, max = 1_000_000_000_000_u64))]
    pub train_frequency: u64,
    /// Updates in a burst; -1 makes as many as steps were taken.
    #[garde(range(min = -1, max = 100_000), custom(some_updates))]
    pub gradient_steps: i64,
    /// Updates of the critics per update of the actor and of the target networks.
    #[garde(range(min = 1, max = 1000))]
    pub policy_delay: u64,
    /// Updates the actor only at the end of each burst.
    pub actor_once_per_block: bool,
    /// How much of the networks the target networks take over per update.
    #[garde(range(min = 0.0, max = 1.0))]
    pub tau: f32,
    /// Discount per step.
    #[garde(range(min = 0.0, max = 1.0))]
    pub gamma: f32,
    /// Rewards summed before bootstrapping.
    #[garde(range(min = 1, max = 1000))]
    pub n_step: usize,
    /// Factor on rewards before they are learned from.
    #[garde(range(min = 1e-6, max = 1e6))]
    pub reward_scale: f32,
    /// What the policy is.
    pub actor: ActorKind,
    /// Weight of the entropy of a Gaussian policy: `auto`, or a number that stays fixed (0 switches it off).
    /// Absent for a deterministic policy, which has none.
    pub ent_coef: Option<TemperatureSetting>,
    /// Temperature at the start when it is adapted.
    #[garde(range(min = 1e-8, max = 1000.0))]
    pub ent_coef_init: f32,
    /// Entropy to aim for; absent means minus the number of actions.
    pub target_entropy: Option<f32>,
    /// Counts the entropy of future actions as reward.
    pub entropy_backup: bool,
    /// How actions depart from the policy's mean while collecting.
    pub exploration: Exploration,
    /// Size of the exploration noise, over the run; for `colored` and `state_dependent` noise of a Gaussian policy, a factor on
    /// its own.
    #[garde(custom(Schedule::range_ok(0.0, 10.0)))]
    pub exploration_noise: Schedule,
    /// Slowest movement of coloured noise, in steps: about the length of an episode.
    #[garde(range(min = 2, max = 1_000_000))]
    pub exploration_horizon: usize,
    /// Which policy values the next observation.
    pub target_action: TargetAction,
    /// Size of the noise of `target_actor_smoothed`.
    #[garde(range(min = 0.0, max = 10.0))]
    pub target_noise: f32,
    /// Bound of that noise.
    #[garde(range(min = 0.0, max = 10.0))]
    pub target_noise_clip: f32,
    /// Widths of the hidden layers of actor and critics.
    #[garde(custom(layer_widths))]
    pub hidden_sizes: Vec<usize>,
    /// Other widths for the critics.
    #[garde(inner(custom(critic_widths)))]
    pub critic_hidden_sizes: Option<Vec<usize>>,
    /// Non-linearity of the hidden layers.
    #[schemars(schema_with = "choices::<Activation>")]
    pub activation: Activation,
    /// Bound of the initial weights of last layers; absent: as for other layers.
    #[garde(inner(range(min = 0.0, max = 1.0)))]
    pub final_layer_bound: Option<f32>,
    /// Number of critics.
    #[garde(range(min = 1, max = 500))]
    pub n_critics: usize,
    /// What a critic predicts.
    pub critic_output: CriticOutput,
    /// Atoms of a categorical critic.
    #[garde(range(min = 2, max = 1001))]
    pub n_atoms: usize,
    /// Lowest return of a categorical critic, in scaled rewards.
    pub v_min: f32,
    /// Highest return of a categorical critic, in scaled rewards.
    pub v_max: f32,
    /// Quantiles of each quantile critic.
    #[garde(range(min = 1, max = 1001))]
    pub n_quantiles: usize,
    /// Quantiles dropped per critic by the `truncated` reducer.
    #[garde(range(max = 1000))]
    pub top_quantiles_to_drop: usize,
    /// LayerNorm in the critics.
    pub critic_layer_norm: bool,
    /// Chance of dropping a hidden unit of a critic in training.
    #[garde(range(min = 0.0, max = 0.9))]
    pub critic_dropout: f32,
    /// Batch renormalisation in the critics, in place of target critics.
    pub batch_renorm: bool,
    /// Batch renormalisation in the actor.
    pub actor_batch_renorm: bool,
    /// Updates with plain batch normalisation before renormalisation begins.
    #[garde(range(max = 1_000_000_000_000_u64))]
    pub batch_renorm_warmup: u64,
    /// How the critics' opinions become one target.
    pub target_reducer: TargetReducer,
    /// Critics per target of the `subset_min` reducer.
    #[garde(range(min = 1, max = 500))]
    pub subset_size: usize,
    /// Which critic the actor follows.
    pub actor_reducer: ActorReducer,
    /// Draw transitions in proportion to their error.
    pub prioritized_replay: bool,
    /// How strongly the error counts: 0 is uniform.
    #[garde(range(min = 0.0, max = 1.0))]
    pub prioritized_alpha: f32,
    /// Correction for the uneven drawing, over the run.
    #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
    pub prioritized_beta: Schedule,
    /// Smallest error, so that no transition is forgotten.
    #[garde(range(min = 0.0))]
    pub prioritized_eps: f32,
    /// Goals drawn in hindsight for every real one, where goals are part of the observation; 0 switches it off.
    #[garde(range(min = 0, max = 100))]
    pub n_sampled_goal: usize,
    /// Which reached goals are drawn: `future`, `final` or `episode`.
    #[schemars(schema_with = "choices::<GoalStrategy>")]
    pub goal_selection_strategy: GoalStrategy,
}

/// For garde: as [`layer_widths`], for a list inside an option.
#[expect(clippy::ptr_arg, reason = "garde hands over the field itself")]
fn critic_widths(widths: &Vec<usize>, context: &()) -> garde::Result {
    layer_widths(widths, context)
}

impl AcConfig {
    /// Finds settings that contradict each other; the message says what to change.
    pub fn check(&self) -> Result<(), Problem> {
        let stochastic = self.actor == ActorKind::TanhGaussian;
        Problem::when(!stochastic && self.ent_coef.is_some(), &["ent_coef", "actor"], || {
            "`ent_coef` weighs the entropy of a Gaussian policy; remove it, or set `actor: tanh_gaussian`".to_owned()
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
                &["target_noise", "target_noise_clip"],
                "target_action",
                "target actions have no noise; set `target_action: target_actor_smoothed`",
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
            fixed_temperature(self.ent_coef != Some(TemperatureSetting::Auto)),
            priorities(!self.prioritized_replay),
            goals(self.n_sampled_goal == 0),
        ]
    }
}
