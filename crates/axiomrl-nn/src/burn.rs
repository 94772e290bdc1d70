//! What is used of Burn, under the paths of its umbrella crate: the tensors, and what operations of our own are registered with.
//!
//! The umbrella also brings modules, records and layers, which nothing here needs and every fresh build would wait for. The macro
//! [`backend::backend_extension`] writes these paths; where it is used, this module must be in scope.

pub mod tensor {
    pub use burn_tensor::*;
}

pub mod backend {
    pub use burn_backend::*;
    pub use burn_backend_extension::backend_extension;
    pub use burn_dispatch::backends::*;
    pub use burn_dispatch::{backend::*, device::*, tensor::*};
}
