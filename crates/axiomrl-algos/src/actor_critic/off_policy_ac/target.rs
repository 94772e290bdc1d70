//! What the critics should have predicted: `R + D * (value of the next observation + its entropy bonus)`.

use super::choices::TargetReducer;
use super::head::{ValueHead, softmax};
use super::settings::AcConfig;
use axiomrl_core::random::below;
use axiomrl_core::targets::categorical_projection;
use axiomrl_envs::Rng;

/// The critics' outputs at the next observations of one view: `[members, rows_each, outputs]`, of which the rows from `first`
/// on count.
#[derive(Clone, Copy)]
pub struct NextOutputs<'a> {
    pub out: &'a [f32],
    pub rows_each: usize,
    pub first: usize,
    /// Added to the value of each row: the entropy bonus.
    pub bonus: &'a [f32],
}

impl<'a> NextOutputs<'a> {
    fn row(&self, member: usize, row: usize, outputs: usize) -> &'a [f32] {
        let at = (member * self.rows_each + self.first + row) * outputs;
        &self.out[at..at + outputs]
    }
}

/// Makes one target row per transition.
pub struct TargetMaker {
    head: ValueHead,
    reducer: TargetReducer,
    n_critics: usize,
    subset_size: usize,
    /// Quantiles dropped from the pool of all critics.
    dropped: usize,
    /// Views of the next observation that make a target together.
    views: usize,
    /// Whether views are shifted, so that each has a value of its own, with its own bonus.
    shifted: bool,
    /// Critics that take part in this update's targets.
    taking_part: Vec<usize>,
    pool: Vec<f32>,
    scratch: Vec<f32>,
    /// Targets, [`width`](Self::width) numbers per row.
    pub targets: Vec<f32>,
}

impl TargetMaker {
    pub fn new(config: &AcConfig) -> Self {
        let head = ValueHead::new(config);
        let dropped = match config.target_reducer {
            TargetReducer::Truncated => config.top_quantiles_to_drop * config.n_critics,
            _ => 0,
        };
        Self {
            scratch: vec![0.0; head.outputs()],
            head,
            reducer: config.target_reducer,
            n_critics: config.n_critics,
            subset_size: config.subset_size,
            dropped,
            views: config.target_views,
            shifted: config.shift > 0 || config.target_views > 1,
            taking_part: Vec::new(),
            pool: Vec::new(),
            targets: Vec::new(),
        }
    }

    /// Numbers per target row.
    pub fn width(&self) -> usize {
        match (&self.head, self.reducer) {
            (ValueHead::Quantile { shares }, TargetReducer::Mean | TargetReducer::Truncated) => {
                self.views * (shares.len() * self.n_critics - self.dropped)
            }
            (ValueHead::Quantile { shares }, _) => self.views * shares.len(),
            (head, _) => head.outputs(),
        }
    }

    /// Chooses the critics of the next targets.
    pub fn choose(&mut self, rng: &mut Rng) {
        self.taking_part.clear();
        self.taking_part.extend(0..self.n_critics);
        if self.reducer == TargetReducer::SubsetMin {
            // The first steps of a shuffle: each subset is equally likely.
            for i in 0..self.subset_size {
                let other = i + below(rng, self.n_critics - i);
                self.taking_part.swap(i, other);
            }
            self.taking_part.truncate(self.subset_size);
        }
    }

