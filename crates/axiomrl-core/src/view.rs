//! What is drawn from a store, and how.
//!
//! A store knows nothing of its views. Before a view is used it catches up: what left the store since the last time loses
//! its priority, and windows that became complete are admitted. Two counters for each lane tell the one from the other.
//!
//! A window is one step (with the rewards of the next few summed into it) or a sequence of `length` steps. Sequences start on
//! a grid: window `w` of a lane begins with transition `w * stride`.

mod extras;
mod file;
mod memories;
mod relabel;
mod sample;
mod sequences;
#[cfg(test)]
mod tests;

use crate::ring::{Lane, Ring};
use crate::{Batch, BatchShape, BatchSource, Priorities, PrioritySpec, SampleOptions, StoreError};
use extras::Returns;
pub use extras::{Extras, NEXT_ACTION, NEXT_ACTION_KNOWN, RETURN_TO_GO};
pub use memories::Memories;
use relabel::Scratch;
pub use relabel::{GoalStrategy, Relabel};
use std::ops::{Deref, Range};

/// Which transitions belong together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// the most rewards that are summed; fewer occur at the end of an episode and of a sequence
    pub n_step: usize,
    pub gamma: f32,
    /// transitions of a row; 1 for single steps
    pub length: usize,
    /// transitions between the beginnings of two sequences; 1 for single steps
    pub stride: usize,
}

/// Windows over a store, which it owns or shares, and their priorities.
#[derive(Clone, Debug)]
pub struct View<S> {
    pub store: S,
    window: Window,
    priorities: Option<Priorities>,
    relabel: Option<Relabel>,
    memories: Memories,
    extras: Extras,
    returns: Option<Returns>,
    scratch: Scratch,
    lanes: Vec<Seen>,
    /// The most episodes that were cut off inside of one sequence so far: each asks for an entry of its own.
    most_cut_offs: usize,
}

/// What the view knows of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Seen {
    /// Number of the oldest window, as the store said last.
    oldest: u64,
    /// The row that the oldest transition lies in.
    oldest_row: usize,
    /// Windows `oldest..admitted` can be drawn.
    admitted: u64,
}

impl Seen {
    fn ready(&self) -> usize {
        (self.admitted - self.oldest) as usize
    }
}

impl Window {
    /// Single steps, each with the rewards of `n_step` summed.
    pub fn steps(n_step: usize, gamma: f32) -> Self {
        Self { n_step, gamma, length: 1, stride: 1 }
    }

    pub fn is_sequence(&self) -> bool {
        self.length > 1
    }

    /// The oldest window of a lane that still has all its transitions.
    fn oldest(&self, lane: &Lane) -> u64 {
        lane.oldest.div_ceil(self.stride as u64)
    }

    /// Windows before this number are complete. Of single steps only the last few starts of the unfinished episode are not.
    fn complete(&self, lane: &Lane) -> u64 {
        if self.is_sequence() {
            let starts = lane.next.checked_sub(self.length as u64).map_or(0, |last| last / self.stride as u64 + 1);
            return starts.max(self.oldest(lane));
        }
        let unfinished = (lane.next - lane.episode).min(self.n_step as u64 - 1);
        (lane.next - unfinished).max(lane.oldest)
    }

    /// The most episodes that were cut off before the last transition of one of these sequences.
    fn most_cut_offs(&self, store: &Ring, lane: usize, windows: Range<u64>) -> usize {
        if !self.is_sequence() {
            return 0;
        }
        let inside = self.length as u64 - 1;
        let cut_offs = windows
            .map(|window| window * self.stride as u64)
            .map(|first| store.cut_offs_within(lane, first..first + inside));
        cut_offs.max().unwrap_or(0)
    }

    /// Places that the windows of a lane take turns in: more than can be complete at once.
    fn slots(&self, store: &Ring) -> usize {
        if self.is_sequence() { store.ring / self.stride + 1 } else { store.ring }
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
        if window.n_step == 0 || window.length == 0 || window.stride == 0 {
            return Err(StoreError::Invalid("`n_step`, `length` and `stride` must be at least 1".into()));
        }
        if !window.is_sequence() && window.stride != 1 {
            return Err(StoreError::Invalid("single steps begin everywhere: their `stride` is 1".into()));
        }
        if let Some(relabel) = &relabel {
            relabel.check(window, store.spec())?;
        }
        let lanes = store.lanes().len();
        let slots = window.slots(&store);
        Ok(Self {
            window,
            priorities: priorities.map(|spec| Priorities::new(spec, slots * lanes)),
            relabel,
            memories: Memories::new(0, lanes, slots),
            extras: Extras::default(),
            returns: None,
            scratch: Scratch::default(),
            lanes: vec![Seen::default(); lanes],
            most_cut_offs: 0,
            store,
        })
    }

