//! What recorded episodes brought, as it is: MARWIL.

use super::imitator::{Imitator, Judge, differences};
use super::recorded::Recorded;
use super::settings::RegressionConfig;
use super::value::ValueNet;
use super::value_loss::ValueFit;
use crate::agent::{LearnError, Learned, Setup, UpdateContext};
use crate::config::Problem;
use crate::state::{StateError, StateIo};
use axiomrl_core::Batch;
use axiomrl_envs::{ObsRef, Rng};

pub struct ByReturns {
    pub value: ValueNet,
    /// Absent where a policy is only loaded.
    outcomes: Option<Outcomes>,
}

/// What followed each recorded transition.
struct Outcomes {
    recorded: Recorded,
    /// The discounted rewards from there to the end of the episode.
    sums: Vec<f32>,
    /// What the value of its last observation counts on top: gamma^h where it was cut off h steps later, 0 where it ended.
    beyond: Vec<f32>,
}

impl Outcomes {
    fn new(recorded: Recorded, gamma: f32) -> Self {
        let (mut sums, mut beyond) = (recorded.rewards().to_vec(), vec![0.0; recorded.rewards().len()]);
        for episode in recorded.episodes() {
            let terminated = recorded.terminated(episode.end - 1);
            fold_back(&mut sums[episode.clone()], &mut beyond[episode.clone()], terminated, gamma);
        }
        Self { recorded, sums, beyond }
    }

    /// G of the transitions with these names.
    fn returns(&mut self, index: &[u64], value: &ValueNet) -> Result<Vec<f32>, LearnError> {
        let rows = self.recorded.rows(index)?;
        let mut returns: Vec<f32> = rows.iter().map(|&row| self.sums[row]).collect();
        let cut: Vec<usize> = (0..rows.len()).filter(|&at| self.beyond[rows[at]] > 0.0).collect();
        if !cut.is_empty() {
            let lasts: Vec<u64> = cut.iter().map(|&at| self.recorded.last_of(rows[at])).collect();
            let values = value.values(self.recorded.gather(&lasts)?.1);
            for (at, value) in cut.into_iter().zip(values) {
                returns[at] += self.beyond[rows[at]] * value;
            }
        }
        Ok(returns)
    }
}

/// Turns the rewards of an episode into what was still to come at each of its steps, and says how much of the value of its last
/// observation is still missing there.
fn fold_back(rewards: &mut [f32], beyond: &mut [f32], terminated: bool, gamma: f32) {
    let (mut later, mut rest) = (0.0, if terminated { 0.0 } else { 1.0 });
    for (reward, beyond) in rewards.iter_mut().zip(beyond).rev() {
        later = *reward + gamma * later;
        rest *= gamma;
        (*reward, *beyond) = (later, rest);
    }
}

impl ByReturns {
    pub fn new(config: &RegressionConfig, setup: &Setup, rng: &mut Rng) -> Result<Self, Problem> {
        let outcomes = Recorded::of(setup)?.map(|recorded| Outcomes::new(recorded, config.gamma));
        Ok(Self { value: ValueNet::new(config, setup, rng)?, outcomes })
    }
}

impl Judge for ByReturns {
    fn update(&mut self, batch: &Batch, imitator: &mut Imitator, context: &mut UpdateContext<'_>) -> Learned {
        let rate = imitator.config.rate(context.fraction());
        let outcomes = self.outcomes.as_mut().ok_or_else(Recorded::missing)?;
        // G = sum_k gamma^k r_{t+k}, and gamma^h * V(s_T) on top where the episode was cut off
        let returns = outcomes.returns(&batch.index, &self.value)?;
        // V: mean (G - V(s))^2 / 2
        let step = self.value.step(batch.obs(), rate, context, |values| ValueFit::squares(&returns, values))?;
        step.report(context.metrics);
        // policy: -mean w * log pi(a|s), w = exp(beta * A / c), A = G - V(s), c^2 the moving average of A^2
        imitator.learn(batch, &differences(&returns, &step.values), context)?;
        Ok(())
    }

    fn values(&self, obs: ObsRef<'_>, _best: &[f32]) -> Vec<f32> {
        self.value.values(obs)
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.value.visit_state(io)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_episode_that_ended_is_worth_its_rewards_and_one_that_was_cut_off_more() {
        let (mut sums, mut beyond) = ([1.0, 2.0, 4.0], [9.0; 3]);
        fold_back(&mut sums, &mut beyond, true, 0.5);
        assert_eq!((sums, beyond), ([3.0, 4.0, 4.0], [0.0; 3]));
        let mut sums = [1.0, 2.0, 4.0];
        fold_back(&mut sums, &mut beyond, false, 0.5);
        assert_eq!((sums, beyond), ([3.0, 4.0, 4.0], [0.125, 0.25, 0.5]));
    }

    #[test]
    fn the_value_of_the_last_observation_counts_where_an_episode_was_cut_off() {
        use crate::testing::vector_and_image;
        use axiomrl_envs::{BoxSpace, Space};
        for setup in vector_and_image(&Space::Box(BoxSpace::uniform(2, -1.0, 1.0))) {
            let data = super::super::learner::tests::dataset(&setup.spaces, &[5, 4, 3]);
            let reward = axiomrl_core::RewardScale { scale: 0.5, ..Default::default() };
            let setup = Setup { prior: Some(data.clone()), reward, ..setup };
            let config = RegressionConfig { hidden_sizes: vec![8], gamma: 0.8, ..super::super::presets::marwil() };
            let mut judge = ByReturns::new(&config, &setup, &mut setup.rng("init")).unwrap();
            // The first and third episode ended by themselves; the second is transitions 5 to 8.
            let found = judge.outcomes.as_mut().unwrap().returns(&[3, 6, 8, 11], &judge.value).unwrap();
            let mut batch = Batch::default();
            data.gather(&[8], 1.0, Default::default(), &mut batch).unwrap();
            let last = judge.value.values(batch.next_obs())[0];
            let r = |number: u64| 0.5 * data.reward(number);
            let wanted = [r(3) + 0.8 * r(4), r(6) + 0.8 * r(7) + 0.64 * r(8) + 0.512 * last, r(8) + 0.8 * last, r(11)];
            assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-5), "{found:?} {wanted:?}");
            assert!(last.abs() > 1e-3);
        }
    }
}
