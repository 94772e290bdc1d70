//! Trajectories that the model and the policy make up together, and what they are worth.

use super::actor::{ActorHead, Drawn};
use super::model::WorldModel;
use axiomrl_core::Rng;
use axiomrl_core::imagined::Imagined;
use axiomrl_nn::{Dream, Imagination, Latent};

/// States `s_0` to `s_H` of `lanes` trajectories, time-major, and the actions between them.
pub struct Trajectories {
    pub lanes: usize,
    pub horizon: usize,
    /// `[(H + 1) * lanes, features]`
    pub features: Vec<f32>,
    /// `[H * lanes, raw]`: see [`Drawn`]
    pub raw: Vec<f32>,
}

/// What heads say of all states of trajectories.
pub struct Judged {
    pub reward: Vec<f32>,
    pub discount: Vec<f32>,
    pub value: Vec<f32>,
}

/// What goes on by the prior, with or without a way back.
pub trait Unroll {
    fn features(&self) -> &[f32];
    fn step(&mut self, actions: &[f32], noise: &[f32]);
}

impl Unroll for Imagination<'_> {
    fn features(&self) -> &[f32] {
        self.features()
    }

    fn step(&mut self, actions: &[f32], noise: &[f32]) {
        self.step(actions, noise);
    }
}

impl Unroll for Dream<'_> {
    fn features(&self) -> &[f32] {
        self.features()
    }

    fn step(&mut self, actions: &[f32], noise: &[f32]) {
        self.step(actions, noise);
    }
}

/// Acts and imagines, `horizon` times: `a_t ~ π(s_t)`, `s_t+1` by the prior.
pub fn unroll(
    states: &mut impl Unroll,
    actor: &ActorHead,
    latent: &Latent,
    lanes: usize,
    horizon: usize,
    rng: &mut Rng,
) -> Trajectories {
    let (mut features, mut raw) = (states.features().to_vec(), Vec::new());
    let (mut outputs, mut drawn) = (Vec::new(), Drawn::default());
    for _ in 0..horizon {
        actor.net.infer(states.features(), lanes, &mut outputs);
        actor.law.sample(&outputs, rng, &mut drawn);
        let noise = latent.draw_noise(lanes, rng);
        states.step(&drawn.encoded, &noise);
        raw.extend_from_slice(&drawn.raw);
        features.extend_from_slice(states.features());
    }
    Trajectories { lanes, horizon, features, raw }
}

impl Trajectories {
    /// States, start included.
    pub fn states(&self) -> usize {
        (self.horizon + 1) * self.lanes
    }

    /// The features of the first `rows` states.
    pub fn first(&self, rows: usize) -> &[f32] {
        &self.features[..rows * (self.features.len() / self.states())]
    }

    /// What is said of the states, whose values are given. `starts` are the discounts of the starts, where they are known; `gamma`
    /// is that of all others where nobody judges it.
    pub fn judge(&self, model: &WorldModel, value: Vec<f32>, starts: Option<&[f32]>, gamma: f32) -> Judged {
        let rows = self.states();
        let mut discount = match &model.continues {
            Some(head) => head.discounts(&self.features, rows),
            None => vec![gamma; rows],
        };
        if let Some(starts) = starts {
            discount[..self.lanes].copy_from_slice(starts);
        }
        Judged { reward: model.reward.means(&self.features, rows), discount, value }
    }
}

impl Judged {
    pub fn imagined(&self, lanes: usize) -> Imagined<'_> {
        Imagined { lanes, reward: &self.reward, discount: &self.discount, value: &self.value }
    }
}