    /// Keeps the memory of `width` numbers that a policy had where each sequence begins.
    pub fn with_memories(mut self, width: usize) -> Self {
        self.memories = Memories::new(width, self.lanes.len(), self.window.slots(&self.store));
        self
    }

    /// What the policy remembers before the next transition of `lane`; kept where a sequence begins with that transition.
    pub fn remember(&mut self, lane: usize, memory: &[f32]) {
        let next = self.store.next(lane);
        if next.is_multiple_of(self.window.stride as u64) {
            self.memories.put(lane, next / self.window.stride as u64, memory);
        }
    }

    pub fn window(&self) -> Window {
        self.window
    }

    pub fn extras(&self) -> Extras {
        self.extras
    }

    pub fn priorities(&self) -> Option<&Priorities> {
        self.priorities.as_ref()
    }

    /// The place of a window among those of all lanes.
    fn slot(&self, lane: usize, window: u64) -> usize {
        let slots = self.window.slots(&self.store);
        lane * slots + (window % slots as u64) as usize
    }

    /// Takes note of what happened to the store since the last time.
    fn catch_up(&mut self) {
        let (store, window): (&Ring, Window) = (&self.store, self.window);
        let slots = window.slots(store);
        let slot = |lane: usize, number: u64| lane * slots + (number % slots as u64) as usize;
        for (at, (seen, lane)) in self.lanes.iter_mut().zip(store.lanes()).enumerate() {
            let (oldest, complete) = (window.oldest(lane), window.complete(lane));
            if let Some(priorities) = &mut self.priorities {
                // First what left: its place may already be that of a newcomer.
                for number in seen.oldest..oldest.min(seen.admitted) {
                    priorities.drop_slot(slot(at, number));
                }
                for number in seen.admitted.max(oldest)..complete {
                    priorities.admit(slot(at, number));
                }
            }
            let newcomers = seen.admitted.max(oldest)..complete;
            self.most_cut_offs = self.most_cut_offs.max(window.most_cut_offs(store, at, newcomers));
            *seen = Seen { oldest, oldest_row: lane.oldest_row, admitted: complete };
        }
    }

    fn check_shape(&self, rows: &Range<usize>, out: &Batch) -> Result<(), StoreError> {
        let (needed, found) = (self.batch_shape(), out.shape());
        if rows.end > out.rows {
            return Err(StoreError::Invalid(format!("rows {rows:?} of a batch of {}; resize it first", out.rows)));
        }
        // Sequences may leave steps over: those of another source in the same batch may need them.
        if (BatchShape { steps: found.steps, ..needed } == found) && needed.steps <= found.steps {
            return Ok(());
        }
        Err(StoreError::Shape(format!("the batch has {found:?}, the store has {needed:?}")))
    }

    fn batch_shape(&self) -> BatchShape {
        let spec = self.store.spec();
        BatchShape {
            steps: self.window.length + self.most_cut_offs,
            widths: spec.widths,
            action_width: spec.action_width,
            mask_width: spec.mask_width,
            state_width: self.memories.width(),
        }
    }
}

impl<S: Deref<Target = Ring> + Send> BatchSource for View<S> {
    /// All windows but those that would run past the newest step: of single steps, past that of an unfinished episode.
    fn ready(&mut self) -> usize {
        let complete = |lane: &Lane| (self.window.complete(lane) - self.window.oldest(lane)) as usize;
        self.store.lanes().iter().map(complete).sum()
    }

    fn shape(&mut self) -> BatchShape {
        if self.window.is_sequence() {
            self.catch_up();
        }
        self.batch_shape()
    }

    fn fill(&mut self, rows: Range<usize>, options: &mut SampleOptions<'_>, out: &mut Batch) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        self.catch_up();
        self.check_shape(&rows, out)?;
        self.draw(rows.clone(), options, out)?;
        self.fill_extras(rows.clone(), options.reward, out);
        self.relabel(rows, options, out)
    }

    /// New priorities. Transitions that were overwritten meanwhile are passed over, and so are errors that are no numbers.
    fn learned(&mut self, rows: Range<usize>, batch: &Batch, errors: &[f32]) {
        // Newcomers start with what was the largest priority when they came.
        self.catch_up();
        let slots = self.window.slots(&self.store);
        let Some(priorities) = &mut self.priorities else { return };
        let errors = errors.get(rows.clone()).unwrap_or_default();
        for (&index, &error) in batch.index[rows].iter().zip(errors) {
            let (lane, number) = self.store.named(index);
            let seen = self.lanes[lane];
            if (seen.oldest..seen.admitted).contains(&number) {
                priorities.update(lane * slots + (number % slots as u64) as usize, error);
            }
        }
    }
}
