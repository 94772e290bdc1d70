//! What the settings come to for an environment: every choice that was left open is made here.

use super::choices::{ActorGradient, Core, Dims, FreeNatsOf, Latents, Returns};
use super::settings::WorldModelConfig;
use crate::agent::Setup;
use axiomrl_core::imagined::Convention;
use axiomrl_envs::Space;
use axiomrl_nn::{Activation, FreeNats, Init, KlSides, Latent, LatentKl, MlpSpec, RssmCore};

/// Blocks of the recurrent model of DreamerV3.
const BLOCKS: usize = 8;
/// Least deviation of a Gaussian state.
const MIN_STD: f32 = 0.1;

/// The choices that follow from the others or from the action space.
#[derive(Clone, Debug)]
pub struct Recipe {
    pub dims: Dims,
    pub latent: Latent,
    pub core: RssmCore,
    pub style: Style,
    pub kl: LatentKl,
    /// Whether the actor learns back through the imagined steps.
    pub dynamics: bool,
    pub entropy_coef: f32,
    pub convention: Convention,
}

/// Norms and non-linearities of all layers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    pub conv: Activation,
    pub dense: Activation,
    pub normed: bool,
}

impl Style {
    /// So many layers of `units`, and a linear map behind them.
    pub fn mlp(&self, inputs: usize, layers: usize, units: usize, outputs: usize) -> MlpSpec {
        let spec = MlpSpec::new(inputs, &vec![units; layers], outputs, self.dense);
        if self.normed { spec.with_rms_norm() } else { spec }
    }

    /// How parameters begin; `output_scale` is a factor on those of the last layer.
    pub fn init(&self, output_scale: f32) -> Init {
        match self.normed {
            true => Init::TruncatedNormal { output_scale },
            false => Init::Xavier { output_scale },
        }
    }
}

impl WorldModelConfig {
    /// Gaussian states, in spaces where that was left open or in all.
    pub fn is_gaussian(&self, action: &Space) -> bool {
        match self.latents {
            Latents::Auto => matches!(action, Space::Box(_)),
            Latents::Gaussian => true,
            Latents::Categorical => false,
        }
    }

    pub fn is_dynamics(&self, action: &Space) -> bool {
        match self.actor_gradient {
            ActorGradient::Auto => matches!(action, Space::Box(_)),
            ActorGradient::Dynamics => true,
            ActorGradient::Reinforce => false,
        }
    }
}

impl Recipe {
    /// `None` where a size was left open: checked before.
    pub fn new(config: &WorldModelConfig, setup: &Setup) -> Option<Self> {
        let (dims, action) = (config.dims()?, setup.action_space());
        let gaussian = config.is_gaussian(action);
        let latent = match gaussian {
            true => Latent::Gaussian { size: config.latent_size, min_std: MIN_STD },
            false => Latent::Categorical { groups: dims.groups, classes: dims.classes, unimix: config.unimix },
        };
        let plain = |conv| Style { conv, dense: Activation::Elu, normed: false };
        let (core, style) = match config.core {
            Core::Auto if gaussian => (RssmCore::Gru, plain(Activation::Relu)),
            Core::Gru => (RssmCore::Gru, plain(Activation::Relu)),
            Core::Auto | Core::NormGru => (RssmCore::NormGru, plain(Activation::Elu)),
            Core::BlockGru => {
                let silu = Activation::Silu;
                (RssmCore::BlockGru { blocks: BLOCKS }, Style { conv: silu, dense: silu, normed: true })
            }
        };
        // The divergence as a whole in the one paper, by its two sides in the other.
        let [dynamics, representation, free] = if gaussian { [1.0, 1.0, 3.0] } else { [0.8, 0.2, 1.0] };
        let free = config.free_nats.unwrap_or(free);
        let kl = LatentKl {
            latent,
            free: match config.free_nats_of {
                FreeNatsOf::Row => FreeNats::Row(free),
                FreeNatsOf::Batch => FreeNats::Mean(free),
            },
            sides: KlSides::Apart {
                dynamics: config.dyn_scale.unwrap_or(dynamics),
                representation: config.rep_scale.unwrap_or(representation),
            },
        };
        let dynamics = config.is_dynamics(action);
        let squashed = dynamics && matches!(action, Space::Box(_));
        Some(Self {
            dims,
            latent,
            core,
            style,
            kl,
            dynamics,
            entropy_coef: config.entropy_coef.unwrap_or(if squashed { 0.0 } else { 1e-3 }),
            convention: match config.returns {
                Returns::Next => Convention::Next,
                Returns::Own => Convention::Own,
            },
        })
    }
}
