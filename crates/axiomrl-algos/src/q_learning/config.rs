//! The settings of the whole family of discrete-action value learners.

use crate::config::{Idle, Problem, choices, goals, layer_widths, priorities, some_updates};
use crate::parts::input::Vision;
use axiomrl_core::{GoalStrategy, Schedule};
use axiomrl_nn::Activation;
use garde::Validate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the network says about an action's return.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HeadKind {
    /// Its expectation.
    #[default]
    Scalar,
    /// Probabilities of fixed returns (C51).
    Categorical,
    /// Returns at fixed fractions (QR-DQN).
    Quantile,
    /// Returns at any fraction (IQN).
    Implicit,
    /// Returns at fractions that are learned (FQF).
    Fqf,
}

/// How the next state is valued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Backup {
    /// By its best action.
    #[default]
    Max,
    /// By the policy that explores.
    Expected,
    /// By a softmax policy.
    Boltzmann,
    /// By a softmax policy and its entropy.
    Soft,
    /// By a smooth maximum that contracts.
    Mellowmax,
}

/// How actions are explored while training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Exploration {
    /// Now and then any action.
    #[default]
    Epsilon,
    /// Better actions more often.
    Boltzmann,
}

/// Settings of DQN and its relatives.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
#[garde(allow_unvalidated)]
pub struct DqnConfig {
    /// Step size of Adam.
    #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
    pub learning_rate: Schedule,
    /// Adam's small number.
    #[garde(range(min = 0.0, max = 1.0))]
    pub adam_eps: f32,
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
    /// Environment steps between updates of the target network.
    #[garde(range(min = 1, max = 1_000_000_000_000_u64))]
    pub target_update_interval: u64,
    /// How much of the online network the target takes over: 1 copies.
    #[garde(range(min = 0.0, max = 1.0))]
    pub tau: f32,
    /// Discount per step.
    #[garde(range(min = 0.0, max = 1.0))]
    pub gamma: f32,
    /// Largest global norm of a gradient.
    #[garde(range(min = 0.0))]
    pub max_grad_norm: f32,
    /// What looks at images, before the hidden layers.
    pub vision: Vision,
    /// Widths of the hidden layers.
    #[garde(custom(layer_widths))]
    pub hidden_sizes: Vec<usize>,
    /// Non-linearity of the hidden layers.
    #[schemars(schema_with = "choices::<Activation>")]
    pub activation: Activation,

    /// How actions are explored.
    pub exploration: Exploration,
    /// Chance of a random action at the start.
    #[garde(range(min = 0.0, max = 1.0))]
    pub epsilon_start: f64,
    /// Chance of a random action after `exploration_fraction` of the run.
    #[garde(range(min = 0.0, max = 1.0))]
    pub epsilon_end: f64,
    /// Part of the run over which the chance falls.
    #[garde(range(min = 0.0, max = 1.0))]
    pub exploration_fraction: f64,
    /// Temperature of Boltzmann exploration and of the `boltzmann` backup.
    #[garde(range(min = 1e-6, max = 1e6))]
    pub boltzmann_temperature: f32,
    /// Explore by noise in the weights instead of by chance.
    pub noisy: bool,
    /// Size of that noise at the start.
    #[garde(range(min = 0.0, max = 10.0))]
    pub sigma_init: f32,

    /// What the network says about a return.
    pub head: HeadKind,
    /// Value of the state and advantage of the action in networks of their own.
    pub dueling: bool,
    /// Least return of a categorical head.
    pub v_min: f32,
    /// Greatest return of a categorical head.
    pub v_max: f32,
    /// Returns of a categorical head.
    #[garde(range(min = 2, max = 10_000))]
    pub num_atoms: usize,
    /// Fractions of a quantile head.
    #[garde(range(min = 1, max = 10_000))]
    pub num_quantiles: usize,
    /// Error up to which the quantile loss is quadratic.
    #[garde(range(min = 1e-6, max = 1e6))]
    pub kappa: f32,
    /// Cosines that describe a fraction to an implicit head.
    #[garde(range(min = 1, max = 4096))]
    pub embedding_dim: usize,
    /// Step size of the network that proposes fractions.
    #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
    pub fraction_learning_rate: Schedule,
    /// Bonus for proposing even fractions.
    #[garde(range(min = 0.0, max = 100.0))]
    pub fraction_ent_coef: f32,

    /// How the next state is valued.
    pub backup: Backup,
    /// Choose the next action, or policy, with the online network and value it with the target.
    pub double_q: bool,
    /// Two networks, of which the more cautious one counts.
    pub twin: bool,
    /// Random actions in the policy that `expected` values; absent takes the chance of exploration.
    #[garde(inner(range(min = 0.0, max = 1.0)))]
    pub target_epsilon: Option<f32>,
    /// Temperature of the `soft` backup and of Munchausen's bonus.
    #[garde(range(min = 1e-6, max = 1e6))]
    pub entropy_temperature: f32,
    /// Sharpness of the smooth maximum.
    #[garde(range(min = 1e-6, max = 1e6))]
    pub mellowmax_omega: f32,
    /// Weight of Munchausen's bonus; 0 is none.
    #[garde(range(min = 0.0, max = 1.0))]
    pub munchausen_alpha: f32,
    /// Least value of that bonus before its weight.
    #[garde(range(max = 0.0))]
    pub munchausen_clip_min: f32,
    /// Weight of the action gap that advantage learning subtracts; 0 is none.
    #[garde(range(min = 0.0, max = 1.0))]
    pub advantage_alpha: f32,
    /// Subtract the smaller of the gaps here and in the next state.
    pub persistent_advantage: bool,
    /// Weight of transitions that turned out worse than thought; 1 treats all alike.
    #[garde(range(min = 0.0, max = 1.0))]
    pub hysteretic_beta: f32,
    /// Weight of the conservative penalty on actions that were not taken; 0 is none.
    #[garde(range(min = 0.0, max = 1000.0))]
    pub cql_alpha: f32,

