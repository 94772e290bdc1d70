//! The critics: one ensemble network, its slow copy, and its update.

use super::actor::Opinion;
use super::head::{RowFit, ValueHead};
use super::settings::{AcConfig, ActorReducer, TargetReducer};
use super::target::{NextOutputs, TargetMaker};
use crate::agent::{Diverged, finite};
use crate::parts::renorm::RenormMlp;
use crate::state::{StateError, StateIo};
use axiomrl_envs::Rng;
use axiomrl_nn::{
    AdamConfig, Init, Mlp, MlpSpec, Optimizer, OptimizerConfig, Params, Tensor, clip_scale, fused_loss, global_norm,
    gradients, leaf, values,
};
use std::borrow::Cow;

/// A batch as the critics see it: observations and actions side by side.
pub struct Transitions<'a> {
    pub rows: usize,
    pub joint: &'a [f32],
    pub next_joint: &'a [f32],
    /// Added to the value of each next observation: the entropy bonus.
    pub bonus: &'a [f32],
    pub reward: &'a [f32],
    pub discount: &'a [f32],
    pub weight: &'a [f32],
}

/// What an update of the critics reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct CriticStep {
    pub loss: f32,
    pub value_mean: f32,
    pub value_max: f32,
    pub target_mean: f32,
    pub edge_mass: f32,
    pub grad_norm: f32,
}

enum Net {
    /// Targets come from a slowly moving copy.
    Followed { online: Mlp, target: Mlp },
    /// Targets come from the network itself, in the same batch; `folded` is the network at evaluation.
    Renormalised { net: Box<RenormMlp>, folded: Mlp },
}

pub struct Critic {
    head: ValueHead,
    members: usize,
    dropout: bool,
    net: Net,
    optimizer: Optimizer,
    targets: TargetMaker,
    pessimistic: bool,
    out: Vec<f32>,
}

impl Critic {
    pub fn new(config: &AcConfig, inputs: usize, rng: &mut Rng) -> Self {
        let head = ValueHead::new(config);
        let hidden = config.critic_hidden_sizes.as_ref().unwrap_or(&config.hidden_sizes);
        let mut spec = MlpSpec::new(inputs, hidden, head.outputs(), config.activation);
        spec.layer_norm = config.critic_layer_norm;
        spec.dropout = config.critic_dropout;
        let init = Init::PyTorch { output_bound: config.final_layer_bound };
        let members = config.n_critics;
        let (net, len) = if config.batch_renorm {
            let net = RenormMlp::new(spec, members, config.batch_renorm_warmup, &init, rng);
            let (folded, len) = (net.folded(), net.params.as_slice().len());
            (Net::Renormalised { net: Box::new(net), folded }, len)
        } else {
            let online = Mlp::new(spec, members, &init, rng);
            let len = online.params.as_slice().len();
            (Net::Followed { target: online.clone(), online }, len)
        };
        let adam = AdamConfig { beta1: config.adam_beta1, ..AdamConfig::default() };
        Self {
            head,
            members,
            dropout: config.critic_dropout > 0.0,
            net,
            optimizer: Optimizer::new(&OptimizerConfig::Adam(adam), len),
            targets: TargetMaker::new(config),
            pessimistic: matches!(config.target_reducer, TargetReducer::Min | TargetReducer::SubsetMin),
            out: Vec::new(),
        }
    }

    /// A seed for dropout masks, if there is dropout.
    pub fn dropout_seed(&self, rng: &mut Rng) -> Option<u64> {
        self.dropout.then(|| rand::Rng::next_u64(rng))
    }

