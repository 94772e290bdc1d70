//! Every operation on Burn's NdArray device, which has no fused ones, against the fused ones.

#[path = "../../axiomrl-nn/tests/shared/every_operation.rs"]
mod every_operation;

use axiomrl_nn::Device;

#[test]
#[expect(deprecated, reason = "it is the one other device that every machine has")]
fn another_device_gives_the_same_values_and_gradients() {
    let (fused, other) = (every_operation::run(&Device::flex()), every_operation::run(&Device::ndarray()));
    assert_eq!(fused.len(), other.len());
    for ((what, got), (_, want)) in other.iter().zip(&fused) {
        assert_eq!(got.len(), want.len(), "{what}");
        let largest = want.iter().fold(1e-12f32, |m, v| m.max(v.abs()));
        let d = got.iter().zip(want).fold(0.0f32, |m, (a, b)| m.max((a - b).abs())) / largest;
        assert!(d < 2e-5, "{what}: relative difference {d:e}");
    }
}
