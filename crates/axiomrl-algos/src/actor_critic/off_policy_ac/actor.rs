//! The policy network, its slow copy and its update.

use super::settings::{AcConfig, ActorKind, TargetAction};
use crate::agent::{Diverged, finite};
use crate::parts::noise::fill_normal;
use crate::parts::renorm::RenormMlp;
use crate::state::{StateError, StateIo};
use axiomrl_envs::Rng;
use axiomrl_nn::{
    Activation, AdamConfig, Init, LogStdBounds, Mlp, MlpSpec, Optimizer, OptimizerConfig, clip_scale, fused_loss,
    global_norm, gradients, leaf, tanh_gaussian, tanh_gaussian_sample, values,
};

const LOG_STD: LogStdBounds = LogStdBounds::Clamp(-20.0, 2.0);

/// Actions with their log-probabilities (0 for a deterministic policy).
#[derive(Default)]
pub struct Drawn {
    head: Vec<f32>,
    noise: Vec<f32>,
    pub action: Vec<f32>,
    pub log_prob: Vec<f32>,
}

/// What an update of the actor reports.
pub struct ActorStep {
    pub loss: f32,
    pub log_prob_mean: f32,
    pub grad_norm: f32,
}

/// How the critics see actions: the mean value, and its derivative by every action.
pub struct Opinion {
    pub value_mean: f32,
    pub by_action: Vec<f32>,
}

pub struct Actor {
    kind: ActorKind,
    width: usize,
    /// What acts. With batch renormalisation, the trained network with its running statistics folded in.
    net: Mlp,
    renorm: Option<Box<RenormMlp>>,
    target: Option<Mlp>,
    optimizer: Optimizer,
}

impl Actor {
    pub fn new(config: &AcConfig, inputs: usize, width: usize, rng: &mut Rng) -> Self {
        let outputs = match config.actor {
            ActorKind::Deterministic => width,
            ActorKind::TanhGaussian => 2 * width,
        };
        let mut spec = MlpSpec::new(inputs, &config.hidden_sizes, outputs, config.activation);
        if config.actor == ActorKind::Deterministic {
            spec = spec.with_output_activation(Activation::Tanh);
        }
        let init = Init::PyTorch { output_bound: config.final_layer_bound };
        let warmup = config.batch_renorm_warmup;
        let renorm = config.actor_batch_renorm.then(|| Box::new(RenormMlp::new(spec.clone(), 1, warmup, &init, rng)));
        let net = renorm.as_ref().map_or_else(|| Mlp::new(spec, 1, &init, rng), |renorm| renorm.folded());
        let target = (config.target_action != TargetAction::OnlineActor).then(|| net.clone());
        let adam = AdamConfig { beta1: config.adam_beta1, ..AdamConfig::default() };
        let learned = renorm.as_ref().map_or(&net.params, |renorm| &renorm.params);
        let optimizer = Optimizer::new(&OptimizerConfig::Adam(adam), learned.as_slice().len());
        Self { kind: config.actor, width, net, renorm, target, optimizer }
    }

    /// The mean action of each row.
    pub fn mean(&self, obs: &[f32], rows: usize, drawn: &mut Drawn) {
        self.net.infer(obs, rows, &mut drawn.head);
        self.mean_of_head(drawn);
    }

    fn mean_of_head(&self, drawn: &mut Drawn) {
        drawn.action.clear();
        match self.kind {
            ActorKind::Deterministic => drawn.action.extend_from_slice(&drawn.head),
            ActorKind::TanhGaussian => {
                for head in drawn.head.chunks_exact(2 * self.width) {
                    drawn.action.extend(head[..self.width].iter().map(|mean| mean.tanh()));
                }
            }
        }
    }

    /// The last hidden layer of each row.
    pub fn features(&self, obs: &[f32], rows: usize, features: &mut Vec<f32>) {
        self.net.infer_features(obs, rows, features);
    }

    /// Draws from the policy.
    pub fn sample(&self, obs: &[f32], rows: usize, rng: &mut Rng, drawn: &mut Drawn) {
        fill_normal(&mut drawn.noise, rows * self.width, rng);
        self.draw_from(&self.net, obs, rows, drawn);
    }

    /// Draws from the policy with given standard noise, one number per action element.
    pub fn sample_with(&self, obs: &[f32], rows: usize, noise: impl Iterator<Item = f32>, drawn: &mut Drawn) {
        drawn.noise.clear();
        drawn.noise.extend(noise);
        self.draw_from(&self.net, obs, rows, drawn);
    }

