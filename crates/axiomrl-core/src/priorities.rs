//! What is drawn more often than the rest.

use crate::Rng;
use crate::random::uniform;
use crate::sum_tree::SumTree;

/// Nothing loses its mass altogether, even with `eps` 0: a store whose errors are all zero can still be sampled.
const LEAST_PRIORITY: f64 = 1e-30;

/// Rows drawn at a time.
pub(crate) const CHUNK: usize = 64;

/// Priorities are `(|error| + eps)^alpha`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrioritySpec {
    pub alpha: f32,
    pub eps: f32,
}

/// The priority of each slot of a store; 0 where there is nothing to draw.
#[derive(Clone, Debug)]
pub struct Priorities {
    spec: PrioritySpec,
    tree: SumTree,
    /// The largest priority ever given (after the power): what newcomers start with.
    max: f64,
}

impl Priorities {
    pub fn new(spec: PrioritySpec, slots: usize) -> Self {
        Self { spec, tree: SumTree::new(slots), max: 1.0 }
    }

    pub fn spec(&self) -> PrioritySpec {
        self.spec
    }

    /// The largest priority ever given.
    pub fn max(&self) -> f64 {
        self.max
    }

    pub fn get(&self, slot: usize) -> f64 {
        self.tree.get(slot)
    }

    /// The sum of all.
    pub fn total(&self) -> f64 {
        self.tree.total()
    }

    /// A newcomer: it has the largest priority so far, so that it is soon seen.
    pub fn admit(&mut self, slot: usize) {
        self.tree.set(slot, self.max);
    }

    /// There is nothing to draw any more.
    pub fn drop_slot(&mut self, slot: usize) {
        self.tree.set(slot, 0.0);
    }

    /// The priority that follows from an error. Errors that are no numbers are passed over.
    pub fn update(&mut self, slot: usize, error: f32) {
        if !error.is_finite() {
            return;
        }
        let size = f64::from(error.abs()) + f64::from(self.spec.eps);
        let value = size.powf(f64::from(self.spec.alpha)).max(LEAST_PRIORITY);
        self.max = self.max.max(value);
        self.tree.set(slot, value);
    }

    /// Draws number `first` and the following ones of `rows` draws, one from each of `rows` equal parts of the total mass; at
    /// most [`CHUNK`] at once.
    pub(crate) fn draw(&self, first: usize, rows: usize, rng: &mut Rng, slots: &mut [usize]) {
        let part = self.total() / rows as f64;
        let mut masses = [0.0; CHUNK];
        let masses = &mut masses[..slots.len()];
        for (k, mass) in masses.iter_mut().enumerate() {
            *mass = ((first + k) as f64 + uniform(rng)) * part;
        }
        self.tree.find(masses, slots);
    }

    /// The importance weight of a draw among `ready`, before it is made relative to the largest.
    #[inline]
    pub(crate) fn weight(&self, slot: usize, ready: usize, beta: f32) -> f32 {
        ((ready as f64 * self.get(slot) / self.total()) as f32).powf(-beta)
    }

    /// Takes back what was saved. False, and nothing happens, where that is impossible.
    pub(crate) fn restore(&mut self, slot: usize, value: f64) -> bool {
        let possible = value > 0.0 && value <= self.max;
        if possible {
            self.tree.set(slot, value);
        }
        possible
    }

    /// As [`Priorities::restore`], of the largest priority: before the others.
    pub(crate) fn restore_max(&mut self, value: f64) -> bool {
        let possible = value >= 1.0 && value.is_finite();
        if possible {
            self.max = value;
        }
        possible
    }
}

/// Makes importance weights relative to the largest.
pub(crate) fn relative_to_largest(weights: &mut [f32]) {
    let largest = weights.iter().copied().fold(0.0, f32::max);
    weights.iter_mut().for_each(|weight| *weight /= largest);
}

/// One error for a whole sequence: `eta` of the largest and the rest of the mean, 0 without errors. The largest alone would
/// let one step decide, the mean alone would drown it.
pub fn mixed_error(errors: impl Iterator<Item = f32>, eta: f32) -> f32 {
    let (mut largest, mut sum, mut count) = (0.0f32, 0.0, 0);
    for error in errors {
        largest = largest.max(error.abs());
        sum += error.abs();
        count += 1;
    }
    eta * largest + (1.0 - eta) * sum / count.max(1) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_ever_given_is_where_newcomers_start() {
        let mut priorities = Priorities::new(PrioritySpec { alpha: 0.5, eps: 1.0 }, 4);
        (0..3).for_each(|slot| priorities.admit(slot));
        priorities.update(0, -3.0);
        priorities.update(1, f32::NAN);
        priorities.update(2, 0.0);
        assert_eq!([0, 1, 2, 3].map(|slot| priorities.get(slot)), [2.0, 1.0, 1.0, 0.0]);
        priorities.drop_slot(0);
        priorities.admit(3);
        assert_eq!((priorities.max(), priorities.get(3), priorities.total()), (2.0, 2.0, 4.0));
    }

    #[test]
    fn what_no_run_can_have_saved_is_not_restored() {
        let mut priorities = Priorities::new(PrioritySpec { alpha: 0.5, eps: 1.0 }, 2);
        for max in [0.5, f64::NAN, f64::INFINITY] {
            assert!(!priorities.restore_max(max));
        }
        assert!(priorities.restore_max(3.0));
        for value in [0.0, -1.0, 3.1, f64::NAN] {
            assert!(!priorities.restore(0, value), "{value}");
        }
        assert!(priorities.restore(1, 2.5));
        assert_eq!((priorities.total(), priorities.max()), (2.5, 3.0));
    }

    #[test]
    fn a_sequence_has_the_largest_error_and_a_little_of_the_mean() {
        assert!((mixed_error([1.0, -3.0].into_iter(), 0.9) - (0.9 * 3.0 + 0.1 * 2.0)).abs() < 1e-6);
        assert_eq!(mixed_error(std::iter::empty(), 0.9), 0.0);
    }
}
