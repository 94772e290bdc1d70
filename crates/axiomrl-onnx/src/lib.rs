//! Computations as files in the ONNX format, which other programs run.
//!
//! A [`Graph`] is built node by node: every operation takes [`Value`]s and gives one. [`Graph::model`] writes it down. Nothing is
//! computed here, and nothing but the standard library is needed: the format is a handful of protobuf messages (`wire`).
//!
//! ```
//! use axiomrl_onnx::{Element, Graph};
//!
//! let mut graph = Graph::new();
//! let x = graph.input("x", Element::Float, &[2]);
//! let twice = graph.add(x, x);
//! graph.output("twice", twice, Element::Float, &[2]);
//! assert!(graph.model("doubled", &[]).len() > 40);
//! ```

mod graph;
mod ops;
mod wire;

pub use graph::{Attribute, Element, Graph, Named, Value};