    /// One step towards `R + D * (reduced next value + bonus)`. `errors` gets one number per row.
    pub fn fit(
        &mut self,
        batch: &Transitions<'_>,
        rate: f32,
        max_grad_norm: Option<f32>,
        number: u64,
        rng: &mut Rng,
        errors: &mut Vec<f32>,
    ) -> Result<CriticStep, Diverged> {
        let rows = batch.rows;
        self.targets.choose(rng);
        let (target_seed, seed) = (self.dropout_seed(rng), self.dropout_seed(rng));
        let (params, out, rows_each) = match &mut self.net {
            Net::Followed { online, target } => {
                match target_seed {
                    Some(seed) => target.infer_dropout(batch.next_joint, rows, seed, &mut self.out),
                    None => target.infer(batch.next_joint, rows, &mut self.out),
                }
                let next = NextOutputs { out: &self.out, rows_each: rows, first: 0 };
                self.targets.fill(next, batch.bonus, batch.reward, batch.discount);
                let params = online.params.tracked();
                let x = leaf(batch.joint, [rows, online.spec.inputs]);
                let out = online.forward(x, params.clone(), seed);
                (params, out, rows)
            }
            Net::Renormalised { net, .. } => {
                // Both halves in one batch, so that they share their statistics.
                let both = [batch.joint, batch.next_joint].concat();
                let params = net.params.tracked();
                let out = net.forward(&both, 2 * rows, &params);
                let next = NextOutputs { out: &values(&out), rows_each: 2 * rows, first: rows };
                self.targets.fill(next, batch.bonus, batch.reward, batch.discount);
                (params, out, 2 * rows)
            }
        };
        let (loss, mut step) = self.loss(out, rows_each, batch, errors);
        finite("the critic loss", step.loss, number)?;
        let [gradient] = gradients(loss, [&params]);
        drop(params);
        step.grad_norm = finite("the gradient of the critics", global_norm(&[&gradient]), number)?;
        let scale = max_grad_norm.map_or(1.0, |max| clip_scale(step.grad_norm, max));
        match &mut self.net {
            Net::Followed { online, .. } => self.optimizer.step(&mut online.params, &gradient, rate, scale),
            Net::Renormalised { net, folded } => {
                self.optimizer.step(&mut net.params, &gradient, rate, scale);
                *folded = net.folded();
            }
        }
        Ok(step)
    }

    /// Compares the first `batch.rows` of each member's `rows_each` output rows with the targets.
    fn loss(
        &self,
        out: Tensor<3>,
        rows_each: usize,
        batch: &Transitions<'_>,
        errors: &mut Vec<f32>,
    ) -> (Tensor<1>, CriticStep) {
        let (rows, outputs, width) = (batch.rows, self.head.outputs(), self.targets.width());
        let mut step = CriticStep { value_max: f32::MIN, target_mean: self.targets.mean(), ..CriticStep::default() };
        errors.clear();
        errors.resize(rows, 0.0);
        let each = 1.0 / (self.members * rows) as f32;
        let loss = fused_loss([out], |[out]| {
            let mut gradient = vec![0.0; out.len()];
            for member in 0..self.members {
                for row in 0..rows {
                    let at = (member * rows_each + row) * outputs;
                    let weight = batch.weight[row] / rows as f32;
                    let target = &self.targets.targets[row * width..(row + 1) * width];
                    let place = &mut gradient[at..at + outputs];
                    let RowFit { loss, error, mean, edge } =
                        self.head.fit(&out[at..at + outputs], target, weight, place);
                    step.loss += weight * loss;
                    step.value_mean += each * mean;
                    step.value_max = step.value_max.max(mean);
                    step.edge_mass += each * edge;
                    errors[row] += error / self.members as f32;
                }
            }
            (step.loss, [gradient])
        });
        (loss, step)
    }

    /// The network as it evaluates.
    fn evaluation(&self) -> &Mlp {
        match &self.net {
            Net::Followed { online, .. } => online,
            Net::Renormalised { folded, .. } => folded,
        }
    }

