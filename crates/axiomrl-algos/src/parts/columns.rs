//! Tables of numbers side by side.

/// Rows of `a`, each followed by its row of `b`: what a critic sees of observations and actions.
pub fn join_columns(a: &[f32], b: &[f32], rows: usize, into: &mut Vec<f32>) {
    let (wa, wb) = (a.len() / rows, b.len() / rows);
    into.clear();
    for row in 0..rows {
        into.extend_from_slice(&a[row * wa..(row + 1) * wa]);
        into.extend_from_slice(&b[row * wb..(row + 1) * wb]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let mut joint = vec![9.0; 4];
        join_columns(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0], 2, &mut joint);
        assert_eq!(joint, [1.0, 2.0, 5.0, 3.0, 4.0, 6.0]);
    }
}
