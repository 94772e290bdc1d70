//! Settings of the off-policy actor-critic learner. Each is a choice of its own; a preset is a point among them.

pub use super::choices::{
    ActorReducer, BcDistance, CriticOutput, TargetAction, TargetReducer, UpdateOrder, WeightInit,
};

use crate::config::{layer_widths, settings};
use crate::parts::noise::Exploration;
use crate::parts::squashed_actor::ActorKind;
use crate::parts::temperature::{TemperatureLoss, TemperatureSetting};
use crate::parts::torso::MemoryKind;
use crate::parts::trunk::{MemorySpec, orthogonal};
use axiomrl_core::{Extras, Schedule};
use axiomrl_nn::{AdamConfig, Init, OptimizerConfig};

settings! {
    /// Settings of the actor-critic methods that learn from replay.
    pub struct AcConfig {
        ..learning_rate,
        ..replay,
        ..priorities,
        ..prior,
        ..goals,
        ..network,
        ..action_noise,
        ..replayed_memory,
        /// Another step size for the actor.
        #[garde(inner(custom(Schedule::range_ok(0.0, 1.0))))]
        pub actor_learning_rate: Option<Schedule>,
        /// Another step size for the critics, and for the encoder that they train.
        #[garde(inner(custom(Schedule::range_ok(0.0, 1.0))))]
        pub critic_learning_rate: Option<Schedule>,
        /// Another step size for the weight of the entropy.
        #[garde(inner(custom(Schedule::range_ok(0.0, 1.0))))]
        pub ent_coef_learning_rate: Option<Schedule>,
        /// Adam's decay of the gradient's running mean.
        #[garde(range(min = 0.0, max = 0.999))]
        pub adam_beta1: f32,
        /// Largest global norm of a gradient; absent: no limit.
        #[garde(inner(range(min = 0.0)))]
        pub max_grad_norm: Option<f32>,
        /// Largest norm of the critics' gradient by one action; absent: no limit.
        #[garde(inner(range(min = 0.0)))]
        pub max_action_grad_norm: Option<f32>,
        /// Updates of the critics per update of the actor and of the target networks.
        #[garde(range(min = 1, max = 1000))]
        pub policy_delay: u64,
        /// Updates the actor only at the end of each burst.
        pub actor_once_per_block: bool,
        /// Which network learns first in an update.
        pub update_order: UpdateOrder,
        /// How much of the networks the target networks take over per update.
        #[garde(range(min = 0.0, max = 1.0))]
        pub tau: f32,
        /// The same for a slow copy of the encoder of images; absent: targets look with the encoder itself.
        #[garde(inner(range(min = 0.0, max = 1.0)))]
        pub encoder_tau: Option<f32>,
        /// Factor on rewards before they are learned from.
        #[garde(range(min = 1e-6, max = 1e6))]
        pub reward_scale: f32,
        /// What the policy is.
        pub actor: ActorKind,
        /// Lowest logarithm of a Gaussian policy's standard deviation.
        #[garde(range(min = -50.0, max = 1.0))]
        pub log_std_min: f32,
        /// Added to that logarithm at the start: below 0, the first policy is narrower.
        #[garde(range(min = -5.0, max = 2.0))]
        pub log_std_offset: f32,
        /// Weight of the entropy of a Gaussian policy: `auto`, or a number that stays fixed (0 switches it off).
        /// Absent for a deterministic policy, which has none.
        pub ent_coef: Option<TemperatureSetting>,
        /// Temperature at the start when it is adapted.
        #[garde(range(min = 1e-8, max = 1000.0))]
        pub ent_coef_init: f32,
        /// What the weight of the entropy descends on when it is adapted.
        pub ent_coef_loss: TemperatureLoss,
        /// Entropy to aim for; absent means minus the number of actions, times `target_entropy_ratio`.
        pub target_entropy: Option<f32>,
        /// Minus the entropy to aim for, per number of an action, where `target_entropy` is absent.
        #[garde(range(min = 0.0, max = 10.0))]
        pub target_entropy_ratio: f32,
        /// Counts the entropy of future actions as reward.
        pub entropy_backup: bool,
        /// How actions depart from the policy's mean while collecting. `colored` and `state_dependent` noise takes the place of
        /// a Gaussian policy's own, and `exploration_noise` is then a factor on it.
        pub exploration: Exploration,
        /// Which policy values the next observation.
        pub target_action: TargetAction,
        /// Size of the noise of `target_actor_smoothed`.
        #[garde(range(min = 0.0, max = 10.0))]
        pub target_noise: f32,
        /// Bound of that noise, and of the noise that a `scheduled_noise` actor has in updates.
        #[garde(range(min = 0.0, max = 10.0))]
        pub target_noise_clip: f32,
        /// Actions drawn for the next observation of each transition; the one that is worth most counts.
        #[garde(range(min = 1, max = 1000))]
        pub target_samples: usize,
        /// Other widths for the critics.
        #[garde(inner(custom(critic_widths)))]
        pub critic_hidden_sizes: Option<Vec<usize>>,
        /// How the weights of actor and critics begin.
        pub weight_init: WeightInit,
        /// Bound of the initial weights of last layers; absent: as for other layers.
        #[garde(inner(range(min = 0.0, max = 1.0)))]
        pub final_layer_bound: Option<f32>,
        /// Another such bound for the actor.
        #[garde(inner(range(min = 0.0, max = 1.0)))]
        pub actor_final_layer_bound: Option<f32>,
        /// Numbers to which actor and critics each compress what was seen; absent: 50 for images, and vectors stay as they are.
        #[garde(inner(range(min = 1, max = 16_384)))]
        pub feature_dim: Option<usize>,
        /// Pixels by which images are shifted at random in updates; 0 leaves them as they are.
        #[garde(range(min = 0, max = 64))]
        pub shift: usize,
        /// Shifted views of the next observation over which targets are averaged.
        #[garde(range(min = 1, max = 16))]
        pub target_views: usize,
        /// Shifted views of the observation that learn each target.
        #[garde(range(min = 1, max = 16))]
        pub prediction_views: usize,
        /// Also learns to recognise two views of the same image. Needs `encoder_tau`.
        pub contrastive: bool,
        /// Number of critics.
        #[garde(range(min = 1, max = 500))]
        pub n_critics: usize,
        /// What a critic predicts.
        pub critic_output: CriticOutput,
        /// Factor on the critics' loss. That of a scalar critic is half the squared error: 2 makes it the squared error.
        #[garde(range(min = 1e-6, max = 1e6))]
        pub critic_loss_coef: f32,
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
        /// LayerNorm behind the activation of the critics' layers instead of before it.
        pub layer_norm_after: bool,
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
        /// How the critics' values of the next observation become one target.
        pub target_reducer: TargetReducer,
        /// Critics per target of the `subset_min` reducer.
        #[garde(range(min = 1, max = 500))]
        pub subset_size: usize,
        /// Which critic the actor follows.
        pub actor_reducer: ActorReducer,
        /// Keeps the actor near recorded actions: the weight of their squared distance in its loss; 0 is none.
        #[garde(range(min = 0.0, max = 1e6))]
        pub actor_bc_weight: f32,
        /// How that distance counts the numbers of an action.
        pub bc_distance: BcDistance,
        /// Divides the value in the actor's loss by its mean size over the batch, and multiplies it by this, so that it keeps its
        /// proportion to the distance from recorded actions; absent: the value as it is.
        #[garde(inner(range(min = 0.0, max = 1e6)))]
        pub bc_alpha: Option<f32>,
        /// Updates at the start in which the actor imitates recorded actions instead of following the critics.
        #[garde(range(max = 1_000_000_000_000_u64))]
        pub bc_warmup: u64,
        /// Lowers targets by this much of the squared distance between the action they ask about and the one that was recorded
        /// there; 0 is not at all.
        #[garde(range(min = 0.0, max = 1e6))]
        pub critic_bc_weight: f32,
        /// Weight of the gap by which the critics value other actions above recorded ones; 0 is none.
        #[garde(range(min = 0.0, max = 1e6))]
        pub cql_alpha: f32,
        /// Other actions for that gap: as many random ones, and as many of the policy at either end of a transition.
        #[garde(range(min = 1, max = 1000))]
        pub num_cql_samples: usize,
        /// How softly the gap takes the highest of the values of other actions.
        #[garde(range(min = 1e-3, max = 1e3))]
        pub cql_temperature: f32,
        /// Lowest gap of one transition; absent: no bound.
        pub cql_gap_min: Option<f32>,
        /// Highest gap of one transition; absent: no bound.
        pub cql_gap_max: Option<f32>,
        /// Adapts the weight of the gap so that it comes to lie here; absent: the weight stays.
        pub cql_target_gap: Option<f32>,
        /// Leaves the policy's actions alone in the gap where they are worth no more than what was earned.
        pub cql_calibrated: bool,
        /// Weight of the agreement between the critics' slopes by the action; 0 is none.
        #[garde(range(min = 0.0, max = 1e6))]
        pub diversity_coef: f32,
    }
}

