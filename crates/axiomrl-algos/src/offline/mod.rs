//! Learners of what somebody recorded.

mod decision_transformer;

pub use decision_transformer::{DecisionTransformer, DecisionTransformerConfig};
