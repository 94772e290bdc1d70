//! Transitions seen with the goal that was reached instead of the one that was wanted.

use super::Replay;
use crate::{Batch, Rng};
use axiomrl_envs::{GoalTask, ObsBuf};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Which of the goals reached in an episode a transition may be given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalStrategy {
    /// One reached at this step or later.
    #[default]
    Future,
    /// The one reached last.
    Final,
    /// Any one.
    Episode,
}

/// How transitions are relabelled.
#[derive(Clone, Debug)]
pub struct Hindsight {
    pub strategy: GoalStrategy,
    /// The part of a batch that is given another goal.
    pub share: f64,
    pub task: GoalTask,
}

impl Replay {
    /// Gives rows of a batch, as drawn from this store, other goals, with the rewards and ends that follow from them. Of an
    /// unfinished episode, what has been reached so far counts.
    ///
    /// # Panics
    /// With windows of several steps: their rewards could not be judged anew.
    pub fn relabel(&self, hindsight: &Hindsight, rng: &mut Rng, batch: &mut Batch) {
        assert_eq!(self.spec.n_step, 1, "hindsight goes with single steps");
        let (width, lanes) = (self.spec.obs_width, self.lanes.len() as u64);
        let task = &hindsight.task;
        for row in 0..batch.rows {
            if !rng.random_bool(hindsight.share) {
                continue;
            }
            let (number, lane) = (batch.index[row] / lanes, (batch.index[row] % lanes) as usize);
            let episode = self.episode_of(lane, number);
            let at = match hindsight.strategy {
                GoalStrategy::Future => rng.random_range(number..episode.end),
                GoalStrategy::Final => episode.end - 1,
                GoalStrategy::Episode => rng.random_range(episode),
            };
            let goal = self.reached_by(lane, at, &task.achieved);
            let (ObsBuf::F32(obs), ObsBuf::F32(next)) = (&mut batch.obs, &mut batch.next_obs) else {
                unreachable!("goals are numbers, and so is all that is observed with them")
            };
            let place = |range: &Range<usize>| row * width + range.start..row * width + range.end;
            obs[place(&task.desired)].copy_from_slice(goal);
            next[place(&task.desired)].copy_from_slice(goal);
            let verdict = task.judge(&next[place(&task.achieved)], goal);
            batch.reward[row] = verdict.reward;
            batch.discount[row] = if verdict.terminated { 0.0 } else { self.spec.gamma };
        }
    }

    /// The transitions of the episode that `number` belongs to, as far as they are stored.
    fn episode_of(&self, lane: usize, number: u64) -> Range<u64> {
        let ends = &self.ends[lane];
        let after = ends.partition_point(|&end| end <= number);
        let start = if after == 0 { 0 } else { ends[after - 1] };
        let end = ends.get(after).copied().unwrap_or(self.lanes[lane].next);
        start.max(self.lanes[lane].oldest)..end
    }

