//! Named tensors as safetensors files: the same tensors always give the same bytes.

use super::CheckpointError;
use axiomrl_algos::TensorData;
use safetensors::{Dtype, SafeTensors, View};
use std::borrow::Cow;
use std::collections::BTreeMap;

struct AsView<'a>(&'a TensorData);

impl View for AsView<'_> {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.0.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        self.0.values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn data_len(&self) -> usize {
        self.0.values.len() * size_of::<f32>()
    }
}

/// The file that holds `tensors`, in the order of their names.
pub(super) fn encode(tensors: &BTreeMap<String, TensorData>) -> Result<Vec<u8>, CheckpointError> {
    for (name, tensor) in tensors {
        let expected: usize = tensor.shape.iter().product();
        if expected != tensor.values.len() {
            let reason = format!("its shape {:?} does not hold {} values", tensor.shape, tensor.values.len());
            return Err(CheckpointError::BadTensor { name: name.clone(), reason });
        }
    }
    let views = tensors.iter().map(|(name, tensor)| (name.as_str(), AsView(tensor)));
    safetensors::serialize(views, None)
        .map_err(|error| CheckpointError::BadTensor { name: "(all)".to_owned(), reason: error.to_string() })
}

/// The tensors of a file, or why they cannot be read.
pub(super) fn decode(bytes: &[u8]) -> Result<BTreeMap<String, TensorData>, String> {
    let file = SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
    let mut tensors = BTreeMap::new();
    for (name, view) in file.iter() {
        if view.dtype() != Dtype::F32 {
            return Err(format!("tensor `{name}` is of type {:?}, expected F32", view.dtype()));
        }
        let (words, _) = view.data().as_chunks::<4>();
        let values = words.iter().map(|word| f32::from_le_bytes(*word)).collect();
        tensors.insert(name.to_owned(), TensorData { shape: view.shape().to_vec(), values });
    }
    Ok(tensors)
}