    /// Draws from the slow copy, or from the policy where there is none.
    pub fn sample_target(&self, obs: &[f32], rows: usize, rng: &mut Rng, drawn: &mut Drawn) {
        if self.kind == ActorKind::TanhGaussian {
            fill_normal(&mut drawn.noise, rows * self.width, rng);
        }
        self.draw_from(self.target.as_ref().unwrap_or(&self.net), obs, rows, drawn);
    }

    fn draw_from(&self, net: &Mlp, obs: &[f32], rows: usize, drawn: &mut Drawn) {
        net.infer(obs, rows, &mut drawn.head);
        drawn.log_prob.clear();
        drawn.log_prob.resize(rows, 0.0);
        match self.kind {
            ActorKind::Deterministic => self.mean_of_head(drawn),
            ActorKind::TanhGaussian => {
                drawn.action.resize(rows * self.width, 0.0);
                tanh_gaussian_sample(&drawn.head, &drawn.noise, LOG_STD, &mut drawn.action, &mut drawn.log_prob);
            }
        }
    }

    /// One step towards higher value and, weighted by `alpha`, higher entropy.
    ///
    /// `opinion` is what the critics make of the drawn actions; its gradient enters as a constant, so the critics
    /// cannot be changed by this update.
    pub fn improve(
        &mut self,
        obs: &[f32],
        rows: usize,
        alpha: f32,
        rate: f32,
        max_grad_norm: Option<f32>,
        number: u64,
        rng: &mut Rng,
        opinion: impl FnOnce(&[f32]) -> Opinion,
    ) -> Result<ActorStep, Diverged> {
        let d = self.width;
        let (params, head) = match &mut self.renorm {
            Some(renorm) => {
                let params = renorm.params.tracked();
                let head = renorm.forward(obs, rows, &params);
                (params, head)
            }
            None => {
                let params = self.net.params.tracked();
                let head = self.net.forward(leaf(obs, [rows, self.net.spec.inputs]), params.clone(), None);
                (params, head)
            }
        };
        let (out, out_width) = match self.kind {
            ActorKind::Deterministic => (head.reshape([rows, d]), d),
            ActorKind::TanhGaussian => {
                let mut noise = Vec::new();
                fill_normal(&mut noise, rows * d, rng);
                (tanh_gaussian(head.reshape([rows, 2 * d]), &noise, LOG_STD), d + 1)
            }
        };
        let drawn = values(&out);
        let actions: Vec<f32> = drawn.chunks_exact(out_width).flat_map(|row| &row[..d]).copied().collect();
        let opinion = opinion(&actions);
        let share = 1.0 / rows as f32;
        let log_prob_mean = match self.kind {
            ActorKind::Deterministic => 0.0,
            ActorKind::TanhGaussian => share * drawn.chunks_exact(out_width).map(|row| row[d]).sum::<f32>(),
        };
        let loss_value = alpha * log_prob_mean - opinion.value_mean;
        finite("the actor loss", loss_value, number)?;
        let loss = fused_loss([out], |[out]| {
            let mut gradient = vec![share * alpha; out.len()];
            for (gradient, by_action) in gradient.chunks_exact_mut(out_width).zip(opinion.by_action.chunks_exact(d)) {
                gradient.iter_mut().zip(by_action).for_each(|(g, by_action)| *g = -share * by_action);
            }
            (loss_value, [gradient])
        });
        let [gradient] = gradients(loss, [&params]);
        drop(params);
        let norm = finite("the gradient of the actor", global_norm(&[&gradient]), number)?;
        let scale = max_grad_norm.map_or(1.0, |max| clip_scale(norm, max));
        match &mut self.renorm {
            Some(renorm) => {
                self.optimizer.step(&mut renorm.params, &gradient, rate, scale);
                self.net = renorm.folded();
            }
            None => self.optimizer.step(&mut self.net.params, &gradient, rate, scale),
        }
        Ok(ActorStep { loss: loss_value, log_prob_mean, grad_norm: norm })
    }

    /// Moves the slow copy.
    pub fn follow(&mut self, tau: f32) {
        if let Some(target) = &mut self.target {
            target.params.polyak_from(&self.net.params, tau);
        }
    }

    /// What acts.
    pub fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        match &mut self.renorm {
            Some(renorm) => {
                renorm.visit_state("actor", io)?;
                self.net = renorm.folded();
                Ok(())
            }
            None => io.network("actor", &mut self.net),
        }
    }

    /// What only learning needs.
    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        if let Some(target) = &mut self.target {
            io.network("actor_target", target)?;
        }
        io.optimizer("actor", &mut self.optimizer)
    }
}