    /// What had been achieved after transition `number`.
    fn reached_by(&self, lane: usize, number: u64, achieved: &Range<usize>) -> &[f32] {
        let row = self.row(lane, number);
        let width = self.spec.obs_width;
        let (source, from) = match self.flags[row] {
            0 => (&self.obs, self.after(row)),
            _ => (&self.finals.obs, self.final_slot[row] as usize),
        };
        let ObsBuf::F32(values) = source else { unreachable!("goals are numbers") };
        &values[from * width + achieved.start..from * width + achieved.end]
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::spec;
    use super::super::{Replay, ReplaySpec};
    use super::*;
    use crate::stream;
    use axiomrl_envs::{BoxSpace, ObsRef, Verdict, goal_space};

    /// Position, achieved position, goal. The goal is 9, never reached.
    fn obs(position: f32) -> [f32; 3] {
        [position, position, 9.0]
    }

    fn task() -> GoalTask {
        let unit = BoxSpace::uniform(1, -100.0, 100.0);
        let judge = |achieved: &[f32], desired: &[f32]| {
            let reached = achieved == desired;
            Verdict { reward: if reached { 0.0 } else { -1.0 }, terminated: reached }
        };
        GoalTask::new(&goal_space(unit.clone(), unit), judge).unwrap()
    }

    /// Two episodes of three steps, at 0 1 2 3 and 10 11 12 13, and one step of a third, at 20 21.
    fn store(capacity: usize) -> Replay {
        let mut replay = Replay::new(ReplaySpec { obs_width: 3, ..spec(capacity, 1, 1) });
        replay.begin(0, ObsRef::F32(&obs(0.0)), &[]);
        for (next, last) in
            [(1.0, None), (2.0, None), (10.0, Some(3.0)), (11.0, None), (12.0, None), (20.0, Some(13.0)), (21.0, None)]
        {
            let final_obs = obs(last.unwrap_or(0.0));
            let truncated = last.is_some();
            replay.push(0, &[0.0], -1.0, false, truncated, ObsRef::F32(&obs(next)), &[], ObsRef::F32(&final_obs), &[]);
        }
        replay
    }

    /// The goals each starting position was given, over many draws.
    fn goals(replay: &Replay, strategy: GoalStrategy, from: f32) -> Vec<f32> {
        let hindsight = Hindsight { strategy, share: 1.0, task: task() };
        let (mut rng, mut batch) = (stream(1, "goals"), Batch::default());
        let mut found = Vec::new();
        for _ in 0..40 {
            replay.sample(32, 0.0, &mut rng, &mut batch);
            replay.relabel(&hindsight, &mut rng, &mut batch);
            let (ObsBuf::F32(obs), ObsBuf::F32(next)) = (&batch.obs, &batch.next_obs) else { panic!("numbers") };
            for row in 0..32 {
                let (obs, next) = (&obs[row * 3..row * 3 + 3], &next[row * 3..row * 3 + 3]);
                assert_eq!(obs[2], next[2], "one goal for both ends");
                let reached = next[1] == next[2];
                assert_eq!(batch.reward[row], if reached { 0.0 } else { -1.0 });
                assert_eq!(batch.discount[row], if reached { 0.0 } else { 0.5 });
                if obs[0] == from {
                    found.push(obs[2]);
                }
            }
        }
        found.sort_by(f32::total_cmp);
        found.dedup();
        found
    }

    #[test]
    fn goals_come_from_the_same_episode_and_the_chosen_part_of_it() {
        let replay = store(20);
        assert_eq!(goals(&replay, GoalStrategy::Future, 0.0), [1.0, 2.0, 3.0]);
        assert_eq!(goals(&replay, GoalStrategy::Future, 12.0), [13.0]);
        assert_eq!(goals(&replay, GoalStrategy::Final, 10.0), [13.0]);
        assert_eq!(goals(&replay, GoalStrategy::Episode, 12.0), [11.0, 12.0, 13.0]);
        assert_eq!(goals(&replay, GoalStrategy::Future, 20.0), [21.0], "what has been reached so far");
    }

    #[test]
    fn what_was_overwritten_is_no_goal() {
        // Five transitions kept: those from 2, 10, 11, 12 and 20.
        let replay = store(5);
        assert_eq!(goals(&replay, GoalStrategy::Episode, 2.0), [3.0]);
        assert_eq!(goals(&replay, GoalStrategy::Episode, 11.0), [11.0, 12.0, 13.0]);
    }

    #[test]
    fn a_share_of_nothing_changes_nothing_and_files_keep_the_ends() {
        let replay = store(20);
        let (mut rng, mut batch) = (stream(1, "goals"), Batch::default());
        replay.sample(8, 0.0, &mut rng, &mut batch);
        let before = batch.clone();
        replay.relabel(&Hindsight { strategy: GoalStrategy::Future, share: 0.0, task: task() }, &mut rng, &mut batch);
        assert_eq!(batch, before);
        let mut bytes = Vec::new();
        replay.write(&mut bytes).unwrap();
        let mut back = Replay::new(replay.spec().clone());
        back.read(&mut &bytes[..]).unwrap();
        assert_eq!(back.ends, replay.ends);
    }
}
