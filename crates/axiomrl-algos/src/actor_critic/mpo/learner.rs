//! The E-step and the M-step.

use super::MpoConfig;
use super::duals::{LEAST_RAW, Move, multiplier, sample_weights};
use crate::agent::{Diverged, LearnError, Setup, UpdateContext, finite};
use crate::parts::columns::join_columns;
use crate::parts::input::Flatten;
use crate::policy::{ActInput, Actor, Memory, Mode};
use crate::regimes::ReplayLearner;
use crate::state::{StateError, StateIo};
use axiomrl_core::Batch;
use axiomrl_core::random::normal;
use axiomrl_envs::{ObsRef, Rng};
use axiomrl_nn::math::{sigmoid, softplus};
use axiomrl_nn::{
    AdamConfig, Init, Mlp, MlpSpec, Optimizer, OptimizerConfig, Params, clip_scale, fused_loss, global_norm, gradients,
    leaf,
};

/// The least spread of the policy.
const LEAST_STD: f32 = 1e-4;

/// The learner of MPO.
pub struct MpoLearner {
    config: MpoConfig,
    encoder: Flatten,
    d: usize,
    actor: Mlp,
    actor_target: Mlp,
    critic: Mlp,
    critic_target: Mlp,
    actor_optimizer: Optimizer,
    critic_optimizer: Optimizer,
    /// Free numbers behind the multipliers: temperature, penalty temperature, then mean and spread per dimension.
    duals: Params,
    dual_optimizer: Optimizer,
    head: Vec<f32>,
    q: Vec<f32>,
    targets: Vec<f32>,
    /// Actions `[rows, samples, d]` drawn from the target policy, as drawn.
    drawn: Vec<f32>,
    weights: Vec<f32>,
    joint: Vec<f32>,
}

impl MpoLearner {
    pub fn new(config: MpoConfig, setup: &Setup) -> Self {
        let encoder = Flatten::new(setup.observation_space());
        let d = setup.action_width();
        let mut rng = setup.rng("init");
        let network = |inputs: usize, outputs: usize, rng: &mut Rng| {
            let mut spec = MlpSpec::new(inputs, &config.hidden_sizes, outputs, config.activation);
            spec.layer_norm = config.layer_norm;
            Mlp::new(spec, 1, &Init::Xavier { output_scale: 0.1 }, rng)
        };
        let actor = network(encoder.width(), 2 * d, &mut rng);
        let critic = network(encoder.width() + d, 1, &mut rng);
        let adam = OptimizerConfig::Adam(AdamConfig::default());
        // The multiplier of the spread starts high, so that exploration does not die before values are known.
        let mut duals = vec![10.0; 2 + d];
        duals.extend(std::iter::repeat_n(1000.0, d));
        Self {
            actor_optimizer: Optimizer::new(&adam, actor.params.as_slice().len()),
            critic_optimizer: Optimizer::new(&adam, critic.params.as_slice().len()),
            dual_optimizer: Optimizer::new(&adam, duals.len()),
            duals: Params::from_vec(1, duals.len(), duals),
            actor_target: actor.clone(),
            critic_target: critic.clone(),
            config,
            encoder,
            d,
            actor,
            critic,
            head: Vec::new(),
            q: Vec::new(),
            targets: Vec::new(),
            drawn: Vec::new(),
            weights: Vec::new(),
            joint: Vec::new(),
        }
    }

    /// The spread behind a raw output, and its derivative; a raw output of 0 means `log_std_init`.
    fn std(&self, raw: f32) -> (f32, f32) {
        let scale = self.config.log_std_init.exp() / std::f32::consts::LN_2;
        (scale * softplus(raw) + LEAST_STD, scale * sigmoid(raw))
    }

    /// Draws actions for every observation from the target policy and values them with the target critic. Leaves the
    /// policy's outputs in `head`, the actions in `drawn` and the values in `q`.
    fn look_around(&mut self, obs: &[f32], rows: usize, rng: &mut Rng) {
        let (d, samples) = (self.d, self.config.action_samples);
        let mut head = std::mem::take(&mut self.head);
        self.actor_target.infer(obs, rows, &mut head);
        self.drawn.clear();
        self.joint.clear();
        for (obs, head) in obs.chunks_exact(self.encoder.width()).zip(head.chunks_exact(2 * d)) {
            for _ in 0..samples {
                self.joint.extend_from_slice(obs);
                for i in 0..d {
                    let action = head[i] + self.std(head[d + i]).0 * normal(rng);
                    self.drawn.push(action);
                    self.joint.push(action.clamp(-1.0, 1.0));
                }
            }
        }
        self.head = head;
        self.critic_target.infer(&self.joint, rows * samples, &mut self.q);
    }

