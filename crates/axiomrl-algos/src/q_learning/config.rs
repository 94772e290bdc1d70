//! The settings of the whole family of discrete-action value learners.

use crate::config::{Idle, Problem, defaults, goals, offline, online, priorities, settings, without_steps};
use crate::parts::input::Vision;
use crate::parts::torso::MemoryKind;
use axiomrl_core::Schedule;
use axiomrl_nn::Activation;
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

settings! {
    /// Settings of DQN and its relatives.
    pub struct DqnConfig {
        ..learning_rate,
        ..replay,
        ..priorities,
        ..prior,
        ..goals,
        ..network,
        ..replayed_memory,
        ..epsilon,
        /// Adam's small number.
        #[garde(range(min = 0.0, max = 1.0))]
        pub adam_eps: f32,
        /// Largest global norm of a gradient.
        #[garde(range(min = 0.0))]
        pub max_grad_norm: f32,
        /// Environment steps between updates of the target network.
        #[garde(range(min = 1, max = 1_000_000_000_000_u64))]
        pub target_update_interval: u64,
        /// How much of the online network the target takes over: 1 copies.
        #[garde(range(min = 0.0, max = 1.0))]
        pub tau: f32,

        /// How actions are explored.
        pub exploration: Exploration,
        /// Temperature of Boltzmann exploration and of the `boltzmann` backup.
        #[garde(range(min = 1e-6, max = 1e6))]
        pub boltzmann_temperature: f32,
        /// Explore by noise in the weights instead of by chance; with a memory, in those after it.
        pub noisy: bool,
        /// Size of that noise at the start.
        #[garde(range(min = 0.0, max = 10.0))]
        pub sigma_init: f32,

        /// What the network says about a return.
        pub head: HeadKind,
        /// Value of the state and advantage of the action in networks of their own.
        pub dueling: bool,
        /// Learn the values on a scale on which large ones are close together.
        pub value_rescale: bool,
        /// Least return of a categorical head; with `value_rescale`, on that scale.
        pub v_min: f32,
        /// Greatest return of a categorical head; with `value_rescale`, on that scale.
        pub v_max: f32,
        /// Returns of a categorical head.
        #[garde(range(min = 2, max = 10_000))]
        pub num_atoms: usize,
        /// Fractions of a quantile head.
        #[garde(range(min = 1, max = 10_000))]
        pub num_quantiles: usize,
        /// Fractions that targets are drawn at, of an implicit head; absent takes as many as are learned.
        #[garde(inner(range(min = 1, max = 10_000)))]
        pub num_target_quantiles: Option<usize>,
        /// Fractions that actions are chosen by, of an implicit head.
        #[garde(range(min = 1, max = 10_000))]
        pub num_choice_quantiles: usize,
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
        /// Part of the largest error in that of a sequence; the rest is the mean.
        #[garde(range(min = 0.0, max = 1.0))]
        pub priority_eta: f32,
    }
}

impl Default for DqnConfig {
    fn default() -> Self {
        defaults! { Self {
            ..priorities,
            ..prior,
            ..goals,
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
            memory: MemoryKind::None,
            recurrent_hidden_size: 64,
            head_sizes: Vec::new(),
            sequence_length: 10,
            burn_in: 0,
            overlap: None,
            stored_state: false,
            exploration: Exploration::Epsilon,
            epsilon_start: 1.0,
            epsilon_end: 0.05,
            exploration_fraction: 0.3,
            boltzmann_temperature: 0.5,
            noisy: false,
            sigma_init: 0.5,
            head: HeadKind::Scalar,
            dueling: false,
            value_rescale: false,
            v_min: -10.0,
            v_max: 10.0,
            num_atoms: 51,
            num_quantiles: 32,
            num_target_quantiles: None,
            num_choice_quantiles: 32,
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
            priority_eta: 0.9,
        } }
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
        })?;
        if self.remembers() { self.check_memory() } else { Ok(()) }
    }

    /// What contradicts a memory.
    fn check_memory(&self) -> Result<(), Problem> {
        let (length, burn_in) = (self.sequence_length, self.burn_in);
        Problem::when(length <= burn_in, &["burn_in", "sequence_length"], || {
            format!(
                "`burn_in` {burn_in} leaves nothing to learn of a `sequence_length` of {length}; make the sequence longer or \
                 the burn-in shorter"
            )
        })?;
        Problem::when(self.n_sampled_goal > 0, &["n_sampled_goal", "memory"], || {
            "goals are drawn in hindsight for single steps, and a memory is trained on sequences; set `n_sampled_goal: 0` or \
             `memory: none`"
                .to_owned()
        })
    }

    /// Whether there is a memory.
    pub fn remembers(&self) -> bool {
        self.memory != MemoryKind::None
    }

    /// Steps that a sequence shares with the next.
    pub fn overlap(&self) -> usize {
        self.overlap.unwrap_or(self.sequence_length / 2)
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
                self.head != HeadKind::Implicit,
                &["num_target_quantiles", "num_choice_quantiles"],
                "head",
                "no fractions are drawn; set `head: implicit`",
            ),
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
            idle(
                !self.remembers(),
                &[
                    "recurrent_hidden_size",
                    "head_sizes",
                    "sequence_length",
                    "burn_in",
                    "overlap",
                    "stored_state",
                    "priority_eta",
                ],
                "memory",
                "nothing is remembered, so there are no sequences; set `memory: lstm`",
            ),
            priorities(!self.prioritized_replay),
            goals(self.n_sampled_goal == 0),
            online(!self.offline),
            offline(self.offline),
            without_steps(self.offline && self.online_timesteps == 0),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::q_learning::Dqn;
    use crate::registry::Algorithm;

    #[test]
    fn contradictions_of_a_memory_say_what_to_change() {
        let plain = || DqnConfig { memory: MemoryKind::Lstm, ..DqnConfig::default() };
        assert_eq!(Dqn::check(&plain()), Ok(()));
        for (config, named, advice) in [
            (DqnConfig { burn_in: 10, ..plain() }, "`burn_in` 10", "make the sequence longer"),
            (DqnConfig { n_step: 10, ..plain() }, "`n_step` 10", "sum fewer rewards"),
            (DqnConfig { overlap: Some(10), ..plain() }, "`overlap` 10", "lower it"),
            (DqnConfig { buffer_capacity: 9, ..plain() }, "`buffer_capacity` 9", "make the buffer larger"),
            (DqnConfig { n_sampled_goal: 4, ..plain() }, "hindsight", "`n_sampled_goal: 0`"),
        ] {
            let problem = Dqn::check(&config).unwrap_err().message;
            assert!(problem.contains(named) && problem.contains(advice), "{problem}");
            // Without a memory there is nothing to contradict.
            assert_eq!(Dqn::check(&DqnConfig { memory: MemoryKind::None, ..config }), Ok(()));
        }
        let least = DqnConfig { burn_in: 9, n_step: 9, overlap: Some(9), buffer_capacity: 10, ..plain() };
        assert_eq!(Dqn::check(&least), Ok(()));
    }

    #[test]
    fn settings_of_a_memory_are_idle_without_one() {
        let idle = |config: DqnConfig| {
            config.idle().iter().filter(|idle| idle.now).flat_map(|idle| idle.keys).any(|key| *key == "burn_in")
        };
        assert!(idle(DqnConfig::default()));
        assert!(!idle(DqnConfig { memory: MemoryKind::Gru, ..DqnConfig::default() }));
    }
}
