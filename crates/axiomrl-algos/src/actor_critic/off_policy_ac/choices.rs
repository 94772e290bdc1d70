//! The choices among the settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which policy values the next observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetAction {
    /// A slowly moving copy of the actor.
    TargetActor,
    /// The copy with clipped noise on its action, which smooths the critics.
    TargetActorSmoothed,
    /// The actor itself.
    OnlineActor,
}

/// What a critic predicts of the return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CriticOutput {
    /// Its mean.
    Scalar,
    /// Its distribution over fixed atoms.
    Categorical,
    /// Its quantiles.
    Quantile,
}

/// How the critics' values of the next observation become one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetReducer {
    /// The lowest.
    Min,
    /// All in equal parts.
    Mean,
    /// The lowest of `subset_size` critics, drawn anew for each update.
    SubsetMin,
    /// The quantiles of all critics in one pool, without the highest.
    Truncated,
}

/// Which value the actor climbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActorReducer {
    /// That of the first critic.
    First,
    /// The lowest.
    Min,
    /// The mean.
    Mean,
}

/// Which network learns first in an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UpdateOrder {
    /// The critics; the actor then follows them as they have become.
    CriticsFirst,
    /// None: all losses are those of the networks before the update.
    Together,
}

/// How the weights of actor and critics begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WeightInit {
    /// Evenly within one over the root of the inputs, biases too; orthogonal over a compression.
    Uniform,
    /// Evenly within the root of six over inputs and outputs together; biases are 0.
    Xavier,
    /// As `uniform`, with every bias of a hidden layer at 0.1.
    Biased,
}

/// How the distance between two actions counts their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BcDistance {
    /// The mean of their squared differences.
    Mean,
    /// The sum of them.
    Sum,
}
