//! One flat parameter tensor per network ensemble, updated in place.

use crate::burn::backend::flex::FlexTensor;
use crate::burn::tensor::{Device, Tensor};
use crate::kernels::vector::polyak;
use crate::tensors::{GraphTensor, into_graph, is_fused, leaf_on, wrap};

/// The parameters `[members, per_member]` of an ensemble, outside any graph.
///
/// Cloning shares the storage until one side is written to. Drop the tensors made by [`tracked`](Self::tracked) and
/// [`frozen`](Self::frozen) before an update: while they live, writing has to copy.
#[derive(Clone, Debug)]
pub struct Params {
    tensor: FlexTensor,
    members: usize,
    per_member: usize,
}

impl Params {
    /// Takes `members * per_member` values.
    ///
    /// # Panics
    /// When their number is another one: a mistake in the calling code.
    pub fn from_vec(members: usize, per_member: usize, values: Vec<f32>) -> Self {
        Self { tensor: wrap(values, &[members, per_member]), members, per_member }
    }

    /// Number of ensemble members.
    pub fn members(&self) -> usize {
        self.members
    }

    /// Number of parameters of one member.
    pub fn per_member(&self) -> usize {
        self.per_member
    }

    /// All values, member after member.
    pub fn as_slice(&self) -> &[f32] {
        self.tensor.storage()
    }

    /// All values for writing: in place unless the storage is shared.
    pub fn make_mut(&mut self) -> &mut [f32] {
        self.tensor.storage_mut()
    }

    /// A leaf of the autodiff graph that receives a gradient.
    pub fn tracked(&self) -> Tensor<2> {
        into_graph(GraphTensor::new(self.tensor.clone()).require_grad())
    }

    /// The same values as a constant of the graph: no gradient is computed for it.
    pub fn frozen(&self) -> Tensor<2> {
        into_graph(GraphTensor::new(self.tensor.clone()))
    }

    /// As [`tracked`](Self::tracked), a copy on any device; see [`composed`](crate::composed).
    pub fn tracked_on(&self, device: &Device) -> Tensor<2> {
        if is_fused(device) { self.tracked() } else { self.frozen_on(device).require_grad() }
    }

    /// As [`frozen`](Self::frozen), a copy on any device.
    pub fn frozen_on(&self, device: &Device) -> Tensor<2> {
        if is_fused(device) {
            return self.frozen();
        }
        leaf_on(self.as_slice(), [self.members, self.per_member], device)
    }

    /// Copies the values of `other`, which must have the same shape.
    pub fn copy_from(&mut self, other: &Params) {
        self.check_same_shape(other);
        self.make_mut().copy_from_slice(other.as_slice());
    }

    /// `self += tau · (online − self)`.
    pub fn polyak_from(&mut self, online: &Params, tau: f32) {
        self.check_same_shape(online);
        polyak(self.make_mut(), online.as_slice(), tau);
    }

    fn check_same_shape(&self, other: &Params) {
        assert_eq!(
            (self.members, self.per_member),
            (other.members, other.per_member),
            "the networks have different shapes"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_happen_in_place_unless_shared() {
        let mut params = Params::from_vec(1, 3, vec![1.0, 2.0, 3.0]);
        let address = params.as_slice().as_ptr();
        params.make_mut()[0] = 5.0;
        drop(params.tracked());
        assert_eq!(params.make_mut().as_ptr(), address.cast_mut());
        let held = params.frozen();
        params.make_mut()[1] = 7.0;
        assert_eq!(params.as_slice(), [5.0, 7.0, 3.0]);
        assert_eq!(&*crate::values(&held), [5.0, 2.0, 3.0]);
    }

    #[test]
    fn copies_and_averages() {
        let online = Params::from_vec(2, 1, vec![2.0, 4.0]);
        let mut target = Params::from_vec(2, 1, vec![0.0, 0.0]);
        target.polyak_from(&online, 0.5);
        assert_eq!(target.as_slice(), [1.0, 2.0]);
        target.copy_from(&online);
        assert_eq!(target.as_slice(), online.as_slice());
    }

    #[test]
    fn only_tracked_leaves_are_tracked() {
        let params = Params::from_vec(1, 1, vec![1.0]);
        assert!(params.tracked().is_tracked());
        assert!(!params.frozen().is_tracked());
    }
}
