//! Settings that several algorithms have, declared once.
//!
//! serde can either refuse unknown keys or share a struct of common ones, and refusing matters more. So the groups are pasted
//! into each struct: `settings! { pub struct X { ..replay, ..optimizer, pub own: f32 } }`. A struct's own fields come after
//! its groups.

/// A struct of settings: groups by name, then fields of its own. Serialisation, schema and checks come with it.
macro_rules! settings {
    // The groups are used up one by one, their fields gathered in the second bracket.
    (@ $head:tt [$($gathered:tt)*] ..replay, $($rest:tt)*) => {
        $crate::config::settings! { @ $head [$($gathered)*
            /// Transitions kept.
            #[garde(range(min = 1, max = 100_000_000))]
            pub buffer_capacity: usize,
            /// Transitions per update; with a memory, sequences.
            #[garde(range(min = 1, max = 65_536))]
            pub batch_size: usize,
            /// Random steps before the first update.
            #[garde(range(max = 1_000_000_000_000_000_u64))]
            pub learning_starts: u64,
            /// Environment steps between bursts of updates.
            #[garde(range(min = 1, max = 1_000_000_000_000_u64))]
            pub train_frequency: u64,
            /// Updates in a burst; -1 makes as many as steps were taken.
            #[garde(range(min = -1, max = 100_000), custom($crate::config::some_updates))]
            pub gradient_steps: i64,
            /// Discount per step.
            #[garde(range(min = 0.0, max = 1.0))]
            pub gamma: f32,
            /// Rewards summed before bootstrapping.
            #[garde(range(min = 1, max = 1000))]
            pub n_step: usize,
        ] $($rest)* }
    };
    (@ $head:tt [$($gathered:tt)*] ..priorities, $($rest:tt)*) => {
        $crate::config::settings! { @ $head [$($gathered)*
            /// Draw transitions in proportion to their error; with a memory, sequences.
            pub prioritized_replay: bool,
            /// How strongly the error counts: 0 is uniform.
            #[garde(range(min = 0.0, max = 1.0))]
            pub prioritized_alpha: f32,
            /// Correction for the uneven drawing, over the run.
            #[garde(custom(axiomrl_core::Schedule::range_ok(0.0, 1.0)))]
            pub prioritized_beta: axiomrl_core::Schedule,
            /// Smallest error, so that no transition is forgotten.
            #[garde(range(min = 0.0))]
            pub prioritized_eps: f32,
        ] $($rest)* }
    };
    (@ $head:tt [$($gathered:tt)*] ..prior, $($rest:tt)*) => {
        $crate::config::settings! { @ $head [$($gathered)*
            /// Learns from the transitions of `dataset` alone: `total_timesteps` and all intervals count updates.
            pub offline: bool,
            /// Environment steps that follow an `offline` run, with updates on both.
            #[garde(range(max = 1_000_000_000_000_000_u64))]
            pub online_timesteps: u64,
            /// The part of each batch that is drawn from `dataset` once there are steps of the run's own.
            #[garde(range(min = 0.0, max = 1.0))]
            pub offline_batch_ratio: f32,
            /// Bursts of updates on `dataset` alone before the first environment step.
            #[garde(range(max = 1_000_000_000_000_u64))]
            pub offline_pretrain_updates: u64,
        ] $($rest)* }
    };
    (@ $head:tt [$($gathered:tt)*] ..goals, $($rest:tt)*) => {
        $crate::config::settings! { @ $head [$($gathered)*
            /// Goals drawn in hindsight for every real one, where goals are part of the observation; 0 switches it off.
            #[garde(range(min = 0, max = 100))]
            pub n_sampled_goal: usize,
            /// Which reached goals are drawn: `future`, `final` or `episode`.
            #[schemars(schema_with = "crate::config::choices::<axiomrl_core::GoalStrategy>")]
            pub goal_selection_strategy: axiomrl_core::GoalStrategy,
        ] $($rest)* }
    };
    (@ $head:tt [$($gathered:tt)*] ..rollout, $($rest:tt)*) => {
        $crate::config::settings! { @ $head [$($gathered)*
            /// Steps of each environment per rollout.
            #[garde(range(min = 1, max = 1_000_000))]
            pub num_steps: usize,
            /// Discount per step.
            #[garde(range(min = 0.0, max = 1.0))]
            pub gamma: f32,
            /// Trade-off of bias and variance in the advantage.
            #[garde(range(min = 0.0, max = 1.0))]
            pub gae_lambda: f32,
        ] $($rest)* }
    };
    (@ $head:tt [$($gathered:tt)*] ..learning_rate, $($rest:tt)*) => {
        $crate::config::settings! { @ $head [$($gathered)*
            /// Step size of Adam.
            #[garde(custom(axiomrl_core::Schedule::range_ok(0.0, 1.0)))]
            pub learning_rate: axiomrl_core::Schedule,
        ] $($rest)* }
    };
    (@ $head:tt [$($gathered:tt)*] ..network, $($rest:tt)*) => {
        $crate::config::settings! { @ $head [$($gathered)*
            /// What looks at images, before the hidden layers.
            pub vision: $crate::parts::input::Vision,
            /// Widths of the hidden layers; with a memory, of those before it.
            #[garde(custom($crate::config::layer_widths))]
            pub hidden_sizes: Vec<usize>,
            /// Non-linearity of the hidden layers.
            #[schemars(schema_with = "crate::config::choices::<axiomrl_nn::Activation>")]
            pub activation: axiomrl_nn::Activation,
        ] $($rest)* }
    };
    (@ $head:tt [$($gathered:tt)*] ..memory, $($rest:tt)*) => {
        $crate::config::settings! { @ $head [$($gathered)*
            /// What is remembered within an episode: `none`, or the state of an `lstm` or `gru`.
            pub memory: $crate::parts::torso::MemoryKind,
            /// Width of the memory.
            #[garde(range(min = 1, max = 16_384))]
            pub recurrent_hidden_size: usize,
            /// Widths of the hidden layers after the memory.
            #[garde(custom($crate::config::layer_widths))]
            pub head_sizes: Vec<usize>,
            /// Steps of a sequence, those of a burn-in included.
            #[garde(range(min = 1, max = 100_000))]
            pub sequence_length: usize,
        ] $($rest)* }
    };
    (@ $head:tt [$($gathered:tt)*] ..replayed_memory, $($rest:tt)*) => {
        $crate::config::settings! { @ $head [$($gathered)*
            /// Steps at the beginning of a sequence that only fill the memory.
            #[garde(range(max = 100_000))]
            pub burn_in: usize,
            /// Steps that a sequence shares with the next one; absent is half of it.
            #[garde(inner(range(max = 100_000)))]
            pub overlap: Option<usize>,
            /// Begin a sequence with the memory that the policy had there, instead of an empty one.
            pub stored_state: bool,
        ] ..memory, $($rest)* }
    };
    (@ $head:tt [$($gathered:tt)*] ..epsilon, $($rest:tt)*) => {
        $crate::config::settings! { @ $head [$($gathered)*
            /// Chance of a random action at the start.
            #[garde(range(min = 0.0, max = 1.0))]
            pub epsilon_start: f64,
            /// Chance of a random action after `exploration_fraction` of the run.
            #[garde(range(min = 0.0, max = 1.0))]
            pub epsilon_end: f64,
            /// Part of the run over which the chance falls.
            #[garde(range(min = 0.0, max = 1.0))]
            pub exploration_fraction: f64,
        ] $($rest)* }
    };
    (@ $head:tt [$($gathered:tt)*] ..action_noise, $($rest:tt)*) => {
        $crate::config::settings! { @ $head [$($gathered)*
            /// Size of the exploration noise, over the run.
            #[garde(custom(axiomrl_core::Schedule::range_ok(0.0, 10.0)))]
            pub exploration_noise: axiomrl_core::Schedule,
            /// Slowest movement of coloured noise, in steps: about the length of an episode.
            #[garde(range(min = 2, max = 1_000_000))]
            pub exploration_horizon: usize,
        ] $($rest)* }
    };
    (@ $head:tt [$($gathered:tt)*] ..recorded, $($rest:tt)*) => {
        $crate::config::settings! { @ $head [$($gathered)*
            /// Recorded transitions per update.
            #[garde(range(min = 1, max = 65_536))]
            pub batch_size: usize,
            /// Discount per step.
            #[garde(range(min = 0.0, max = 1.0))]
            pub gamma: f32,
            /// Environment steps after the updates on what was recorded: 0, for none are taken.
            pub online_timesteps: u64,
        ] $($rest)* }
    };
    (@ $head:tt [$($gathered:tt)*] ..action_model, $($rest:tt)*) => {
        $crate::config::settings! { @ $head [$($gathered)*
            /// Widths of the hidden layers of the action model, encoder and decoder.
            #[garde(custom($crate::config::layer_widths))]
            pub vae_hidden_sizes: Vec<usize>,
            /// Numbers of the action model's latent; absent is two for each of an action.
            #[garde(inner(range(min = 1, max = 1024)))]
            pub latent_size: Option<usize>,
            /// Largest number of a latent that is decoded: how far from the usual a proposed action may be.
            #[garde(range(min = 0.0, max = 10.0))]
            pub latent_clip: f32,
            /// Weight of the divergence in the loss of the action model.
            #[garde(range(min = 0.0, max = 1000.0))]
            pub kl_weight: f32,
        ] $($rest)* }
    };
    (@ $head:tt [$($gathered:tt)*] ..soft_policy, $($rest:tt)*) => {
        $crate::config::settings! { @ $head [$($gathered)*
            /// Widths of the hidden layers of policy and critics.
            #[garde(custom($crate::config::layer_widths))]
            pub hidden_sizes: Vec<usize>,
            /// Non-linearity of the hidden layers of policy and critics.
            #[schemars(schema_with = "crate::config::choices::<axiomrl_nn::Activation>")]
            pub activation: axiomrl_nn::Activation,
            /// Another step size for the policy.
            #[garde(inner(custom(axiomrl_core::Schedule::range_ok(0.0, 1.0))))]
            pub policy_learning_rate: Option<axiomrl_core::Schedule>,
            /// How much of the critics their target networks take over per update.
            #[garde(range(min = 0.0, max = 1.0))]
            pub tau: f32,
            /// Weight of the entropy: `auto`, or a number that stays fixed.
            pub ent_coef: $crate::parts::temperature::TemperatureSetting,
            /// Temperature at the start when it is adapted.
            #[garde(range(min = 1e-8, max = 1000.0))]
            pub ent_coef_init: f32,
            /// Entropy to aim for; absent means minus the number of actions.
            pub target_entropy: Option<f32>,
        ] $($rest)* }
    };
    (@ $head:tt [$($gathered:tt)*] ..dynamics, $($rest:tt)*) => {
        $crate::config::settings! { @ $head [$($gathered)*
            /// Networks of the model.
            #[garde(range(min = 1, max = 100))]
            pub num_ensembles: usize,
            /// Widths of the hidden layers of each.
            #[garde(custom($crate::config::layer_widths))]
            pub model_hidden_sizes: Vec<usize>,
            /// Rows of each network per step of its optimiser.
            #[garde(range(min = 1, max = 65_536))]
            pub model_batch_size: usize,
            /// Weight decay of the first, the second, all further hidden layers, and the output of the model.
            #[garde(custom($crate::config::four_decays))]
            pub model_weight_decay: Vec<f32>,
            /// Largest norm of the gradient of each network of the model; absent: no limit.
            #[garde(inner(range(min = 0.0)))]
            pub model_max_grad_norm: Option<f32>,
            /// Whether the bounds of the predicted log-variances are learned.
            pub logvar_bounds: $crate::model_based::LogVarBounds,
            /// Brings what is predicted to unit scale at each fit, as inputs are in any case.
            pub standardize_targets: bool,
        ] $($rest)* }
    };
    (@ $head:tt [$($gathered:tt)*] ..model_fit, $($rest:tt)*) => {
        $crate::config::settings! { @ $head [$($gathered)*
            /// Step size of the model's Adam.
            #[garde(range(min = 0.0, max = 1.0))]
            pub model_learning_rate: f32,
            /// Networks that predict: those with the lowest error on rows held out.
            #[garde(range(min = 1, max = 100))]
            pub num_elites: usize,
            /// The part of the rows that is held out of each fit.
            #[garde(range(min = 1e-6, max = 0.9))]
            pub holdout_ratio: f32,
            /// Most rows held out.
            #[garde(range(min = 1, max = 10_000_000))]
            pub holdout_max: usize,
            /// Gradient steps without progress after which a fit ends; absent: more than 5 epochs without.
            #[garde(inner(range(min = 1, max = 1_000_000_000_u64)))]
            pub model_patience: Option<u64>,
            /// Gradient steps between looks at the rows held out, where `model_patience` is given.
            #[garde(range(min = 1, max = 1_000_000_000_u64))]
            pub model_check_interval: u64,
            /// Most gradient steps of a fit; absent: no limit.
            #[garde(inner(range(min = 1, max = 1_000_000_000_u64)))]
            pub model_updates: Option<u64>,
            /// The same for the first fit.
            #[garde(inner(range(min = 1, max = 1_000_000_000_u64)))]
            pub model_updates_first: Option<u64>,
            /// Measures the progress of a fit from the weights before it, instead of taking whatever its first look finds.
            pub model_keep_best: bool,
            /// Gives each row the change of another before each fit: a model that knows nothing, to compare with.
            pub permute_targets: bool,
            /// Who says where imagined episodes end.
            pub termination: $crate::model_based::Termination,
            /// Rollouts of each refresh.
            #[garde(range(min = 1, max = 10_000_000))]
            pub rollout_batch_size: usize,
            /// Steps of a rollout.
            #[garde(range(min = 1, max = 1000))]
            pub rollout_horizon: u64,
            /// Brings imagined observations back to possible ones, where the environment's rules know how.
            pub project: bool,
            /// Keeps imagined observations and rewards within the span of the data, widened by a tenth.
            pub clip_to_data: bool,
            /// The part of each batch that is imagined.
            #[garde(range(min = 0.0, max = 1.0))]
            pub synthetic_batch_ratio: f32,
        ] $($rest)* }
    };
    (@ $head:tt [$($gathered:tt)*] ..ppo, $($rest:tt)*) => {
        $crate::config::settings! { @ $head [$($gathered)*
            /// Passes over each rollout.
            #[garde(range(min = 1, max = 1000))]
            pub update_epochs: usize,
            /// Steps per update; with a memory, in whole sequences.
            #[garde(range(min = 1, max = 10_000_000))]
            pub minibatch_size: usize,
            /// How far the probability ratio may move.
            #[garde(custom(axiomrl_core::Schedule::range_ok(0.0, 10.0)))]
            pub clip_coef: axiomrl_core::Schedule,
            /// How far a value may move per update; absent leaves it free.
            #[garde(inner(range(min = 0.0)))]
            pub value_clip_coef: Option<f32>,
            /// Weight of the entropy bonus.
            #[garde(custom(axiomrl_core::Schedule::range_ok(0.0, 10.0)))]
            pub ent_coef: axiomrl_core::Schedule,
            /// Weight of the value loss.
            #[garde(range(min = 0.0, max = 100.0))]
            pub vf_coef: f32,
            /// Largest global norm of the gradient of policy and value together.
            #[garde(range(min = 0.0))]
            pub max_grad_norm: f32,
            /// Standardise advantages within each minibatch.
            pub normalize_advantage: bool,
            /// Divergence at which the passes over a rollout end; absent makes them all.
            #[garde(inner(range(min = 0.0)))]
            pub target_kl: Option<f32>,
            /// One torso for policy and value together: what looks at images, the hidden layers, the memory.
            pub shared: bool,
            /// Logarithm of the initial standard deviation of Box actions.
            #[garde(range(min = -20.0, max = 2.0))]
            pub log_std_init: f32,
        ] $($rest)* }
    };
    (@ $head:tt [$($gathered:tt)*] ..curiosity, $($rest:tt)*) => {
        $crate::config::settings! { @ $head [$($gathered)*
            /// What the learner pays itself for, beside the environment.
            pub curiosity: $crate::policy_gradient::CuriosityKind,
            /// Scale bonuses and give them values of their own, which know no ends; otherwise they are added to the rewards.
            pub two_streams: bool,
            /// Weight of what the learner pays itself: of its advantages, or of the bonus that is added to the rewards.
            #[garde(range(min = 0.0, max = 1000.0))]
            pub intrinsic_coef: f32,
            /// Weight of the advantages of the environment's rewards.
            #[garde(range(min = 0.0, max = 1000.0))]
            pub extrinsic_coef: f32,
            /// Discount per step of what the learner pays itself.
            #[garde(range(min = 0.0, max = 1.0))]
            pub intrinsic_gamma: f32,
            /// Step size of the Adam of the bonus; 0 leaves its networks as they were drawn.
            #[garde(custom(axiomrl_core::Schedule::range_ok(0.0, 1.0)))]
            pub curiosity_learning_rate: axiomrl_core::Schedule,
            /// Steps of random actions, in all environments together, that set the scale of observations for the bonus.
            #[garde(range(max = 1_000_000_000_u64))]
            pub warm_up_steps: u64,
            /// The part of the steps that the predictor learns from; absent is 32 over the number of environments, at most 1.
            #[garde(inner(range(min = 1e-6, max = 1.0)))]
            pub predictor_share: Option<f32>,
            /// What the error of the forward model is multiplied by; with `two_streams` the scale is found anyway.
            #[garde(range(min = 1e-9, max = 1e9))]
            pub bonus_scale: f32,
            /// Weight of the forward model's loss; that of the inverse model has the rest.
            #[garde(range(min = 0.0, max = 1.0))]
            pub forward_loss_coef: f32,
            /// Which loss may move the features.
            pub feature_gradient: $crate::policy_gradient::FeatureGradient,
            /// Deal the bonuses out to other steps at random: a control, which must not explore.
            pub permute_bonus: bool,
        ] $($rest)* }
    };
    (@ $head:tt [$($gathered:tt)*] ..stochastic_policy, $($rest:tt)*) => {
        $crate::config::settings! { @ $head [$($gathered)*
            /// Weight of the entropy bonus.
            #[garde(custom(axiomrl_core::Schedule::range_ok(0.0, 10.0)))]
            pub ent_coef: axiomrl_core::Schedule,
            /// Logarithm of the initial standard deviation of Box actions.
            #[garde(range(min = -20.0, max = 2.0))]
            pub log_std_init: f32,
            /// Give every step the advantage of another one: a control, which must learn nothing.
            pub shuffle_advantages: bool,
        ] $($rest)* }
    };
    (@ $head:tt [$($gathered:tt)*] ..trust_region, $($rest:tt)*) => {
        $crate::config::settings! { @ $head [$($gathered)*
            /// How far a step may take the policy: the mean divergence of the new one from the old one.
            #[garde(range(min = 1e-9, max = 10.0))]
            pub max_kl: f32,
            /// Most steps of conjugate gradients on the way to a direction; 1 is the plain gradient.
            #[garde(range(min = 1, max = 1000))]
            pub cg_iterations: usize,
            /// Added to the curvature in every direction.
            #[garde(range(min = 0.0, max = 100.0))]
            pub cg_damping: f32,
            /// Part of the rollout's steps that the curvature is measured on.
            #[garde(range(min = 0.001, max = 1.0))]
            pub curvature_share: f32,
            /// Most lengths of a step that are tried, the first one the longest; 0 takes that one unseen.
            #[garde(range(max = 1000))]
            pub line_search_steps: usize,
            /// Each length that is tried over the one before.
            #[garde(range(min = 0.01, max = 0.99))]
            pub line_search_shrink: f32,
        ] $($rest)* }
    };
    (@ $head:tt [$($gathered:tt)*] ..search, $($rest:tt)*) => {
        $crate::config::settings! { @ $head [$($gathered)*
            /// Widths of the hidden layers; none make the policy linear.
            #[garde(custom($crate::config::layer_widths))]
            pub hidden_sizes: Vec<usize>,
            /// Non-linearity of the hidden layers.
            #[schemars(schema_with = "crate::config::choices::<axiomrl_nn::Activation>")]
            pub activation: axiomrl_nn::Activation,
            /// Episodes that each candidate is scored by.
            #[garde(range(min = 1, max = 10_000))]
            pub episodes_per_candidate: usize,
            /// Taken from the reward of every step before candidates are compared: the pay for staying alive.
            #[garde(range(min = -1e6, max = 1e6))]
            pub reward_shift: f64,
            /// Look for the lowest return instead of the highest.
            pub minimize: bool,
            /// Deal the scores out to the candidates at random: a comparison that cannot learn.
            pub permute_scores: bool,
        ] $($rest)* }
    };
    (@ $head:tt [$($gathered:tt)*] ..discriminator, $($rest:tt)*) => {
        $crate::config::settings! { @ $head [$($gathered)*
            /// What learns from the rewards.
            pub generator: $crate::imitation::GeneratorKind,
            /// Step size of the discriminator's Adam; 0 freezes it, and every step is then paid alike.
            #[garde(custom(axiomrl_core::Schedule::range_ok(0.0, 1.0)))]
            pub discriminator_learning_rate: axiomrl_core::Schedule,
            /// Steps of the discriminator on each rollout.
            #[garde(range(min = 1, max = 10_000))]
            pub discriminator_updates: usize,
            /// Rows of the rollout in each of its steps, and as many of the expert.
            #[garde(range(min = 1, max = 1_000_000))]
            pub discriminator_batch_size: usize,
            /// What observations and Box actions are standardised by.
            pub input_statistics: $crate::imitation::InputStatistics,
            /// Episodes of the expert to learn from, drawn from those recorded; absent takes them all.
            #[garde(inner(range(min = 1, max = 1_000_000)))]
            pub expert_episodes: Option<usize>,
            /// Divide rewards by the running deviation of the return.
            pub scale_reward: Option<bool>,
        ] $($rest)* }
    };
    // Only fields of its own are left.
    (@ [$(#[$about:meta])* pub struct $name:ident] [$($gathered:tt)*]
        $($(#[$attribute:meta])* pub $field:ident: $kind:ty,)*) => {
        $(#[$about])*
        #[derive(
            Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema, garde::Validate,
        )]
        #[serde(deny_unknown_fields, default)]
        #[garde(allow_unvalidated)]
        pub struct $name {
            $($gathered)*
            $($(#[$attribute])* pub $field: $kind,)*
        }
    };
    ($(#[$about:meta])* pub struct $name:ident { $($body:tt)* }) => {
        $crate::config::settings! { @ [$(#[$about])* pub struct $name] [] $($body)* }
    };
}

pub(crate) use settings;
