//! The critic, the E-step and the M-step.

use super::MpoConfig;
use super::duals::{LEAST_RAW, Move, multiplier, sample_weights};
use crate::agent::{Diverged, LearnError, Setup, UpdateContext, finite};
use crate::config::Problem;
use crate::export::{Answer, Graph, NoGraph, Shown};
use crate::parts::descend::{Loss, ParamGroup};
use crate::parts::input::ObsEncoder;
use crate::parts::seeing::{Critic, SeeingNet, ValueLoss};
use crate::parts::tracked::{Tracked, Trainable};
use crate::policy::{ActContext, ActInput, Actor, Mode};
use crate::regimes::ReplayLearner;
use crate::state::{StateError, StateIo};
use axiomrl_core::Batch;
use axiomrl_core::random::normal;
use axiomrl_envs::{ObsRef, Rng};
use axiomrl_nn::math::{sigmoid, softplus};
use axiomrl_nn::{AdamConfig, Init, Mlp, MlpSpec, OptimizerConfig, Params, fused_loss, leaf};

/// The least spread of the policy.
const LEAST_STD: f32 = 1e-4;

/// The learner of MPO.
pub struct MpoLearner {
    config: MpoConfig,
    d: usize,
    actor: Tracked<Mlp>,
    /// With the encoder that the policy looks through as well.
    critic: Critic,
    actor_group: ParamGroup,
    /// Free numbers behind the multipliers: temperature, penalty temperature, then mean and spread per dimension.
    duals: Params,
    dual_group: ParamGroup,
}

/// Actions drawn from the target policy, `[rows, samples]`, and what the target critic thinks of them.
struct Sampled {
    /// The outputs of the policy that drew them.
    head: Vec<f32>,
    /// As drawn, not clipped.
    actions: Vec<f32>,
    q: Vec<f32>,
}

/// How far the policy moved, per action dimension, mean over the rows.
struct Divergence {
    mean: Vec<f32>,
    std: Vec<f32>,
}

impl MpoLearner {
    pub fn new(config: MpoConfig, setup: &Setup) -> Result<Self, Problem> {
        let (d, mut rng) = (setup.action_width(), setup.rng("init"));
        let encoder = ObsEncoder::new(setup.observation_space(), config.vision, &Init::pytorch(), &mut rng)?;
        let network = |inputs: usize, outputs: usize, rng: &mut Rng| {
            let mut spec = MlpSpec::new(inputs, &config.hidden_sizes, outputs, config.activation);
            spec.layer_norm = config.layer_norm;
            Mlp::new(spec, 1, &Init::Xavier { output_scale: 0.1 }, rng)
        };
        let mut actor = network(encoder.width(), 2 * d, &mut rng);
        let critic = SeeingNet { layers: network(encoder.width() + d, 1, &mut rng), encoder };
        // The multiplier of the spread starts high, so that exploration does not die before values are known.
        let mut duals = vec![10.0; 2 + d];
        duals.extend(std::iter::repeat_n(1000.0, d));
        let mut duals = Params::from_vec(1, duals.len(), duals);
        let adam = OptimizerConfig::Adam(AdamConfig::default());
        Ok(Self {
            actor_group: ParamGroup::new(&adam, &actor.params(), config.max_grad_norm),
            critic: Critic::new(critic, &adam, config.max_grad_norm),
            dual_group: ParamGroup::new(&adam, &[&mut duals], f32::INFINITY),
            duals,
            actor: Tracked::new(actor),
            config,
            d,
        })
    }

    /// The spread behind a raw output, and its derivative; a raw output of 0 means `log_std_init`.
    fn std(&self, raw: f32) -> (f32, f32) {
        let scale = self.config.log_std_init.exp() / std::f32::consts::LN_2;
        (scale * softplus(raw) + LEAST_STD, scale * sigmoid(raw))
    }

    /// a_n ~ pi'(s), with Q'(s, a_n).
    fn sample(&self, obs: ObsRef<'_>, rng: &mut Rng) -> Sampled {
        let (d, samples) = (self.d, self.config.action_samples);
        let (mut head, mut actions, mut joint, mut q) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let seen = self.critic.net.target.encoder.infer(obs);
        self.actor.target.infer(&seen, obs.rows, &mut head);
        for (seen, head) in seen.chunks_exact(seen.len() / obs.rows).zip(head.chunks_exact(2 * d)) {
            for _ in 0..samples {
                joint.extend_from_slice(seen);
                for i in 0..d {
                    let action = head[i] + self.std(head[d + i]).0 * normal(rng);
                    actions.push(action);
                    joint.push(action.clamp(-1.0, 1.0));
                }
            }
        }
        self.critic.net.target.layers.infer(&joint, obs.rows * samples, &mut q);
        Sampled { head, actions, q }
    }

