//! The rows of one fit: which are learned from and which held out, all of it a function of seed and number of the fit.

use axiomrl_core::random::below;
use axiomrl_core::{Batch, Ring, Rng, StoreError, stream};

/// The generator for one purpose of one fit: what it gives is made again where a run is taken up, and not saved.
pub fn generator(seed: u64, fit: u64, what: &str) -> Rng {
    stream(seed, &format!("model/{fit}/{what}"))
}

/// Transitions as a model sees them, in the environment's units.
pub struct RawRows {
    /// Observation and action.
    pub inputs: Vec<f32>,
    /// Reward, where it is predicted, and the change of the observation.
    pub targets: Vec<f32>,
}

impl RawRows {
    /// These transitions of a store.
    pub fn of(store: &Ring, picks: &[usize], with_reward: bool) -> Result<Self, StoreError> {
        let mut batch = Batch::default();
        store.transitions(picks, &mut batch)?;
        let (obs, actions) = (batch.shape().widths.floats, batch.shape().action_width);
        let mut rows = Self { inputs: Vec::new(), targets: Vec::new() };
        for row in 0..batch.rows {
            let (from, to) = (batch.obs().row(row).floats, batch.next_obs().row(row).floats);
            rows.inputs.extend_from_slice(from);
            rows.inputs.extend_from_slice(&batch.action[row * actions..(row + 1) * actions]);
            if with_reward {
                rows.targets.push(batch.reward[row]);
            }
            rows.targets.extend(from.iter().zip(to).map(|(from, to)| to - from));
            debug_assert_eq!(from.len(), obs);
        }
        Ok(rows)
    }

    /// Gives each row the change of the observation of another: what an action does can then not be learned.
    pub fn permute_changes(&mut self, outputs: usize, obs_width: usize, rng: &mut Rng) {
        let rows = self.targets.len() / outputs;
        let order = permutation(rows, rng);
        let before = self.targets.clone();
        let first = outputs - obs_width;
        for (row, from) in order.into_iter().enumerate() {
            let change = &before[from as usize * outputs + first..(from as usize + 1) * outputs];
            self.targets[row * outputs + first..(row + 1) * outputs].copy_from_slice(change);
        }
    }
}

/// The numbers below `n` in random order.
pub fn permutation(n: usize, rng: &mut Rng) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n as u32).collect();
    shuffle(&mut order, rng);
    order
}

fn shuffle(order: &mut [u32], rng: &mut Rng) {
    for last in (1..order.len()).rev() {
        order.swap(last, below(rng, last + 1));
    }
}

/// Each member's own list of rows, drawn once per fit with replacement, and in another order in each epoch.
pub struct Bootstrap {
    seed: u64,
    fit: u64,
    lists: Vec<Vec<u32>>,
    epoch: u64,
    orders: Vec<Vec<u32>>,
}

impl Bootstrap {
    pub fn new(seed: u64, fit: u64, members: usize, rows: usize) -> Self {
        let list = |member: usize| {
            let mut rng = generator(seed, fit, &format!("bootstrap/{member}"));
            (0..rows).map(|_| below(&mut rng, rows) as u32).collect()
        };
        let lists: Vec<Vec<u32>> = (0..members).map(list).collect();
        Self { seed, fit, orders: lists.clone(), lists, epoch: 0 }
    }

    /// The lists in the order of an epoch.
    pub fn in_epoch(&mut self, epoch: u64) -> &[Vec<u32>] {
        if epoch != self.epoch {
            self.orders.clone_from(&self.lists);
            for (member, order) in self.orders.iter_mut().enumerate() {
                shuffle(order, &mut generator(self.seed, self.fit, &format!("epoch/{epoch}/{member}")));
            }
            self.epoch = epoch;
        }
        &self.orders
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_stay_the_same_in_a_fit_and_only_their_order_changes() {
        let mut bootstrap = Bootstrap::new(7, 3, 2, 50);
        let sorted = |list: &[u32]| {
            let mut list = list.to_vec();
            list.sort_unstable();
            list
        };
        let first = bootstrap.in_epoch(0).to_vec();
        assert!(sorted(&first[0]).windows(2).any(|pair| pair[0] == pair[1]), "with replacement");
        assert_ne!(sorted(&first[0]), sorted(&first[1]), "each member has its own");
        let fifth = bootstrap.in_epoch(5).to_vec();
        assert!(fifth[0] != first[0] && sorted(&fifth[0]) == sorted(&first[0]));
        // Made again in the middle of a fit, it is the same.
        assert_eq!(Bootstrap::new(7, 3, 2, 50).in_epoch(5), fifth);
        assert_ne!(Bootstrap::new(7, 4, 2, 50).in_epoch(5), fifth);
    }

    #[test]
    fn permuted_changes_leave_rewards_alone() {
        let mut rows = RawRows { inputs: Vec::new(), targets: (0..40).map(|i| i as f32).collect() };
        rows.permute_changes(2, 1, &mut generator(1, 1, "permute"));
        let (rewards, changes): (Vec<f32>, Vec<f32>) = rows.targets.chunks(2).map(|row| (row[0], row[1])).unzip();
        assert!(rewards.iter().enumerate().all(|(row, reward)| *reward == 2.0 * row as f32));
        assert!(changes.iter().zip(&rewards).filter(|(change, reward)| **change != **reward + 1.0).count() > 15);
        let mut sorted = changes.clone();
        sorted.sort_by(f32::total_cmp);
        assert_eq!(sorted, (0..20).map(|row| 2.0 * row as f32 + 1.0).collect::<Vec<_>>());
    }
}
