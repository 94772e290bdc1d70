//! A two-hot head in training.

use crate::reference::{normal, rng};
use axiomrl_nn::two_hot::{self, BINS};
use axiomrl_nn::{
    Activation, Init, LaPropConfig, Mlp, MlpSpec, Optimizer, OptimizerConfig, fused_loss, gradients, leaf,
};

/// One ulp between the end bins would move the mean by a tenth.
#[test]
fn end_bins_stay_equal_to_the_bit_and_the_mean_is_learned() {
    for hidden in [&[][..], &[40]] {
        let spec = MlpSpec::new(6, hidden, BINS, Activation::Silu).with_rms_norm();
        let mut net = Mlp::new(spec, 1, &Init::TruncatedNormal { output_scale: 0.0 }, &mut rng(3));
        let tensors: Vec<usize> = net.spec.layout().iter().map(|tensor| tensor.len()).collect();
        let config = OptimizerConfig::LaProp(LaPropConfig::default());
        let mut optimizer = Optimizer::for_tensors(&config, net.params.as_slice().len(), &tensors);
        let rows = 50;
        let x = normal(rows * 6, 4);
        let targets: Vec<f32> = x.chunks_exact(6).map(|x| 1.0 / (1.0 + (-x[0]).exp())).collect();
        let (mut logits, mut means) = (Vec::new(), vec![9.0; rows]);
        net.infer(&x, rows, &mut logits);
        two_hot::mean(&logits, &mut means);
        assert!(means.iter().all(|mean| *mean == 0.0), "a head that starts at zero says 0");
        for _ in 0..100 {
            let params = net.params.tracked();
            let y = net.forward(leaf(&x, [rows, 6]), params.clone(), None);
            let loss = fused_loss([y], |[y]| {
                let mut grad = vec![0.0; y.len()];
                let value = two_hot::loss(y, &targets, &[], &mut vec![0.0; rows], &mut grad);
                (value, [grad])
            });
            let [grad] = gradients(loss, [&params]);
            drop(params);
            optimizer.step(&mut net.params, &grad, 0.02, 1.0);
        }
        net.infer(&x, rows, &mut logits);
        for row in logits.chunks_exact(BINS) {
            assert_eq!(row[0].to_bits(), row[BINS - 1].to_bits());
        }
        two_hot::mean(&logits, &mut means);
        let error = means.iter().zip(&targets).map(|(m, t)| (m - t).abs()).sum::<f32>() / rows as f32;
        let before = targets.iter().sum::<f32>() / rows as f32;
        assert!(error < 0.5 * before, "{error} of {before}");
    }
}