    /// y = R + D * mean_n Q'(s', a'_n).
    fn targets(&self, batch: &Batch, rng: &mut Rng) -> Vec<f32> {
        let samples = self.config.action_samples;
        let next = self.sample(batch.next_obs(), rng);
        let values = next.q.chunks_exact(samples).map(|q| q.iter().sum::<f32>() / samples as f32);
        let returns = batch.reward.iter().zip(&batch.discount).zip(values);
        returns.map(|((reward, discount), v)| self.config.reward_scale * reward + discount * v).collect()
    }

    /// One step of critic and encoder on mean (Q(s, a) - y)^2 / 2. Gives what the encoder saw before it.
    fn update_critic(
        &mut self,
        batch: &Batch,
        targets: &[f32],
        rate: f32,
        context: &mut UpdateContext<'_>,
    ) -> Result<Vec<f32>, Diverged> {
        let share = 1.0 / batch.rows as f32;
        self.critic.fit((batch.obs(), &batch.action), targets, rate, context, |q| {
            let errors: Vec<f32> = q.iter().zip(targets).map(|(q, target)| q - target).collect();
            ValueLoss {
                value: 0.5 * share * errors.iter().map(|e| e * e).sum::<f32>(),
                q_mean: share * q.iter().sum::<f32>(),
                gradient: errors.iter().map(|e| share * e).collect(),
            }
        })
    }

    /// w_n = softmax_n(Q'(s, a_n) / eta), to which the penalty adds its own. Gives the slopes of both temperatures as well.
    fn weights(&self, sampled: &Sampled, context: &mut UpdateContext<'_>) -> (Vec<f32>, [f32; 2]) {
        let (config, samples, raw) = (&self.config, self.config.action_samples, self.duals.as_slice());
        let (temperature, slope) = multiplier(raw[0]);
        let (mut weights, mut penalties) = (Vec::new(), Vec::new());
        let (_, by_temperature) = sample_weights(&sampled.q, samples, temperature, config.epsilon, &mut weights);
        context.metrics.add("temperature", temperature);
        if config.epsilon_penalty == 0.0 {
            return (weights, [by_temperature * slope, 0.0]);
        }
        // How far outside of the range each action was, as a cost of its own.
        let outside = |action: &f32| (action.abs() - 1.0).max(0.0);
        let cost = |action: &[f32]| -action.iter().map(|a| outside(a) * outside(a)).sum::<f32>().sqrt();
        let costs: Vec<f32> = sampled.actions.chunks_exact(self.d).map(cost).collect();
        let (penalty, penalty_slope) = multiplier(raw[1]);
        let (_, by_penalty) = sample_weights(&costs, samples, penalty, config.epsilon_penalty, &mut penalties);
        weights.iter_mut().zip(&penalties).for_each(|(w, p)| *w += p);
        (weights, [by_temperature * slope, by_penalty * penalty_slope])
    }

    /// One step of the policy on - sum_n w_n [ log N(a_n; mu, std_old) + log N(a_n; mu_old, std) ] and the weighted divergences.
    fn update_policy(
        &mut self,
        seen: &[f32],
        sampled: &Sampled,
        weights: &[f32],
        rate: f32,
        context: &mut UpdateContext<'_>,
    ) -> Result<Divergence, Diverged> {
        let (d, samples) = (self.d, self.config.action_samples);
        let rows = sampled.q.len() / samples;
        let share = 1.0 / rows as f32;
        let alpha = |dual: usize| multiplier(self.duals.as_slice()[2 + dual]).0;
        let mut moved = Divergence { mean: vec![0.0; d], std: vec![0.0; d] };
        let (mut value, mut std_mean) = (0.0, 0.0);
        let tracked = self.actor.online.params.tracked();
        let out = self.actor.online.forward(leaf(seen, [rows, seen.len() / rows]), tracked.clone(), None);
        let node = fused_loss([out], |[out]| {
            let mut gradient = vec![0.0; out.len()];
            for row in 0..rows {
                for i in 0..d {
                    let (at, at_raw) = (row * 2 * d + i, row * 2 * d + d + i);
                    let (std, slope) = self.std(out[at_raw]);
                    let old = (sampled.head[at], self.std(sampled.head[at_raw]).0);
                    let drawn = (row * samples..(row + 1) * samples).map(|n| (sampled.actions[n * d + i], weights[n]));
                    let step = Move::new((out[at], std), old, (alpha(i), alpha(d + i)), drawn);
                    value += share * step.loss;
                    moved.mean[i] += share * step.kl_mean;
                    moved.std[i] += share * step.kl_std;
                    std_mean += share * std / d as f32;
                    gradient[at] = share * step.by_mean;
                    gradient[at_raw] = share * step.by_std * slope;
                }
            }
            (value, [gradient])
        });
        let loss = Loss { node, value, tracked: vec![tracked] };
        let learned = &mut self.actor.online.params();
        let norm = self.actor_group.descend("the policy", loss, learned, rate, context.number())?;
        context.metrics.add("actor_loss", value);
        context.metrics.add("actor_grad_norm", norm);
        context.metrics.add("kl_mean", moved.mean.iter().sum::<f32>() / d as f32);
        context.metrics.add("kl_std", moved.std.iter().sum::<f32>() / d as f32);
        context.metrics.add("policy_std", std_mean);
        Ok(moved)
    }

