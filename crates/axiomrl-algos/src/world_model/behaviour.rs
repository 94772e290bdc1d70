//! Actor and critic: what is learned from imagined trajectories.

use super::actor::{ActionLaw, ActorHead};
use super::heads::ScalarHead;
use super::imagination::{Judged, Trajectories, unroll};
use super::model::WorldModel;
use super::recipe::Recipe;
use super::sequence::Sequence;
use super::settings::WorldModelConfig;
use crate::parts::tracked::Tracked;
use crate::state::{StateError, StateIo};
use axiomrl_core::imagined::{Convention, Replayed, ReturnScale};
use axiomrl_core::{Metrics, Rng};
use axiomrl_nn::{Dream, Pooled, Tensor, fused_loss, leaf, values};
use rand_chacha::ChaCha8Rng;

pub struct Behaviour {
    pub actor: ActorHead,
    pub critic: Tracked<ScalarHead>,
    scale: ReturnScale,
    rules: Rules,
}

/// The settings that are used here.
#[derive(Clone, Copy)]
struct Rules {
    horizon: usize,
    convention: Convention,
    dynamics: bool,
    gamma: f32,
    lambda: f32,
    entropy_coef: f32,
    normalize: bool,
    /// Whether the discount of a start is that of the data, and one that goes on counts as 1.
    known_starts: bool,
    slow_targets: bool,
    slow_scale: f32,
    replay_scale: f32,
}

/// Trajectories with what is learned from them.
pub struct Imagined {
    trajectories: Trajectories,
    /// What the critic says of all states, as a node of the graph.
    said: Tensor<3>,
    value: Vec<f32>,
    weights: Vec<f32>,
    pub returns: Vec<f32>,
    /// The slope of the actor's loss by each action, where that was found by going back through the model.
    by_actions: Option<Vec<f32>>,
}

/// A term of the loss, and the parameters it is of.
pub struct Term {
    pub node: Tensor<1>,
    pub value: f32,
}

impl Behaviour {
    pub fn new(
        config: &WorldModelConfig,
        recipe: &Recipe,
        law: ActionLaw,
        features: usize,
        rng: &mut ChaCha8Rng,
    ) -> Self {
        let (style, units) = (recipe.style, recipe.dims.units);
        let shape = |layers: usize| move |outputs: usize| style.mlp(features, layers, units, outputs);
        // DreamerV3 begins with a policy that is nearly uniform.
        let first = if style.normed { 0.01 } else { 1.0 };
        let actor = ActorHead::new(law, shape(config.actor_layers), &style.init(first), rng);
        let first = config.heads.first_scale();
        let critic = ScalarHead::new(config.heads, shape(config.critic_layers), &style.init(first), rng);
        let rules = Rules {
            horizon: config.imagination_horizon,
            convention: recipe.convention,
            dynamics: recipe.dynamics,
            gamma: config.gamma,
            lambda: config.lambda,
            entropy_coef: recipe.entropy_coef,
            normalize: config.normalize_returns,
            known_starts: config.heads == super::choices::Heads::Normal,
            slow_targets: config.slow_critic_targets,
            slow_scale: config.slow_critic_scale,
            replay_scale: config.replay_critic_scale,
        };
        Self { actor, critic: Tracked::new(critic), scale: ReturnScale::default(), rules }
    }

    /// The critic whose values stand in returns.
    fn judge(&self) -> &ScalarHead {
        if self.rules.slow_targets { &self.critic.target } else { &self.critic.online }
    }

