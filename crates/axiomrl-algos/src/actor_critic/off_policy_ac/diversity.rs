//! How much the critics agree on where an action should go: what a diverse ensemble keeps small.

use super::settings::AcConfig;
use crate::parts::squashed_actor::Counted;
use axiomrl_nn::MlpPass;

/// Added to the length of a slope before dividing by it.
const EPS: f32 = 1e-10;

pub struct Diversity {
    coef: f32,
    members: usize,
    /// Numbers of an action, the last of the critics' inputs.
    width: usize,
}

impl Diversity {
    /// Unless it weighs nothing.
    pub fn new(config: &AcConfig, width: usize) -> Option<Self> {
        (config.diversity_coef > 0.0).then_some(Self { coef: config.diversity_coef, members: config.n_critics, width })
    }

    /// Adds the gradient of `coef * agreement` to that of the parameters; gives the agreement and what it adds to the loss.
    ///
    /// `pass` has an input of its own for each member, so that each has slopes of its own: recorded transitions, all of them
    /// entries. The critics have to be piecewise linear: then the gradient of a slope is exact without second derivatives.
    pub fn add(&self, pass: &MlpPass<'_>, counted: Counted<'_>, gradient: &mut [f32]) -> (f32, f32) {
        let ones = vec![1.0; pass.outputs().len()];
        let by_input = pass.input_gradient(&ones);
        let inputs = by_input.len() / ones.len();
        let slopes: Vec<f32> =
            by_input.chunks_exact(inputs).flat_map(|row| &row[inputs - self.width..]).copied().collect();
        let (agreement, by_slope) = agreement(&slopes, self.members, self.width, counted);
        let mut along = vec![0.0; by_input.len()];
        for (along, by_slope) in along.chunks_exact_mut(inputs).zip(by_slope.chunks_exact(self.width)) {
            along[inputs - self.width..].copy_from_slice(by_slope);
        }
        let own = pass.slope_gradient(&ones, &along);
        gradient.iter_mut().zip(own.iter()).for_each(|(g, own)| *g += self.coef * own);
        (agreement, self.coef * agreement)
    }
}

