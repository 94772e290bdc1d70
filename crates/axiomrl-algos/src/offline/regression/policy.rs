//! The policy: it imitates actions, each as much as it counts.

use super::fitted::{Fitted, Stride, follow, visit_net};
use super::imitation::{Imitation, distances};
use super::settings::{PolicyKind, RegressionConfig};
use crate::agent::{Diverged, Setup, UpdateContext};
use crate::config::Problem;
use crate::export::{Answer, Graph, NoGraph, Shown, best};
use crate::parts::input::ObsEncoder;
use crate::parts::seeing::SeeingNet;
use crate::parts::tracked::Trainable;
use crate::policy::ActInput;
use crate::state::{StateError, StateIo};
use axiomrl_core::Batch;
use axiomrl_envs::{Rng, Space};
use axiomrl_nn::{Activation, Distribution, Mlp, MlpSpec, Params};
use std::borrow::Cow;

/// Bounds of the logarithm of a standard deviation.
const LOG_STD: (f32, f32) = (-5.0, 2.0);

/// A squashed Gaussian has no density at the bounds: recorded actions are taken this far inside.
const INSIDE: f32 = 1.0 - 1e-5;

pub struct RegressionPolicy {
    kind: PolicyKind,
    distribution: Distribution,
    fitted: Fitted,
    /// One for each number of a Gaussian policy's action, whatever the observation; empty for other policies.
    log_std: Params,
    learn_std: bool,
    /// Network and standard deviations that follow slowly.
    target: Option<(SeeingNet, Params)>,
    bounds_penalty: f32,
    dropout: bool,
}

/// What an update of the policy reports.
pub struct PolicyStep {
    pub loss: f32,
    /// The mean logarithm of the probability (density) of the recorded actions; absent for a policy without one.
    pub log_likelihood: Option<f32>,
    pub grad_norm: f32,
}

impl RegressionPolicy {
    pub fn new(config: &RegressionConfig, setup: &Setup, rng: &mut Rng) -> Result<Self, Problem> {
        let distribution = match setup.action_space() {
            Space::Discrete { n } => Distribution::Categorical { n: *n },
            Space::Box(space) => Distribution::DiagGaussian { d: space.dim() },
            _ => return Err(Problem::new(&[], "weighted regression acts in Discrete and Box spaces")),
        };
        let init = config.init();
        let encoder = ObsEncoder::new(setup.observation_space(), config.vision, &init, rng)?;
        let outputs = distribution.head_width();
        let mut spec = MlpSpec::new(encoder.width(), &config.hidden_sizes, outputs, config.activation);
        spec.dropout = config.actor_dropout;
        let is_box = distribution.log_std_width() > 0;
        if is_box && matches!(config.policy, PolicyKind::Deterministic | PolicyKind::Gaussian) {
            spec = spec.with_output_activation(Activation::Tanh);
        }
        let net = SeeingNet { layers: Mlp::new(spec, 1, &init, rng), encoder };
        let free = if config.policy == PolicyKind::Deterministic { 0 } else { distribution.log_std_width() };
        let mut log_std = Params::from_vec(1, free, vec![config.log_std_init; free]);
        let learn_std = config.learn_std && free > 0;
        Ok(Self {
            kind: config.policy,
            distribution,
            target: config.target_policy.then(|| (net.clone(), log_std.clone())),
            fitted: Fitted::new(net, learn_std.then_some(&mut log_std)),
            log_std,
            learn_std,
            bounds_penalty: config.bounds_penalty,
            dropout: config.actor_dropout > 0.0,
        })
    }

    /// Whether there is one action and no distribution.
    fn is_deterministic(&self) -> bool {
        self.kind == PolicyKind::Deterministic && self.is_box()
    }

    fn is_box(&self) -> bool {
        matches!(self.distribution, Distribution::DiagGaussian { .. })
    }

    /// Numbers of an action.
    pub fn action_width(&self) -> usize {
        self.distribution.action_width()
    }

    /// The best action of each row.
    pub fn best(&self, input: ActInput<'_>, actions: &mut [f32]) {
        let heads = self.fitted.net.infer(input.obs, &[]);
        let (width, per_action) = (self.distribution.head_width(), self.distribution.action_width());
        for (row, action) in actions.chunks_exact_mut(per_action).enumerate() {
            let head = &heads[row * width..(row + 1) * width];
            self.distribution.mode(head, self.log_std.as_slice(), input.mask(row), action);
        }
        self.clip_to_bounds(actions);
    }

    /// As [`RegressionPolicy::best`], as nodes of a graph.
    pub fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Answer, NoGraph> {
        let head = self.fitted.net.onnx(graph, shown)?;
        let mut answer = best(graph, &self.distribution, head, shown.mask);
        if self.is_box() && self.kind == PolicyKind::SquashedGaussian {
            answer.action = graph.tanh(answer.action);
        }
        Ok(answer)
    }