    /// Imagines from `starts`, states in which an episode may be over. `params` are the critic's.
    pub fn imagine(
        &self,
        model: &WorldModel,
        starts: &[f32],
        terminal: &[bool],
        params: Tensor<2>,
        rng: &mut Rng,
        metrics: &mut Metrics,
    ) -> Imagined {
        let Rules { horizon, convention, gamma, lambda, known_starts, dynamics, .. } = self.rules;
        let (lanes, latent) = (terminal.len(), model.rssm.spec.latent);
        let known = known_starts.then(|| model.discounts(terminal));
        // s_0 ... s_H with a_t ~ π(s_t);  r_t, c_t, v_t
        let (trajectories, dream) = match dynamics {
            true => {
                let mut dream = model.rssm.dream(starts, lanes);
                (unroll(&mut dream, &self.actor, &latent, lanes, horizon, rng), Some(dream))
            }
            false => {
                let mut states = model.rssm.imagine(starts, lanes);
                (unroll(&mut states, &self.actor, &latent, lanes, horizon, rng), None)
            }
        };
        let (states, features) = (trajectories.states(), &trajectories.features);
        let said = self.critic.online.outputs(leaf(features, [states, features.len() / states]), params);
        let value = match self.rules.slow_targets {
            true => self.critic.target.means(features, states),
            false => self.critic.online.means_of(&values(&said)),
        };
        let judged = trajectories.judge(model, value, known.as_deref(), gamma);
        // R_t = r_t+1 + c_t+1 ((1 - λ) v_t+1 + λ R_t+1), or with the rewards of the states themselves
        let returns = judged.imagined(lanes).returns(convention, lambda);
        // w_t = c_0 ... c_t
        let first = if known_starts && gamma > 0.0 { gamma } else { 1.0 };
        let weights = judged.imagined(lanes).weights(convention, first);
        let by_actions =
            dream.map(|dream| self.back_through_actions(model, &trajectories, &judged, &returns, &weights, dream));
        metrics.add("imagined_return_mean", mean(&returns));
        metrics.add("imagined_reward_mean", mean(&judged.reward));
        Imagined { trajectories, said, value: judged.value, weights, returns, by_actions }
    }

    /// Rows of the actor's loss, and for each return the row whose action it judges.
    fn acted(&self, lanes: usize) -> (usize, usize) {
        match self.rules.convention {
            Convention::Next => (self.rules.horizon * lanes, 0),
            // The return of a state contains its reward, which its action has nothing to do with.
            Convention::Own => ((self.rules.horizon - 1) * lanes, lanes),
        }
    }

    /// The slope of `-mean w R` by every action.
    fn back_through_actions(
        &self,
        model: &WorldModel,
        trajectories: &Trajectories,
        judged: &Judged,
        returns: &[f32],
        weights: &[f32],
        mut dream: Dream<'_>,
    ) -> Vec<f32> {
        let (lanes, Rules { convention, lambda, horizon, .. }) = (trajectories.lanes, self.rules);
        let (rows, later) = self.acted(lanes);
        let mut slope = vec![0.0; returns.len()];
        for (slope, weight) in slope[later..].iter_mut().zip(&weights[..rows]) {
            *slope = -weight / rows as f32;
        }
        let by = judged.imagined(lanes).returns_adjoint(convention, lambda, returns, &slope);
        // Through the heads, whose weights are not to learn from it, to the states behind the start.
        let states = horizon * lanes;
        let features = &trajectories.features[trajectories.first(lanes).len()..];
        let mut by_features = model.reward.pass(features, states).input_gradient(&by.reward[lanes..]);
        let mut add = |more: Pooled| by_features.iter_mut().zip(more.iter()).for_each(|(sum, more)| *sum += more);
        add(self.judge().pass(features, states).input_gradient(&by.value[lanes..]));
        if let Some(head) = &model.continues {
            let discounts = judged.discount[lanes..].iter().zip(&by.discount[lanes..]);
            let by_logits: Vec<f32> = discounts.map(|(d, by)| by * d * (1.0 - d)).collect();
            add(head.0.pass(features, states, None).input_gradient(&by_logits));
        }
        // Through the model, last step first.
        let width = by_features.len() / horizon;
        let mut by_actions: Vec<Pooled> =
            (0..horizon).rev().map(|t| dream.back(&by_features[t * width..(t + 1) * width])).collect();
        by_actions.reverse();
        by_actions.iter().flat_map(|step| step.iter()).copied().collect()
    }

