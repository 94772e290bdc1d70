//! Settings of the actor-critic methods that learn from images.

use crate::config::{Idle, Problem, fixed_temperature, layer_widths, some_updates};
use crate::parts::input::Vision;
use crate::parts::temperature::TemperatureSetting;
use axiomrl_core::Schedule;
use garde::Validate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the policy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PixelActor {
    /// One action, with noise whose size follows a schedule.
    ScheduledNoise,
    /// A Gaussian squashed into [-1, 1], with a bonus for its entropy.
    TanhGaussian,
}

/// Settings of DrQ-v2, DrQ and CURL.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
#[garde(allow_unvalidated)]
pub struct PixelConfig {
    /// Step size of Adam, for all networks.
    #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
    pub learning_rate: Schedule,
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
    /// How much of the critics their targets take over per update.
    #[garde(range(min = 0.0, max = 1.0))]
    pub tau: f32,
    /// The same for a slow copy of the encoder; absent: targets look with the encoder itself.
    #[garde(inner(range(min = 0.0, max = 1.0)))]
    pub encoder_tau: Option<f32>,
    /// Discount per step.
    #[garde(range(min = 0.0, max = 1.0))]
    pub gamma: f32,
    /// Rewards summed before bootstrapping.
    #[garde(range(min = 1, max = 1000))]
    pub n_step: usize,
    /// Factor on rewards before they are learned from.
    #[garde(range(min = 1e-6, max = 1e6))]
    pub reward_scale: f32,
    /// What looks at the images.
    pub vision: Vision,
    /// Numbers to which actor and critics each compress what was seen.
    #[garde(range(min = 1, max = 16_384))]
    pub feature_dim: usize,
    /// Widths of the hidden layers of actor and critics.
    #[garde(custom(layer_widths))]
    pub hidden_sizes: Vec<usize>,
    /// What the policy is.
    pub actor: PixelActor,
    /// Size of the noise of `scheduled_noise`, over the run.
    #[garde(custom(Schedule::range_ok(0.0, 10.0)))]
    pub exploration_noise: Schedule,
    /// Bound of that noise in updates.
    #[garde(range(min = 0.0, max = 10.0))]
    pub noise_clip: f32,
    /// Weight of the entropy of a Gaussian policy: `auto`, or a number that stays fixed.
    pub ent_coef: Option<TemperatureSetting>,
    /// That weight at the start when it is adapted.
    #[garde(range(min = 1e-8, max = 1000.0))]
    pub ent_coef_init: f32,
    /// Entropy to aim for; absent means minus the number of actions.
    pub target_entropy: Option<f32>,
    /// Pixels by which images are shifted at random; 0 leaves them as they are.
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
}

impl Default for PixelConfig {
    fn default() -> Self {
        super::presets::drqv2()
    }
}

impl PixelConfig {
    /// Finds settings that contradict each other; the message says what to change.
    pub fn check(&self) -> Result<(), Problem> {
        let clash = self.contrastive && self.encoder_tau.is_none();
        Problem::when(clash, &["encoder_tau", "contrastive"], || {
            "`contrastive` compares with a slow copy of the encoder; set `encoder_tau`, 0.05 say".to_owned()
        })?;
        let clash = self.actor == PixelActor::ScheduledNoise && self.ent_coef.is_some();
        Problem::when(clash, &["ent_coef", "actor"], || {
            "`ent_coef` weighs the entropy of a Gaussian policy; remove it, or set `actor: tanh_gaussian`".to_owned()
        })
    }

    /// Settings without an effect beside the others.
    pub fn idle(&self) -> Vec<Idle> {
        vec![
            Idle {
                now: self.actor != PixelActor::ScheduledNoise,
                keys: &["exploration_noise", "noise_clip"],
                switch: Some("actor"),
                why: "a Gaussian policy draws its own noise; set `actor: scheduled_noise`",
            },
            fixed_temperature(self.ent_coef != Some(TemperatureSetting::Auto)),
        ]
    }
}
