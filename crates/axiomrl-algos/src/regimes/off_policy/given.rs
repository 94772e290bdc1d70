//! Steps that somebody else took, in the store of the run's own.
//!
//! Each lane of the store follows an environment. While steps are handed over, lanes are lent to them; before its own
//! environment is looked at again a lane is taken back, and what was under way in it counts as cut off. Targets stay
//! right at such a cut: a clock ends an episode there, and not the world.

use super::OffPolicy;
use crate::agent::{Agent, Clock, LearnError};
use crate::by_hand::{Handed, Refused, Replay, Transitions};
use crate::parts::statistics::RewardStats;
use crate::policy::Policy;
use axiomrl_core::{Batch, BatchShape, Extras, Metrics, Ring, Rng, random};
use axiomrl_envs::{ObsBuf, ObsRef};

/// A lane that is lent.
pub(super) struct Lent {
    /// What its own environment shows, which goes on from there.
    own: (ObsBuf, Vec<bool>),
    /// What the newest step led to, where its episode goes on.
    open: Option<ObsBuf>,
    /// The running return of that episode.
    so_far: f64,
}

/// Where a step goes.
struct Place {
    lane: usize,
    goes_on: bool,
}

impl OffPolicy {
    /// Every environment has its lane again.
    pub(super) fn take_back(&mut self) {
        for (lane, lent) in self.lent.iter_mut().enumerate() {
            if let Some(Lent { own: (obs, mask), .. }) = lent.take() {
                self.real.store.begin(lane, obs.row(0), &mask);
                // Sequences begin anew there; so does what the policy remembers.
                self.memory.starts[lane] = true;
            }
        }
    }

    /// Where each step goes: on with the episode that it belongs to, or into the lane that has got the fewest, so that all are
    /// filled alike.
    fn places(&self, given: &Transitions) -> Result<Vec<Place>, Refused> {
        let store: &Ring = &self.real.store;
        let mut open: Vec<Option<ObsRef<'_>>> =
            self.lent.iter().map(|lent| Some(lent.as_ref()?.open.as_ref()?.row(0))).collect();
        let mut count: Vec<u64> = (0..open.len()).map(|lane| store.next(lane)).collect();
        // Of stacked frames the newest is stored, so an episode that is interrupted could not show the older ones afterwards.
        let stacked = store.spec().byte_frames.count > 1;
        let lendable = |lane: usize| self.lent[lane].is_some() || !stacked || !store.is_within_episode(lane);
        let mut places = Vec::with_capacity(given.rows());
        for row in 0..given.rows() {
            let (obs, next) = (given.obs.row(row), given.next_obs.row(row));
            let follows = open.iter().position(|led_to| *led_to == Some(obs));
            let free = || (0..open.len()).filter(|&lane| lendable(lane));
            let lane = follows.or_else(|| free().min_by_key(|&lane| (open[lane].is_some(), count[lane])));
            let Some(lane) = lane else {
                let problem = "stacked frames are stored once, so the agent's own episode cannot be interrupted: use an agent that \
                               does not `collect` by itself, or wait for the end of an episode";
                return Err(Refused::NotYet(problem.into()));
            };
            if (follows.is_none() && !store.can_show(None, obs)) || !store.can_show(Some(obs), next) {
                let problem = "stacked frames are stored once, so steps come in order: first the first observation of an episode, \
                               which shows one frame throughout, and then observations that move on by a frame";
                return Err(Refused::Rows(format!("row {row}: {problem}")));
            }
            places.push(Place { lane, goes_on: follows.is_some() });
            open[lane] = (!given.terminated[row] && !given.truncated[row]).then_some(next);
            count[lane] += 1;
        }
        Ok(places)
    }

    /// Stores a step that has proved sound.
    fn put(&mut self, place: &Place, given: &Transitions, row: usize, action: &[f32]) {
        let (lane, masks) = (place.lane, self.mask_width);
        let mask_of = |all: &[bool]| all[row * masks..(row + 1) * masks].to_vec();
        let (mask, next_mask) = (mask_of(&given.masks), mask_of(&given.next_masks));
        let (obs, next, store) = (given.obs.row(row), given.next_obs.row(row), &mut self.real.store);
        if self.lent[lane].is_none() {
            let (obs, mask) = store.waiting(lane);
            self.lent[lane] = Some(Lent { own: (obs, mask.to_vec()), open: None, so_far: 0.0 });
        }
        if !place.goes_on {
            store.begin(lane, obs, &mask);
            self.acting.count(obs);
        }
        if self.stored_state {
            // What a policy would have remembered nobody knows: such sequences begin with an empty memory.
            self.real.remember(lane, &vec![0.0; self.memory.width()]);
        }
        let terminated = given.terminated[row];
        let truncated = given.truncated[row] && !terminated;
        let (reward, store) = (given.reward[row], &mut self.real.store);
        store.push(lane, action, reward, terminated, truncated, next, &next_mask, next, &next_mask);
        self.acting.count(next);
        let Some(lent) = &mut self.lent[lane] else { return };
        if !place.goes_on {
            lent.so_far = 0.0;
        }
        if let Some(rewards) = &mut self.rewards {
            rewards.add_given(&mut lent.so_far, reward);
        }
        lent.open = (!terminated && !truncated).then(|| buffer(next));
    }

