//! Settings of the weighted regression. Each is a choice of its own; a preset is a point among them.

use crate::config::settings;
use axiomrl_core::Schedule;
use axiomrl_nn::Init;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the policy is over a Box of actions. Among Discrete ones it is a softmax, whatever stands here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PolicyKind {
    /// One action per observation, bounded by a tanh and learned by its squared distance.
    Deterministic,
    /// A Gaussian round a mean that a tanh bounds. Draws are clipped.
    Gaussian,
    /// A Gaussian round a mean without bounds. Means and draws are clipped.
    LinearGaussian,
    /// A Gaussian that a tanh squashes.
    SquashedGaussian,
}

/// How much better than usual an action is held to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdvantageKind {
    /// Nobody asks.
    None,
    /// G - V(s), G the discounted return of the recorded episode from there on.
    Returns,
    /// G - V(s), G the TD(lambda) return, taken anew over all episodes every so often.
    LambdaReturns,
    /// Q(s, a) less the mean of what actions drawn from the policy are worth.
    PolicyMean,
    /// Q(s, a) less the best of what actions drawn from the policy are worth.
    PolicyMax,
    /// Q(s, a) - V(s), V an expectile of Q over the recorded actions.
    Expectile,
    /// Q(s, a) - V(s), V the soft maximum of Q over the recorded actions.
    Gumbel,
}

/// What an advantage makes an action count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WeightKind {
    /// All alike.
    One,
    /// exp(beta * A), at most `max_weight`.
    Exp,
    /// 1 if the advantage is positive, else 0.
    Indicator,
    /// The softmax of beta * A over the batch, times its size: 1 on average.
    Softmax,
}

/// What advantages are divided by before they are weighed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdvantageScale {
    /// Nothing.
    None,
    /// The root of a moving average of their squares.
    MovingAverage,
    /// Their standard deviation over all recorded transitions, after their mean is taken off.
    Dataset,
}

settings! {
    /// Settings of the methods that imitate recorded actions, the better ones more.
    pub struct RegressionConfig {
        ..learning_rate,
        ..replay,
        ..prior,
        ..network,
        /// Another step size for the policy.
        #[garde(inner(custom(Schedule::range_ok(0.0, 1.0))))]
        pub actor_learning_rate: Option<Schedule>,
        /// Orthogonal weights at the start, as large as ReLU wants them, in every layer; otherwise PyTorch's.
        pub orthogonal_init: bool,
        /// What the policy is over a Box of actions; among Discrete ones it is a softmax.
        pub policy: PolicyKind,
        /// Logarithm of a Gaussian policy's standard deviation at the start. It does not depend on the observation.
        #[garde(range(min = -5.0, max = 2.0))]
        pub log_std_init: f32,
        /// Learns the standard deviation; otherwise it stays as it is.
        pub learn_std: bool,
        /// Weight of half the square of what a `linear_gaussian` mean has beyond the bounds of its actions.
        #[garde(range(min = 0.0, max = 1e6))]
        pub bounds_penalty: f32,
        /// Chance of dropping a hidden unit of the policy in training.
        #[garde(range(min = 0.0, max = 0.9))]
        pub actor_dropout: f32,
        /// How much better than usual an action is held to be.
        pub advantage: AdvantageKind,
        /// Actions drawn from the policy for each observation, to tell what is usual.
        #[garde(range(min = 1, max = 1000))]
        pub n_action_samples: usize,
        /// Draws the actions of targets from a slow copy of the policy, not from the policy.
        pub target_policy: bool,
        /// Takes advantages from the critics before their step, not after.
        pub advantage_before_update: bool,
        /// Which expectile of Q the value is: 0.5 is the mean, 1 the best recorded action.
        #[garde(range(min = 0.01, max = 0.999))]
        pub expectile: f32,
        /// Temperature of the soft maximum: low is closer to the best recorded action.
        #[garde(range(min = 1e-3, max = 1e4))]
        pub gumbel_temperature: f32,
        /// Advantages beyond this many temperatures do not move the value.
        #[garde(range(min = 0.1, max = 80.0))]
        pub gumbel_clip: f32,
        /// Trade-off of bias and variance in TD(lambda) returns: 0 believes the value, 1 what was recorded.
        #[garde(range(min = 0.0, max = 1.0))]
        pub td_lambda: f32,
        /// Updates of the value between two recomputations of the returns.
        #[garde(range(min = 1, max = 1_000_000_000_u64))]
        pub value_updates: u64,
        /// Updates of the policy between two recomputations of the returns.
        #[garde(range(min = 1, max = 1_000_000_000_u64))]
        pub actor_updates: u64,
        /// LayerNorm in the value network.
        pub value_layer_norm: bool,
        /// What an advantage makes an action count.
        pub weight: WeightKind,
        /// How strongly an advantage counts. Some publications write 1 / beta.
        #[garde(range(min = 0.0, max = 1e6))]
        pub beta: f32,
        /// The most that an action counts.
        #[garde(range(min = 1e-6, max = 1e9))]
        pub max_weight: f32,
        /// What advantages are divided by before they are weighed.
        pub advantage_scale: AdvantageScale,
        /// How much of a new batch the moving average takes over; it begins with the first batch.
        #[garde(range(min = 0.0, max = 1.0))]
        pub advantage_rate: f32,
        /// Number of critics; the lowest counts.
        #[garde(range(min = 1, max = 100))]
        pub n_critics: usize,
        /// Factor on the critics' loss, which is half the squared error: 2 makes it the squared error.
        #[garde(range(min = 1e-6, max = 1e6))]
        pub critic_loss_coef: f32,
        /// Errors beyond this count linearly in the critics' loss; absent: as their square, however large.
        #[garde(inner(range(min = 1e-3, max = 1e6)))]
        pub critic_huber: Option<f32>,
        /// How much of the networks the target networks take over each time; 1 copies them.
        #[garde(range(min = 0.0, max = 1.0))]
        pub tau: f32,
        /// Updates from one time to the next.
        #[garde(range(min = 1, max = 1_000_000_000_u64))]
        pub target_update_interval: u64,
    }
}

impl AdvantageKind {
    /// Whether there are critics.
    pub fn has_critics(self) -> bool {
        self.asks_the_policy() || self.is_in_sample()
    }

    /// Whether actions of the policy are valued.
    pub fn asks_the_policy(self) -> bool {
        matches!(self, Self::PolicyMean | Self::PolicyMax)
    }

    /// Whether a value is fitted to critics at recorded actions alone.
    pub fn is_in_sample(self) -> bool {
        matches!(self, Self::Expectile | Self::Gumbel)
    }

    /// Whether returns of recorded episodes are looked up.
    pub fn looks_up_returns(self) -> bool {
        matches!(self, Self::Returns | Self::LambdaReturns)
    }

    /// Whether there is a network for V.
    pub fn has_value(self) -> bool {
        self.is_in_sample() || self.looks_up_returns()
    }
}

impl RegressionConfig {
    /// How layers begin.
    pub fn init(&self) -> Init {
        let gain = std::f32::consts::SQRT_2;
        match self.orthogonal_init {
            true => Init::Orthogonal { hidden_gain: gain, output_gain: gain },
            false => Init::pytorch(),
        }
    }

    /// The step size of the policy.
    pub fn actor_rate(&self, fraction: f64) -> f32 {
        self.actor_learning_rate.as_ref().unwrap_or(&self.learning_rate).at(fraction) as f32
    }

    /// The step size of everything else.
    pub fn rate(&self, fraction: f64) -> f32 {
        self.learning_rate.at(fraction) as f32
    }
}
