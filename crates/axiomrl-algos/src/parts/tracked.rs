//! A network and the copy that follows it slowly.

use axiomrl_nn::{Mlp, Params};

/// What has parameters that are learned, or follow those that are.
pub trait Trainable {
    /// All of them, always in the same order.
    fn params(&mut self) -> Vec<&mut Params>;
}

impl Trainable for Mlp {
    fn params(&mut self) -> Vec<&mut Params> {
        vec![&mut self.params]
    }
}

/// A network with its target: learning changes the one, the other follows.
#[derive(Clone)]
pub struct Tracked<N> {
    pub online: N,
    pub target: N,
}

impl<N: Trainable + Clone> Tracked<N> {
    /// Both are the same at the start.
    pub fn new(online: N) -> Self {
        Self { target: online.clone(), online }
    }

    /// target += tau * (online - target); 1 copies, but for rounding.
    pub fn soft_update(&mut self, tau: f32) {
        soft_update(&mut self.target, &mut self.online, tau);
    }

    /// target = online, to the last bit.
    pub fn copy(&mut self) {
        for (target, online) in self.target.params().into_iter().zip(self.online.params()) {
            target.copy_from(online);
        }
    }
}

/// Moves `target` towards `online`.
pub fn soft_update<N: Trainable>(target: &mut N, online: &mut N, tau: f32) {
    for (target, online) in target.params().into_iter().zip(online.params()) {
        target.polyak_from(online, tau);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_nn::{Activation, Init, MlpSpec};

    #[test]
    fn the_target_moves_by_its_share_and_the_network_not_at_all() {
        let spec = MlpSpec::new(1, &[], 1, Activation::Relu);
        let net = Mlp::new(spec, 1, &Init::pytorch(), &mut axiomrl_core::stream(1, "test"));
        let mut pair = Tracked::new(net);
        pair.online.params.make_mut().copy_from_slice(&[2.0, 4.0]);
        pair.target.params.make_mut().copy_from_slice(&[0.0, 8.0]);
        pair.soft_update(0.25);
        assert_eq!(pair.target.params.as_slice(), [0.5, 7.0]);
        assert_eq!(pair.online.params.as_slice(), [2.0, 4.0]);
        pair.soft_update(1.0);
        assert_eq!(pair.target.params.as_slice(), [2.0, 4.0]);
        pair.target.params.make_mut()[0] = 1e9;
        pair.copy();
        assert_eq!(pair.target.params.as_slice(), [2.0, 4.0]);
    }
}
