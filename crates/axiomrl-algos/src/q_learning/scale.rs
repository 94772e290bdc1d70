//! The scale on which a network values returns.

use axiomrl_core::value_functions::{value_rescale, value_unscale};

/// The linear part of the rescaling, which keeps it invertible.
const EPS: f32 = 1e-3;

/// From returns to what the network is asked for, and back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Returns as they are.
    #[default]
    Plain,
    /// h(x) = sign(x) (sqrt(|x| + 1) - 1) + 0.001 x, on which large returns are close together.
    Rescaled,
}

impl Scale {
    pub fn of(rescaled: bool) -> Self {
        if rescaled { Self::Rescaled } else { Self::Plain }
    }

    /// h(x) of a return.
    pub fn shrink(self, value: f32) -> f32 {
        match self {
            Self::Plain => value,
            Self::Rescaled => value_rescale(value, EPS),
        }
    }

    /// The return that h takes to `value`.
    pub fn stretch(self, value: f32) -> f32 {
        match self {
            Self::Plain => value,
            Self::Rescaled => value_unscale(value, EPS),
        }
    }
}
