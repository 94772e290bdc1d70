//! Eigenvectors of a symmetric matrix, by Jacobi's rotations.

/// `matrix = vectors · diag(values) · vectorsᵀ`, with the eigenvectors in the columns of `vectors`, row-major.
pub struct Eigen {
    pub values: Vec<f64>,
    pub vectors: Vec<f64>,
}

/// Sweeps over all pairs; a handful is enough to the last digit.
const SWEEPS: usize = 30;

/// Rotates pair after pair until nothing is left beside the diagonal. Only for symmetric matrices `[n, n]`.
pub fn symmetric_eigen(matrix: &[f64], n: usize) -> Eigen {
    assert_eq!(matrix.len(), n * n, "a square matrix");
    let mut a = matrix.to_vec();
    // Rows of `v` are eigenvectors while they are worked on: a rotation then touches two runs of memory.
    let mut v = vec![0.0; n * n];
    (0..n).for_each(|i| v[i * n + i] = 1.0);
    let size: f64 = a.iter().map(|x| x * x).sum();
    for _ in 0..SWEEPS {
        let beside: f64 = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i * n + j].powi(2)).sum();
        if beside <= 1e-26 * size {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut a, &mut v, n, p, q);
            }
        }
    }
    let values = (0..n).map(|i| a[i * n + i]).collect();
    let mut vectors = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..n {
            vectors[j * n + i] = v[i * n + j];
        }
    }
    Eigen { values, vectors }
}

/// Turns the plane of `p` and `q` so that the entry beside the diagonal becomes 0.
fn rotate(a: &mut [f64], v: &mut [f64], n: usize, p: usize, q: usize) {
    let beside = a[p * n + q];
    if beside == 0.0 {
        return;
    }
    let theta = (a[q * n + q] - a[p * n + p]) / (2.0 * beside);
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    // Rows p and q, then columns p and q, which by symmetry are the same numbers.
    turn(a, n, p, q, c, s);
    for k in 0..n {
        let (x, y) = (a[k * n + p], a[k * n + q]);
        a[k * n + p] = c * x - s * y;
        a[k * n + q] = s * x + c * y;
    }
    turn(v, n, p, q, c, s);
}

/// Turns rows `p < q`.
fn turn(m: &mut [f64], n: usize, p: usize, q: usize, c: f64, s: f64) {
    let (before, after) = m.split_at_mut(q * n);
    for (x, y) in before[p * n..(p + 1) * n].iter_mut().zip(&mut after[..n]) {
        (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let Eigen { mut values, vectors } = symmetric_eigen(&[2.0, 1.0, 1.0, 2.0], 2);
        assert!(vectors.iter().all(|x| (x.abs() - 0.5f64.sqrt()).abs() < 1e-12));
        values.sort_by(f64::total_cmp);
        assert!((values[0] - 1.0).abs() < 1e-12 && (values[1] - 3.0).abs() < 1e-12);
    }

    #[test]
    fn the_parts_make_the_whole_and_vectors_are_orthonormal() {
        for n in [1usize, 2, 5, 33, 65] {
            // A Gram matrix of fewer rows than columns: some eigenvalues are 0.
            let rows = n.div_ceil(2);
            let x: Vec<f64> = (0..rows * n).map(|i| (1.7 * i as f64 + 0.3 * (i % 7) as f64).sin()).collect();
            let at = |i: usize, j: usize| (0..rows).map(|r| x[r * n + i] * x[r * n + j]).sum::<f64>();
            let matrix: Vec<f64> = (0..n * n).map(|k| at(k / n, k % n)).collect();
            let Eigen { values, vectors } = symmetric_eigen(&matrix, n);
            for i in 0..n {
                for j in 0..n {
                    let whole: f64 = (0..n).map(|k| vectors[i * n + k] * values[k] * vectors[j * n + k]).sum();
                    assert!((whole - matrix[i * n + j]).abs() < 1e-9 * n as f64, "{n}: {i} {j}");
                    let product: f64 = (0..n).map(|k| vectors[k * n + i] * vectors[k * n + j]).sum();
                    assert!((product - f64::from(u8::from(i == j))).abs() < 1e-10, "{n}: {i} {j}");
                }
            }
        }
    }
}
