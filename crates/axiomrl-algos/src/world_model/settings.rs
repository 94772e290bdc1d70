//! Settings of the world models.

use super::choices::{ActorGradient, Core, Dims, FreeNatsOf, Heads, Latents, OptimizerKind, Returns, Sight, Size};
use crate::config::settings;
use crate::regimes::SequenceReplaySettings;
use axiomrl_core::Schedule;

settings! {
    /// Settings of Dreamer and DreamerV3.
    pub struct WorldModelConfig {
        /// Rows kept: an episode of n steps has n + 1.
        #[garde(range(min = 2, max = 100_000_000))]
        pub buffer_capacity: usize,
        /// Windows per update.
        #[garde(range(min = 1, max = 65_536))]
        pub batch_size: usize,
        /// Rows of a window that are learned from.
        #[garde(range(min = 2, max = 10_000))]
        pub batch_length: usize,
        /// Replayed rows for each environment step: divided by `batch_size` times `batch_length`, updates per step.
        #[garde(range(min = 1e-6, max = 1e6))]
        pub train_ratio: f64,
        /// Random steps before the first update.
        #[garde(range(max = 1_000_000_000_000_000_u64))]
        pub learning_starts: u64,
        /// Begin windows with the state that the model had there, which is kept and written back, instead of an empty one.
        pub stored_latents: bool,
        /// Draw each new window once before any is drawn again.
        pub online_queue: bool,
        /// Discount per step.
        #[garde(range(min = 0.0, max = 1.0))]
        pub gamma: f32,
        /// Factor on rewards before they are learned from.
        #[garde(range(min = 1e-6, max = 1e6))]
        pub reward_scale: f32,
        /// Pass rewards through tanh, after the factor.
        pub reward_tanh: bool,

        /// What looks at images.
        pub vision: Sight,
        /// Sizes of all networks at once; absent leaves them to the keys below.
        pub size: Option<Size>,
        /// Numbers of the deterministic state; absent is that of `size`, here and in the next five.
        #[garde(inner(range(min = 1, max = 65_536)))]
        pub deter_size: Option<usize>,
        /// Width of the layers inside of the recurrent model.
        #[garde(inner(range(min = 1, max = 16_384)))]
        pub hidden_size: Option<usize>,
        /// Choices of a categorical state.
        #[garde(inner(range(min = 1, max = 1024)))]
        pub latent_groups: Option<usize>,
        /// Out of how many each is.
        #[garde(inner(range(min = 2, max = 256)))]
        pub latent_classes: Option<usize>,
        /// Channels of the first convolutions, before their multiples.
        #[garde(inner(range(min = 1, max = 1024)))]
        pub conv_depth: Option<usize>,
        /// Width of all other layers.
        #[garde(inner(range(min = 1, max = 16_384)))]
        pub units: Option<usize>,
        /// Numbers of a Gaussian state.
        #[garde(range(min = 1, max = 4096))]
        pub latent_size: usize,
        /// Layers that encode and decode numbers.
        #[garde(range(min = 1, max = 16))]
        pub encoder_layers: usize,
        /// Layers of the reward head.
        #[garde(range(min = 1, max = 16))]
        pub reward_layers: usize,
        /// Layers of the continue head.
        #[garde(range(min = 1, max = 16))]
        pub continue_layers: usize,
        /// Layers of the actor.
        #[garde(range(min = 1, max = 16))]
        pub actor_layers: usize,
        /// Layers of the critic.
        #[garde(range(min = 1, max = 16))]
        pub critic_layers: usize,

        /// What the stochastic part of a state is.
        pub latents: Latents,
        /// What carries a state from row to row, and with it norms and non-linearities.
        pub core: Core,
        /// What rewards, values and observed numbers are predicted as.
        pub heads: Heads,
        /// Part of every categorical distribution that is uniform: latents, and actions learned by `reinforce`.
        #[garde(range(min = 0.0, max = 0.5))]
        pub unimix: f32,
        /// Weight of the observation loss.
        #[garde(range(min = 0.0, max = 1e6))]
        pub observation_loss_scale: f32,
        /// Weight of the reward loss.
        #[garde(range(min = 0.0, max = 1e6))]
        pub reward_loss_scale: f32,
        /// Predict whether there is a future; otherwise every imagined step has one.
        pub continue_head: bool,
        /// Weight of the loss of the continue head.
        #[garde(range(min = 0.0, max = 1e6))]
        pub continue_loss_scale: f32,
        /// Weight of the divergence that draws the prior to the posterior; absent is 1 for Gaussian states, 0.8 for categorical ones.
        #[garde(inner(range(min = 0.0, max = 1e6)))]
        pub dyn_scale: Option<f32>,
        /// Weight of the divergence that draws the posterior to the prior; absent is 1 or 0.2.
        #[garde(inner(range(min = 0.0, max = 1e6)))]
        pub rep_scale: Option<f32>,
        /// Nats of divergence that cost nothing; absent is 3 or 1.
        #[garde(inner(range(min = 0.0, max = 1e3)))]
        pub free_nats: Option<f32>,
        /// Over what the divergence is averaged before they are taken off.
        pub free_nats_of: FreeNatsOf,

        /// Imagined steps.
        #[garde(range(min = 1, max = 1000))]
        pub imagination_horizon: usize,
        /// Imagine from the last so many rows of each window; absent imagines from all.
        #[garde(inner(range(min = 1, max = 10_000)))]
        pub imagination_last: Option<usize>,
        /// Trade-off of bias and variance in the returns.
        #[garde(range(min = 0.0, max = 1.0))]
        pub lambda: f32,
        /// Whether the value of a state begins with the next reward or with its own.
        pub returns: Returns,
        /// How the actor learns from them.
        pub actor_gradient: ActorGradient,
        /// Weight of the actor's entropy; absent is 0 for Box actions that learn by `dynamics`, 0.001 otherwise.
        #[garde(inner(range(min = 0.0, max = 100.0)))]
        pub entropy_coef: Option<f32>,
        /// Deviation of the noise on Box actions that learn by `dynamics`.
        #[garde(range(min = 0.0, max = 10.0))]
        pub exploration_noise: f32,
        /// Divide advantages by the spread of returns, where that is above 1.
        pub normalize_returns: bool,
        /// How far the slow critic moves to the critic each time.
        #[garde(range(min = 0.0, max = 1.0))]
        pub slow_critic_fraction: f32,
        /// Updates between two of its moves.
        #[garde(range(min = 1, max = 1_000_000_000_000_u64))]
        pub slow_critic_interval: u64,
        /// Take the values in returns from the slow critic.
        pub slow_critic_targets: bool,
        /// Weight of the loss that keeps the critic near the slow one.
        #[garde(range(min = 0.0, max = 100.0))]
        pub slow_critic_scale: f32,
        /// Weight of the critic's loss on replayed rows, which trains the model too; 0 leaves it out.
        #[garde(range(min = 0.0, max = 100.0))]
        pub replay_critic_scale: f32,

        /// What takes the steps.
        pub optimizer: OptimizerKind,
        /// Step size: of the model, and with `laprop` of everything.
        #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
        pub learning_rate: Schedule,
        /// Step size of the actor.
        #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
        pub actor_learning_rate: Schedule,
        /// Step size of the critic.
        #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
        pub critic_learning_rate: Schedule,
        /// Updates over which step sizes rise.
        #[garde(range(max = 1_000_000_000_u64))]
        pub warmup_updates: u64,
        /// Largest global norm of a gradient, for `adam`.
        #[garde(range(min = 0.0))]
        pub max_grad_norm: f32,
        /// Largest norm of a tensor's gradient as a part of the tensor's own, for `laprop`.
        #[garde(range(min = 0.0, max = 1e6))]
        pub adaptive_clip: f32,
        /// Part of every parameter that is taken off at each step, for `adam`.
        #[garde(range(min = 0.0, max = 0.1))]
        pub weight_decay: f32,
    }
}

impl WorldModelConfig {
    /// How wide everything is, unless something is left open.
    pub fn dims(&self) -> Option<Dims> {
        let of = |own: Option<usize>, part: fn(Dims) -> usize| own.or(self.size.map(|size| part(size.dims())));
        Some(Dims {
            deter: of(self.deter_size, |dims| dims.deter)?,
            hidden: of(self.hidden_size, |dims| dims.hidden)?,
            groups: of(self.latent_groups, |dims| dims.groups)?,
            classes: of(self.latent_classes, |dims| dims.classes)?,
            depth: of(self.conv_depth, |dims| dims.depth)?,
            units: of(self.units, |dims| dims.units)?,
        })
    }

    pub fn replay(&self) -> SequenceReplaySettings {
        SequenceReplaySettings {
            capacity: self.buffer_capacity,
            batch_size: self.batch_size,
            batch_length: self.batch_length,
            train_ratio: self.train_ratio,
            learning_starts: self.learning_starts,
            online_queue: self.online_queue,
            gamma: self.gamma,
        }
    }
}
