//! Dropout whose mask is a pure function of (seed, member, layer, position), so backward recomputes it.

use super::dispatch::simd;

/// Where a mask comes from.
#[derive(Clone, Copy, Debug)]
pub struct DropoutKey {
    low: u32,
    high: u32,
}

impl DropoutKey {
    /// The key of one layer of one member under `seed`.
    pub fn new(seed: u64, member: usize, layer: usize) -> Self {
        let key = mix64(mix64(seed ^ mix64(member as u64 + 1)) ^ mix64((layer as u64 + 1) << 32));
        Self { low: key as u32, high: (key >> 32) as u32 }
    }
}

/// A 64-bit finaliser: every input bit reaches every output bit.
fn mix64(x: u64) -> u64 {
    let x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

/// 32 well-mixed bits for one position; two rounds of multiply and xor-shift, which vectorise.
#[inline(always)]
fn position_bits(key: DropoutKey, position: u32) -> u32 {
    let x = position.wrapping_mul(0x9e37_79b9).wrapping_add(key.low);
    let x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d) ^ key.high;
    let x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

simd! {
    /// Zeroes each value with `probability` and scales the others by 1/(1−probability).
    ///
    /// `first` is the position of `values[0]` inside the member's whole `[rows, width]` block.
    pub fn dropout(values: &mut [f32], key: DropoutKey, first: usize, probability: f32) {
        let limit = (f64::from(probability) * 4_294_967_296.0) as u32;
        let scale = 1.0 / (1.0 - probability);
        for (i, v) in values.iter_mut().enumerate() {
            let kept = position_bits(key, (first + i) as u32) >= limit;
            *v = if kept { *v * scale } else { 0.0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(seed: u64, member: usize, layer: usize, first: usize, len: usize) -> Vec<f32> {
        let mut v = vec![1.0; len];
        dropout(&mut v, DropoutKey::new(seed, member, layer), first, 0.25);
        v
    }

    #[test]
    fn a_quarter_is_dropped_and_the_mean_is_kept() {
        let v = mask(3, 0, 0, 0, 200_000);
        let dropped = v.iter().filter(|x| **x == 0.0).count() as f64 / v.len() as f64;
        assert!((dropped - 0.25).abs() < 0.005, "{dropped}");
        assert!(v.iter().all(|x| *x == 0.0 || (*x - 4.0 / 3.0).abs() < 1e-6));
    }

    #[test]
    fn masks_depend_on_every_part_of_the_key_and_on_nothing_else() {
        let base = mask(3, 0, 0, 0, 4096);
        assert_eq!(base, mask(3, 0, 0, 0, 4096));
        assert_eq!(base[1000..], mask(3, 0, 0, 1000, 3096));
        for other in [mask(4, 0, 0, 0, 4096), mask(3, 1, 0, 0, 4096), mask(3, 0, 1, 0, 4096)] {
            let both = base.iter().zip(&other).filter(|(a, b)| **a == 0.0 && **b == 0.0).count() as f64 / 4096.0;
            assert!((both - 0.0625).abs() < 0.02, "masks are correlated: {both}");
        }
    }
}
