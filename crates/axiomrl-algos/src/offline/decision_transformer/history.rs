//! What a policy remembers of an episode: the last steps, as a row of numbers.

/// Steps of several episodes, those of an episode one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    /// How many each episode has.
    pub lengths: Vec<usize>,
    /// What was to be brought from each step on, brought to scale.
    pub returns: Vec<f32>,
    pub obs: Vec<f32>,
    pub actions: Vec<f32>,
    /// The number of each step in its episode.
    pub times: Vec<usize>,
}

/// The layout of a row of memory: how many observations were acted on, what they brought, and a ring of steps, each of them a
/// return, an observation and an action. A row of zeros is an empty one.
#[derive(Clone, Copy, Debug)]
pub struct History {
    /// Steps that are kept.
    pub context: usize,
    pub obs: usize,
    pub action: usize,
    /// What is asked for, and what returns are divided by.
    pub target: f32,
    pub scale: f32,
}

const SEEN: usize = 0;
const EARNED: usize = 1;
const STEPS: usize = 2;

impl History {
    /// Numbers of a row.
    pub fn width(&self) -> usize {
        STEPS + self.context * self.step()
    }

    fn step(&self) -> usize {
        1 + self.obs + self.action
    }

    /// Where step `time` is.
    fn at(&self, time: usize) -> usize {
        STEPS + time % self.context * self.step()
    }

    /// A new observation, to be acted on; the return to ask for is what is left of the target.
    pub fn see(&self, row: &mut [f32], obs: &[f32]) {
        let at = self.at(row[SEEN] as usize);
        row[at] = (self.target - row[EARNED]) / self.scale;
        row[at + 1..at + 1 + self.obs].copy_from_slice(obs);
        row[at + 1 + self.obs..at + self.step()].fill(0.0);
        row[SEEN] += 1.0;
    }

    /// What is done on the newest observation.
    pub fn act(&self, row: &mut [f32], action: &[f32]) {
        let Some(newest) = (row[SEEN] as usize).checked_sub(1) else { return };
        let end = self.at(newest) + self.step();
        row[end - self.action..end].copy_from_slice(action);
    }

    /// What that brought.
    pub fn earn(&self, row: &mut [f32], reward: f32) {
        row[EARNED] += reward;
    }

    /// Appends what is remembered, the oldest step first. The action of the newest one is not yet known.
    pub fn recall(&self, row: &[f32], steps: &mut Steps) {
        let seen = row[SEEN] as usize;
        let first = seen.saturating_sub(self.context);
        steps.lengths.push(seen - first);
        for time in first..seen {
            let step = &row[self.at(time)..][..self.step()];
            steps.returns.push(step[0]);
            steps.obs.extend_from_slice(&step[1..1 + self.obs]);
            steps.actions.extend_from_slice(&step[1 + self.obs..]);
            steps.times.push(time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(context: usize) -> History {
        History { context, obs: 2, action: 1, target: 5.0, scale: 10.0 }
    }

    #[test]
    fn rewards_are_taken_off_the_target() {
        let history = history(3);
        let mut row = vec![0.0; history.width()];
        history.see(&mut row, &[1.0, 2.0]);
        history.act(&mut row, &[0.25]);
        history.earn(&mut row, 1.0);
        history.see(&mut row, &[3.0, 4.0]);
        let mut steps = Steps::default();
        history.recall(&row, &mut steps);
        // 5/10, and after a reward of 1, 4/10. The current action is an empty place.
        let wanted = Steps {
            lengths: vec![2],
            returns: vec![0.5, 0.4],
            obs: vec![1.0, 2.0, 3.0, 4.0],
            actions: vec![0.25, 0.0],
            times: vec![0, 1],
        };
        assert_eq!(steps, wanted);
    }

    #[test]
    fn the_last_steps_are_kept_in_order_and_corrected_by_what_was_done() {
        let history = history(3);
        let mut row = vec![0.0; history.width()];
        for time in 0..8 {
            history.see(&mut row, &[time as f32, -1.0]);
            history.act(&mut row, &[100.0]);
            // Chance overruled the choice.
            history.act(&mut row, &[time as f32]);
        }
        let mut steps = Steps::default();
        history.recall(&row, &mut steps);
        assert_eq!((steps.lengths, steps.times), (vec![3], vec![5, 6, 7]));
        assert_eq!(steps.obs, [5.0, -1.0, 6.0, -1.0, 7.0, -1.0]);
        assert_eq!(steps.actions, [5.0, 6.0, 7.0]);
    }

    #[test]
    fn nothing_is_done_before_something_was_seen() {
        let history = history(2);
        let mut row = vec![0.0; history.width()];
        history.act(&mut row, &[1.0]);
        assert!(row.iter().all(|x| *x == 0.0));
    }
}