    /// What the critics make of the rows of observation and action, of which the last `actions` columns are the action.
    ///
    /// The derivative of a row is cut to norm `max_norm`.
    pub fn opinion(
        &self,
        joint: &[f32],
        rows: usize,
        actions: usize,
        reducer: ActorReducer,
        max_norm: Option<f32>,
        dropout_seed: Option<u64>,
    ) -> Opinion {
        let net = match reducer {
            ActorReducer::First if self.members > 1 => Cow::Owned(first_member(self.evaluation())),
            _ => Cow::Borrowed(self.evaluation()),
        };
        let (inputs, outputs, members) = (net.spec.inputs, self.head.outputs(), net.params.members());
        let x = leaf(joint, [rows, inputs]).require_grad();
        let out = net.forward(x.clone(), net.params.frozen(), dropout_seed);
        let mut value_mean = 0.0;
        let loss = fused_loss([out], |[out]| {
            let mut gradient = vec![0.0; out.len()];
            let at = |member: usize, row: usize| (member * rows + row) * outputs;
            let mut scratch = vec![0.0; outputs];
            for row in 0..rows {
                let mut mean_of = |member: usize| self.head.mean(&out[at(member, row)..][..outputs], &mut scratch);
                let (from, to, k) = match reducer {
                    ActorReducer::First => (0, 1, 1.0),
                    ActorReducer::Mean => (0, members, 1.0 / members as f32),
                    ActorReducer::Min => {
                        let lowest = (1..members).fold((0, mean_of(0)), |best, member| {
                            let mean = mean_of(member);
                            if mean < best.1 { (member, mean) } else { best }
                        });
                        (lowest.0, lowest.0 + 1, 1.0)
                    }
                };
                for member in from..to {
                    let at = at(member, row);
                    let place = &mut gradient[at..at + outputs];
                    value_mean += k * self.head.d_mean(&out[at..at + outputs], k, place);
                }
            }
            (value_mean, [gradient])
        });
        let [gradient] = gradients(loss, [&x]);
        let mut by_action = Vec::with_capacity(rows * actions);
        for row in gradient.chunks_exact(inputs) {
            let row = &row[inputs - actions..];
            let norm = row.iter().map(|g| g * g).sum::<f32>().sqrt();
            let scale = max_norm.map_or(1.0, |max| clip_scale(norm, max));
            by_action.extend(row.iter().map(|g| scale * g));
        }
        Opinion { value_mean: value_mean / rows as f32, by_action }
    }

    /// The value of each row: the lowest opinion if targets are made of it, else the mean.
    pub fn values(&mut self, joint: &[f32], rows: usize, values: &mut [f32]) {
        let mut out = std::mem::take(&mut self.out);
        self.evaluation().infer(joint, rows, &mut out);
        let outputs = self.head.outputs();
        let mut scratch = vec![0.0; outputs];
        for (row, value) in values.iter_mut().enumerate() {
            let opinions = (0..self.members).map(|member| {
                let at = (member * rows + row) * outputs;
                self.head.mean(&out[at..at + outputs], &mut scratch)
            });
            *value = if self.pessimistic {
                opinions.fold(f32::INFINITY, f32::min)
            } else {
                opinions.sum::<f32>() / self.members as f32
            };
        }
        self.out = out;
    }

    /// Moves the slow copy.
    pub fn follow(&mut self, tau: f32) {
        if let Net::Followed { online, target } = &mut self.net {
            target.params.polyak_from(&online.params, tau);
        }
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        match &mut self.net {
            Net::Followed { online, target } => {
                io.network("critic", online)?;
                io.network("critic_target", target)?;
            }
            Net::Renormalised { net, folded } => {
                net.visit_state("critic", io)?;
                *folded = net.folded();
            }
        }
        io.optimizer("critic", &mut self.optimizer)
    }
}

/// A network of the first member alone: the others need not be evaluated.
fn first_member(ensemble: &Mlp) -> Mlp {
    let len = ensemble.params.per_member();
    let params = Params::from_vec(1, len, ensemble.params.as_slice()[..len].to_vec());
    Mlp { spec: ensemble.spec.clone(), params }
}
