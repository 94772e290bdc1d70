//! Bridges between plain slices and Burn tensors that do not copy.

use crate::buffers;
use crate::burn::backend::flex::{FlexTensor, Layout};
use crate::burn::backend::tensor::FloatTensor;
use crate::burn::backend::{Autodiff, Flex};
use crate::burn::tensor::{Bytes, DType, Device, Shape, Tensor, TensorData};
use std::ops::Deref;
use std::sync::Arc;

/// A float tensor on the autodiff CPU device.
pub(crate) type GraphTensor = FloatTensor<Autodiff<Flex>>;

/// An untracked tensor on the autodiff device: a network's input, a loss's constant.
///
/// # Panics
/// When `data` does not fill `shape`: a mistake in the calling code.
pub fn leaf<const D: usize>(data: &[f32], shape: [usize; D]) -> Tensor<D> {
    let mut copy = buffers::take(data.len());
    copy.copy_from_slice(data);
    leaf_vec(copy, shape)
}

/// As [`leaf`], without copying.
pub fn leaf_vec<const D: usize>(data: Vec<f32>, shape: [usize; D]) -> Tensor<D> {
    into_graph(GraphTensor::new(wrap(data, &shape)))
}

/// As [`leaf`] on any device, with autodiff; see [`composed`](crate::composed).
///
/// # Panics
/// As [`leaf`].
pub fn leaf_on<const D: usize>(data: &[f32], shape: [usize; D], device: &Device) -> Tensor<D> {
    if is_fused(device) {
        return leaf(data, shape);
    }
    assert_eq!(data.len(), shape.iter().product::<usize>(), "data does not fill the shape {shape:?}");
    Tensor::from_data(TensorData::new(data.to_vec(), shape), &device.clone().autodiff())
}

/// Byte images on a device, scaled to 0..1, `[images, row]`.
pub(crate) fn leaf_from_bytes(bytes: &[u8], images: usize, device: &Device) -> Tensor<2> {
    let floats: Vec<f32> = bytes.iter().map(|byte| f32::from(*byte) * (1.0 / 255.0)).collect();
    leaf_on(&floats, [images, bytes.len() / images.max(1)], device)
}

/// The values of a tensor; contiguous ones on the CPU device are not copied, those of other devices are read back.
pub fn values<const D: usize>(tensor: &Tensor<D>) -> Values {
    into_values(tensor.clone())
}

/// As [`values`], giving up the tensor, so that its storage can be recycled.
pub(crate) fn into_values<const D: usize>(tensor: Tensor<D>) -> Values {
    if on_fused_device(&tensor) {
        return Values::new(tensor.inner().try_into_primitive::<Flex>().expect("a tensor on the flex device"));
    }
    let shape = tensor.dims();
    let data = tensor.into_data().convert::<f32>().try_into_vec::<f32>().expect("converted to f32");
    Values::new(wrap(data, &shape))
}

/// Whether the fused operations know this device; autodiff on top of it makes no difference.
pub(crate) fn is_fused(device: &Device) -> bool {
    *device == Device::flex()
}

/// As [`is_fused`], of a tensor's device.
pub(crate) fn on_fused_device<const D: usize>(tensor: &Tensor<D>) -> bool {
    is_fused(&tensor.device())
}

/// Shares a tensor's values; dereferences to a slice.
#[derive(Clone, Debug)]
pub struct Values(FlexTensor);

impl Values {
    /// Anything but contiguous `f32` is copied into that form.
    pub(crate) fn new(tensor: FlexTensor) -> Self {
        Self(if tensor.is_contiguous() { tensor } else { tensor.to_contiguous() })
    }

    /// The tensor's extent.
    pub fn shape(&self) -> &[usize] {
        self.0.layout().shape().as_slice()
    }

    /// Gives the storage back to the buffer pool if nobody else holds it.
    pub(crate) fn recycle(self) {
        let bytes = self.0.data_arc();
        drop(self.0);
        if let Ok(bytes) = Arc::try_unwrap(bytes)
            && let Ok(buffer) = bytes.try_into_vec::<f32>()
        {
            buffers::give(buffer);
        }
    }
}

impl Deref for Values {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        self.0.as_slice().expect("tensors of this crate are contiguous f32")
    }
}

/// A contiguous tensor that owns `data`.
pub(crate) fn wrap(data: Vec<f32>, shape: &[usize]) -> FlexTensor {
    assert_eq!(data.len(), shape.iter().product::<usize>(), "data does not fill the shape {shape:?}");
    FlexTensor::new(Bytes::from_elems(data), Layout::contiguous(Shape::from(shape.to_vec())), DType::F32)
}

/// The graph tensor behind a tensor; one from the inner device joins as an untracked leaf.
pub(crate) fn graph<const D: usize>(tensor: Tensor<D>) -> GraphTensor {
    tensor.autodiff().try_into_primitive::<Autodiff<Flex>>().expect("all tensors of a call live on one device")
}

/// The reverse of [`graph`].
pub(crate) fn into_graph<const D: usize>(tensor: GraphTensor) -> Tensor<D> {
    Tensor::from_primitive::<Autodiff<Flex>>(tensor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_are_untracked_and_share_their_values() {
        let data = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let address = data.as_ptr();
        let tensor = leaf_vec(data, [2, 3]);
        assert!(!tensor.is_tracked());
        let read = values(&tensor);
        assert_eq!((read.as_ptr(), read.shape()), (address, &[2, 3][..]));
        assert_eq!(&*values(&tensor.transpose()), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }

    #[test]
    fn storage_returns_to_the_pool() {
        let data = vec![0.5; 1234];
        let address = data.as_ptr();
        Values::new(wrap(data, &[1234])).recycle();
        let again = buffers::take(1234);
        assert_eq!(again.as_ptr(), address);
    }
}
