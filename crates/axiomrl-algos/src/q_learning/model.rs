//! What the learner asks of a value network and its slowly moving copy.

use super::direct::DirectNet;
use super::heads::Head;
use super::outcomes::Outcomes;
use crate::agent::{Diverged, UpdateContext, finite};
use crate::parts::descend::{ParamGroup, slices};
use crate::parts::input::ObsEncoder;
use crate::parts::tracked::Trainable;
use crate::state::{StateError, StateIo};
use axiomrl_core::Batch;
use axiomrl_envs::{ObsRef, Rng};
use axiomrl_nn::{OptimizerConfig, Params, fused_loss, gradients_of};

/// How the outputs handed to a loss are laid out.
pub struct Shape<'a> {
    pub members: usize,
    pub width: usize,
    pub fractions: &'a [f32],
    pub share: &'a [f32],
}

/// Loss and gradient of the outputs `[member][row][action][number]`.
pub type LossFn<'a> = &'a mut dyn FnMut(Shape<'_>, &[f32]) -> (f32, Vec<f32>);

pub trait Model: Send {
    /// What some networks explore with (noise in the weights, random fractions) comes from `noise`; without it nothing is
    /// left to chance.
    fn infer_online(&mut self, obs: ObsRef<'_>, noise: Option<&mut Rng>, head: &Head, out: &mut Outcomes);

    fn infer_target(&mut self, obs: ObsRef<'_>, rng: &mut Rng, head: &Head, out: &mut Outcomes);

    /// One step down the gradient of `loss`; gives the gradient's norm.
    fn fit(
        &mut self,
        batch: &Batch,
        rate: f32,
        context: &mut UpdateContext<'_>,
        loss: LossFn<'_>,
    ) -> Result<f32, Diverged>;

    /// Moves the copy towards the online network.
    fn follow(&mut self, tau: f32);

    /// Saves or loads what acting needs.
    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;

    /// Saves or loads the rest.
    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;
}

/// A network with direct outputs, and its copy.
pub struct DirectModel {
    online: Seeing,
    target: Seeing,
    group: ParamGroup,
}

/// What a network looks with, and what it makes of it.
#[derive(Clone)]
struct Seeing {
    sight: ObsEncoder,
    net: DirectNet,
}

impl Seeing {
    fn infer(&mut self, obs: ObsRef<'_>, noisy: bool, head: &Head, out: &mut Outcomes) {
        self.net.infer(&self.sight.infer(obs), obs.rows, noisy, head, out);
    }

    /// All that is learned: the sight, the streams, the size of their noise.
    fn params(&mut self) -> Vec<&mut Params> {
        self.sight.params().into_iter().chain(self.net.params()).collect()
    }

    fn visit_state(&mut self, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.sight.visit_state(name, io)?;
        self.net.visit_state(name, io)
    }
}

impl DirectModel {
    pub fn new(sight: ObsEncoder, net: DirectNet, optimizer: &OptimizerConfig, max_norm: f32) -> Self {
        let mut online = Seeing { sight, net };
        let group = ParamGroup::new(optimizer, &online.params(), max_norm);
        let target = online.clone();
        Self { online, target, group }
    }
}

impl Model for DirectModel {
    fn infer_online(&mut self, obs: ObsRef<'_>, noise: Option<&mut Rng>, head: &Head, out: &mut Outcomes) {
        let noisy = noise.is_some();
        if let Some(rng) = noise {
            self.online.net.draw_noise(rng);
        }
        self.online.infer(obs, noisy, head, out);
    }

    fn infer_target(&mut self, obs: ObsRef<'_>, rng: &mut Rng, head: &Head, out: &mut Outcomes) {
        self.target.net.draw_noise(rng);
        self.target.infer(obs, true, head, out);
    }

    fn fit(
        &mut self,
        batch: &Batch,
        rate: f32,
        context: &mut UpdateContext<'_>,
        loss: LossFn<'_>,
    ) -> Result<f32, Diverged> {
        self.online.net.draw_noise(context.rng);
        let (seen, looked_with) = self.online.sight.forward(batch.obs());
        let net = &self.online.net;
        let (streams, of_streams) = net.forward(seen);
        let before = looked_with.len();
        let params: Vec<_> = looked_with.into_iter().chain(of_streams).collect();
        let width = net.fractions().len();
        let share = vec![1.0 / width as f32; width];
        let mut shaped = |outputs: &[f32]| {
            loss(Shape { members: net.members(), width, fractions: net.fractions(), share: &share }, outputs)
        };
        let node = match <[_; 1]>::try_from(streams) {
            Ok(single) => fused_loss(single, |[o]| to_array(shaped(o))),
            Err(streams) => {
                let both = <[_; 2]>::try_from(streams).unwrap_or_else(|_| unreachable!("two streams at most"));
                fused_loss(both, |both| {
                    let (value, gradient) = shaped(&net.join(&both));
                    let mut parts = net.split(gradient).into_iter();
                    (value, [parts.next().unwrap_or_default(), parts.next().unwrap_or_default()])
                })
            }
        };
        let gradients = gradients_of(node, &params);
        drop(params);
        let sigmas = net.sigma_gradients(&gradients[before..]);
        let all: Vec<&[f32]> = slices(&gradients).into_iter().chain(sigmas.iter().map(Vec::as_slice)).collect();
        let norm = self.group.step(&mut self.online.params(), &all, rate);
        finite("the gradient of the Q-network", norm, context.number())
    }

    fn follow(&mut self, tau: f32) {
        for (target, online) in self.target.params().into_iter().zip(self.online.params()) {
            target.polyak_from(online, tau);
        }
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.online.visit_state("q", io)
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.target.visit_state("q_target", io)?;
        self.group.visit_state("q", io)
    }
}

fn to_array((value, gradient): (f32, Vec<f32>)) -> (f32, [Vec<f32>; 1]) {
    (value, [gradient])
}
