//! The policy network, its slow copy and its update.

use super::anchor::imitation;
use super::choices::TargetAction;
use super::settings::AcConfig;
use super::window::Window;
use crate::agent::{Diverged, UpdateContext};
use crate::export::{Graph, Value};
use crate::parts::descend::{Loss, ParamGroup};
use crate::parts::renorm::Net;
use crate::parts::squashed_actor::{ActionGradient, Drawn, Jitter, SquashedHead};
use crate::parts::tracked::{Trainable, soft_update};
use crate::parts::trunk::{Span, Trunk};
use crate::state::{StateError, StateIo};
use axiomrl_envs::Rng;
use axiomrl_nn::{LogStdBounds, Mlp, leaf};
use std::borrow::Cow;

/// Highest logarithm of a Gaussian policy's standard deviation.
const LOG_STD_MAX: f32 = 2.0;

/// What an update of the actor is given besides its data.
#[derive(Clone, Copy)]
pub struct ActorTask<'a> {
    /// Weight of the entropy.
    pub alpha: f32,
    pub jitter: Jitter,
    pub rate: f32,
    /// Actions to imitate.
    pub imitated: Option<&'a [f32]>,
}

/// What an update of the actor reports.
pub struct ActorStep {
    pub loss: f32,
    pub log_prob_mean: f32,
    pub grad_norm: f32,
}

pub struct Actor {
    pub head: SquashedHead,
    trunk: Trunk,
    net: Net,
    target: Option<(Trunk, Mlp)>,
    group: ParamGroup,
    target_action: TargetAction,
    /// The noise that smooths target actions.
    smoothing: Jitter,
    out: Vec<f32>,
}

impl Actor {
    /// `seen` is what the encoder gives, compressed to `features`.
    pub fn new(config: &AcConfig, seen: usize, features: Option<usize>, width: usize, rng: &mut Rng) -> Self {
        let log_std = LogStdBounds::Clamp(config.log_std_min, LOG_STD_MAX);
        let head = SquashedHead { kind: config.actor, width, log_std };
        let init = config.actor_init(features.is_some());
        let mut trunk = Trunk::new(seen, features, config.memory_spec(&config.hidden_sizes).as_ref(), &init, rng);
        let spec = head.network(trunk.width(), config.layers(&config.hidden_sizes), config.activation);
        let warmup = config.actor_batch_renorm.then_some(config.batch_renorm_warmup);
        // The last bias lies at the end of the plain network's parameters, the deviations' half after that of the means.
        let deviations = spec.param_count() - width..spec.param_count();
        let mut net = Net::new(spec, 1, warmup, &init, rng);
        if config.log_std_offset != 0.0 && head.is_gaussian() {
            for params in net.params() {
                params.make_mut()[deviations.clone()].iter_mut().for_each(|bias| *bias += config.log_std_offset);
            }
            net.changed();
        }
        let learned: Vec<_> = trunk.params().into_iter().chain(net.params()).collect();
        let group = ParamGroup::new(&config.adam(), &learned, config.max_grad_norm.unwrap_or(f32::INFINITY));
        let follows = config.target_action != TargetAction::OnlineActor;
        Self {
            head,
            target: follows.then(|| (trunk.clone(), net.evaluation().clone())),
            trunk,
            net,
            group,
            target_action: config.target_action,
            smoothing: Jitter { std: config.target_noise, clip: config.target_noise_clip },
            out: Vec::new(),
        }
    }

    /// Numbers of a row of memory.
    pub fn state_width(&self) -> usize {
        self.trunk.state_width()
    }

    /// What the policy makes of what was seen, for the methods below. `state` moves on.
    pub fn features<'a>(&self, seen: &'a [f32], span: Span<'_>, state: &mut [f32]) -> Cow<'a, [f32]> {
        self.trunk.infer(seen, span, state)
    }

    /// The mean action of each row.
    pub fn mean(&mut self, features: &[f32], rows: usize, drawn: &mut Drawn) {
        self.net.evaluation().infer(features, rows, &mut self.out);
        self.head.mean(&self.out, &mut drawn.action);
    }

    /// The mean action of what was seen, and the memory after, as nodes of a graph in the ONNX format.
    pub fn onnx(&self, graph: &mut Graph, seen: Value, state: Option<Value>) -> (Value, Option<Value>) {
        let (features, state) = self.trunk.onnx(graph, seen, state);
        let out = self.net.evaluation().onnx(graph, features);
        (self.head.onnx(graph, out), state)
    }

    /// The last hidden layer of each row.
    pub fn last_hidden(&self, features: &[f32], rows: usize, hidden: &mut Vec<f32>) {
        self.net.evaluation().infer_features(features, rows, hidden);
    }

    /// Draws from the policy.
    pub fn sample(&mut self, features: &[f32], rows: usize, jitter: Jitter, rng: &mut Rng, drawn: &mut Drawn) {
        self.net.evaluation().infer(features, rows, &mut self.out);
        self.head.sample(&self.out, jitter, rng, drawn);
    }