/// The mean over entries of `sum over i != j of cos(g_i, g_j) / (N - 1)`, and its derivative by every slope. `slopes` is
/// `[members, entries, width]`.
fn agreement(slopes: &[f32], members: usize, width: usize, counted: Counted<'_>) -> (f32, Vec<f32>) {
    let entries = slopes.len() / (members * width);
    let share = 1.0 / (counted.count * (members - 1)) as f32;
    let mut by_slope = vec![0.0; slopes.len()];
    let (mut units, mut lengths) = (vec![0.0; members * width], vec![0.0; members]);
    let mut total = 0.0;
    for entry in (0..entries).filter(|&entry| counted.valid[entry]) {
        let place = |member: usize| (member * entries + entry) * width..(member * entries + entry + 1) * width;
        let mut sum = vec![0.0; width];
        for (member, unit) in units.chunks_exact_mut(width).enumerate() {
            let slope = &slopes[place(member)];
            lengths[member] = dot(slope, slope).sqrt();
            for ((unit, sum), slope) in unit.iter_mut().zip(&mut sum).zip(slope) {
                *unit = slope / (lengths[member] + EPS);
                *sum += *unit;
            }
        }
        total += share * (dot(&sum, &sum) - units.chunks_exact(width).map(|unit| dot(unit, unit)).sum::<f32>());
        for (member, unit) in units.chunks_exact(width).enumerate() {
            // A critic without a slope there has no direction that could turn.
            if lengths[member] <= EPS {
                continue;
            }
            let (along, scale) = (dot(&sum, unit), 2.0 * share / lengths[member]);
            for ((by, sum), unit) in by_slope[place(member)].iter_mut().zip(&sum).zip(unit) {
                *by = scale * (sum - along * unit);
            }
        }
    }
    (total, by_slope)
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::super::presets;
    use super::*;
    use axiomrl_core::stream;
    use axiomrl_nn::{Activation, Init, Mlp, MlpSpec};
    use rand::RngExt;
    use std::f32::consts::{FRAC_1_SQRT_2, SQRT_2};

    fn close(found: &[f32], wanted: &[f32], within: f32) {
        assert_eq!(found.len(), wanted.len());
        assert!(found.iter().zip(wanted).all(|(f, w)| (f - w).abs() < within), "{found:?} is not {wanted:?}");
    }

    #[test]
    fn the_agreement_by_hand() {
        let (value, by_slope) = agreement(&[1.0, 0.0, 1.0, 1.0], 2, 2, Counted::of(&[true]));
        close(&[value], &[std::f32::consts::SQRT_2], 1e-5);
        close(&by_slope[2..], &[FRAC_1_SQRT_2, -FRAC_1_SQRT_2], 1e-5);
        // Both orders of each pair count, divided by N - 1: three that agree make 3 * 2 / 2.
        let (value, by_slope) = agreement(&[2.0, 0.0, 3.0, 0.0, 0.5, 0.0], 3, 2, Counted::of(&[true]));
        close(&[value], &[3.0], 1e-5);
        close(&by_slope, &[0.0; 6], 1e-6);
        // With one number to an action a slope can only point up or down: there is nowhere to turn.
        let (value, by_slope) = agreement(&[3.0, -0.2], 2, 1, Counted::of(&[true]));
        close(&[value], &[-2.0], 1e-5);
        close(&by_slope, &[0.0; 2], 1e-5);
    }

    #[test]
    fn rows_are_averaged_over_those_that_count_and_a_flat_critic_has_no_direction() {
        // Entries beside each other for each member; the second does not count.
        let slopes = [1.0, 0.0, 5.0, 5.0, 1.0, 1.0, -5.0, 5.0];
        let (value, by_slope) = agreement(&slopes, 2, 2, Counted::of(&[true, false]));
        close(&[value], &[std::f32::consts::SQRT_2], 1e-5);
        close(&by_slope, &[0.0, SQRT_2, 0.0, 0.0, FRAC_1_SQRT_2, -FRAC_1_SQRT_2, 0.0, 0.0], 1e-4);
        let (value, by_slope) = agreement(&[1.0, 0.0, 0.0, 0.0], 2, 2, Counted::of(&[true]));
        assert_eq!((value, by_slope), (0.0, vec![0.0; 4]));
    }

    #[test]
    fn the_gradient_by_every_weight_matches_differences_of_the_agreement() {
        let (members, rows, inputs, width) = (3, 4, 5, 2);
        let spec = MlpSpec::new(inputs, &[12, 8], 1, Activation::Relu);
        let mut rng = stream(2, "test");
        let net = Mlp::new(spec, members, &Init::FanIn { bias: 0.1, output_bound: None }, &mut rng);
        let row: Vec<f32> = (0..rows * inputs).map(|_| rng.random_range(-1.0..1.0)).collect();
        let x = row.repeat(members);
        let diversity = Diversity { coef: 2.0, members, width };
        let valid = [true, true, false, true];
        let mut gradient = vec![0.5; net.params.as_slice().len()];
        let (value, loss) = diversity.add(&net.pass(&x, rows, None), Counted::of(&valid), &mut gradient);
        assert_eq!(loss, 2.0 * value);
        let value_of = |net: &Mlp| {
            let pass = net.pass(&x, rows, None);
            let by_input = pass.input_gradient(&vec![1.0; members * rows]);
            let slopes: Vec<f32> =
                by_input.chunks_exact(inputs).flat_map(|row| &row[inputs - width..]).copied().collect();
            agreement(&slopes, members, width, Counted::of(&valid)).0
        };
        for at in 0..gradient.len() {
            let moved = |step: f32| {
                let mut net = net.clone();
                net.params.make_mut()[at] += step;
                value_of(&net)
            };
            let (near, far) = ((moved(1e-3) - moved(-1e-3)) / 2e-3, (moved(4e-3) - moved(-4e-3)) / 8e-3);
            // Where a unit switches within the step, there is no slope to compare with.
            if (near - far).abs() < 0.05 {
                close(&[gradient[at] - 0.5], &[2.0 * near], 0.03);
            }
        }
        let moving = gradient.iter().filter(|g| (*g - 0.5).abs() > 0.05).count();
        assert!(moving > gradient.len() / 4, "only {moving} of {} weights matter", gradient.len());
    }

    #[test]
    fn only_a_preset_that_asks_for_it_has_it() {
        assert!(Diversity::new(&presets::edac(), 2).is_some() && Diversity::new(&presets::sac_n(), 2).is_none());
    }
}
