//! The units that networks work in: zero mean and unit deviation of the rows that a fit learns from.

use crate::state::{StateError, StateIo};

/// A column that varies by less than this is a constant, and stays as it is: in single precision the deviation of a constant is
/// noise, and dividing by it would blow that noise up.
const CONSTANT: f64 = 1e-5;

/// Mean and deviation of every input and every target.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaler {
    input_mean: Vec<f32>,
    input_std: Vec<f32>,
    target_mean: Vec<f32>,
    target_std: Vec<f32>,
    /// Variances of the targets, whatever units networks work in.
    variance: Vec<f32>,
}

impl Scaler {
    pub fn identity(inputs: usize, targets: usize) -> Self {
        Self {
            input_mean: vec![0.0; inputs],
            input_std: vec![1.0; inputs],
            target_mean: vec![0.0; targets],
            target_std: vec![1.0; targets],
            variance: vec![1.0; targets],
        }
    }

    /// Of rows of inputs and targets; targets keep their units unless they are to be standardised.
    pub fn of(inputs: &[f32], targets: &[f32], widths: (usize, usize), standardize_targets: bool) -> Self {
        let (input_mean, input_std) = moments(inputs, widths.0);
        let (target_mean, target_std) = moments(targets, widths.1);
        let variance = target_std.iter().map(|std| std * std).collect();
        let plain = Self::identity(widths.0, widths.1);
        match standardize_targets {
            true => Self { input_mean, input_std, target_mean, target_std, variance },
            false => Self { input_mean, input_std, variance, ..plain },
        }
    }

    pub fn scale_inputs(&self, rows: &mut [f32]) {
        scale(rows, &self.input_mean, &self.input_std);
    }

    pub fn scale_targets(&self, rows: &mut [f32]) {
        scale(rows, &self.target_mean, &self.target_std);
    }

    /// What a target of 0 stands for, and one more.
    pub fn target(&self, column: usize) -> (f32, f32) {
        (self.target_mean[column], self.target_std[column])
    }

    /// The variance of a target in the environment's units.
    pub fn variance(&self, column: usize) -> f32 {
        self.variance[column]
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.floats("model_scaler.input_mean", &mut self.input_mean)?;
        io.floats("model_scaler.input_std", &mut self.input_std)?;
        io.floats("model_scaler.target_mean", &mut self.target_mean)?;
        io.floats("model_scaler.target_std", &mut self.target_std)?;
        io.floats("model_scaler.variance", &mut self.variance)
    }
}

fn scale(rows: &mut [f32], mean: &[f32], std: &[f32]) {
    for row in rows.chunks_exact_mut(mean.len()) {
        for ((x, mean), std) in row.iter_mut().zip(mean).zip(std) {
            *x = (*x - mean) / std;
        }
    }
}

/// Mean and deviation of each column, summed in double precision.
pub fn moments(rows: &[f32], width: usize) -> (Vec<f32>, Vec<f32>) {
    let count = (rows.len() / width.max(1)).max(1) as f64;
    let (mut mean, mut squares) = (vec![0.0f64; width], vec![0.0f64; width]);
    for row in rows.chunks_exact(width) {
        mean.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x) / count);
    }
    for row in rows.chunks_exact(width) {
        for ((sum, x), mean) in squares.iter_mut().zip(row).zip(&mean) {
            *sum += (f64::from(*x) - mean).powi(2) / count;
        }
    }
    // Not a number stays none, so that it is noticed.
    let std = squares.iter().map(|square| if square.sqrt() < CONSTANT { 1.0 } else { square.sqrt() as f32 }).collect();
    (mean.iter().map(|mean| *mean as f32).collect(), std)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_column_becomes_zero_and_no_noise() {
        let mut rows: Vec<f32> = (0..1000).flat_map(|i| [0.1, if i % 2 == 0 { 3.0 } else { 5.0 }]).collect();
        let scaler = Scaler::of(&rows, &rows, (2, 2), true);
        scaler.scale_inputs(&mut rows);
        assert!(rows.chunks(2).all(|row| row[0].abs() < 1e-6), "{:?}", &rows[..4]);
        assert_eq!((rows[1], rows[3]), (-1.0, 1.0));
        assert_eq!((scaler.target(1), scaler.variance(1)), ((4.0, 1.0), 1.0));
    }

    #[test]
    fn targets_keep_their_units_unless_asked_to_change_them() {
        let rows = [0.0, 10.0];
        let scaler = Scaler::of(&rows, &rows, (1, 1), false);
        assert_eq!((scaler.target(0), scaler.variance(0)), ((0.0, 1.0), 25.0));
    }
}
