//! Numbers of two bytes: enough for a state between −1 and 1 that a model will look at again.

/// The nearest half-precision number, ties to even; too large ones become infinite.
pub fn to_half(value: f32) -> u16 {
    let bits = value.to_bits();
    let (sign, magnitude) = ((bits >> 16) as u16 & 0x8000, bits & 0x7fff_ffff);
    let half = match magnitude {
        0x7f80_0001.. => 0x7e00,
        // From 65520 on the nearest is infinity.
        0x477f_f000.. => 0x7c00,
        0x3880_0000.. => {
            // Exponents differ by 112; thirteen bits of the fraction go, rounded to even.
            let rebased = magnitude - (112 << 23);
            ((rebased + 0x0fff + (rebased >> 13 & 1)) >> 13) as u16
        }
        // Below the smallest normal number steps are of one size: adding brings the rounding.
        _ => (f32::from_bits(magnitude) + 0.5).to_bits() as u16,
    };
    sign | half
}

/// Exactly the number that the bits stand for.
pub fn from_half(half: u16) -> f32 {
    let (exponent, fraction) = (half >> 10 & 0x1f, f32::from(half & 0x3ff));
    let magnitude = match exponent {
        0 => fraction / 16_777_216.0,
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction / 1024.0) * 2.0f32.powi(i32::from(exponent) - 15),
    };
    if half & 0x8000 == 0 { magnitude } else { -magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_comes_back_as_itself() {
        for half in 0..=u16::MAX {
            let value = from_half(half);
            match value.is_nan() {
                true => assert!(from_half(to_half(value)).is_nan()),
                false => assert_eq!(to_half(value), half, "{value}"),
            }
        }
    }

    #[test]
    fn numbers_between_two_go_to_the_nearest_and_ties_to_the_even_one() {
        let step = 1.0 / 1024.0;
        assert_eq!(from_half(to_half(1.0 + 0.4 * step)), 1.0);
        assert_eq!(from_half(to_half(1.0 + 0.6 * step)), 1.0 + step);
        assert_eq!(from_half(to_half(1.0 + 0.5 * step)), 1.0);
        assert_eq!(from_half(to_half(1.0 + 1.5 * step)), 1.0 + 2.0 * step);
        assert_eq!((to_half(65_519.0), to_half(65_520.0)), (0x7bff, 0x7c00));
        let tiny = 2.0f32.powi(-24);
        assert_eq!((to_half(0.4 * tiny), to_half(0.6 * tiny), to_half(-1.4 * tiny)), (0, 1, 0x8001));
        // Between the largest of one size and the smallest of the next.
        assert_eq!(from_half(to_half(0.099_99)), 0.099_975_586);
    }
}
