//! The expert's steps, out of a dataset.

use super::Inputs;
use crate::agent::Setup;
use crate::parts::checks::BuildError;
use crate::regimes::check_prior;
use axiomrl_core::{Batch, Dataset, RewardScale, random};
use axiomrl_envs::{ObsBuf, Rng};

/// Which of the recorded steps are learned from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// So many episodes, drawn from all; absent takes them all.
    pub episodes: Option<usize>,
    /// Every so many steps of an episode, from one of its first on that is drawn for each; 1 takes them all.
    pub every: usize,
    /// Whether every observation is given the action of another step: a control.
    pub shuffled: bool,
}

/// An expert's steps, raw.
pub struct ExpertSet {
    pub count: usize,
    /// As [`Inputs::join`] gives them.
    pub x: Vec<f32>,
    /// What each step led to, as [`Inputs::observations`] gives it.
    pub next: Vec<f32>,
    pub goes_on: Vec<f32>,
    pub obs: ObsBuf,
    pub masks: Vec<bool>,
    pub action: Vec<f32>,
    pub sha256: [u8; 32],
}

impl ExpertSet {
    pub fn new(data: &Dataset, setup: &Setup, inputs: &Inputs, selection: Selection) -> Result<Self, BuildError> {
        check_prior(data, setup)?;
        let mut rng = setup.rng("expert");
        let numbers = selection.numbers(data, &mut rng);
        let mut batch = Batch::default();
        // Without a discount, what is left of it says whether the world went on.
        data.gather(&numbers, 1.0, RewardScale::IDENTITY, &mut batch)?;
        if selection.shuffled {
            shuffle_rows(&mut batch.action, setup.action_width(), &mut rng);
        }
        let mut obs = ObsBuf::zeros(batch.obs.widths(), numbers.len());
        obs.as_mut().copy_from(batch.obs());
        Ok(Self {
            count: numbers.len(),
            x: inputs.join(batch.obs(), &batch.action),
            next: inputs.observations(batch.next_obs()),
            masks: batch.masks().to_vec(),
            goes_on: batch.discount,
            action: batch.action,
            obs,
            sha256: data.sha256(),
        })
    }
}

/// Every order of the rows is as likely.
fn shuffle_rows(table: &mut [f32], width: usize, rng: &mut Rng) {
    for last in (1..table.len() / width).rev() {
        let other = random::below(rng, last + 1);
        for column in 0..width {
            table.swap(last * width + column, other * width + column);
        }
    }
}

impl Selection {
    /// The transitions, by number, in the order in which they were recorded.
    fn numbers(self, data: &Dataset, rng: &mut Rng) -> Vec<u64> {
        let mut episodes = data.episodes();
        if let Some(wanted) = self.episodes.filter(|&wanted| wanted < episodes.len()) {
            for at in 0..wanted {
                let drawn = at + random::below(rng, episodes.len() - at);
                episodes.swap(at, drawn);
            }
            episodes.truncate(wanted);
            episodes.sort_by_key(|episode| episode.start);
        }
        let mut numbers = Vec::new();
        for episode in episodes {
            let offset = if self.every > 1 { random::below(rng, self.every) } else { 0 };
            numbers.extend(episode.skip(offset).step_by(self.every));
        }
        if numbers.is_empty() {
            // Episodes shorter than the first step that would be taken.
            numbers.extend(data.episodes().first().map(|episode| episode.start));
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{recorded, setup};
    use super::*;
    use crate::imitation::InputStatistics;

    const ALL: Selection = Selection { episodes: None, every: 1, shuffled: false };

    #[test]
    fn every_step_with_what_it_led_to_and_whether_the_world_went_on() {
        let data = recorded(2, 3);
        let setup = setup(data.clone());
        let inputs = Inputs::new(&setup.spaces, InputStatistics::Expert);
        let all = ExpertSet::new(&data, &setup, &inputs, ALL).unwrap();
        // Episode e shows 10 e + t; the second one ends the world.
        assert_eq!(all.obs.floats, [0.0, 1.0, 2.0, 10.0, 11.0, 12.0]);
        assert_eq!(all.next, [1.0, 2.0, 3.0, 11.0, 12.0, 13.0]);
        assert_eq!(all.goes_on, [1.0, 1.0, 1.0, 1.0, 1.0, 0.0]);
        assert_eq!(all.x[..3], [0.0, 1.0, 0.0], "an observation and one of two choices");
    }

    #[test]
    fn subsampling_takes_every_so_many_from_one_of_the_first() {
        let data = recorded(5, 20);
        let mut rng = axiomrl_core::stream(3, "expert");
        let numbers = Selection { every: 4, ..ALL }.numbers(&data, &mut rng);
        assert_eq!(numbers.len(), 25);
        let firsts: Vec<u64> = numbers.chunks(5).map(|episode| episode[0] % 20).collect();
        assert!(firsts.iter().all(|&first| first < 4) && firsts.iter().any(|&first| first != firsts[0]), "{firsts:?}");
        for episode in numbers.chunks(5) {
            assert!(episode.windows(2).all(|pair| pair[1] == pair[0] + 4), "{numbers:?}");
        }
    }

    #[test]
    fn some_episodes_are_drawn_whole() {
        let data = recorded(9, 3);
        let numbers = Selection { episodes: Some(2), ..ALL }.numbers(&data, &mut axiomrl_core::stream(1, "expert"));
        assert_eq!(numbers.len(), 6);
        assert!(numbers.chunks(3).all(|episode| episode[0] % 3 == 0 && episode[2] == episode[0] + 2), "{numbers:?}");
        assert!(numbers.is_sorted());
        let other = Selection { episodes: Some(2), ..ALL }.numbers(&data, &mut axiomrl_core::stream(2, "expert"));
        assert_ne!(numbers, other, "another seed draws others");
        assert_eq!(Selection { episodes: Some(99), ..ALL }.numbers(&data, &mut axiomrl_core::stream(1, "x")).len(), 27);
    }
    #[test]
    fn shuffled_rows_are_the_same_ones_in_another_order() {
        let mut table: Vec<f32> = (0..40).map(|i| i as f32).collect();
        shuffle_rows(&mut table, 2, &mut axiomrl_core::stream(1, "x"));
        assert!(table.chunks(2).all(|row| row[1] == row[0] + 1.0 && row[0] % 2.0 == 0.0), "rows stay whole: {table:?}");
        let mut firsts: Vec<f32> = table.iter().step_by(2).copied().collect();
        assert!(!firsts.is_sorted());
        firsts.sort_by(f32::total_cmp);
        assert_eq!(firsts, (0..20).map(|i| 2.0 * i as f32).collect::<Vec<f32>>());
    }
}
