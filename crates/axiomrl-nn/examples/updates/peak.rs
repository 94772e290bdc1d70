//! What the cores can multiply at most: the largest speed over a few sizes, of the `gemm` crate and of our own tiles.

use crate::timing::{Timer, wave};
use axiomrl_nn::{Activation, Init, Mlp, MlpSpec, join};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::json;

pub const NAME: &str = "gemm_peak";

/// GFLOP/s of all threads (at most two) together.
pub fn measure(timer: &Timer) -> f64 {
    let products = [128, 256, 512, 1024].map(|n| (format!("gemm {n}x{n}x{n}"), gemm_speed(timer, n)));
    let layers = [64, 256].map(|rows| (format!("own tiles {rows}x64x64"), tiles_speed(timer, rows)));
    let all = products.into_iter().chain(layers);
    let (size, peak) = all.fold((String::new(), 0.0), |best, next| if next.1 > best.1 { next } else { best });
    if timer.json {
        let line = json!({ "work": NAME, "variant": size, "threads": timer.threads, "value": peak, "unit": "GFLOP/s" });
        println!("{line}");
    } else {
        println!("{:<44} {peak:>10.1} GFLOP/s by {size}", format!("peak of {} thread(s)", timer.threads));
    }
    peak
}

/// The same product on both threads, each with matrices of its own.
fn gemm_speed(timer: &Timer, n: usize) -> f64 {
    let (a, b) = (wave(n * n), wave(n * n));
    let (mut first, mut second) = (vec![0.0; n * n], vec![0.0; n * n]);
    let mut both = || {
        join(|| product(n, &a, &b, &mut first), || product(n, &b, &a, &mut second));
    };
    4.0 * (n * n * n) as f64 / timer.best(&mut both) / 1e3
}

fn product(n: usize, a: &[f32], b: &[f32], c: &mut [f32]) {
    assert!(a.len() == n * n && b.len() == n * n && c.len() == n * n, "square matrices of one size");
    let stride = n as isize;
    let none = gemm::Parallelism::None;
    // SAFETY: all three matrices hold n*n values, which the strides address exactly.
    unsafe {
        gemm::gemm(
            n,
            n,
            n,
            c.as_mut_ptr(),
            1,
            stride,
            false,
            a.as_ptr(),
            1,
            stride,
            b.as_ptr(),
            1,
            stride,
            0.0f32,
            1.0f32,
            false,
            false,
            false,
            none,
        );
    }
}

/// A network of a single layer is a product and little else.
fn tiles_speed(timer: &Timer, rows: usize) -> f64 {
    let spec = MlpSpec::new(64, &[], 64, Activation::Relu);
    let net = Mlp::new(spec, 1, &Init::pytorch(), &mut ChaCha8Rng::seed_from_u64(1));
    let x = wave(rows * 64);
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let mut both = || {
        join(|| net.infer(&x, rows, &mut first), || net.infer(&x, rows, &mut second));
    };
    2.0 * net.spec.flops(rows) as f64 / timer.best(&mut both) / 1e3
}
