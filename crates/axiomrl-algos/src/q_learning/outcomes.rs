//! What a value network said about a batch of observations.

use super::scale::Scale;
use crate::export::{Graph, Value};
use crate::parts::value_head::Head;

/// Outputs of every action, with their expectations.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    pub members: usize,
    pub rows: usize,
    pub actions: usize,
    /// Numbers per action.
    pub width: usize,
    /// `[member][row][action][number]`: as they came out of the network, and interpreted once they are settled
    pub values: Vec<f32>,
    /// Fractions of quantile outputs, `[row][number]`; one row for all where they do not differ.
    pub fractions: Vec<f32>,
    /// Weights of the numbers in the expectation, laid out as `fractions`.
    pub share: Vec<f32>,
    /// Expected returns, `[member][row][action]`.
    pub(super) expectations: Vec<f32>,
    pub(super) spare: Vec<f32>,
}

impl Outcomes {
    /// Computes the expected returns once the rest is filled in.
    pub fn settle(&mut self, head: &Head, scale: Scale) {
        head.interpret(&mut self.values, &mut self.spare);
        self.expectations.clear();
        if matches!(head, Head::Scalar { .. }) {
            return self.expectations.extend(self.values.iter().map(|&value| scale.stretch(value)));
        }
        for (at, said) in self.values.chunks_exact(self.width).enumerate() {
            let share = row_of(&self.share, at / self.actions % self.rows, self.width);
            self.expectations.push(match scale {
                Scale::Plain => head.expectation(said, share),
                // The expectation of what lies on another scale is not that of the returns.
                Scale::Rescaled => {
                    let mut mean = 0.0;
                    head.for_each_return(said, share, |z, w| mean += w * scale.stretch(z));
                    mean
                }
            });
        }
    }

    /// Expected return of every action of a row.
    pub fn q(&self, member: usize, row: usize) -> &[f32] {
        let start = (member * self.rows + row) * self.actions;
        &self.expectations[start..start + self.actions]
    }

    /// What a member said about one action, interpreted.
    pub fn of(&self, member: usize, row: usize, action: usize) -> &[f32] {
        let start = ((member * self.rows + row) * self.actions + action) * self.width;
        &self.values[start..start + self.width]
    }

    /// The weights of the numbers of a row.
    pub fn share(&self, row: usize) -> &[f32] {
        row_of(&self.share, row, self.width)
    }

    /// The member with the most cautious opinion.
    pub fn smallest_member(&self, row: usize, action: usize) -> usize {
        (1..self.members).fold(0, |best, m| if self.q(m, row)[action] < self.q(best, row)[action] { m } else { best })
    }
}

/// What a value network says of every action, as nodes of a graph.
pub struct Spoken {
    /// `[rows, actions, width]`
    pub values: Value,
    pub actions: usize,
    pub width: usize,
    /// Weights of the numbers in the expectation, in a shape that goes with them; where there are none, all count alike.
    pub share: Option<Value>,
    pub memory: Option<Value>,
}

impl Spoken {
    /// As [`Outcomes::settle`]: expected returns `[rows, actions]`.
    pub fn settle(&self, graph: &mut Graph, head: &Head, scale: Scale) -> Value {
        let weighed = match head {
            Head::Scalar { .. } => {
                let only = graph.reshape(self.values, &[-1, self.actions as i64]);
                return scale.onnx(graph, only);
            }
            Head::Categorical { atoms, .. } => {
                let returns: Vec<f32> = atoms.iter().map(|&atom| scale.stretch(atom)).collect();
                let (likely, returns) = (graph.softmax(self.values), graph.floats(&[returns.len()], &returns));
                graph.mul(likely, returns)
            }
            Head::Quantile { .. } => {
                let returns = scale.onnx(graph, self.values);
                let share = self.share.unwrap_or_else(|| graph.scalar(1.0 / self.width as f32));
                graph.mul(returns, share)
            }
        };
        graph.sum(weighed)
    }
}

/// The row of a table that may have one row for all.
pub fn row_of(table: &[f32], row: usize, width: usize) -> &[f32] {
    match table.len() {
        0 => &[],
        n if n == width => table,
        _ => &table[row * width..(row + 1) * width],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expectations_are_those_of_returns_on_either_scale() {
        let head = Head::Quantile { kappa: 1.0 };
        let said = || Outcomes {
            members: 1,
            rows: 1,
            actions: 2,
            width: 2,
            values: vec![Scale::Rescaled.shrink(3.0), Scale::Rescaled.shrink(9.0), -0.5, 0.5],
            share: vec![0.25, 0.75],
            ..Outcomes::default()
        };
        let mut rescaled = said();
        rescaled.settle(&head, Scale::Rescaled);
        assert!((rescaled.q(0, 0)[0] - 7.5).abs() < 1e-4, "{:?}", rescaled.q(0, 0));
        let mut plain = said();
        plain.settle(&head, Scale::Plain);
        assert_eq!(plain.q(0, 0)[1], 0.25);
    }
}
