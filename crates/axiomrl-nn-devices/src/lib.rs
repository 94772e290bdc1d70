//! Nothing but tests: the networks of `axiomrl-nn` on a device that has none of its fused operations.
//!
//! They live apart so that the backend they need is compiled for the tests alone.
