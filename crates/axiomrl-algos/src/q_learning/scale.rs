//! The scale on which a network values returns.

use crate::export::{Element, Graph, Value};
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
    /// As [`Scale::stretch`], as nodes of a graph.
    pub fn onnx(self, graph: &mut Graph, value: Value) -> Value {
        if self == Self::Plain {
            return value;
        }
        let eps = f64::from(EPS);
        // In double precision: the formula subtracts nearly equal numbers.
        let mut number = |value: f64| graph.doubles(&[], &[value]);
        let (slope, start, one, half) =
            (number(4.0 * eps), number(1.0 + 4.0 * eps * (1.0 + eps)), number(1.0), number(0.5 / eps));
        let size = graph.node("Abs", &[value], &[]);
        let size = graph.cast(size, Element::Double);
        let inner = graph.mul(size, slope);
        let inner = graph.add(inner, start);
        let root = graph.sqrt(inner);
        let root = graph.sub(root, one);
        let root = graph.mul(root, half);
        let square = graph.mul(root, root);
        let size = graph.sub(square, one);
        let size = graph.cast(size, Element::Float);
        let sign = graph.node("Sign", &[value], &[]);
        graph.mul(size, sign)
    }
}
