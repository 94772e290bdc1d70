//! What a value is fitted to: a mean, an expectile, or a soft maximum of what actions are worth.

/// A loss of values, averaged over the batch, with its derivatives by them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueFit {
    pub loss: f32,
    pub by_value: Vec<f32>,
    /// The part of the rows that are too far off to move anything.
    pub clipped: f32,
}

impl ValueFit {
    /// `of` gives the loss of one target and value, and its derivative by the value.
    fn mean(targets: &[f32], values: &[f32], of: impl Fn(f32, f32) -> (f32, f32)) -> Self {
        let share = 1.0 / values.len() as f32;
        let mut fit = Self::default();
        for (&target, &value) in targets.iter().zip(values) {
            let (loss, by_value) = of(target, value);
            fit.loss += share * loss;
            fit.by_value.push(share * by_value);
        }
        fit
    }

    /// mean (target - v)^2 / 2
    pub fn squares(targets: &[f32], values: &[f32]) -> Self {
        Self::mean(targets, values, |target, value| (0.5 * (target - value).powi(2), value - target))
    }

    /// mean |tau - 1{u < 0}| * u^2, u = target - v: above 1/2, `tau` punishes values that are too low.
    pub fn expectile(targets: &[f32], values: &[f32], tau: f32) -> Self {
        Self::mean(targets, values, |target, value| {
            let u = target - value;
            let side = if u > 0.0 { tau } else { 1.0 - tau };
            (side * u * u, -2.0 * side * u)
        })
    }

    /// mean (e^z - z - 1) * e^-M, z = (target - v) / `temperature`, at most `clip`, where it has no derivative. M is the largest z
    /// of the batch, -1 at least: without it the exponential of one row would drown the others.
    pub fn gumbel(targets: &[f32], values: &[f32], temperature: f32, clip: f32) -> Self {
        let z = |target: f32, value: f32| (target - value) / temperature;
        let largest = targets.iter().zip(values).fold(-1.0f32, |most, (&target, &value)| most.max(z(target, value)));
        let largest = largest.min(clip);
        let floor = (-largest).exp();
        let mut fit = Self::mean(targets, values, |target, value| {
            let z = z(target, value);
            let (capped, inside) = if z > clip { (clip, 0.0) } else { (z, 1.0) };
            let grown = (capped - largest).exp();
            (grown - capped * floor - floor, inside * (floor - grown) / temperature)
        });
        let beyond = targets.iter().zip(values).filter(|&(&target, &value)| z(target, value) > clip).count();
        fit.clipped = beyond as f32 / values.len() as f32;
        fit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f32, wanted: f32) {
        assert!((found - wanted).abs() < 1e-5 * wanted.abs().max(1.0), "{found} is not {wanted}");
    }

    /// Where gradient descent takes a value that is fitted to these targets.
    fn settled(targets: &[f32], fit: impl Fn(&[f32], &[f32]) -> ValueFit) -> f32 {
        let mut value = 0.2;
        for _ in 0..4000 {
            value -= 0.1 * fit(targets, &vec![value; targets.len()]).by_value.iter().sum::<f32>();
        }
        value
    }

    #[test]
    fn an_expectile_leans_to_the_better_targets() {
        let above = ValueFit::expectile(&[2.0], &[0.0], 0.7);
        close(above.loss, 2.8);
        close(above.by_value[0], -2.8);
        let below = ValueFit::expectile(&[-2.0], &[0.0], 0.7);
        close(below.loss, 1.2);
        close(below.by_value[0], 1.2);
        close(settled(&[0.0, 1.0], |t, v| ValueFit::expectile(t, v, 0.7)), 0.7);
        close(settled(&[0.0, 1.0], ValueFit::squares), 0.5);
    }

    #[test]
    fn gumbel_regression_by_hand() {
        let fit = ValueFit::gumbel(&[0.0, 1.0, 9.0], &[0.0; 3], 1.0, 7.0);
        close(3.0 * fit.loss, 0.0 + 0.000_654_988 + 0.992_705);
        let by_value = [0.0, -0.001_566_87, 0.0];
        for (found, wanted) in fit.by_value.iter().zip(by_value) {
            assert!((3.0 * found - wanted).abs() < 1e-8, "{found} {wanted}");
        }
        close(fit.clipped, 1.0 / 3.0);
        // Far below there is a floor under the largest.
        close(ValueFit::gumbel(&[-3.0], &[0.0], 1.0, 7.0).loss, 5.571_90);
        // ln mean e^q, and with temperature 2 that of q / 2, twice.
        close(settled(&[0.0, 1.0], |t, v| ValueFit::gumbel(t, v, 1.0, 7.0)), 0.620_11);
        close(settled(&[0.0, 1.0], |t, v| ValueFit::gumbel(t, v, 2.0, 7.0)), 2.0 * (0.5 + 0.5 * 0.5f32.exp()).ln());
    }

    #[test]
    fn derivatives_agree_with_differences() {
        let (targets, values) = ([0.3, -1.2, 2.0, 0.9], [0.1, 0.4, -0.6, 1.1]);
        let squares = |v: &[f32]| ValueFit::squares(&targets, v);
        let expectile = |v: &[f32]| ValueFit::expectile(&targets, v, 0.8);
        // The largest is a constant: it is that of the third row, which no difference below touches.
        let gumbel = |v: &[f32]| ValueFit::gumbel(&targets, v, 1.5, 7.0);
        let fits: [&dyn Fn(&[f32]) -> ValueFit; 3] = [&squares, &expectile, &gumbel];
        for fit in fits {
            let exact = fit(&values).by_value;
            for row in [0, 1, 3] {
                let moved = |by: f32| {
                    let mut values = values;
                    values[row] += by;
                    fit(&values).loss
                };
                let numeric = (moved(1e-2) - moved(-1e-2)) / 2e-2;
                assert!((numeric - exact[row]).abs() < 1e-3, "{row}: {numeric} against {}", exact[row]);
            }
        }
    }
}