    /// One step of temperatures and multipliers. The latter grow while their divergence is above its bound: gradient of
    /// alpha * (epsilon - divergence).
    fn update_duals(
        &mut self,
        temperatures: [f32; 2],
        moved: &Divergence,
        rate: f32,
        update: u64,
    ) -> Result<(), Diverged> {
        let means = moved.mean.iter().map(|kl| self.config.epsilon_mean - kl);
        let stds = moved.std.iter().map(|kl| self.config.epsilon_std - kl);
        let slack = means.chain(stds).zip(&self.duals.as_slice()[2..]);
        let slopes = slack.map(|(slack, &raw)| slack * multiplier(raw).1);
        let gradient: Vec<f32> = temperatures.into_iter().chain(slopes).collect();
        let norm = self.dual_group.step(&mut [&mut self.duals], &[&gradient], rate);
        finite("the gradient of the multipliers", norm, update)?;
        self.duals.make_mut().iter_mut().for_each(|raw| *raw = raw.max(LEAST_RAW));
        Ok(())
    }

    /// The mean of the policy, with noise of its spread where there is something to draw with.
    fn choose(&self, obs: ObsRef<'_>, mut rng: Option<&mut Rng>, actions: &mut [f32]) {
        let mut head = Vec::new();
        self.actor.online.infer(&self.critic.net.online.encoder.infer(obs), obs.rows, &mut head);
        for (action, head) in actions.chunks_exact_mut(self.d).zip(head.chunks_exact(2 * self.d)) {
            for (i, action) in action.iter_mut().enumerate() {
                let noise = rng.as_mut().map_or(0.0, |rng| self.std(head[self.d + i]).0 * normal(rng));
                *action = (head[i] + noise).clamp(-1.0, 1.0);
            }
        }
    }
}

impl Actor for MpoLearner {
    fn act(&mut self, input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        let ActContext { mode, rng, .. } = context;
        self.choose(input.obs, (mode == Mode::Sample).then_some(rng), actions);
        Ok(())
    }

    fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Answer, NoGraph> {
        let seen = self.critic.net.online.encoder.onnx(graph, shown)?;
        let head = self.actor.online.onnx(graph, seen);
        Ok(Answer::of(graph.columns(head, 0..self.d, 2 * self.d)))
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.critic.net.online.encoder.visit_state("encoder", io)?;
        io.network("actor", &mut self.actor.online)
    }
}

impl ReplayLearner for MpoLearner {
    fn update(&mut self, batch: &Batch, context: &mut UpdateContext<'_>) -> Result<(), LearnError> {
        let rate = self.config.learning_rate.at(context.fraction()) as f32;
        let dual_rate = self.config.dual_learning_rate.at(context.fraction()) as f32;

        // y = R + D * mean_n Q'(s', a'_n),  a'_n ~ pi'(s')
        let targets = self.targets(batch, context.rng);
        // critic and encoder: mean (Q(s, a) - y)^2 / 2
        let seen = self.update_critic(batch, &targets, rate, context)?;
        // E-step: w_n = softmax_n(Q'(s, a_n) / eta),  a_n ~ pi'(s)
        let sampled = self.sample(batch.obs(), context.rng);
        let (weights, temperatures) = self.weights(&sampled, context);
        // M-step: - sum_n w_n [ log N(a_n; mu, std_old) + log N(a_n; mu_old, std) ]
        //         + alpha_mean * KL(mean moved) + alpha_std * KL(spread changed)
        let moved = self.update_policy(&seen, &sampled, &weights, rate, context)?;
        // eta: eta * (epsilon + mean log mean_n exp(Q' / eta));  alpha: alpha * (epsilon - KL)
        self.update_duals(temperatures, &moved, dual_rate, context.number())?;
        // pi' = pi, Q' = Q
        if context.number().is_multiple_of(self.config.target_update_interval) {
            self.actor.copy();
            self.critic.net.copy();
        }

        context.metrics.set("learning_rate", f64::from(rate));
        Ok(())
    }

    fn values(&mut self, input: ActInput<'_>, values: &mut [f32]) -> bool {
        let mut actions = vec![0.0; input.rows() * self.d];
        self.choose(input.obs, None, &mut actions);
        let q = self.critic.net.online.infer(input.obs, &actions);
        values.iter_mut().zip(&q).for_each(|(value, q)| *value = q / self.config.reward_scale);
        true
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("actor_target", &mut self.actor.target)?;
        self.actor_group.visit_state("actor", io)?;
        self.critic.visit_state(io)?;
        io.params("duals", &mut self.duals)?;
        self.dual_group.visit_state("duals", io)
    }
}

#[cfg(test)]
mod tests;
