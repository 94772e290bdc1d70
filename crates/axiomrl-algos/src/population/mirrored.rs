//! Candidates in pairs, one on either side of the mean along a direction.

use super::directions::Directions;
use crate::agent::{Learned, UpdateContext};
use crate::regimes::{Iteration, Search};
use crate::state::{StateError, StateIo};
use axiomrl_nn::Params;

/// What an iteration of pairs came to: the scores of + and − of each direction in turn.
pub struct Pairs<'a> {
    pub directions: &'a Directions,
    pub iteration: u64,
    pub scores: &'a [f64],
}

impl Pairs<'_> {
    /// Adds `weight` times the direction of a pair to sums in double precision.
    pub fn add_to(&self, sums: &mut [f64], pair: usize, weight: f64) {
        self.directions.add_to(sums, self.iteration, pair, weight);
    }
}

/// Where to go from there.
pub trait Follow: Send {
    fn follow(&mut self, mean: &mut Params, pairs: Pairs<'_>, context: &mut UpdateContext<'_>) -> Learned;

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;
}

pub struct Mirrored<F> {
    pub directions: Directions,
    pub pairs: usize,
    pub noise_std: f32,
    pub rule: F,
}

impl<F: Follow> Search for Mirrored<F> {
    fn candidates(&self) -> usize {
        2 * self.pairs
    }

    fn luck(&self, candidate: usize) -> usize {
        candidate / 2
    }

    fn candidate(&self, mean: &[f32], iteration: u64, candidate: usize, params: &mut [f32]) {
        self.directions.perturb(mean, iteration, candidate, self.noise_std, params);
    }

    fn update(&mut self, mean: &mut Params, played: Iteration<'_>, context: &mut UpdateContext<'_>) -> Learned {
        let Iteration { number: iteration, scores } = played;
        self.rule.follow(mean, Pairs { directions: &self.directions, iteration, scores }, context)
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.rule.visit_state(io)
    }
}