/// For garde: as [`layer_widths`], for a list inside an option.
#[expect(clippy::ptr_arg, reason = "garde hands over the field itself")]
fn critic_widths(widths: &Vec<usize>, context: &()) -> garde::Result {
    layer_widths(widths, context)
}

/// The biases of layers that begin `biased`.
const BIAS: f32 = 0.1;

/// Numbers to which images are compressed unless `feature_dim` says otherwise.
const IMAGE_FEATURES: usize = 50;

impl AcConfig {
    /// Numbers to which actor and critics compress what was seen, if they do.
    pub fn features(&self, images: bool) -> Option<usize> {
        self.feature_dim.or(images.then_some(IMAGE_FEATURES))
    }

    /// How the actor's layers begin, over a trunk that compresses or without one.
    pub fn actor_init(&self, compressed: bool) -> Init {
        self.init(compressed, self.actor_final_layer_bound.or(self.final_layer_bound))
    }

    /// The same for the critics.
    pub fn critic_init(&self, compressed: bool) -> Init {
        self.init(compressed, self.final_layer_bound)
    }

    fn init(&self, compressed: bool, output_bound: Option<f32>) -> Init {
        match (self.weight_init, output_bound) {
            (WeightInit::Uniform, None) if compressed => orthogonal(),
            (WeightInit::Uniform, output_bound) => Init::PyTorch { output_bound },
            (WeightInit::Xavier, _) => Init::Xavier { output_scale: 1.0 },
            (WeightInit::Biased, output_bound) => Init::FanIn { bias: BIAS, output_bound },
        }
    }

