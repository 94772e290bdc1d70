//! What the learner asks of a value network and its slowly moving copy.

use super::direct::DirectNet;
use super::heads::Head;
use super::outcomes::Outcomes;
use crate::agent::{Diverged, Progress, finite};
use crate::parts::encode::Encoder;
use crate::parts::group::{ParamGroup, slices};
use crate::state::{StateError, StateIo};
use axiomrl_core::{Batch, Metrics};
use axiomrl_envs::{ObsRef, Rng};
use axiomrl_nn::{OptimizerConfig, fused_loss, gradients, leaf};

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
    /// `exploring` asks for the noise that some networks explore with.
    fn infer_online(
        &mut self,
        obs: ObsRef<'_>,
        rows: usize,
        exploring: bool,
        rng: &mut Rng,
        head: &Head,
        out: &mut Outcomes,
    );

    fn infer_target(&mut self, obs: ObsRef<'_>, rows: usize, rng: &mut Rng, head: &Head, out: &mut Outcomes);

    /// One step down the gradient of `loss`; gives the gradient's norm.
    fn fit(
        &mut self,
        batch: &Batch,
        number: u64,
        rate: f32,
        progress: Progress,
        rng: &mut Rng,
        metrics: &mut Metrics,
        loss: LossFn<'_>,
    ) -> Result<f32, Diverged>;

    /// Moves the copy towards the online network.
    fn follow(&mut self, tau: f32);

    fn exchange(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;
}

/// A network with direct outputs, and its copy.
pub struct DirectModel {
    encoder: Encoder,
    online: DirectNet,
    target: DirectNet,
    group: ParamGroup,
}

impl DirectModel {
    pub fn new(encoder: Encoder, mut online: DirectNet, optimizer: &OptimizerConfig, max_norm: f32) -> Self {
        let group = ParamGroup::new(optimizer, &online.params(), max_norm);
        let target = online.clone();
        Self { encoder, online, target, group }
    }
}

impl Model for DirectModel {
    fn infer_online(
        &mut self,
        obs: ObsRef<'_>,
        rows: usize,
        exploring: bool,
        rng: &mut Rng,
        head: &Head,
        out: &mut Outcomes,
    ) {
        if exploring {
            self.online.draw_noise(rng);
        }
        self.online.infer(&self.encoder.encode(obs), rows, exploring, head, out);
    }

    fn infer_target(&mut self, obs: ObsRef<'_>, rows: usize, rng: &mut Rng, head: &Head, out: &mut Outcomes) {
        self.target.draw_noise(rng);
        self.target.infer(&self.encoder.encode(obs), rows, true, head, out);
    }

    fn fit(
        &mut self,
        batch: &Batch,
        number: u64,
        rate: f32,
        _progress: Progress,
        rng: &mut Rng,
        _metrics: &mut Metrics,
        loss: LossFn<'_>,
    ) -> Result<f32, Diverged> {
        self.online.draw_noise(rng);
        let input = self.encoder.encode(batch.obs.as_ref());
        let (streams, params) = self.online.forward(leaf(&input, [batch.rows, self.encoder.width()]));
        let net = &self.online;
        let width = net.fractions().len();
        let share = vec![1.0 / width as f32; width];
        let mut shaped = |outputs: &[f32]| {
            loss(Shape { members: net.members(), width, fractions: net.fractions(), share: &share }, outputs)
        };
        let gradients: Vec<_> = match (<[_; 1]>::try_from(streams), &params[..]) {
            (Ok(single), [p]) => gradients(fused_loss(single, |[o]| to_array(shaped(o))), [p]).into(),
            (Err(streams), [p, v]) => {
                let [a, s] = <[_; 2]>::try_from(streams).unwrap_or_else(|_| unreachable!("two streams at most"));
                let node = fused_loss([a, s], |[a, s]| {
                    let (value, gradient) = shaped(&net.join(&[a, s]));
                    let mut parts = net.split(gradient).into_iter();
                    (value, [parts.next().unwrap_or_default(), parts.next().unwrap_or_default()])
                });
                gradients(node, [p, v]).into()
            }
            _ => unreachable!("one tensor of parameters for each stream"),
        };
        drop(params);
        let sigmas = net.sigma_gradients(&gradients);
        let all: Vec<&[f32]> = slices(&gradients).into_iter().chain(sigmas.iter().map(Vec::as_slice)).collect();
        let norm = self.group.step(&mut self.online.params(), &all, rate);
        finite("the gradient of the Q-network", norm, number)
    }

    fn follow(&mut self, tau: f32) {
        for (target, online) in self.target.params().into_iter().zip(self.online.params()) {
            target.polyak_from(online, tau);
        }
    }

    fn exchange(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.online.exchange("q", io)?;
        self.target.exchange("q_target", io)?;
        self.group.exchange("q", io)
    }
}

fn to_array((value, gradient): (f32, Vec<f32>)) -> (f32, [Vec<f32>; 1]) {
    (value, [gradient])
}
