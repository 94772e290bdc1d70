//! Softmax of attention scores, where a token sees itself and those before it, and its backward pass.

use super::dispatch::simd;
use super::math::exp;
use super::vector::reduce;

simd! {
    /// `scores ← softmax(scale · scores)` of a square block, row by row over the columns up to the diagonal; 0 beyond it. `scale`
    /// is positive.
    pub fn causal_softmax(scores: &mut [f32], tokens: usize, scale: f32) {
        for (row, scores) in scores.chunks_exact_mut(tokens).enumerate() {
            let (seen, hidden) = scores.split_at_mut(row + 1);
            let largest = seen.iter().fold(f32::NEG_INFINITY, |largest, s| if *s > largest { *s } else { largest });
            for s in seen.iter_mut() {
                *s = exp((*s - largest) * scale);
            }
            let share = 1.0 / reduce(seen, seen, |sum, s, _| sum + s);
            for s in seen.iter_mut() {
                *s *= share;
            }
            hidden.fill(0.0);
        }
    }

    /// Turns the gradient of the weights into that of the scores; what lies beyond the diagonal becomes 0.
    pub fn causal_softmax_backward(grad: &mut [f32], weights: &[f32], tokens: usize, scale: f32) {
        for (grad, weights) in grad.chunks_exact_mut(tokens).zip(weights.chunks_exact(tokens)) {
            let mean = reduce(grad, weights, |sum, g, w| g.mul_add(w, sum));
            for (g, w) in grad.iter_mut().zip(weights) {
                *g = *w * (*g - mean) * scale;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_sees_itself_and_what_came_before() {
        // exp(0) : exp(2 ln 3 / 2) is 1 : 3, and three equal scores are thirds.
        let mut scores = [7.0, 99.0, 99.0, 0.0, 2.0 * 3f32.ln(), 99.0, 4.0, 4.0, 4.0];
        causal_softmax(&mut scores, 3, 0.5);
        let third = 1.0 / 3.0;
        for (got, want) in scores.iter().zip([1.0, 0.0, 0.0, 0.25, 0.75, 0.0, third, third, third]) {
            assert!((got - want).abs() < 1e-6, "{scores:?}");
        }
        let mut lost = [1.0, 0.0, f32::NAN, 2.0];
        causal_softmax(&mut lost, 2, 1.0);
        assert!(lost[0] == 1.0 && lost[2].is_nan(), "what is no number shows: {lost:?}");
    }

    #[test]
    fn the_gradient_matches_differences_and_nothing_leaks_from_beyond_the_diagonal() {
        for tokens in [1usize, 5, 19] {
            let wave = |step: f32| (0..tokens * tokens).map(|i| (i as f32 * step).sin()).collect::<Vec<f32>>();
            let (scores, by_weights) = (wave(0.7), wave(1.3));
            let objective = |scores: &[f32]| -> f64 {
                let mut weights = scores.to_vec();
                causal_softmax(&mut weights, tokens, 0.6);
                weights.iter().zip(&by_weights).map(|(w, g)| f64::from(*w) * f64::from(*g)).sum()
            };
            let (mut weights, mut grad) = (scores.clone(), by_weights.clone());
            causal_softmax(&mut weights, tokens, 0.6);
            causal_softmax_backward(&mut grad, &weights, tokens, 0.6);
            for at in 0..scores.len() {
                let moved = |by: f32| {
                    let mut scores = scores.clone();
                    scores[at] += by;
                    objective(&scores)
                };
                let numeric = (moved(1e-2) - moved(-1e-2)) / 2e-2;
                assert!((numeric - f64::from(grad[at])).abs() < 1e-4, "{tokens} tokens, {at}: {numeric} {}", grad[at]);
            }
        }
    }
}