    /// Whether recorded transitions are learned from.
    pub fn learns_from_data(&self) -> bool {
        self.offline || self.offline_batch_ratio > 0.0 || self.offline_pretrain_updates > 0
    }

    /// Columns that updates need besides the usual ones.
    pub fn extras(&self) -> Extras {
        let calibrated = self.cql_alpha > 0.0 && self.cql_calibrated;
        Extras { next_action: self.critic_bc_weight > 0.0, return_to_go: calibrated }
    }

    /// Whether actions that were not taken are weighed against those that were, row by row.
    pub fn weighs_other_actions(&self) -> bool {
        self.cql_alpha > 0.0 || self.diversity_coef > 0.0
    }

    /// The optimiser of every network.
    pub fn adam(&self) -> OptimizerConfig {
        OptimizerConfig::Adam(AdamConfig { beta1: self.adam_beta1, ..AdamConfig::default() })
    }

    /// The step size of something that may have one of its own.
    pub fn rate(&self, own: Option<&Schedule>, fraction: f64) -> f32 {
        own.unwrap_or(&self.learning_rate).at(fraction) as f32
    }

    /// The memory of a network whose hidden layers are these, if networks remember.
    pub fn memory_spec<'a>(&self, hidden: &'a [usize]) -> Option<MemorySpec<'a>> {
        let (activation, width) = (self.activation, self.recurrent_hidden_size);
        self.memory.cell().map(|cell| MemorySpec { layers: hidden, activation, cell, hidden: width })
    }

    /// The hidden layers before a network's outputs: those after the memory, where there is one.
    pub fn layers<'a>(&'a self, hidden: &'a [usize]) -> &'a [usize] {
        if self.memory == MemoryKind::None { hidden } else { &self.head_sizes }
    }
}
