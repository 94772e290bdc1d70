//! Batches from two sources.

use crate::{Batch, BatchShape, BatchSource, SampleOptions, StoreError};
use std::ops::Range;

/// The first `share` of the rows, rounded, come from `a`, the others from `b`. Both must have the same shape.
#[derive(Clone, Copy, Debug)]
pub struct Mixture<A, B> {
    pub a: A,
    pub b: B,
    pub share: f32,
}

impl<A, B> Mixture<A, B> {
    /// The first of these rows that is not from `a`.
    fn cut(&self, rows: &Range<usize>) -> usize {
        let count = (self.share * rows.len() as f32).round() as usize;
        rows.start + count.min(rows.len())
    }
}

impl<A: BatchSource, B: BatchSource> BatchSource for Mixture<A, B> {
    /// As many as the source has that has fewer, of those that are asked at all.
    fn ready(&mut self) -> usize {
        if self.share <= 0.0 {
            self.b.ready()
        } else if self.share >= 1.0 {
            self.a.ready()
        } else {
            self.a.ready().min(self.b.ready())
        }
    }

    fn shape(&mut self) -> BatchShape {
        let (a, b) = (self.a.shape(), self.b.shape());
        BatchShape { steps: a.steps.max(b.steps), ..a }
    }

    fn fill(&mut self, rows: Range<usize>, options: &mut SampleOptions<'_>, out: &mut Batch) -> Result<(), StoreError> {
        let cut = self.cut(&rows);
        if rows.start < cut {
            self.a.fill(rows.start..cut, options, out)?;
        }
        if cut < rows.end {
            self.b.fill(cut..rows.end, options, out)?;
        }
        Ok(())
    }

    fn learned(&mut self, rows: Range<usize>, batch: &Batch, errors: &[f32]) {
        let cut = self.cut(&rows);
        if rows.start < cut {
            self.a.learned(rows.start..cut, batch, errors);
        }
        if cut < rows.end {
            self.b.learned(cut..rows.end, batch, errors);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NO_INDEX, Owned, PrioritySpec, Ring, RingSpec, View, Window, stream};
    use axiomrl_envs::{FrameSpec, ObsRef, ObsWidths};
    use proptest::prelude::*;

    /// A store of `steps` transitions that all show and pay `value`.
    fn store(value: f32, steps: usize, action_width: usize) -> Ring {
        let widths = ObsWidths { floats: 1, bytes: 0 };
        let spec =
            RingSpec { capacity: 50, lanes: 1, widths, byte_frames: FrameSpec::SINGLE, action_width, mask_width: 0 };
        let mut ring = Ring::new(spec);
        let shown = [value];
        let obs = ObsRef::of_floats(1, &shown);
        ring.begin(0, obs, &[]);
        for _ in 0..steps {
            ring.push(0, &vec![value; action_width], value, false, false, obs, &[], obs, &[]);
        }
        ring
    }

    fn view(value: f32, steps: usize) -> View<Owned> {
        let priorities = Some(PrioritySpec { alpha: 1.0, eps: 0.0 });
        let window = Window::steps(1, 0.5);
        View::new(Owned(store(value, steps, 1)), window, priorities, None).unwrap()
    }

    fn filled<A: BatchSource, B: BatchSource>(mixture: &mut Mixture<A, B>, rows: usize) -> Result<Batch, StoreError> {
        let (mut rng, mut batch) = (stream(1, "mixture"), Batch::default());
        batch.resize(&mixture.shape(), rows);
        let mut options = SampleOptions { rng: &mut rng, beta: 0.5, reward: Default::default() };
        mixture.fill(0..rows, &mut options, &mut batch).map(|()| batch)
    }

    proptest! {
        #[test]
        fn each_source_fills_its_share_and_learns_of_it_alone(
            rows in 1usize..40, share in 0.0f32..=1.0, of_a in 1usize..20, of_b in 1usize..20,
        ) {
            let (mut a, mut b) = (view(1.0, of_a), view(2.0, of_b));
            let mut mixture = Mixture { a: &mut a, b: &mut b, share };
            let batch = filled(&mut mixture, rows).unwrap();
            let from_a = (share * rows as f32).round() as usize;
            for row in 0..rows {
                let (value, count) = if row < from_a { (1.0, of_a) } else { (2.0, of_b) };
                prop_assert_eq!((batch.obs().floats[row], batch.next_obs().floats[row]), (value, value));
                prop_assert_eq!((batch.reward[row], batch.action[row], batch.weight[row]), (value, value, 1.0));
                prop_assert!(batch.index[row] < count as u64, "a name of the other source");
            }
            // Errors of 7 for the one, 9 for the other.
            let errors: Vec<f32> = (0..rows).map(|row| if row < from_a { 7.0 } else { 9.0 }).collect();
            mixture.learned(0..rows, &batch, &errors);
            for (view, error, rows) in [(&a, 7.0, 0..from_a), (&b, 9.0, from_a..rows)] {
                let priorities = view.priorities().unwrap();
                let touched: std::collections::BTreeSet<_> = batch.index[rows].iter().map(|&i| i as usize).collect();
                for slot in 0..view.store.len() {
                    let expected = match (touched.contains(&slot), touched.is_empty()) {
                        (true, _) => error,
                        (false, false) => 1.0,
                        // Never asked, so it has not looked at its store.
                        (false, true) => continue,
                    };
                    prop_assert_eq!(priorities.get(slot), expected);
                }
            }
        }
    }

    #[test]
    fn a_source_without_a_share_is_not_asked() {
        let mut online = Mixture { a: view(1.0, 3), b: view(2.0, 0), share: 1.0 };
        assert_eq!((online.ready(), filled(&mut online, 4).unwrap().reward), (3, vec![1.0; 4]));
        // Whoever mixes need not know what kind of source he was given.
        let any: &mut dyn BatchSource = &mut online;
        let mut nested = Mixture { a: any, b: view(2.0, 5), share: 0.5 };
        assert_eq!((nested.ready(), filled(&mut nested, 4).unwrap().reward), (3, vec![1.0, 1.0, 2.0, 2.0]));
        let mut offline = Mixture { share: 0.0, a: view(1.0, 0), b: view(2.0, 5) };
        assert_eq!((offline.ready(), filled(&mut offline, 4).unwrap().reward), (5, vec![2.0; 4]));
        let mut both = Mixture { share: 0.5, ..online };
        assert_eq!(both.ready(), 0);
        assert!(matches!(filled(&mut both, 4), Err(StoreError::NothingReady)));
    }

    #[test]
    fn sources_of_different_shape_are_refused() {
        let window = Window::steps(1, 0.5);
        let wide = View::new(Owned(store(2.0, 5, 2)), window, None, None).unwrap();
        let error = filled(&mut Mixture { a: view(1.0, 3), b: wide, share: 0.5 }, 4).unwrap_err().to_string();
        assert!(error.contains("action_width: 1") && error.contains("action_width: 2"), "{error}");
    }

    #[test]
    fn rows_without_a_name_teach_nothing() {
        let mut source = view(1.0, 4);
        let mut batch = filled(&mut Mixture { a: &mut source, b: view(2.0, 1), share: 1.0 }, 4).unwrap();
        batch.index.fill(NO_INDEX);
        source.learned(0..4, &batch, &[9.0; 4]);
        assert_eq!(source.priorities().unwrap().total(), 4.0);
        // A learner may have no errors to tell.
        source.learned(0..4, &batch, &[]);
    }
}
