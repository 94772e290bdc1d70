//! Several actions for every observation: `each` rows beside one another for each row of what was seen.

use crate::export::{Graph, Value};
use crate::parts::actions::argmax;
use axiomrl_nn::Mlp;

/// Each row of `seen` in front of each of its `each` rows of `beside`.
pub fn join_each(seen: &[f32], beside: &[f32], rows: usize, each: usize, into: &mut Vec<f32>) {
    let (width, own) = (seen.len() / rows, beside.len() / (rows * each));
    into.clear();
    into.reserve(rows * each * (width + own));
    for (i, beside) in beside.chunks_exact(own).enumerate() {
        let row = i / each;
        into.extend_from_slice(&seen[row * width..(row + 1) * width]);
        into.extend_from_slice(beside);
    }
}

/// What each row is worth by its best candidate: lambda * min_i + (1 - lambda) * max_i over the critics of each candidate, then
/// the largest of these. `q` is `[critics, rows * each]`.
pub fn best_mixtures(q: &[f32], critics: usize, each: usize, lambda: f32) -> Vec<f32> {
    let all = q.len() / critics;
    let mixture = |at: usize| {
        let of = |critic: usize| q[critic * all + at];
        let (low, high) = (1..critics).map(of).fold((of(0), of(0)), |(low, high), q| (low.min(q), high.max(q)));
        lambda * low + (1.0 - lambda) * high
    };
    (0..all / each).map(|row| (row * each..(row + 1) * each).map(mixture).fold(f32::NEG_INFINITY, f32::max)).collect()
}

/// Writes the candidate of each row with the largest `score`, and that score.
pub fn choose_best(score: &[f32], candidates: &[f32], each: usize, mut take: impl FnMut(usize, &[f32], f32)) {
    let width = candidates.len() / score.len();
    for (row, (score, candidates)) in score.chunks_exact(each).zip(candidates.chunks_exact(each * width)).enumerate() {
        let best = argmax(score, &[]);
        take(row, &candidates[best * width..(best + 1) * width], score[best]);
    }
}

/// As [`choose_best`] by what a critic thinks of each, as nodes of a graph: `seen` and `candidates` are `[rows, each, width]`.
pub fn choose_best_onnx(graph: &mut Graph, critic: &Mlp, seen: Value, candidates: Value, each: usize) -> Value {
    let joint = graph.concat(&[seen, candidates]);
    let scores = critic.onnx(graph, joint);
    let scores = graph.reshape(scores, &[-1, each as i64]);
    let best = graph.argmax(scores);
    graph.pick(candidates, best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_repeated_in_front_of_their_candidates() {
        let mut joint = vec![7.0];
        join_each(&[1.0, 2.0], &[3.0, 4.0, 5.0, 6.0], 2, 2, &mut joint);
        assert_eq!(joint, [1.0, 3.0, 1.0, 4.0, 2.0, 5.0, 2.0, 6.0]);
    }

    #[test]
    fn critics_are_mixed_for_each_candidate_and_then_the_best_counts() {
        // Candidates (1, 2) and (3, 0): 0.75 * 1 + 0.25 * 2 and 0.25 * 3. The other way round it would be 2.25.
        assert_eq!(best_mixtures(&[1.0, 3.0, 2.0, 0.0], 2, 2, 0.75), [1.25]);
        // Two rows of two candidates: rows do not mix.
        let q = [1.0, 3.0, -1.0, -5.0, 2.0, 0.0, -3.0, -9.0];
        assert_eq!(best_mixtures(&q, 2, 2, 0.75), [1.25, 0.75 * -3.0 - 0.25]);
        assert_eq!(best_mixtures(&q, 2, 2, 1.0), [1.0, -3.0]);
    }

    #[test]
    fn the_candidate_of_the_largest_score_is_taken_whole() {
        let mut taken = Vec::new();
        let candidates: Vec<f32> = (0..8).map(|i| i as f32).collect();
        choose_best(&[1.0, 2.0, 9.0, -1.0], &candidates, 2, |row, action, score| {
            taken.push((row, action.to_vec(), score));
        });
        assert_eq!(taken, [(0, vec![2.0, 3.0], 2.0), (1, vec![4.0, 5.0], 9.0)]);
    }
}