    fn update_critic(
        &mut self,
        obs: &[f32],
        rate: f32,
        batch: &Batch,
        context: &mut UpdateContext<'_>,
    ) -> Result<(), Diverged> {
        let rows = batch.rows;
        self.look_around(&self.encoder.encode(batch.next_obs()), rows, context.rng);
        let samples = self.config.action_samples;
        self.targets.clear();
        self.targets.extend(self.q.chunks_exact(samples).enumerate().map(|(row, q)| {
            let value = q.iter().sum::<f32>() / samples as f32;
            self.config.reward_scale * batch.reward[row] + batch.discount[row] * value
        }));

        let width = self.encoder.width();
        join_columns(obs, &batch.action, rows, &mut self.joint);
        let (targets, share) = (&self.targets, 1.0 / rows as f32);
        let (mut loss_value, mut q_mean) = (0.0, 0.0);
        let params = self.critic.params.tracked();
        let q = self.critic.forward(leaf(&self.joint, [rows, width + self.d]), params.clone(), None);
        let loss = fused_loss([q], |[q]| {
            let errors: Vec<f32> = q.iter().zip(targets).map(|(q, target)| q - target).collect();
            loss_value = 0.5 * share * errors.iter().map(|e| e * e).sum::<f32>();
            q_mean = share * q.iter().sum::<f32>();
            (loss_value, [errors.iter().map(|e| share * e).collect()])
        });
        finite("the critic loss", loss_value, context.number())?;
        let [gradient] = gradients(loss, [&params]);
        drop(params);
        let norm = finite("the gradient of the critic", global_norm(&[&gradient]), context.number())?;
        let scale = clip_scale(norm, self.config.max_grad_norm);
        self.critic_optimizer.step(&mut self.critic.params, &gradient, rate, scale);
        context.metrics.add("critic_loss", loss_value);
        context.metrics.add("q_value_mean", q_mean);
        context.metrics.add("target_q_mean", share * targets.iter().sum::<f32>());
        context.metrics.add("critic_grad_norm", norm);
        Ok(())
    }

    /// Weighs the drawn actions; returns the gradients of both temperatures.
    fn weigh_samples(&mut self, context: &mut UpdateContext<'_>) -> [f32; 2] {
        let (d, samples) = (self.d, self.config.action_samples);
        let (temperature, slope) = multiplier(self.duals.as_slice()[0]);
        let (_, by_temperature) = sample_weights(&self.q, samples, temperature, self.config.epsilon, &mut self.weights);
        context.metrics.add("temperature", temperature);
        if self.config.epsilon_penalty == 0.0 {
            return [by_temperature * slope, 0.0];
        }
        // How far outside of the range each action was, as a cost of its own.
        let outside = |action: &f32| (action.abs() - 1.0).max(0.0);
        let costs: Vec<f32> = self
            .drawn
            .chunks_exact(d)
            .map(|action| -action.iter().map(|a| outside(a) * outside(a)).sum::<f32>().sqrt())
            .collect();
        let (penalty, penalty_slope) = multiplier(self.duals.as_slice()[1]);
        let mut penalty_weights = Vec::new();
        let (_, by_penalty) =
            sample_weights(&costs, samples, penalty, self.config.epsilon_penalty, &mut penalty_weights);
        self.weights.iter_mut().zip(&penalty_weights).for_each(|(w, p)| *w += p);
        [by_temperature * slope, by_penalty * penalty_slope]
    }

    fn update_policy(
        &mut self,
        obs: &[f32],
        rate: f32,
        rows: usize,
        context: &mut UpdateContext<'_>,
    ) -> Result<(), Diverged> {
        let (d, samples) = (self.d, self.config.action_samples);
        self.look_around(obs, rows, context.rng);
        let temperatures = self.weigh_samples(context);
        let raw = self.duals.as_slice().to_vec();
        let (alpha_mean, alpha_std) = (|i: usize| multiplier(raw[2 + i]).0, |i: usize| multiplier(raw[2 + d + i]).0);
        let share = 1.0 / rows as f32;
        let (mut loss_value, mut std_mean) = (0.0, 0.0);
        let (mut kl_mean, mut kl_std) = (vec![0.0; d], vec![0.0; d]);
        let params = self.actor.params.tracked();
        let out = self.actor.forward(leaf(obs, [rows, self.encoder.width()]), params.clone(), None);
        let loss = fused_loss([out], |[out]| {
            let mut gradient = vec![0.0; out.len()];
            for row in 0..rows {
                for i in 0..d {
                    let (at, at_raw) = (row * 2 * d + i, row * 2 * d + d + i);
                    let (std, slope) = self.std(out[at_raw]);
                    let old = (self.head[at], self.std(self.head[at_raw]).0);
                    let drawn = (row * samples..(row + 1) * samples).map(|n| (self.drawn[n * d + i], self.weights[n]));
                    let step = Move::new((out[at], std), old, (alpha_mean(i), alpha_std(i)), drawn);
                    loss_value += share * step.loss;
                    kl_mean[i] += share * step.kl_mean;
                    kl_std[i] += share * step.kl_std;
                    std_mean += share * std / d as f32;
                    gradient[at] = share * step.by_mean;
                    gradient[at_raw] = share * step.by_std * slope;
                }
            }
            (loss_value, [gradient])
        });
        finite("the policy loss", loss_value, context.number())?;
        let [gradient] = gradients(loss, [&params]);
        drop(params);
        let norm = finite("the gradient of the policy", global_norm(&[&gradient]), context.number())?;
        let scale = clip_scale(norm, self.config.max_grad_norm);
        self.actor_optimizer.step(&mut self.actor.params, &gradient, rate, scale);
        let dual_rate = self.config.dual_learning_rate.at(context.fraction()) as f32;
        self.update_duals(temperatures, &kl_mean, &kl_std, dual_rate);
        context.metrics.add("actor_loss", loss_value);
        context.metrics.add("actor_grad_norm", norm);
        context.metrics.add("kl_mean", kl_mean.iter().sum::<f32>() / d as f32);
        context.metrics.add("kl_std", kl_std.iter().sum::<f32>() / d as f32);
        context.metrics.add("policy_std", std_mean);
        Ok(())
    }