    /// The loss of the actor.
    pub fn actor_loss(&mut self, imagined: &Imagined, params: Tensor<2>, metrics: &mut Metrics) -> Term {
        let Imagined { trajectories, value, weights, returns, by_actions, .. } = imagined;
        let (Rules { entropy_coef, normalize, .. }, law) = (self.rules, self.actor.law);
        let (rows, later) = self.acted(trajectories.lanes);
        // S = the spread of returns, 1 at least;  A_t = (R_t - v_t) / S
        let spread = if normalize { self.scale.update(returns) } else { 1.0 };
        let advantages: Vec<f32> = returns[later..].iter().zip(value).map(|(r, v)| (r - v) / spread).collect();
        let all = if by_actions.is_some() { returns.len() } else { rows };
        let features = trajectories.first(all);
        let outputs = self.actor.net.forward(leaf(features, [all, features.len() / all]), params, None);
        let (mut value, mut entropy) = (0.0, 0.0);
        let node = fused_loss([outputs], |[outputs]| {
            let (loss, gradient);
            (loss, gradient, entropy) = match by_actions {
                // - w_t (log π(a_t) A_t + η H_t)
                None => {
                    let raw = &trajectories.raw[..rows * law.action_width()];
                    law.reinforce(outputs, raw, &weights[..rows], &advantages, entropy_coef)
                }
                // - w_t (R_t + η H_t), through the actions
                Some(by_actions) => law.reparametrised(outputs, &trajectories.raw, by_actions, weights, entropy_coef),
            };
            let direct = by_actions.is_some();
            value = if direct { loss - weighted_mean(&returns[later..], weights) } else { loss };
            (value, [gradient])
        });
        metrics.add("actor_loss", value);
        metrics.add("entropy", entropy);
        metrics.add("advantage_deviation", mean(&advantages.iter().map(|a| a * a).collect::<Vec<_>>()).sqrt());
        if normalize {
            metrics.add("return_scale", spread);
        }
        Term { node, value }
    }

    /// The loss of the critic on imagined states: towards the returns, and not too far from the slow critic.
    pub fn critic_loss(&self, imagined: &Imagined, metrics: &mut Metrics) -> Term {
        let rows = imagined.returns.len();
        let features = imagined.trajectories.first(rows);
        let slow = self.slow_values(features, rows);
        let targets = [(1.0, &imagined.returns[..]), (self.rules.slow_scale, &slow[..])];
        let (node, value) = self.critic.online.loss(imagined.said.clone(), &targets, &imagined.weights);
        metrics.add("critic_loss", value);
        Term { node, value }
    }

    /// The loss of the critic on the rows that were lived, of which `features` are the states as a node of the graph, and where
    /// the imagined returns stand for what came after. It teaches the model what matters.
    pub fn replay_critic_loss(
        &self,
        imagined: &Imagined,
        sequence: &Sequence<'_>,
        features: Tensor<2>,
        params: Tensor<2>,
        metrics: &mut Metrics,
    ) -> Option<Term> {
        let Rules { replay_scale, gamma, lambda, slow_scale, .. } = self.rules;
        if replay_scale == 0.0 {
            return None;
        }
        // The last rows of the windows, as many as were imagined from.
        let (starts, lanes) = (imagined.trajectories.lanes, sequence.rows);
        let from = sequence.reward.len() - starts;
        let lived = Replayed {
            lanes,
            reward: &sequence.reward[from..],
            last: &sequence.last[from..],
            terminal: &sequence.terminal[from..],
        };
        let returns = lived.returns(&imagined.returns[..starts], gamma, lambda);
        let rows = returns.len();
        let weights: Vec<f32> = lived.last[..rows].iter().map(|&last| if last { 0.0 } else { 1.0 }).collect();
        let slow = self.slow_values(imagined.trajectories.first(rows), rows);
        let targets = [(1.0, &returns[..]), (slow_scale, &slow[..])];
        let said = self.critic.online.outputs(features.narrow(0, from, rows), params);
        let (node, value) = self.critic.online.loss(said, &targets, &weights);
        metrics.add("replay_critic_loss", value);
        Some(Term { node: node.mul_scalar(replay_scale), value: replay_scale * value })
    }

    fn slow_values(&self, features: &[f32], rows: usize) -> Vec<f32> {
        if self.rules.slow_scale == 0.0 { vec![0.0; rows] } else { self.critic.target.means(features, rows) }
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("critic", &mut self.critic.online.net)?;
        io.network("slow_critic", &mut self.critic.target.net)?;
        io.value("return_scale", &mut self.scale)
    }
}

fn mean(values: &[f32]) -> f32 {
    (values.iter().copied().map(f64::from).sum::<f64>() / values.len().max(1) as f64) as f32
}

fn weighted_mean(values: &[f32], weights: &[f32]) -> f32 {
    let sum = values.iter().zip(weights).map(|(value, weight)| f64::from(value * weight)).sum::<f64>();
    (sum / values.len().max(1) as f64) as f32
}

#[cfg(test)]
mod tests;
