//! What is drawn from a store, and how.
//!
//! A store knows nothing of its views. Before a view is used it catches up: what left the store since the last time loses
//! its priority, and windows that became complete are admitted. Two counters for each lane tell the one from the other.

mod file;
mod relabel;
mod sample;
#[cfg(test)]
mod tests;

use crate::ring::{Lane, Ring};
use crate::{Batch, BatchShape, BatchSource, Priorities, PrioritySpec, SampleOptions, StoreError};
use relabel::Scratch;
pub use relabel::{GoalStrategy, Relabel};
use std::ops::{Deref, Range};

/// Which transitions belong together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// the longest window; shorter ones occur at the end of an episode
    pub n_step: usize,
    pub gamma: f32,
}

/// Windows over a store, which it owns or shares, and their priorities.
#[derive(Clone, Debug)]
pub struct View<S> {
    pub store: S,
    window: Window,
    priorities: Option<Priorities>,
    relabel: Option<Relabel>,
    scratch: Scratch,
    lanes: Vec<Seen>,
}

/// What the view knows of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Seen {
    /// Number of the oldest transition, as the store said last.
    oldest: u64,
    /// Its row.
    oldest_row: usize,
    /// Windows start in `oldest..admitted`.
    admitted: u64,
}

impl Seen {
    fn ready(&self) -> usize {
        (self.admitted - self.oldest) as usize
    }
}

impl Window {
    /// Windows that start before this number are complete: only the last few starts of the unfinished episode are not.
    fn complete(&self, lane: &Lane) -> u64 {
        let unfinished = (lane.next - lane.episode).min(self.n_step as u64 - 1);
        (lane.next - unfinished).max(lane.oldest)
    }
}

impl<S: Deref<Target = Ring>> View<S> {
    /// Windows over `store`, drawn uniformly unless there are priorities. An error for what cannot go together.
    pub fn new(
        store: S,
        window: Window,
        priorities: Option<PrioritySpec>,
        relabel: Option<Relabel>,
    ) -> Result<Self, StoreError> {
        if window.n_step == 0 {
            return Err(StoreError::Invalid("`n_step` must be at least 1".into()));
        }
        if let Some(relabel) = &relabel {
            relabel.check(window, store.spec())?;
        }
        let slots = store.ring * store.lanes().len();
        Ok(Self {
            window,
            priorities: priorities.map(|spec| Priorities::new(spec, slots)),
            relabel,
            scratch: Scratch::default(),
            lanes: vec![Seen::default(); store.lanes().len()],
            store,
        })
    }

    pub fn window(&self) -> Window {
        self.window
    }

    pub fn priorities(&self) -> Option<&Priorities> {
        self.priorities.as_ref()
    }

    /// Takes note of what happened to the store since the last time.
    fn catch_up(&mut self) {
        let store: &Ring = &self.store;
        for (at, (seen, lane)) in self.lanes.iter_mut().zip(store.lanes()).enumerate() {
            let complete = self.window.complete(lane);
            if let Some(priorities) = &mut self.priorities {
                // First what left: its row may already be that of a newcomer.
                for number in seen.oldest..lane.oldest.min(seen.admitted) {
                    priorities.drop_slot(store.row(at, number));
                }
                for number in seen.admitted.max(lane.oldest)..complete {
                    priorities.admit(store.row(at, number));
                }
            }
            *seen = Seen { oldest: lane.oldest, oldest_row: lane.oldest_row, admitted: complete };
        }
    }

    fn check_shape(&self, rows: &Range<usize>, out: &Batch) -> Result<(), StoreError> {
        let (needed, found) = (self.batch_shape(), out.shape());
        if rows.end > out.rows {
            return Err(StoreError::Invalid(format!("rows {rows:?} of a batch of {}; resize it first", out.rows)));
        }
        if needed == found {
            return Ok(());
        }
        Err(StoreError::Shape(format!("the batch has {found:?}, the store has {needed:?}")))
    }

    fn batch_shape(&self) -> BatchShape {
        let spec = self.store.spec();
        BatchShape {
            steps: 1,
            widths: spec.widths,
            action_width: spec.action_width,
            mask_width: spec.mask_width,
            state_width: 0,
        }
    }
}

impl<S: Deref<Target = Ring> + Send> BatchSource for View<S> {
    /// All windows but those that would run past the newest step of an unfinished episode.
    fn ready(&mut self) -> usize {
        let complete = |lane: &Lane| (self.window.complete(lane) - lane.oldest) as usize;
        self.store.lanes().iter().map(complete).sum()
    }

    fn shape(&self) -> BatchShape {
        self.batch_shape()
    }

    fn fill(&mut self, rows: Range<usize>, options: &mut SampleOptions<'_>, out: &mut Batch) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        self.check_shape(&rows, out)?;
        self.catch_up();
        self.draw(rows.clone(), options, out)?;
        self.relabel(rows, options, out)
    }

    /// New priorities. Transitions that were overwritten meanwhile are passed over, and so are errors that are no numbers.
    fn learned(&mut self, rows: Range<usize>, batch: &Batch, errors: &[f32]) {
        // Newcomers start with what was the largest priority when they came.
        self.catch_up();
        let Some(priorities) = &mut self.priorities else { return };
        let errors = errors.get(rows.clone()).unwrap_or_default();
        for (&index, &error) in batch.index[rows].iter().zip(errors) {
            let (lane, number) = self.store.named(index);
            let seen = self.lanes[lane];
            if (seen.oldest..seen.admitted).contains(&number) {
                priorities.update(self.store.row(lane, number), error);
            }
        }
    }
}
