//! Choices that make one family of the world models.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the stochastic part of a state is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Latents {
    /// `categorical` for Discrete actions, `gaussian` for Box.
    #[default]
    Auto,
    /// Independent Gaussians.
    Gaussian,
    /// Several choices, one-hot.
    Categorical,
}

/// What carries the deterministic part of a state from row to row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Core {
    /// `gru` with Gaussian latents, `norm_gru` with categorical ones.
    #[default]
    Auto,
    /// A plain GRU, ReLU convolutions, ELU layers.
    Gru,
    /// A GRU whose gates are normalised together, ELU throughout.
    NormGru,
    /// A GRU of eight blocks, RMSNorm and SiLU throughout.
    BlockGru,
}

/// How the actor learns from imagined returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActorGradient {
    /// `reinforce` for Discrete actions, `dynamics` for Box.
    #[default]
    Auto,
    /// Back through the imagined steps into the actions.
    Dynamics,
    /// By the likelihood of actions, weighted with their advantage.
    Reinforce,
}

/// What rewards and values are predicted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Heads {
    /// Means of unit Gaussians: half squared errors of the numbers as they are, pixels included.
    Normal,
    /// Distributions over 255 bins that lie ever further apart; numbers observed are compressed in the same way (symlog).
    TwoHot,
}

impl Heads {
    /// The factor on the last layer when a head is made. Bins reach to hundreds of millions: only zeros begin near 0.
    pub fn first_scale(self) -> f32 {
        match self {
            Self::Normal => 1.0,
            Self::TwoHot => 0.0,
        }
    }
}

/// Whether the value of a state contains the reward of that state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Returns {
    /// It begins with the next reward.
    Next,
    /// It begins with the state's own reward, as DreamerV2 was published.
    Own,
}

/// Over what the divergence is averaged before the free nats are taken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FreeNatsOf {
    /// Each row by itself.
    Row,
    /// The mean of the batch.
    Batch,
}

/// What looks at images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sight {
    /// Convolutions that halve the image until four to seven pixels are left.
    #[default]
    Auto,
    /// No convolutions: the pixels are a vector. For boards of a few pixels.
    Flat,
}

/// How networks are learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OptimizerKind {
    /// Three: one for the model, one for the actor, one for the critic.
    Adam,
    /// One for everything, each tensor's gradient clipped in proportion to the tensor.
    Laprop,
}

/// Sizes of all networks at once, named after what they have in parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Size {
    /// For tasks of minutes on a processor.
    #[serde(rename = "cpu_tiny")]
    CpuTiny,
    #[serde(rename = "1m")]
    M1,
    #[serde(rename = "12m")]
    M12,
    #[serde(rename = "25m")]
    M25,
    #[serde(rename = "50m")]
    M50,
    #[serde(rename = "100m")]
    M100,
    #[serde(rename = "200m")]
    M200,
    #[serde(rename = "400m")]
    M400,
}

/// How wide everything is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dims {
    /// numbers of the deterministic state
    pub deter: usize,
    /// width of the layers inside of the RSSM
    pub hidden: usize,
    /// choices of a categorical state
    pub groups: usize,
    /// out of so many each
    pub classes: usize,
    /// channels of the convolutions, before their multiples
    pub depth: usize,
    /// width of all other layers
    pub units: usize,
}

impl Size {
    pub fn dims(self) -> Dims {
        let of = |deter, hidden, classes, depth, units| Dims { deter, hidden, groups: 32, classes, depth, units };
        match self {
            Self::CpuTiny => Dims { groups: 8, ..of(128, 64, 8, 8, 64) },
            Self::M1 => of(512, 64, 4, 4, 64),
            Self::M12 => of(2048, 256, 16, 16, 256),
            Self::M25 => of(3072, 384, 24, 24, 384),
            Self::M50 => of(4096, 512, 32, 32, 512),
            Self::M100 => of(6144, 768, 48, 48, 768),
            Self::M200 => of(8192, 1024, 64, 64, 1024),
            Self::M400 => of(12_288, 1536, 96, 96, 1536),
        }
    }
}
