//! What other goals would have been worth, asked of the environment.

use crate::source::Shared;
use crate::worker::Worker;
use axiomrl_envs::{EnvError, GoalParts, Purpose, Rows, TaskRules};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// `compute_reward` and `compute_terminated` of an environment, in a process of its own: hindsight asks while others step.
pub struct JudgedGoals {
    shared: Arc<Shared>,
    goal: GoalParts,
    worker: Mutex<Option<Worker>>,
}

impl JudgedGoals {
    pub fn new(shared: Arc<Shared>, goal: GoalParts) -> Self {
        Self { shared, goal, worker: Mutex::new(None) }
    }

    /// Goals of all rows, one after the other.
    fn collect(rows: &Rows<'_>, columns: &Range<usize>, to: &mut Vec<u8>) {
        for row in 0..rows.next_obs.rows {
            to.extend_from_slice(bytemuck::cast_slice(&rows.next_obs.row(row).floats[columns.clone()]));
        }
    }
}

impl TaskRules for JudgedGoals {
    fn apply(&self, rows: Rows<'_>, reward: Option<&mut [f32]>, terminated: &mut [bool]) -> Result<(), EnvError> {
        let n = terminated.len();
        let mut payload = (n as u32).to_le_bytes().to_vec();
        Self::collect(&rows, &self.goal.achieved, &mut payload);
        Self::collect(&rows, &self.goal.desired, &mut payload);
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        if worker.is_none() {
            *worker = Some(self.shared.take(1, Purpose::Training)?.0);
        }
        let Some(asked) = worker.as_mut() else { return Ok(()) };
        let timeout = asked.timeout();
        let answer = asked.ask(b'j', &payload, timeout)?;
        if answer.len() != 5 * n {
            return Err(EnvError::failed(format!("{} bytes of rewards came for {n} goals", answer.len())));
        }
        let (rewards, ends) = answer.split_at(4 * n);
        if let Some(reward) = reward {
            for (to, from) in reward.iter_mut().zip(rewards.chunks_exact(4)) {
                *to = f32::from_le_bytes([from[0], from[1], from[2], from[3]]);
            }
        }
        terminated.iter_mut().zip(ends).for_each(|(to, from)| *to = *from != 0);
        Ok(())
    }
}
