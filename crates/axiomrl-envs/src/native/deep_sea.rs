//! DeepSea-v0: dive to the one far corner that pays, where every step towards it costs a little and nothing shows the way.

use super::choice;
use crate::rng::stream;
use crate::{BoxSpace, Env, EnvError, ObsMut, Rng, Space, Step, snapshot};
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// What all moves to the right cost together.
const COST: f64 = 0.01;

/// A square of `size` × `size` cells, one of them lit in the observation. Every step goes one row down, and to the left or the
/// right; which of the two actions is which is another matter in every cell. Going right in the last column, which takes `size` right
/// moves in a row, brings 1; each right move costs 0.01 / `size`. After `size` steps the sea floor is reached and nothing is lit.
pub struct DeepSea {
    observation: Space,
    action: Space,
    size: usize,
    /// Of each cell, row by row, whether action 1 goes right there.
    one_is_right: Vec<bool>,
    diver: Diver,
}

#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Diver {
    row: usize,
    column: usize,
}

impl DeepSea {
    /// `mapping_seed` decides which action is which: episodes, environments and evaluations of a run share it.
    pub fn new(size: usize, mapping_seed: u64) -> Self {
        let mut coin = stream(mapping_seed, "deep_sea");
        Self {
            observation: Space::Box(BoxSpace::uniform(size * size, 0.0, 1.0)),
            action: Space::Discrete { n: 2 },
            size,
            one_is_right: (0..size * size).map(|_| coin.random::<bool>()).collect(),
            diver: Diver::default(),
        }
    }
}

impl Env for DeepSea {
    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        &self.action
    }

    fn reset(&mut self, _rng: &mut Rng) -> Result<(), EnvError> {
        self.diver = Diver::default();
        Ok(())
    }

    fn step(&mut self, action: &[f32], _rng: &mut Rng) -> Result<Step, EnvError> {
        let Diver { row, column } = self.diver;
        let last = self.size - 1;
        let right = (choice(action) == 1) == self.one_is_right[row * self.size + column];
        let treasure = if right && column == last { 1.0 } else { 0.0 };
        let cost = if right { COST / self.size as f64 } else { 0.0 };
        let column = if right { (column + 1).min(last) } else { column.saturating_sub(1) };
        self.diver = Diver { row: row + 1, column };
        Ok(Step { reward: treasure - cost, terminated: row == last, truncated: false })
    }

    fn observe(&self, mut out: ObsMut<'_>) {
        let mut cells = vec![0.0; self.size * self.size];
        if let Some(lit) = cells.get_mut(self.diver.row * self.size + self.diver.column) {
            *lit = 1.0;
        }
        out.write(&cells);
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        Some(snapshot::to_bytes(&self.diver))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        let diver: Diver = snapshot::from_bytes("DeepSea", snapshot)?;
        if diver.row > self.size || diver.column >= self.size {
            let place = format!("row {} and column {} lie outside of {} cells", diver.row, diver.column, self.size);
            return Err(EnvError::bad_snapshot("DeepSea", place));
        }
        self.diver = diver;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goes the way that `right` says, row by row; gives the rewards, and which steps ended the episode.
    fn dive(env: &mut DeepSea, right: impl Fn(usize) -> bool) -> (Vec<f64>, Vec<bool>) {
        let mut rng = stream(0, "unused");
        env.reset(&mut rng).unwrap();
        let mut steps = Vec::new();
        for row in 0..env.size {
            let Diver { column, .. } = env.diver;
            let action = env.one_is_right[row * env.size + column] == right(row);
            steps.push(env.step(&[f32::from(u8::from(action))], &mut rng).unwrap());
        }
        (steps.iter().map(|step| step.reward).collect(), steps.iter().map(|step| step.terminated).collect())
    }

    fn shown(env: &DeepSea) -> Vec<f32> {
        let mut cells = vec![9.0; env.size * env.size];
        env.observe(ObsMut::of_floats(&mut cells));
        cells
    }

    #[test]
    fn only_the_whole_way_to_the_right_pays() {
        let mut env = DeepSea::new(4, 7);
        let (rewards, ends) = dive(&mut env, |_| true);
        assert_eq!(rewards, [-0.0025, -0.0025, -0.0025, 0.9975]);
        assert_eq!(ends, [false, false, false, true]);
        assert_eq!(shown(&env), [0.0; 16], "the sea floor shows nothing");
        let (rewards, _) = dive(&mut env, |row| row > 0);
        assert_eq!(rewards, [0.0, -0.0025, -0.0025, -0.0025], "one step to the left is one too many");
        let (rewards, _) = dive(&mut env, |_| false);
        assert_eq!(rewards, [0.0; 4]);
    }

    #[test]
    fn the_diver_stays_between_the_walls() {
        let mut env = DeepSea::new(3, 1);
        dive(&mut env, |row| row == 0);
        assert_eq!((env.diver.row, env.diver.column), (3, 0));
        dive(&mut env, |_| true);
        assert_eq!(env.diver.column, 2);
    }

    #[test]
    fn one_cell_is_lit_and_it_is_the_divers() {
        let mut env = DeepSea::new(3, 1);
        env.diver = Diver { row: 1, column: 2 };
        assert_eq!(shown(&env), [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn which_action_is_which_follows_from_the_seed_and_is_a_fair_coin() {
        let mapping = |seed| DeepSea::new(40, seed).one_is_right;
        assert_eq!(mapping(3), mapping(3));
        assert_ne!(mapping(3), mapping(4));
        let ones = mapping(3).iter().filter(|one| **one).count();
        // Four standard deviations of 1600 throws.
        assert!((720..=880).contains(&ones), "{ones}");
    }

    #[test]
    fn places_outside_of_the_sea_are_refused() {
        let mut env = DeepSea::new(3, 1);
        assert!(env.restore(&snapshot::to_bytes(&Diver { row: 4, column: 0 })).is_err());
        assert!(env.restore(&snapshot::to_bytes(&Diver { row: 0, column: 3 })).is_err());
        assert!(env.restore(&snapshot::to_bytes(&Diver { row: 3, column: 2 })).is_ok());
    }
}