    /// Draws `samples` actions for each row, one after the other.
    pub fn sample_many(&mut self, features: &[f32], rows: usize, samples: usize, rng: &mut Rng, drawn: &mut Drawn) {
        self.net.evaluation().infer(features, rows, &mut self.out);
        repeat_rows(&mut self.out, rows, samples);
        self.head.sample(&self.out, Jitter { std: 0.0, clip: 0.0 }, rng, drawn);
    }

    /// Draws from a Gaussian policy with given standard noise, one number per action element.
    pub fn sample_with(&mut self, features: &[f32], rows: usize, noise: impl Iterator<Item = f32>, drawn: &mut Drawn) {
        self.net.evaluation().infer(features, rows, &mut self.out);
        self.head.sample_with(&self.out, noise, drawn);
    }

    /// a' at the observations that follow the entries, `samples` for each, by the policy that targets ask.
    pub fn sample_next(
        &mut self,
        seen: &[f32],
        window: &Window<'_>,
        samples: usize,
        jitter: Jitter,
        rng: &mut Rng,
        drawn: &mut Drawn,
    ) {
        let (trunk, net) = match &self.target {
            Some((trunk, net)) => (trunk, net),
            None => (&self.trunk, self.net.evaluation()),
        };
        let mut state = window.memory(0, self.trunk.state_width());
        let features = window.following(trunk.infer(seen, window.ahead().1, &mut state));
        net.infer(&features, window.entries(), &mut self.out);
        repeat_rows(&mut self.out, window.entries(), samples);
        self.head.sample(&self.out, jitter, rng, drawn);
        if self.target_action == TargetAction::TargetActorSmoothed {
            self.smoothing.add_to(&mut drawn.action, rng);
        }
    }

    /// One step down mean (alpha * log pi(a|s) - Q(s, a)), a drawn from the policy. `seen` and `state` are constants: the encoder
    /// is not trained here. `action_gradient` is what the critics make of the drawn actions. With actions to imitate, these are
    /// followed in place of the critics: mean (alpha * log pi(a|s) - log pi(imitated|s)).
    pub fn step(
        &mut self,
        seen: &[f32],
        window: &Window<'_>,
        state: &[f32],
        task: ActorTask<'_>,
        context: &mut UpdateContext<'_>,
        action_gradient: impl FnOnce(&[f32]) -> ActionGradient,
    ) -> Result<ActorStep, Diverged> {
        let (entries, span) = (window.entries(), window.now().1);
        let seen = leaf(seen, [entries, seen.len() / entries]);
        let (features, mut tracked) = self.trunk.forward(seen, span, state);
        let (out, own) = self.net.forward(features, None);
        tracked.push(own);
        let out = out.reshape([entries, self.head.outputs()]);
        let imitating = task.imitated.map(|imitated| (imitated, out.clone()));
        let drawn = self.head.draw(out, task.jitter, context.rng);
        let mut by = action_gradient(&drawn.action);
        if imitating.is_some() {
            by.value_mean = 0.0;
            by.by_action.fill(0.0);
        }
        let mut loss = self.head.loss(drawn, &by, task.alpha, window.counted);
        if let Some((imitated, out)) = imitating {
            let (node, value) = imitation(&self.head, out, imitated, window.counted);
            loss.node = loss.node + node;
            loss.value += value;
        }
        let mut params: Vec<_> = self.trunk.params().into_iter().chain(self.net.params()).collect();
        let (value, log_prob_mean) = (loss.value, loss.log_prob_mean);
        let loss = Loss { node: loss.node, value, tracked };
        let grad_norm = self.group.descend("the actor", loss, &mut params, task.rate, context.number())?;
        self.net.changed();
        Ok(ActorStep { loss: value, log_prob_mean, grad_norm })
    }

    /// Moves the slow copy.
    pub fn soft_update(&mut self, tau: f32) {
        if let Some((trunk, net)) = &mut self.target {
            soft_update(trunk, &mut self.trunk, tau);
            net.params.polyak_from(&self.net.evaluation().params, tau);
        }
    }

    /// What acts.
    pub fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.trunk.visit_state("actor", io)?;
        self.net.visit_state(if self.trunk.is_empty() { "actor" } else { "actor.net" }, io)
    }

    /// What only learning needs.
    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        if let Some((trunk, net)) = &mut self.target {
            trunk.visit_state("actor_target", io)?;
            io.network(if trunk.is_empty() { "actor_target" } else { "actor_target.net" }, net)?;
        }
        self.group.visit_state("actor", io)
    }
}

/// Each row `times` times in place of once.
fn repeat_rows(values: &mut Vec<f32>, rows: usize, times: usize) {
    if times > 1 {
        let width = values.len() / rows;
        *values = values.chunks_exact(width).flat_map(|row| row.repeat(times)).collect();
    }
}
