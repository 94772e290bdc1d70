//! The random streams of what replays.

use crate::agent::Setup;
use crate::state::{StateError, StateIo};
use axiomrl_envs::Rng;

/// One for exploring, one for drawing from the store, one for updates: how often one is asked does not move the others.
pub(super) struct Streams {
    pub act: Rng,
    pub store: Rng,
    pub learn: Rng,
}

impl Streams {
    pub fn new(setup: &Setup) -> Self {
        Self { act: setup.rng("act"), store: setup.rng("store"), learn: setup.rng("learn") }
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.rng("rng.act", &mut self.act)?;
        io.rng("rng.store", &mut self.store)?;
        io.rng("rng.learn", &mut self.learn)
    }
}