    /// Draws an action for each row.
    pub fn sample(&self, input: ActInput<'_>, rng: &mut Rng, actions: &mut [f32]) {
        self.draw(&self.fitted.net, &self.log_std, input, rng, actions);
    }

    /// Draws an action for each row, of the slow copy where there is one.
    pub fn sample_for_target(&self, input: ActInput<'_>, rng: &mut Rng, actions: &mut [f32]) {
        let (net, log_std) = self.target.as_ref().map_or((&self.fitted.net, &self.log_std), |(net, std)| (net, std));
        self.draw(net, log_std, input, rng, actions);
    }

    /// Draws for all rows, as often as `actions` has room for that.
    fn draw(&self, net: &SeeingNet, log_std: &Params, input: ActInput<'_>, rng: &mut Rng, actions: &mut [f32]) {
        let heads = net.infer(input.obs, &[]);
        let (width, per_action) = (self.distribution.head_width(), self.distribution.action_width());
        for (at, action) in actions.chunks_exact_mut(per_action).enumerate() {
            let row = at % input.rows();
            let head = &heads[row * width..(row + 1) * width];
            match self.is_deterministic() {
                true => action.copy_from_slice(head),
                false => self.distribution.sample(head, log_std.as_slice(), input.mask(row), rng, action),
            }
        }
        self.clip_to_bounds(actions);
    }

    /// What the environment takes of what the distribution gave.
    fn clip_to_bounds(&self, actions: &mut [f32]) {
        match self.kind {
            _ if !self.is_box() => {}
            PolicyKind::SquashedGaussian => actions.iter_mut().for_each(|a| *a = a.tanh()),
            _ => actions.iter_mut().for_each(|a| *a = a.clamp(-1.0, 1.0)),
        }
    }

    /// Recorded actions where the distribution has its density of them.
    fn as_drawn<'a>(&self, actions: &'a [f32]) -> Cow<'a, [f32]> {
        match self.kind {
            PolicyKind::SquashedGaussian if self.is_box() => {
                Cow::Owned(actions.iter().map(|a| a.clamp(-INSIDE, INSIDE).atanh()).collect())
            }
            _ => Cow::Borrowed(actions),
        }
    }

    /// One step down -mean w * log pi(a|s), or mean w * (pi(s) - a)^2 where the policy is one action.
    pub fn step(
        &mut self,
        batch: &Batch,
        weights: &[f32],
        rate: f32,
        context: &mut UpdateContext<'_>,
    ) -> Result<PolicyStep, Diverged> {
        let dropout_seed = self.dropout.then(|| rand::Rng::next_u64(context.rng));
        let stride = Stride { rate, update: context.number(), dropout_seed };
        let (actions, deterministic, learn_std) =
            (self.as_drawn(&batch.action), self.is_deterministic(), self.learn_std);
        let log_std = self.log_std.as_slice().to_vec();
        let imitation = Imitation {
            distribution: &self.distribution,
            log_std: &log_std,
            masks: batch.masks(),
            actions: &actions,
            weights,
            bounds_penalty: if self.kind == PolicyKind::LinearGaussian { self.bounds_penalty } else { 0.0 },
        };
        let mut step = PolicyStep { loss: 0.0, log_likelihood: None, grad_norm: 0.0 };
        let direct = learn_std.then_some(&mut self.log_std);
        step.grad_norm = self.fitted.step("the policy", (batch.obs(), &[]), direct, stride, |heads| {
            let mut found = if deterministic {
                distances(heads, &actions, weights)
            } else {
                let (found, log_likelihood) = imitation.loss(heads);
                step.log_likelihood = Some(log_likelihood);
                found
            };
            step.loss = found.value;
            if !learn_std {
                found.direct.clear();
            }
            found
        })?;
        if learn_std {
            // Within its bounds it keeps its gradient: cut in the loss instead, it would be lost for good beyond them.
            self.log_std.make_mut().iter_mut().for_each(|log_std| *log_std = log_std.clamp(LOG_STD.0, LOG_STD.1));
        }
        Ok(step)
    }

    /// Moves the slow copy, where there is one.
    pub fn soft_update(&mut self, tau: f32) {
        if let Some((net, log_std)) = &mut self.target {
            follow(net.params(), self.fitted.net.params(), tau);
            follow([log_std], [&mut self.log_std], tau);
        }
    }

    /// What acts.
    pub fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.fitted.visit_net("actor", io)?;
        if self.log_std.as_slice().is_empty() { Ok(()) } else { io.params("log_std", &mut self.log_std) }
    }

    /// What only learning needs.
    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        if let Some((net, log_std)) = &mut self.target {
            visit_net(net, "actor_target", io)?;
            if !log_std.as_slice().is_empty() {
                io.params("log_std_target", log_std)?;
            }
        }
        self.fitted.visit_optimizer("actor", io)
    }
}
