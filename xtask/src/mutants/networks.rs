//! Networks, distributions and optimisers.

use super::{EXPRESSION, Mutant, Target};

const IN_SUITE: Mutant = Mutant { target: Target::Test("suite"), ..EXPRESSION };

pub const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "polyak_reversed",
        what: "slow copies take over 1 - tau of the network",
        file: "axiomrl-nn/src/kernels/vector.rs",
        find: "tau.mul_add(*o - *t, *t)",
        replace: "(1.0 - tau).mul_add(*o - *t, *t)",
        filter: "kernels::vector params::",
        ..EXPRESSION
    },
    Mutant {
        name: "tanh_correction_dropped",
        what: "the density of a squashed action is that of the Gaussian",
        file: "axiomrl-nn/src/distributions/tanh_gaussian.rs",
        find: "-0.5 * eps[i] * eps[i] - log_std - HALF_LN_TAU - ln_one_minus_tanh_squared(u)",
        replace: "-0.5 * eps[i] * eps[i] - log_std - HALF_LN_TAU",
        filter: "distributions:: sampling::",
        ..IN_SUITE
    },
    Mutant {
        name: "tanh_log_prob_correction_sign",
        what: "the density of a recorded action is corrected the wrong way",
        file: "axiomrl-nn/src/distributions/tanh_gaussian.rs",
        find: "-0.5 * z * z - log_std - HALF_LN_TAU - ln_one_minus_tanh_squared(u)",
        replace: "-0.5 * z * z - log_std - HALF_LN_TAU + ln_one_minus_tanh_squared(u)",
        filter: "distributions:: sampling::",
        ..IN_SUITE
    },
    Mutant {
        name: "log_std_learns_beyond_bounds",
        what: "a log standard deviation is pulled beyond its bounds",
        file: "axiomrl-nn/src/distributions/tanh_gaussian.rs",
        find: "if raw >= low && raw <= high { 1.0 } else { 0.0 }",
        replace: "1.0",
        filter: "distributions:: sampling:: gradients::",
        ..IN_SUITE
    },
    Mutant {
        name: "adam_uncorrected",
        what: "Adam's first steps are not corrected for its empty averages",
        file: "axiomrl-nn/src/optim/adam.rs",
        find: "(f64::from(lr) * root / correction(beta1)) as f32",
        replace: "lr",
        filter: "optimisers::",
        ..IN_SUITE
    },
    Mutant {
        name: "layer_norm_sample_variance",
        what: "layer normalisation divides by n - 1",
        file: "axiomrl-nn/src/kernels/layer_norm.rs",
        find: "reduce(row, row, |sum, v, _| v.mul_add(v, sum)) / width as f32",
        replace: "reduce(row, row, |sum, v, _| v.mul_add(v, sum)) / (width - 1) as f32",
        filter: "pytorch:: composed:: reference:: gradients::",
        ..IN_SUITE
    },
    Mutant {
        name: "gru_update_reversed",
        what: "a GRU's update gate keeps what it should replace",
        file: "axiomrl-nn/src/kernels/gates.rs",
        find: "z[k].mul_add(h_in[k] - n[k], n[k])",
        replace: "z[k].mul_add(n[k] - h_in[k], h_in[k])",
        filter: "recurrence:: pytorch:: gradients::",
        ..IN_SUITE
    },
    Mutant {
        name: "dropout_not_scaled",
        what: "what dropout leaves is not scaled up",
        file: "axiomrl-nn/src/kernels/dropout.rs",
        find: "if kept { *v * scale } else { 0.0 }",
        replace: "{ let _ = scale; if kept { *v } else { 0.0 } }",
        filter: "dropout",
        ..EXPRESSION
    },
    Mutant {
        name: "laprop_clips_nothing",
        what: "adaptive clipping leaves large gradients as they are",
        file: "axiomrl-nn/src/optim/laprop.rs",
        find: "if norm > bound { (bound / norm) as f32 } else { 1.0 }",
        replace: "{ let _ = (norm, bound); 1.0 }",
        filter: "optimisers::",
        ..IN_SUITE
    },
    Mutant {
        name: "kfac_not_damped",
        what: "K-FAC divides by curvature alone",
        file: "axiomrl-nn/src/kfac/mod.rs",
        find: "by_input * by_output + damping",
        replace: "by_input * by_output + 1e-6 * damping",
        filter: "kfac::",
        ..EXPRESSION
    },
    Mutant {
        name: "kfac_average_reversed",
        what: "K-FAC's averages keep little and take over much",
        file: "axiomrl-nn/src/kfac/mod.rs",
        find: "(1.0 - share).mul_add(*mean, scale * fresh)",
        replace: "share.mul_add(*mean, scale * fresh)",
        filter: "kfac::",
        ..EXPRESSION
    },
    Mutant {
        name: "attention_not_scaled",
        what: "attention is not divided by the root of a head's width",
        file: "axiomrl-nn/src/attention/passes/heads.rs",
        find: "1.0 / (self.head() as f32).sqrt()",
        replace: "1.0 + 0.0 * self.head() as f32",
        filter: "attention::",
        ..IN_SUITE
    },
];
