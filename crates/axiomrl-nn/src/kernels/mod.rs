//! Numeric kernels on plain slices. They know nothing of Burn and choose AVX-512, AVX2 or portable code at run time.

pub mod activation;
pub mod dispatch;
pub mod dropout;
pub mod gates;
pub mod layer_norm;
pub mod math;
pub mod matmul;
pub mod packed;
pub mod patches;
pub mod pooling;
pub mod rms_norm;
pub mod softmax;
pub mod tiling;
pub mod transpose;
pub mod update_gates;
pub mod vector;

#[cfg(target_arch = "x86_64")]
mod tiles;
