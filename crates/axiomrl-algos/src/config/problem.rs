//! Settings that are each in range and do not go together.

/// What is wrong with some settings of an algorithm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    /// The settings to look at, without `algo_kwargs`; the first is the one to blame if all were written alike.
    pub keys: Vec<&'static str>,
    /// What is wrong and what to change.
    pub message: String,
}

impl Problem {
    pub fn new(keys: &[&'static str], message: impl Into<String>) -> Self {
        Self { keys: keys.to_vec(), message: message.into() }
    }

    /// As a result, for checks that go on when a condition does not hold.
    pub fn when(wrong: bool, keys: &[&'static str], message: impl FnOnce() -> String) -> Result<(), Self> {
        if wrong { Err(Self::new(keys, message())) } else { Ok(()) }
    }
}

/// Settings that have no effect while something else is not as they need it. Who writes one of them believes in an effect.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// Whether they have none now.
    pub now: bool,
    pub keys: &'static [&'static str],
    /// The setting that switches them off. Who writes it, too, knows what it does: a comparison with and without
    /// something leaves the rest of the file alone. Absent where that is not so plain.
    pub switch: Option<&'static str>,
    /// Why they have no effect, and what to change.
    pub why: &'static str,
}

/// What `prioritized_replay: false` makes useless, in every algorithm that has it.
pub fn priorities(off: bool) -> Idle {
    Idle {
        now: off,
        keys: &["prioritized_alpha", "prioritized_beta", "prioritized_eps", "priority_eta"],
        switch: Some("prioritized_replay"),
        why: "transitions are drawn evenly; set `prioritized_replay: true`",
    }
}

/// What `n_sampled_goal: 0` makes useless.
pub fn goals(none: bool) -> Idle {
    Idle {
        now: none,
        keys: &["goal_selection_strategy"],
        switch: Some("n_sampled_goal"),
        why: "no goals are drawn in hindsight; set `n_sampled_goal`, 4 say",
    }
}

/// What a weight of the entropy that is not adapted makes useless.
pub fn fixed_temperature(fixed: bool) -> Idle {
    Idle {
        now: fixed,
        keys: &["ent_coef_init", "ent_coef_learning_rate", "ent_coef_loss", "target_entropy", "target_entropy_ratio"],
        switch: Some("ent_coef"),
        why: "the weight of the entropy is not adapted; set `ent_coef: auto`, which needs a Gaussian policy",
    }
}

/// What `offline: false` makes useless.
pub fn online(online: bool) -> Idle {
    Idle {
        now: online,
        keys: &["online_timesteps"],
        switch: Some("offline"),
        why: "the run steps the environment from its beginning; set `offline: true` to learn from `dataset` first",
    }
}

/// What an offline run without steps of its own makes useless.
pub fn without_steps(none: bool) -> Idle {
    Idle {
        now: none,
        keys: &[
            "offline_batch_ratio",
            "buffer_capacity",
            "learning_starts",
            "train_frequency",
            "epsilon_start",
            "epsilon_end",
            "exploration_fraction",
        ],
        switch: Some("offline"),
        why: "no environment step is taken; set `online_timesteps`, or `offline: false`",
    }
}

/// What being offline makes useless in any case.
pub fn offline(offline: bool) -> Idle {
    Idle {
        now: offline,
        keys: &["offline_pretrain_updates"],
        switch: Some("offline"),
        why: "`total_timesteps` says how many updates are made on `dataset` alone; set `offline: false`",
    }
}
