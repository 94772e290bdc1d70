//! The shape of a recurrent state-space model.

use super::latent::Latent;
use super::plan::Plan;
use crate::error::NnError;
use crate::layout::TensorLayout;
use serde::{Deserialize, Serialize};

/// The cell that carries the deterministic half of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RssmCore {
    /// A GRU whose reset gate acts behind the recurrent product; ELU, no norms (Dreamer).
    Gru,
    /// A GRU whose three gates pass one LayerNorm together; ELU (DreamerV2).
    NormGru,
    /// A GRU in blocks that meet only through projections of the state; RMSNorm and SiLU in every layer (DreamerV3).
    BlockGru {
        /// How many blocks; the deterministic state is a multiple of it.
        blocks: usize,
    },
}

/// A recurrent state-space model: a deterministic state `h`, and a stochastic one `z` that is drawn from a *posterior*, which sees
/// `h` and the encoder's tokens, or from a *prior*, which sees `h` alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RssmSpec {
    /// The recurrent cell.
    pub core: RssmCore,
    /// The stochastic state.
    pub latent: Latent,
    /// Width of `h`.
    pub deter: usize,
    /// Width of the layers inside.
    pub hidden: usize,
    /// Width of the encoder's output.
    pub tokens: usize,
    /// Width of an action.
    pub actions: usize,
    /// Hidden layers between `h` and the prior.
    pub prior_layers: usize,
    /// Hidden layers between `h` with the tokens and the posterior.
    pub posterior_layers: usize,
}

impl RssmSpec {
    /// Dreamer's: a GRU without norms.
    pub fn v1(latent: Latent, deter: usize, hidden: usize, tokens: usize, actions: usize) -> Self {
        let core = RssmCore::Gru;
        Self { core, latent, deter, hidden, tokens, actions, prior_layers: 1, posterior_layers: 1 }
    }

    /// DreamerV2's: a GRU with LayerNorm.
    pub fn v2(latent: Latent, deter: usize, hidden: usize, tokens: usize, actions: usize) -> Self {
        Self { core: RssmCore::NormGru, ..Self::v1(latent, deter, hidden, tokens, actions) }
    }

    /// DreamerV3's: a GRU in blocks, and a prior of two layers.
    pub fn v3(latent: Latent, deter: usize, blocks: usize, hidden: usize, tokens: usize, actions: usize) -> Self {
        let core = RssmCore::BlockGru { blocks };
        Self { core, prior_layers: 2, ..Self::v1(latent, deter, hidden, tokens, actions) }
    }

    /// Refuses a shape with nothing in it, or whose blocks do not share the state evenly.
    pub fn check(&self) -> Result<(), NnError> {
        let sizes = [self.deter, self.hidden, self.tokens, self.latent.width()];
        if sizes.contains(&0) {
            return Err(NnError::EmptyModel);
        }
        if let Latent::Categorical { classes, .. } = self.latent
            && classes > 256
        {
            return Err(NnError::TooManyClasses { classes });
        }
        match self.core {
            RssmCore::BlockGru { blocks } if blocks == 0 || !self.deter.is_multiple_of(blocks) => {
                Err(NnError::UnevenBlocks { deter: self.deter, blocks })
            }
            _ => Ok(()),
        }
    }

    /// Width of a state: `h`, then `z`.
    pub fn features(&self) -> usize {
        self.deter + self.latent.width()
    }

    /// Number of parameters.
    ///
    /// # Panics
    /// As everything below, for a shape that [`check`](Self::check) refuses.
    pub fn param_count(&self) -> usize {
        self.plan().params
    }

    /// Floating-point operations of a forward pass over `rows` rows, all steps counted.
    pub fn flops(&self, rows: usize) -> usize {
        2 * rows * self.plan().layers().map(|(_, layer)| layer.products()).sum::<usize>()
    }

    /// The named tensors inside the flat vector. A block-diagonal matrix is one tensor, whose columns belong to the blocks in turn.
    pub fn layout(&self) -> Vec<TensorLayout> {
        self.plan().layers().flat_map(|(name, layer)| layer.layout(&name)).collect()
    }

    pub(crate) fn plan(&self) -> Plan {
        if let Err(error) = self.check() {
            panic!("{error}");
        }
        Plan::of(self)
    }
}
