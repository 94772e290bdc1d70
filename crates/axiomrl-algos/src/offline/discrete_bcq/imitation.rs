//! What was done, as logits: which choices count as recorded, and the loss of the model.

/// Whether the record knows a choice: its probability is more than `threshold` of the likeliest one's. Forbidden choices (`mask`)
/// neither count nor compare.
pub fn known(logits: &[f32], mask: &[bool], threshold: f32) -> Vec<bool> {
    let possible = |a: usize| mask.is_empty() || mask[a];
    let largest = (0..logits.len()).filter(|&a| possible(a)).map(|a| logits[a]).fold(f32::NEG_INFINITY, f32::max);
    logits.iter().enumerate().map(|(a, logit)| possible(a) && (logit - largest).exp() > threshold).collect()
}

/// The cross-entropy of what was chosen and the mean square of the logits, each of one row; `share` of the derivative of
/// their sum, the latter weighed, is added to `gradient`. A forbidden choice has no probability.
pub fn loss(
    logits: &[f32],
    mask: &[bool],
    chosen: usize,
    penalty: f32,
    share: f32,
    gradient: &mut [f32],
) -> (f32, f32) {
    // What was done was possible, whatever the mask says.
    let possible = |a: usize| a == chosen || mask.is_empty() || mask[a];
    let each = || (0..logits.len()).filter(|&a| possible(a));
    let largest = each().map(|a| logits[a]).fold(f32::NEG_INFINITY, f32::max);
    let sum: f32 = each().map(|a| (logits[a] - largest).exp()).sum();
    let width = logits.len() as f32;
    for a in 0..logits.len() {
        let probability = if possible(a) { (logits[a] - largest).exp() / sum } else { 0.0 };
        let hit = if a == chosen { 1.0 } else { 0.0 };
        gradient[a] += share * (probability - hit + penalty * 2.0 * logits[a] / width);
    }
    let square = logits.iter().map(|logit| logit * logit).sum::<f32>() / width;
    (largest + sum.ln() - logits[chosen], square)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_known_by_its_share_of_the_likeliest() {
        let logits = [0.6f32.ln(), 0.3f32.ln(), 0.1f32.ln()];
        assert_eq!(known(&logits, &[], 0.3), [true, true, false]);
        assert_eq!(known(&logits, &[], 0.6), [true, false, false]);
        // More than the threshold, not as much: a threshold of 1 would leave nothing, one of 0 everything.
        assert_eq!(known(&logits, &[], 0.0), [true; 3]);
        // A forbidden choice is not what others are compared with.
        assert_eq!(known(&logits, &[false, true, true], 0.3), [false, true, true]);
        // Only differences of logits count.
        assert_eq!(known(&logits.map(|l| l + 50.0), &[], 0.3), [true, true, false]);
    }

    #[test]
    fn the_loss_and_its_parts_by_hand() {
        let logits = [0.5f32.ln(), 0.25f32.ln(), 0.25f32.ln()];
        let mut gradient = [1.0; 3];
        let (cross_entropy, square) = loss(&logits, &[], 1, 0.0, 0.5, &mut gradient);
        assert!((cross_entropy - 4f32.ln()).abs() < 1e-6);
        assert!((square - (0.5f32.ln().powi(2) + 2.0 * 0.25f32.ln().powi(2)) / 3.0).abs() < 1e-6);
        for (found, wanted) in gradient.iter().zip([1.25, 1.0 - 0.375, 1.125]) {
            assert!((found - wanted).abs() < 1e-6, "{gradient:?}");
        }
        // Without the first choice the others are equally likely.
        let mut gradient = [0.0; 3];
        let (cross_entropy, _) = loss(&logits, &[false, true, true], 1, 0.0, 1.0, &mut gradient);
        assert!((cross_entropy - 2f32.ln()).abs() < 1e-6);
        assert!(gradient[0] == 0.0 && (gradient[1] + 0.5).abs() < 1e-6 && (gradient[2] - 0.5).abs() < 1e-6);
    }

    #[test]
    fn slopes_agree_with_finite_differences() {
        let logits = [0.4, -0.9, 1.3, 0.2];
        let mask = [true, true, false, true];
        let value = |logits: &[f32]| {
            let (cross_entropy, square) = loss(logits, &mask, 0, 0.0, 0.0, &mut [0.0; 4]);
            cross_entropy + 0.3 * square
        };
        let mut exact = [0.0; 4];
        loss(&logits, &mask, 0, 0.3, 0.7, &mut exact);
        for i in 0..4 {
            let at = |by: f32| {
                let mut moved = logits;
                moved[i] += by;
                value(&moved)
            };
            let numeric = 0.7 * (at(1e-2) - at(-1e-2)) / 2e-2;
            assert!((numeric - exact[i]).abs() < 1e-3, "{i}: {numeric} {}", exact[i]);
        }
    }
}