    /// Whether single steps that nobody drew can be learned from.
    fn check_takes(&self) -> Result<(), Refused> {
        let unsupported = |problem: &str| Err(Refused::Unsupported(problem.into()));
        if self.real.window().is_sequence() {
            return unsupported(
                "learns from sequences, not from single steps; put the steps into the replay, in order",
            );
        }
        if self.real.extras() != Extras::default() || !self.acting.learner.takes_any_steps() {
            return unsupported(
                "learns from episodes as a whole, not from single steps; give it a dataset, or put the steps into \
                                the replay",
            );
        }
        Ok(())
    }
}

impl Replay for OffPolicy {
    fn len(&self) -> usize {
        self.real.store.len()
    }

    fn add(&mut self, given: &Transitions) -> Result<(), Refused> {
        if self.offline == Some(0) {
            let problem = "learns from recorded steps alone; make a dataset of these";
            return Err(Refused::Unsupported(problem.into()));
        }
        let actions = given.checked(self.acting.spaces(), self.acting.action_map())?;
        let places = self.places(given)?;
        let width = self.acting.spaces().action.width();
        for (row, place) in places.iter().enumerate() {
            self.put(place, given, row, &actions[row * width..(row + 1) * width]);
        }
        Ok(())
    }

    fn sample(&self, rows: usize, rng: &mut Rng) -> Result<Transitions, Refused> {
        let stored = self.len();
        if stored == 0 {
            return Err(Refused::NotYet("the replay is empty: `collect` some steps first, or put some into it".into()));
        }
        let store: &Ring = &self.real.store;
        let picks: Vec<usize> = (0..rows).map(|_| random::below(rng, stored)).collect();
        let mut batch = Batch::default();
        store.transitions(&picks, &mut batch).map_err(|error| Refused::NotYet(error.to_string()))?;
        let mut action = vec![0.0; batch.action.len()];
        self.acting.action_map().to_env(&batch.action, &mut action);
        let truncated = batch.index.iter().map(|&index| {
            let (lane, number) = store.named(index);
            store.truncated(lane, number)
        });
        Ok(Transitions {
            obs: buffer(batch.obs()),
            next_obs: buffer(batch.next_obs()),
            masks: batch.masks().to_vec(),
            next_masks: batch.next_masks().to_vec(),
            action,
            truncated: truncated.collect(),
            terminated: batch.discount.iter().map(|&discount| discount == 0.0).collect(),
            reward: batch.reward,
        })
    }

    fn learn(&mut self, given: &Handed, clock: Clock, metrics: &mut Metrics) -> Result<u64, LearnError> {
        self.check_takes()?;
        let (spaces, rows) = (self.acting.spaces(), &given.rows);
        let actions = given.checked(spaces, self.acting.action_map())?;
        let shape = BatchShape {
            steps: 1,
            widths: spaces.obs().widths,
            action_width: spaces.action.width(),
            mask_width: self.mask_width,
            state_width: 0,
        };
        let scale = self.rewards.as_ref().map_or(self.reward, RewardStats::scale);
        let (batch, count, gamma) = (&mut self.batch, rows.rows(), self.real.window().gamma);
        // A batch that was drawn may have had columns and marks of its own.
        *batch = Batch::default();
        batch.resize(&shape, count);
        batch.obs.range_mut(0..count).copy_from(rows.obs.as_ref());
        batch.obs.range_mut(count..2 * count).copy_from(rows.next_obs.as_ref());
        batch.masks[..count * shape.mask_width].copy_from_slice(&rows.masks);
        batch.masks[count * shape.mask_width..].copy_from_slice(&rows.next_masks);
        batch.action.copy_from_slice(&actions);
        for row in 0..count {
            batch.reward[row] = scale.apply(rows.reward[row]);
            let goes_on = given.discount.as_ref().map_or(gamma, |discount| discount[row]);
            batch.discount[row] = if rows.terminated[row] { 0.0 } else { goes_on };
        }
        if let Some(weight) = &given.weight {
            batch.weight.copy_from_slice(weight);
        }
        self.handed = true;
        let made = self.update(clock, metrics);
        self.handed = false;
        made
    }
}

fn buffer(obs: ObsRef<'_>) -> ObsBuf {
    let mut own = ObsBuf::zeros(obs.widths(), obs.rows);
    own.as_mut().copy_from(obs);
    own
}