    /// Rewards summed before bootstrapping.
    #[garde(range(min = 1, max = 1000))]
    pub n_step: usize,
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

impl Default for DqnConfig {
    fn default() -> Self {
        Self {
            learning_rate: Schedule::Constant(1e-3),
            adam_eps: 1e-8,
            buffer_capacity: 100_000,
            batch_size: 64,
            learning_starts: 1000,
            train_frequency: 1,
            gradient_steps: 1,
            target_update_interval: 250,
            tau: 1.0,
            gamma: 0.99,
            max_grad_norm: 10.0,
            vision: Vision::Auto,
            hidden_sizes: vec![64, 64],
            activation: Activation::Relu,
            exploration: Exploration::Epsilon,
            epsilon_start: 1.0,
            epsilon_end: 0.05,
            exploration_fraction: 0.3,
            boltzmann_temperature: 0.5,
            noisy: false,
            sigma_init: 0.5,
            head: HeadKind::Scalar,
            dueling: false,
            v_min: 0.0,
            v_max: 100.0,
            num_atoms: 51,
            num_quantiles: 32,
            kappa: 1.0,
            embedding_dim: 64,
            fraction_learning_rate: Schedule::Constant(1e-5),
            fraction_ent_coef: 1e-3,
            backup: Backup::Max,
            double_q: false,
            twin: false,
            target_epsilon: None,
            entropy_temperature: 0.03,
            mellowmax_omega: 5.0,
            munchausen_alpha: 0.0,
            munchausen_clip_min: -1.0,
            advantage_alpha: 0.0,
            persistent_advantage: false,
            hysteretic_beta: 1.0,
            cql_alpha: 0.0,
            n_step: 1,
            prioritized_replay: false,
            prioritized_alpha: 0.6,
            prioritized_beta: Schedule::linear(0.4, 1.0),
            prioritized_eps: 1e-6,
            n_sampled_goal: 0,
            goal_selection_strategy: GoalStrategy::Future,
        }
    }
}

impl DqnConfig {
    /// What garde cannot see: settings that contradict each other.
    pub fn check(&self) -> Result<(), Problem> {
        let (low, high) = (self.v_min, self.v_max);
        Problem::when(self.head == HeadKind::Categorical && low >= high, &["v_max", "v_min"], || {
            format!("`v_min` {low} must be below `v_max` {high}; set them to the least and greatest return")
        })?;
        let clash = self.implicit() && (self.twin || self.noisy || self.dueling);
        Problem::when(clash, &["head", "twin", "noisy", "dueling"], || {
            "`twin`, `noisy` and `dueling` go with the heads scalar, categorical and quantile".to_owned()
        })?;
        Problem::when(self.exploration == Exploration::Boltzmann && self.noisy, &["exploration", "noisy"], || {
            "choose either `noisy` or `exploration: boltzmann`".to_owned()
        })
    }

    fn implicit(&self) -> bool {
        matches!(self.head, HeadKind::Implicit | HeadKind::Fqf)
    }

    /// Settings without an effect beside the others.
    pub fn idle(&self) -> Vec<Idle> {
        let idle = |now, keys, switch, why| Idle { now, keys, switch: Some(switch), why };
        let quantiles = self.implicit() || self.head == HeadKind::Quantile;
        let softmax = self.exploration == Exploration::Boltzmann || self.backup == Backup::Boltzmann;
        let munchausen = self.munchausen_alpha > 0.0;
        vec![
            idle(
                self.head != HeadKind::Categorical,
                &["v_min", "v_max", "num_atoms"],
                "head",
                "there is no range of returns; set `head: categorical`",
            ),
            idle(!quantiles, &["num_quantiles", "kappa"], "head", "there are no quantiles; set `head: quantile`"),
            idle(!self.implicit(), &["embedding_dim"], "head", "no fractions are described; set `head: implicit`"),
            idle(
                self.head != HeadKind::Fqf,
                &["fraction_learning_rate", "fraction_ent_coef"],
                "head",
                "no fractions are learned; set `head: fqf`",
            ),
            idle(!self.noisy, &["sigma_init"], "noisy", "the weights have no noise; set `noisy: true`"),
            idle(
                !softmax,
                &["boltzmann_temperature"],
                "exploration",
                "nothing is drawn by a softmax; set `exploration: boltzmann` or `backup: boltzmann`",
            ),
            idle(
                self.backup != Backup::Expected,
                &["target_epsilon"],
                "backup",
                "the next state is not valued by a policy that explores; set `backup: expected`",
            ),
            idle(
                self.backup != Backup::Soft && !munchausen,
                &["entropy_temperature"],
                "backup",
                "no entropy is counted; set `backup: soft` or `munchausen_alpha`",
            ),
            idle(
                self.backup != Backup::Mellowmax,
                &["mellowmax_omega"],
                "backup",
                "the maximum is not smooth; set `backup: mellowmax`",
            ),
            idle(
                !munchausen,
                &["munchausen_clip_min"],
                "munchausen_alpha",
                "there is no bonus; set `munchausen_alpha`",
            ),
            idle(
                self.advantage_alpha == 0.0,
                &["persistent_advantage"],
                "advantage_alpha",
                "no action gap is subtracted; set `advantage_alpha`",
            ),
            priorities(!self.prioritized_replay),
            goals(self.n_sampled_goal == 0),
        ]
    }
}