    /// Fills `targets`: R + D * (value + bonus), averaged over views.
    pub fn fill(&mut self, views: &[NextOutputs<'_>], reward: &[f32], discount: &[f32]) {
        debug_assert_eq!(views.len(), self.views);
        self.targets.clear();
        for (row, (&reward, &discount)) in reward.iter().zip(discount).enumerate() {
            match self.head {
                ValueHead::Scalar if self.shifted => {
                    let share = views.len() as f32;
                    let mut target = reward;
                    for view in views {
                        let (sum, parts) = self.reduced(*view, row);
                        target += discount * (sum / parts + view.bonus[row]) / share;
                    }
                    self.targets.push(target);
                }
                // The bonus is a reward here, and part of the value above: the same, but for the order of the sums.
                ValueHead::Scalar => {
                    let (sum, parts) = self.reduced(views[0], row);
                    self.targets.push(reward + discount * views[0].bonus[row] + discount * sum / parts);
                }
                ValueHead::Categorical { .. } => self.push_mixture(views, row, reward, discount),
                ValueHead::Quantile { .. } => {
                    for view in views {
                        self.push_quantiles(*view, row, reward + discount * view.bonus[row], discount);
                    }
                }
            }
        }
    }

    /// Of `samples` actions per row, one after the other in `next`, the outputs of the one that is worth most, and its bonus.
    pub fn best_of(&mut self, next: NextOutputs<'_>, samples: usize) -> (Vec<f32>, Vec<f32>) {
        let rows = next.rows_each / samples;
        let best: Vec<usize> = (0..rows)
            .map(|row| {
                let mut worth = |at: usize| {
                    let (sum, parts) = self.reduced(next, at);
                    sum / parts
                };
                let first = (row * samples, worth(row * samples));
                let better = |best: (usize, f32), at| {
                    let worth = worth(at);
                    if worth > best.1 { (at, worth) } else { best }
                };
                (row * samples + 1..(row + 1) * samples).fold(first, better).0
            })
            .collect();
        let out = (0..self.n_critics).flat_map(|member| best.iter().map(move |&at| next.row(member, at, 1)[0]));
        (out.collect(), best.iter().map(|&at| next.bonus[at]).collect())
    }

    /// The value of scalar critics together, as a sum and the number of its parts.
    fn reduced(&mut self, next: NextOutputs<'_>, row: usize) -> (f32, f32) {
        match self.lowest(next, row) {
            Some(member) => (next.row(member, row, 1)[0], 1.0),
            None => {
                let sum = self.taking_part.iter().map(|&member| next.row(member, row, 1)[0]).sum();
                (sum, self.taking_part.len() as f32)
            }
        }
    }

    /// The distribution over the atoms, mixed of the critics, and of the views.
    fn push_mixture(&mut self, views: &[NextOutputs<'_>], row: usize, reward: f32, discount: f32) {
        let ValueHead::Categorical { low, high, atoms } = self.head else { return };
        let mut mixed = vec![0.0; atoms];
        for &next in views {
            let lowest = self.lowest(next, row);
            let members = lowest.as_ref().map_or(&self.taking_part[..], std::slice::from_ref);
            self.pool.clear();
            self.pool.resize(atoms, 0.0);
            for &member in members {
                softmax(next.row(member, row, atoms), &mut self.scratch);
                for (pool, p) in self.pool.iter_mut().zip(&self.scratch) {
                    *pool += p / members.len() as f32;
                }
            }
            let reward = reward + discount * next.bonus[row];
            categorical_projection(&self.pool, reward, discount, low, high, &mut self.scratch);
            mixed.iter_mut().zip(&self.scratch).for_each(|(mixed, p)| *mixed += p / views.len() as f32);
        }
        self.targets.extend(mixed);
    }

    fn push_quantiles(&mut self, next: NextOutputs<'_>, row: usize, reward: f32, discount: f32) {
        let outputs = self.head.outputs();
        let lowest = self.lowest(next, row);
        let members = lowest.as_ref().map_or(&self.taking_part[..], std::slice::from_ref);
        self.pool.clear();
        members.iter().for_each(|&member| self.pool.extend_from_slice(next.row(member, row, outputs)));
        if self.dropped > 0 {
            self.pool.sort_unstable_by(f32::total_cmp);
            self.pool.truncate(self.pool.len() - self.dropped);
        }
        self.targets.extend(self.pool.iter().map(|z| reward + discount * z));
    }

    /// The critic with the lowest mean among those that take part; none where all count.
    fn lowest(&mut self, next: NextOutputs<'_>, row: usize) -> Option<usize> {
        if matches!(self.reducer, TargetReducer::Mean | TargetReducer::Truncated) {
            return None;
        }
        let outputs = self.head.outputs();
        let (mut best, mut least) = (self.taking_part[0], f32::INFINITY);
        for &member in &self.taking_part {
            let mean = self.head.mean(next.row(member, row, outputs), &mut self.scratch);
            if mean < least {
                (best, least) = (member, mean);
            }
        }
        Some(best)
    }

    /// Mean of all targets, as a return.
    pub fn mean(&self) -> f32 {
        let rows = (self.targets.len() / self.width()) as f32;
        match self.head {
            ValueHead::Categorical { low, high, atoms } => {
                let step = (high - low) / (atoms - 1) as f32;
                let atom = |i: usize| low + (i % atoms) as f32 * step;
                self.targets.iter().enumerate().map(|(i, p)| p * atom(i)).sum::<f32>() / rows
            }
            _ => self.targets.iter().sum::<f32>() / self.targets.len() as f32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::choices::CriticOutput;
    use super::*;

    fn targets(config: &AcConfig, chosen: &[usize], out: &[f32], reward: f32, discount: f32, bonus: f32) -> Vec<f32> {
        let mut maker = TargetMaker::new(config);
        maker.taking_part = chosen.to_vec();
        let view = NextOutputs { out, rows_each: 1, first: 0, bonus: &[bonus] };
        maker.fill(&vec![view; config.target_views], &[reward], &[discount]);
        maker.targets
    }

    fn close(found: &[f32], expected: &[f32]) {
        assert_eq!(found.len(), expected.len());
        for (f, e) in found.iter().zip(expected) {
            assert!((f - e).abs() < 1e-5, "{found:?} is not {expected:?}");
        }
    }

    #[test]
    fn scalar_reducers_by_hand() {
        let config = |target_reducer| AcConfig { n_critics: 3, target_reducer, ..AcConfig::default() };
        let out = [4.0, 1.0, 7.0];
        close(&targets(&config(TargetReducer::Min), &[0, 1, 2], &out, 1.0, 0.5, -2.0), &[1.0 + 0.5 * (1.0 - 2.0)]);
        close(&targets(&config(TargetReducer::Mean), &[0, 1, 2], &out, 1.0, 0.5, 0.0), &[1.0 + 0.5 * 4.0]);
        // The subset leaves the lowest out.
        close(&targets(&config(TargetReducer::SubsetMin), &[0, 2], &out, 1.0, 0.5, 0.0), &[1.0 + 0.5 * 4.0]);
        // RLPD: the lower of the second and third, with the entropy that the action has.
        let (rlpd, out) = (config(TargetReducer::SubsetMin), [1.0, 3.0, 2.0]);
        close(&targets(&rlpd, &[1, 2], &out, 0.5, 0.99, 0.2 * 0.7), &[2.6186]);
        close(&targets(&rlpd, &[1, 2], &out, 0.5, 0.99, 0.0), &[2.48]);
        close(&targets(&rlpd, &[1, 2], &out, 0.5, 0.0, 0.2 * 0.7), &[0.5]);
        // ReBRAC: the distance from the recorded next action is part of the bonus.
        close(&targets(&config(TargetReducer::Min), &[0, 1, 2], &[12.0, 10.0, 11.0], 1.0, 0.99, -0.05), &[10.8505]);
        // A terminal transition has no future, nor the entropy of one.
        close(&targets(&config(TargetReducer::Min), &[0, 1, 2], &out, 1.0, 0.0, -2.0), &[1.0]);
    }

    #[test]
    fn views_are_averaged_each_with_its_own_bonus() {
        let config = AcConfig { target_views: 2, ..AcConfig::default() };
        let mut maker = TargetMaker::new(&config);
        maker.choose(&mut axiomrl_core::stream(1, "test"));
        let view = |out, bonus| NextOutputs { out, rows_each: 1, first: 0, bonus };
        maker.fill(&[view(&[4.0, 2.0], &[-1.0]), view(&[3.0, 9.0], &[1.0])], &[1.0], &[0.5]);
        close(&maker.targets, &[1.0 + 0.5 * ((2.0 - 1.0) + (3.0 + 1.0)) / 2.0]);
        // Distributions are mixed, quantiles pooled.
        let config = AcConfig { critic_output: CriticOutput::Quantile, n_quantiles: 2, n_critics: 1, ..config };
        let mut maker = TargetMaker::new(&config);
        maker.choose(&mut axiomrl_core::stream(1, "test"));
        maker.fill(&[view(&[4.0, 2.0], &[0.0]), view(&[3.0, 9.0], &[2.0])], &[1.0], &[0.5]);
        close(&maker.targets, &[3.0, 2.0, 3.5, 6.5]);
        assert_eq!(maker.width(), 4);
        let config = AcConfig {
            critic_output: CriticOutput::Categorical,
            n_atoms: 2,
            v_min: 0.0,
            v_max: 1.0,
            n_critics: 1,
            target_views: 2,
            ..AcConfig::default()
        };
        let mut maker = TargetMaker::new(&config);
        maker.choose(&mut axiomrl_core::stream(1, "test"));
        maker.fill(&[view(&[30.0, 0.0], &[0.0]), view(&[0.0, 30.0], &[0.0])], &[0.0], &[1.0]);
        close(&maker.targets, &[0.5, 0.5]);
    }

    #[test]
    fn of_several_actions_the_best_by_its_lowest_critic_counts() {
        let mut maker = TargetMaker::new(&AcConfig::default());
        maker.choose(&mut axiomrl_core::stream(1, "test"));
        // Two critics, two rows, three actions each.
        let out = [9.0, 2.0, 3.0, 5.0, 6.0, 7.0, 1.0, 4.0, 3.5, 7.0, 6.5, 5.0];
        let bonus = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
        let next = NextOutputs { out: &out, rows_each: 6, first: 0, bonus: &bonus };
        let (out, bonus) = maker.best_of(next, 3);
        // Lowest values 1, 2, 3 and 5, 6, 5.
        assert_eq!((out.clone(), bonus.clone()), (vec![3.0, 6.0, 3.5, 6.5], vec![0.3, 0.5]));
        maker.fill(&[NextOutputs { out: &out, rows_each: 2, first: 0, bonus: &[0.0, 0.0] }], &[1.0, 1.0], &[0.5, 0.0]);
        close(&maker.targets, &[1.0 + 0.5 * 3.0, 1.0]);
    }

    #[test]
    fn subsets_are_drawn_evenly_and_without_repetition() {
        let config =
            AcConfig { n_critics: 5, subset_size: 2, target_reducer: TargetReducer::SubsetMin, ..AcConfig::default() };
        let (mut maker, mut rng, mut seen) = (TargetMaker::new(&config), axiomrl_core::stream(1, "test"), [0; 5]);
        for _ in 0..5000 {
            maker.choose(&mut rng);
            assert!(maker.taking_part.len() == 2 && maker.taking_part[0] != maker.taking_part[1]);
            maker.taking_part.iter().for_each(|&member| seen[member] += 1);
        }
        assert!(seen.iter().all(|&n| (1800..2200).contains(&n)), "{seen:?}");
    }

    #[test]
    fn dropped_quantiles_by_hand() {
        let config = AcConfig {
            n_critics: 2,
            critic_output: CriticOutput::Quantile,
            n_quantiles: 3,
            top_quantiles_to_drop: 1,
            target_reducer: TargetReducer::Truncated,
            ..AcConfig::default()
        };
        // Pooled and sorted: 0 1 2 3 5 9; one of each critic's three is dropped: 5 and 9.
        let found = targets(&config, &[0, 1], &[9.0, 1.0, 0.0, 2.0, 5.0, 3.0], 10.0, 0.5, -1.0);
        close(&found, &[9.5, 10.0, 10.5, 11.0]);
        assert_eq!(TargetMaker::new(&config).width(), 4);
    }

    #[test]
    fn categorical_targets_by_hand() {
        let config = AcConfig {
            n_critics: 1,
            critic_output: CriticOutput::Categorical,
            n_atoms: 3,
            v_min: -1.0,
            v_max: 1.0,
            ..AcConfig::default()
        };
        // Probabilities 0.2, 0.3, 0.5 on -1, 0, 1; moved by 0.5 + 0.5 z to 0, 0.5, 1.
        let logits = [0.2f32.ln(), 0.3f32.ln(), 0.5f32.ln()];
        close(&targets(&config, &[0], &logits, 0.5, 0.5, 0.0), &[0.0, 0.35, 0.65]);
        // The end of an episode: all at the reward.
        close(&targets(&config, &[0], &logits, -0.5, 0.0, 0.0), &[0.5, 0.5, 0.0]);
        // Of two critics the lower distribution counts as a whole.
        let config = AcConfig { n_critics: 2, ..config };
        let two = [logits[2], logits[1], logits[0], logits[0], logits[1], logits[2]];
        close(&targets(&config, &[0, 1], &two, 0.0, 1.0, 0.0), &[0.5, 0.3, 0.2]);
    }
}