    /// Multipliers grow while their divergence is above its bound: gradient of `alpha * (epsilon - divergence)`.
    fn update_duals(&mut self, temperatures: [f32; 2], kl_mean: &[f32], kl_std: &[f32], rate: f32) {
        let raw = self.duals.as_slice();
        let mut gradient = temperatures.to_vec();
        for (i, kl) in kl_mean.iter().enumerate() {
            gradient.push((self.config.epsilon_mean - kl) * multiplier(raw[2 + i]).1);
        }
        for (i, kl) in kl_std.iter().enumerate() {
            gradient.push((self.config.epsilon_std - kl) * multiplier(raw[2 + self.d + i]).1);
        }
        self.dual_optimizer.step(&mut self.duals, &gradient, rate, 1.0);
        self.duals.make_mut().iter_mut().for_each(|raw| *raw = raw.max(LEAST_RAW));
    }

    /// Draws from the policy, or takes its mean where there is nothing to draw with.
    fn choose(&mut self, obs: ObsRef<'_>, mut rng: Option<&mut Rng>, actions: &mut [f32]) {
        let mut head = std::mem::take(&mut self.head);
        self.actor.infer(&self.encoder.encode(obs), obs.rows, &mut head);
        for (action, head) in actions.chunks_exact_mut(self.d).zip(head.chunks_exact(2 * self.d)) {
            for (i, action) in action.iter_mut().enumerate() {
                let noise = rng.as_mut().map_or(0.0, |rng| self.std(head[self.d + i]).0 * normal(rng));
                *action = (head[i] + noise).clamp(-1.0, 1.0);
            }
        }
        self.head = head;
    }
}

impl Actor for MpoLearner {
    fn act(
        &mut self,
        input: ActInput<'_>,
        _memory: &mut Memory,
        mode: Mode,
        rng: &mut Rng,
        actions: &mut [f32],
    ) -> Result<(), LearnError> {
        self.choose(input.obs, (mode == Mode::Sample).then_some(rng), actions);
        Ok(())
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("actor", &mut self.actor)
    }
}

impl ReplayLearner for MpoLearner {
    fn update(
        &mut self,
        batch: &Batch,
        context: &mut UpdateContext<'_>,
        _errors: &mut Vec<f32>,
    ) -> Result<(), LearnError> {
        let obs = self.encoder.encode(batch.obs());
        let rate = self.config.learning_rate.at(context.fraction()) as f32;
        self.update_critic(&obs, rate, batch, context)?;
        self.update_policy(&obs, rate, batch.rows, context)?;
        if context.number().is_multiple_of(self.config.target_update_interval) {
            self.actor_target.params.copy_from(&self.actor.params);
            self.critic_target.params.copy_from(&self.critic.params);
        }
        context.metrics.set("learning_rate", f64::from(rate));
        Ok(())
    }

    fn values(&mut self, input: ActInput<'_>, values: &mut [f32]) -> bool {
        let rows = input.rows();
        let mut actions = vec![0.0; rows * self.d];
        self.choose(input.obs, None, &mut actions);
        join_columns(&self.encoder.encode(input.obs), &actions, rows, &mut self.joint);
        self.critic.infer(&self.joint, rows, &mut self.q);
        values.iter_mut().zip(&self.q).for_each(|(value, q)| *value = q / self.config.reward_scale);
        true
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("actor_target", &mut self.actor_target)?;
        io.network("critic", &mut self.critic)?;
        io.network("critic_target", &mut self.critic_target)?;
        io.params("duals", &mut self.duals)?;
        io.optimizer("actor", &mut self.actor_optimizer)?;
        io.optimizer("critic", &mut self.critic_optimizer)?;
        io.optimizer("duals", &mut self.dual_optimizer)
    }
}
