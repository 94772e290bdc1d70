//! The entries of a batch that an update learns from, and the observations around them.

use super::recorded::Recorded;
use crate::parts::squashed_actor::Counted;
use crate::parts::trunk::Span;
use axiomrl_core::Batch;
use axiomrl_envs::ObsRef;
use std::borrow::Cow;

/// A batch after its burn-in. Without a memory that is a batch of single steps, all of which count.
#[derive(Clone, Copy)]
pub struct Window<'a> {
    pub batch: &'a Batch,
    /// Whether networks remember what came before in a row.
    memory: bool,
    burn_in: usize,
    pub counted: Counted<'a>,
    /// What was done, for all steps of the batch.
    action: &'a [f32],
}

impl<'a> Window<'a> {
    pub fn new(batch: &'a Batch, memory: bool, burn_in: usize) -> Self {
        let burn_in = if memory { burn_in.min(batch.steps) } else { 0 };
        let counted = Counted::of(&batch.valid[burn_in * batch.rows..]);
        Self { batch, memory, burn_in, counted, action: &batch.action }
    }

    /// With columns as they are learned from where transitions were recorded.
    pub fn of_recorded(self, recorded: Option<&'a Recorded>) -> Self {
        let Some(recorded) = recorded else { return self };
        let counted = Counted::of(&recorded.valid[self.burn_in * self.batch.rows..]);
        Self { counted, action: &recorded.action, ..self }
    }

    /// How many entries there are, those that do not count included.
    pub fn entries(&self) -> usize {
        (self.batch.steps - self.burn_in) * self.batch.rows
    }

    /// A column of the batch, for these entries.
    pub fn column<T>(&self, all: &'a [T]) -> &'a [T] {
        let each = all.len() / (self.batch.steps * self.batch.rows);
        &all[self.burn_in * self.batch.rows * each..]
    }

    /// What the entries did.
    pub fn action(&self) -> &'a [f32] {
        self.column(self.action)
    }

    /// The row of the batch that an entry belongs to.
    pub fn row(&self, entry: usize) -> usize {
        entry % self.batch.rows
    }

    fn times(&self, from: usize, to: usize) -> (ObsRef<'a>, Span<'a>) {
        let rows = self.batch.rows;
        let range = from * rows..to * rows;
        (self.batch.obs.range(range.clone()), Span { steps: to - from, rows, resets: &self.batch.starts[range] })
    }

    /// The observations in which the entries acted.
    pub fn now(&self) -> (ObsRef<'a>, Span<'a>) {
        self.times(self.burn_in, self.batch.steps)
    }

    /// The observations before them, which only fill the memory; none without a burn-in.
    pub fn before(&self) -> Option<(ObsRef<'a>, Span<'a>)> {
        (self.burn_in > 0).then(|| self.times(0, self.burn_in))
    }

    /// The observations that targets look at: those that follow, and with a memory all of them, from the first on.
    pub fn ahead(&self) -> (ObsRef<'a>, Span<'a>) {
        self.times(if self.memory { 0 } else { 1 }, self.batch.steps + 1)
    }

    /// Of rows for every observation of [`Window::ahead`], those that follow the entries.
    pub fn following<'b>(&self, ahead: Cow<'b, [f32]>) -> Cow<'b, [f32]> {
        if !self.memory {
            return ahead;
        }
        let (rows, steps) = (self.batch.rows, self.batch.steps);
        let width = ahead.len() / ((steps + 1) * rows);
        let next = self.column(&self.batch.next).iter().enumerate();
        // What follows an entry that does not count may be unknown.
        let following = next.map(|(entry, &time)| (time as usize).min(steps) * rows + self.row(entry));
        Cow::Owned(following.flat_map(|at| &ahead[at * width..(at + 1) * width]).copied().collect())
    }

    /// Columns `from..from + width` of the memory that the rows begin with; zeros where none was stored.
    pub fn memory(&self, from: usize, width: usize) -> Vec<f32> {
        let (state, rows) = (&self.batch.state, self.batch.rows);
        if state.is_empty() || width == 0 {
            return vec![0.0; rows * width];
        }
        let all = state.len() / rows;
        state.chunks_exact(all).flat_map(|row| &row[from..from + width]).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_core::BatchShape;
    use axiomrl_envs::ObsWidths;

    /// Two rows of three steps whose observation at time t of row r is 10 t + r.
    fn batch() -> Batch {
        let mut batch = Batch::default();
        let widths = ObsWidths { floats: 1, bytes: 0 };
        batch.resize(&BatchShape { steps: 3, widths, action_width: 1, state_width: 3, ..BatchShape::default() }, 2);
        batch.obs.floats = vec![0.0, 1.0, 10.0, 11.0, 20.0, 21.0, 30.0, 31.0];
        batch.next = vec![2, 1, 3, 2, 3, 3];
        batch.valid = vec![true, true, true, false, true, true];
        batch.reward = vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        batch.state = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        batch
    }

    #[test]
    fn entries_after_the_burn_in_and_what_follows_them() {
        let batch = batch();
        let window = Window::new(&batch, true, 1);
        assert_eq!((window.entries(), window.counted.count), (4, 3));
        assert_eq!(window.column(&batch.reward), [2.0, 3.0, 4.0, 5.0]);
        assert_eq!(window.now().0.floats, [10.0, 11.0, 20.0, 21.0]);
        assert_eq!(window.before().unwrap().0.floats, [0.0, 1.0]);
        let (ahead, span) = window.ahead();
        assert_eq!((ahead.rows, span.steps), (8, 4));
        assert_eq!(&window.following(Cow::Borrowed(ahead.floats))[..], [30.0, 21.0, 30.0, 31.0]);
        assert_eq!(window.memory(0, 1), [1.0, 4.0]);
        assert_eq!(window.memory(1, 2), [2.0, 3.0, 5.0, 6.0]);
    }

    #[test]
    fn recorded_columns_take_the_place_of_the_batchs_own() {
        let batch = batch();
        let recorded = Recorded { action: vec![0.1, 0.2, 0.3, 0.4, 0.5, 0.6], valid: vec![true; 6] };
        let window = Window::new(&batch, true, 1);
        let learned = window.of_recorded(Some(&recorded));
        assert_eq!((learned.action(), learned.counted.count), (&[0.3, 0.4, 0.5, 0.6][..], 4));
        let same = window.of_recorded(None);
        assert_eq!((same.action(), same.counted.count), (&batch.action[2..], 3));
    }

    #[test]
    fn single_steps_are_their_own_window() {
        let mut batch = Batch::default();
        let widths = ObsWidths { floats: 1, bytes: 0 };
        batch.resize(&BatchShape { steps: 1, widths, action_width: 1, ..BatchShape::default() }, 2);
        batch.obs.floats = vec![0.0, 1.0, 10.0, 11.0];
        let window = Window::new(&batch, false, 9);
        assert_eq!((window.entries(), window.counted.count), (2, 2));
        assert_eq!((window.now().0.floats, window.ahead().0.floats), (&[0.0, 1.0][..], &[10.0, 11.0][..]));
        assert_eq!(&window.following(Cow::Borrowed(&[7.0, 8.0]))[..], [7.0, 8.0]);
        assert!(window.before().is_none() && window.memory(0, 0).is_empty());
    }
}
