//! The rows of a batch as the model takes them.

use super::actor::ActionLaw;
use axiomrl_core::SequenceBatch;
use axiomrl_envs::ObsRef;
use axiomrl_nn::{Latent, Window};

/// `steps` rows of `rows` windows, time-major.
pub struct Sequence<'a> {
    pub steps: usize,
    pub rows: usize,
    pub obs: ObsRef<'a>,
    /// the action that led to each row
    pub actions: Vec<f32>,
    /// where the state is empty before the row: at the beginning of an episode, and of a window without a state to begin with
    pub is_first: Vec<bool>,
    /// the state before the first row of each window
    pub start: Vec<f32>,
    pub reward: Vec<f32>,
    pub last: &'a [bool],
    pub terminal: &'a [bool],
}

/// How a batch becomes a sequence.
#[derive(Clone, Copy)]
pub struct Reading {
    pub law: ActionLaw,
    pub latent: Latent,
    pub deter: usize,
    /// Whether the first row of a window only supplies its state and action.
    pub context: bool,
    pub reward_scale: f32,
    pub reward_tanh: bool,
}

impl Reading {
    pub fn read<'a>(&self, batch: &'a SequenceBatch) -> Sequence<'a> {
        let (rows, from) = (batch.rows, usize::from(self.context));
        let steps = batch.steps - from;
        let here = from * rows..batch.steps * rows;
        let mut is_first = batch.first[here.clone()].to_vec();
        if !self.context {
            is_first[..rows].fill(true);
        }
        Sequence {
            steps,
            rows,
            obs: batch.obs.range(here.clone()),
            actions: self.actions(batch, from),
            is_first,
            start: self.start(batch),
            reward: batch.reward[here.clone()].iter().map(|&reward| self.reward(reward)).collect(),
            last: &batch.last[here.clone()],
            terminal: &batch.terminal[here],
        }
    }

    fn reward(&self, reward: f32) -> f32 {
        let scaled = self.reward_scale * reward;
        if self.reward_tanh { scaled.tanh() } else { scaled }
    }

    /// Row t has the action of row t - 1; before the first row there was none that counts.
    fn actions(&self, batch: &SequenceBatch, from: usize) -> Vec<f32> {
        let (width, stored) = (self.law.width() * batch.rows, self.law.action_width() * batch.rows);
        let mut encoded = vec![0.0; (batch.steps - from) * width];
        let done = &batch.action[..(batch.steps - 1) * stored];
        self.law.encode(done, &mut encoded[(1 - from) * width..]);
        encoded
    }

    fn start(&self, batch: &SequenceBatch) -> Vec<f32> {
        let (deter, width) = (self.deter, self.latent.width());
        let mut start = vec![0.0; batch.rows * (deter + width)];
        if let (true, Latent::Categorical { groups, classes, .. }) = (self.context, self.latent) {
            for (row, state) in start.chunks_exact_mut(deter + width).enumerate() {
                state[..deter].copy_from_slice(&batch.deter[row * deter..(row + 1) * deter]);
                let chosen = &batch.classes[row * groups..(row + 1) * groups];
                let one_hot = state[deter..].chunks_exact_mut(classes);
                one_hot.zip(chosen).for_each(|(group, &class)| group[usize::from(class).min(classes - 1)] = 1.0);
            }
        }
        start
    }
}

impl Sequence<'_> {
    pub fn window<'a>(&'a self, noise: &'a [f32]) -> Window<'a> {
        Window {
            steps: self.steps,
            rows: self.rows,
            actions: &self.actions,
            is_first: &self.is_first,
            noise,
            start: &self.start,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_core::{LatentSpec, RewardScale, SequenceSpec, SequenceStore, stream};
    use axiomrl_envs::ObsWidths;

    /// The store after an episode of two decisions and the beginning of the next, and its only window.
    fn batch(length: usize, latents: LatentSpec) -> SequenceBatch {
        let widths = ObsWidths { floats: 1, bytes: 0 };
        let mut store =
            SequenceStore::new(SequenceSpec { capacity: 9, lanes: 1, widths, action_width: 1, length, latents });
        let obs = |x: &'static [f32; 1]| ObsRef::of_floats(1, x);
        store.begin(0, obs(&[0.0]));
        if latents.groups > 0 {
            store.remember(0, &[0.5], &[2]);
        }
        store.push(0, &[1.0], 0.0, false, false, obs(&[1.0]), obs(&[9.0]));
        store.push(0, &[2.0], 1.0, true, false, obs(&[10.0]), obs(&[2.0]));
        store.push(0, &[1.0], 0.0, false, false, obs(&[11.0]), obs(&[9.0]));
        let mut batch = SequenceBatch::default();
        store.draw(1, false, RewardScale::IDENTITY, &mut stream(1, "test"), &mut batch).unwrap();
        batch
    }

    fn reading(context: bool) -> Reading {
        Reading {
            law: ActionLaw::Choice { n: 3, unimix: 0.0 },
            latent: Latent::Categorical { groups: 1, classes: 3, unimix: 0.0 },
            deter: 1,
            context,
            reward_scale: 2.0,
            reward_tanh: false,
        }
    }

    #[test]
    fn a_row_has_the_action_that_led_to_it_and_its_own_reward() {
        let batch = batch(4, LatentSpec::default());
        let sequence = reading(false).read(&batch);
        assert_eq!((sequence.steps, sequence.obs.floats), (4, &[0.0, 1.0, 2.0, 10.0][..]));
        let none = [0.0; 3];
        assert_eq!(
            sequence.actions.chunks_exact(3).take(3).collect::<Vec<_>>(),
            [none, [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        );
        // The reset hides whatever stands beside the end of an episode.
        assert_eq!(sequence.is_first, [true, false, false, true]);
        assert_eq!(
            (&sequence.reward[..], sequence.terminal),
            (&[0.0, 0.0, 2.0, 0.0][..], &[false, false, true, false][..])
        );
        assert_eq!(sequence.start, [0.0; 4]);
    }

    #[test]
    fn a_context_row_gives_its_state_and_action_and_is_not_learned_from() {
        let batch = batch(4, LatentSpec { deter: 1, groups: 1 });
        let sequence = reading(true).read(&batch);
        assert_eq!((sequence.steps, sequence.obs.floats), (3, &[1.0, 2.0, 10.0][..]));
        assert_eq!(sequence.start, [0.5, 0.0, 0.0, 1.0]);
        assert_eq!(sequence.actions[..6], [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(sequence.is_first, [false, false, true]);
    }
}
