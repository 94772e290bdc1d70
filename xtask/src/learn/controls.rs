//! Variants that are broken on purpose, and must not learn.

/// What is broken on purpose.
#[derive(Clone, Copy)]
pub struct Control {
    pub name: &'static str,
    /// The settings that break it, as for `axiomrl train --set`.
    pub set: &'static [&'static str],
}

/// Nothing can be learned without moving. The other control, bootstrapping through termination, cannot be configured:
/// it is a test of `axiomrl-run`.
pub const NO_LEARNING: Control = Control { name: "learning_rate_0", set: &["algo_kwargs.learning_rate=0"] };
/// A policy without memory, where one is needed.
pub const NO_MEMORY: Control = Control { name: "no_memory", set: &["env_id=CartPoleNoVel-v1"] };
/// The same learner, which acts on every observation by itself.
pub const FORGETFUL: Control = Control { name: "forgetful", set: &["algo_kwargs.memory=none"] };
/// What a high ratio of updates to data is for.
pub const ONE_UPDATE: Control = Control { name: "one_update_per_step", set: &["algo_kwargs.gradient_steps=1"] };
/// Noise that forgets itself at every step rocks no car up a hill.
pub const INDEPENDENT_NOISE: Control = Control { name: "independent_noise", set: &["algo_kwargs.exploration=policy"] };
/// Returns of Pendulum reach far below it.
pub const NARROW_SUPPORT: Control = Control {
    name: "narrow_support",
    set: &["algo_kwargs.reward_scale=1", "algo_kwargs.v_min=-10", "algo_kwargs.v_max=10"],
};

/// Without hindsight a goal is found by chance or not at all.
pub const NO_HINDSIGHT: Control = Control { name: "no_relabelling", set: &["algo_kwargs.n_sampled_goal=0"] };
/// The image alone, where the numbers beside it are needed.
pub const NOT_TOLD: Control = Control { name: "not_told", set: &["env_kwargs.hide=told"] };
/// What augmentation is for.
pub const NO_SHIFT: Control = Control { name: "no_augmentation", set: &["algo_kwargs.shift=0"] };

/// SAC, as it were: none of a batch is recorded.
pub const NOTHING_RECORDED: Control =
    Control { name: "nothing_recorded", set: &["algo_kwargs.offline_batch_ratio=0", "dataset=null"] };
/// What holds unregularised critics and policies back.
pub const NO_PENALTY: Control = Control { name: "no_penalty", set: &["algo_kwargs.cql_alpha=0"] };
/// What is paid is a constant.
pub const FROZEN_DISCRIMINATOR: Control =
    Control { name: "frozen_discriminator", set: &["algo_kwargs.discriminator_learning_rate=0"] };
/// Demonstrations of nobody.
pub const RANDOM_EXPERT: Control =
    Control { name: "random_expert", set: &["dataset.dataset_kind=random", "dataset.dataset_id=null"] };
/// The name is its own control: all of the record counts alike.
pub const COPIES_ALL: Control = Control { name: "copies_all", set: &[] };
/// TD3 on recorded data: critics that are never contradicted.
pub const NO_ANCHOR: Control = Control { name: "no_anchor", set: &["algo_kwargs.bc_alpha=1e6"] };
/// Plain copying of as many answers: the policy never sees where it would go itself.
pub const EXPERT_DRIVES: Control = Control { name: "expert_drives", set: &["algo_kwargs.beta_decay=1"] };
/// A policy that does what it is told earns less when it is told to.
pub const ASKED_FOR_LITTLE: Control = Control { name: "asked_for_150", set: &["algo_kwargs.target_return=150"] };

/// The model is told changes that do not belong to their actions.
pub const PERMUTED: Control =
    Control { name: "permuted_model", set: &["algo_kwargs.permute_targets=true", "total_timesteps=3000"] };
/// SAC, as it were: nothing imagined, and one update for each step.
pub const NOTHING_IMAGINED: Control = Control {
    name: "sac_one_update",
    set: &["algo_kwargs.synthetic_batch_ratio=0", "algo_kwargs.gradient_steps=1", "total_timesteps=2500"],
};
/// SAC with as many updates as MBPO makes: for comparison.
pub const NOTHING_IMAGINED_MANY: Control =
    Control { name: "sac_ten_updates", set: &["algo_kwargs.synthetic_batch_ratio=0", "total_timesteps=3500"] };
/// Nothing is paid for going where the model is unsure.
pub const FREE: Control = Control { name: "no_penalty", set: &["algo_kwargs.penalty_coef=0"] };
pub const FREE_NARROW: Control = Control {
    name: "no_penalty_narrow",
    set: &["algo_kwargs.penalty_coef=0", "dataset.dataset_id=pendulum/narrow-v0"],
};
/// Plans in a world that nobody has seen.
pub const RANDOM_MODEL: Control = Control { name: "random_model", set: &["algo_kwargs.random_model=true"] };
/// States that may hold anything, and a prior that need not foresee them.
pub const NO_DIVERGENCE: Control =
    Control { name: "no_divergence", set: &["algo_kwargs.dyn_scale=0", "algo_kwargs.rep_scale=0"] };
/// The critic on replayed rows stands in for the two that follow: it is off in both arms.
pub const NO_REPLAY_CRITIC: Control = Control { name: "no_replay_critic", set: &["algo_kwargs.replay_critic_scale=0"] };
/// A world without end, where every step pays.
pub const NO_END: Control = Control {
    name: "no_continue_head",
    set: &["algo_kwargs.continue_head=false", "algo_kwargs.replay_critic_scale=0"],
};
/// Imagination that looks one step ahead.
pub const SHORT_SIGHTED: Control =
    Control { name: "horizon_1", set: &["algo_kwargs.imagination_horizon=1", "algo_kwargs.replay_critic_scale=0"] };
/// As long steps as ever, and nothing that says where to.
pub const NO_SIGNAL: Control = Control { name: "shuffled_advantages", set: &["algo_kwargs.shuffle_advantages=true"] };
/// The learner pays itself nothing.
pub const NO_BONUS: Control = Control { name: "no_bonus", set: &["algo_kwargs.intrinsic_coef=0"] };
/// Bonuses as large as ever, and no reason for them.
pub const PERMUTED_BONUS: Control = Control { name: "permuted_bonus", set: &["algo_kwargs.permute_bonus=true"] };
/// The name is its own control: chance alone looks for the treasure.
pub const BY_CHANCE: Control = Control { name: "by_chance", set: &[] };
/// Scores of other candidates: steps as long as ever, and no reason for them.
pub const PERMUTED_SCORES: Control = Control { name: "permuted_scores", set: &["algo_kwargs.permute_scores=true"] };
/// Every step is one down instead of up.
pub const REVERSED_STEP: Control = Control { name: "reversed_step", set: &["algo_kwargs.minimize=true"] };
