//! One learner for the whole family: choose, back up, fit, follow.

use super::backup::{BackupInput, Targets, back_up, needs_here, softmax};
use super::config::{DqnConfig, Exploration};
use super::entries::{Entry, find_entries};
use super::loss::{LossInput, Report, batch_loss};
use super::model::{Lesson, Model};
use super::outcomes::Outcomes;
use super::scale::Scale;
use crate::agent::{Clock, LearnError, Learned, UpdateContext};
use crate::export::{Answer, Graph, NoGraph, Shown, allowed};
use crate::parts::actions::argmax;
use crate::parts::torso::Sequences;
use crate::parts::value_head::Head;
use crate::policy::{ActContext, ActInput, Actor, Memory, Mode};
use crate::regimes::ReplayLearner;
use crate::state::{StateError, StateIo};
use axiomrl_core::explore::epsilon_greedy;
use axiomrl_core::{Batch, Schedule};
use axiomrl_envs::Rng;
use rand::RngExt;

/// From which share of the targets' probability on a support counts as too narrow, and after how many updates: what a new
/// network says is spread over all of it.
const MISFIT: f32 = 0.2;
const SETTLED: u64 = 500;

/// What the family has in common.
pub struct QLearner<M> {
    config: DqnConfig,
    head: Head,
    scale: Scale,
    actions: usize,
    model: M,
    epsilon: Schedule,
    entries: Vec<Entry>,
    here: Outcomes,
    next: Outcomes,
    chooser: Outcomes,
    targets: Targets,
    /// Whether the target network chose the next action by other draws than it was valued by.
    chooses_apart: bool,
}

/// What networks look at in an update, and what they remember before.
struct Look<'a> {
    /// The observations that are learned from; with a memory, all that follow, too.
    seen: Sequences<'a>,
    /// The observations after the windows; with a memory, the same.
    next: Sequences<'a>,
    online: Vec<f32>,
    target: Vec<f32>,
}

impl<M: Model> QLearner<M> {
    pub fn new(config: DqnConfig, head: Head, actions: usize, model: M) -> Self {
        let epsilon = Schedule::Linear {
            start: config.epsilon_start,
            end: config.epsilon_end,
            fraction: config.exploration_fraction.max(1e-9),
        };
        Self {
            scale: Scale::of(config.value_rescale),
            config,
            head,
            actions,
            model,
            epsilon,
            entries: Vec::new(),
            here: Outcomes::default(),
            next: Outcomes::default(),
            chooser: Outcomes::default(),
            targets: Targets::default(),
            chooses_apart: false,
        }
    }

    fn remembers(&self) -> bool {
        self.model.memory_width() > 0
    }

    fn epsilon_at(&self, clock: Clock) -> f64 {
        // Noise in the weights takes the place of chance.
        if self.config.noisy { 0.0 } else { self.epsilon.at(clock.fraction()) }
    }

    /// What the online network says one observation further, in `self.here`.
    fn look(&mut self, input: ActInput<'_>, memory: &mut Memory, noise: Option<&mut Rng>) {
        let seen = Sequences::single(input.obs, &memory.starts);
        self.model.infer_online(seen, &mut memory.state, noise, &mut self.here);
        self.here.settle(&self.head, self.scale);
    }

    fn greedy(&self, input: ActInput<'_>, actions: &mut [f32]) {
        for (row, action) in actions.iter_mut().enumerate() {
            *action = argmax(self.here.q(0, row), input.mask(row)) as f32;
        }
    }

    /// Samples from exp(Q / T).
    fn boltzmann(&self, input: ActInput<'_>, rng: &mut Rng, actions: &mut [f32]) {
        let mut probabilities = vec![0.0; self.actions];
        for (row, action) in actions.iter_mut().enumerate() {
            let mask = input.mask(row);
            softmax(self.here.q(0, row), mask, self.config.boltzmann_temperature, &mut probabilities);
            let mut left = rng.random::<f32>();
            let found = probabilities.iter().position(|p| {
                left -= p;
                left < 0.0
            });
            // Rounding may leave a crumb: it goes to the best action.
            *action = found.unwrap_or_else(|| argmax(self.here.q(0, row), mask)) as f32;
        }
    }

    /// Finds what is learned from. With a memory, both networks first go through the burn-in, each with a memory of its own.
    fn begin<'a>(&mut self, batch: &'a Batch) -> Look<'a> {
        if !self.remembers() {
            find_entries(batch, None, &mut self.entries);
            let [seen, next] = [batch.obs(), batch.next_obs()].map(|obs| Sequences::single(obs, &[]));
            return Look { seen, next, online: Vec::new(), target: Vec::new() };
        }
        let burn_in = self.config.burn_in.min(batch.steps);
        find_entries(batch, Some(burn_in), &mut self.entries);
        let all =
            Sequences { steps: batch.steps + 1, rows: batch.rows, obs: batch.obs.as_ref(), resets: &batch.starts };
        let mut online = batch.state.clone();
        online.resize(batch.rows * self.model.memory_width(), 0.0);
        let mut target = online.clone();
        if burn_in > 0 {
            self.model.remember(all.part(0, burn_in), &mut online, &mut target);
        }
        let seen = all.part(burn_in, batch.steps + 1);
        Look { seen, next: seen, online, target }
    }

    /// What the networks say that the targets are made of.
    fn look_ahead(&mut self, look: &mut Look<'_>, rng: &mut Rng) {
        self.model.infer_target(look.next, &mut look.target, rng, &mut self.next);
        self.next.settle(&self.head, self.scale);
        // Were the same random fractions to choose and to value, the choice would go to what they happen to flatter.
        self.chooses_apart = !self.config.double_q && self.model.infer_choice(rng, &mut self.chooser);
        if self.chooses_apart {
            self.chooser.settle(&self.head, self.scale);
        }
        // With a memory, the one pass over the sequence serves here and there.
        if self.remembers() {
            return;
        }
        if self.config.double_q {
            self.model.infer_online(look.next, &mut look.online, Some(rng), &mut self.chooser);
            self.chooser.settle(&self.head, self.scale);
        }
        if needs_here(&self.config) {
            self.model.infer_target(look.seen, &mut look.target, rng, &mut self.here);
            self.here.settle(&self.head, self.scale);
        }
    }
}

impl<M: Model> Actor for QLearner<M> {
    fn memory_width(&self) -> usize {
        self.model.memory_width()
    }

    fn act(&mut self, input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        let ActContext { memory, mode, rng } = context;
        self.look(input, memory, None);
        match (mode, self.config.exploration) {
            (Mode::Sample, Exploration::Boltzmann) => self.boltzmann(input, rng, actions),
            _ => self.greedy(input, actions),
        }
        Ok(())
    }

    fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Answer, NoGraph> {
        let said = self.model.onnx(graph, shown)?;
        let q = said.settle(graph, &self.head, self.scale);
        let open = allowed(graph, q, shown.mask);
        Ok(Answer { action: graph.argmax(open), memory: said.memory, grounds: Some(("q", q, self.actions)) })
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.model.visit_policy(io)
    }
}

impl<M: Model> ReplayLearner for QLearner<M> {
    fn explore(&mut self, input: ActInput<'_>, clock: Clock, context: ActContext<'_>, actions: &mut [f32]) -> Learned {
        let ActContext { memory, rng, .. } = context;
        self.look(input, memory, Some(rng));
        match self.config.exploration {
            Exploration::Epsilon => {
                self.greedy(input, actions);
                epsilon_greedy(actions, self.actions, input.masks, self.epsilon_at(clock), rng);
            }
            Exploration::Boltzmann => self.boltzmann(input, rng, actions),
        }
        Ok(())
    }

    fn update(&mut self, batch: &Batch, context: &mut UpdateContext<'_>) -> Result<(), LearnError> {
        let mut look = self.begin(batch);
        // Z' = Q'(s'), the target network; and where they are asked for, Q(s') and Q'(s)
        self.look_ahead(&mut look, context.rng);
        let (remembers, rate) = (self.remembers(), self.config.learning_rate.at(context.fraction()) as f32);
        let (exploration_rate, mut report) = (self.epsilon_at(context.clock), Report::default());
        let apart = self.config.double_q || self.chooses_apart;
        let Self { config, head, scale, model, entries, here, next, chooser, targets, .. } = self;
        let (config, head, scale, entries, next) = (&*config, &*head, *scale, &entries[..], &*next);
        let here = needs_here(config).then_some(if remembers { next } else { here });
        let epsilon = config.target_epsilon.unwrap_or(exploration_rate as f32);
        let lesson = Lesson { seen: look.seen, state: &look.online, batch, entries, rate };
        // They are written while the model has the context.
        let mut errors = std::mem::take(&mut context.errors);
        let norm = model.fit(lesson, context, &mut |online| {
            if remembers && config.double_q {
                online.write_to(chooser);
                chooser.settle(head, scale);
            }
            let chooser = apart.then_some(&*chooser);
            let input = BackupInput { head, scale, entries, next, chooser, here, epsilon };
            // y = R + D * Z'(s', a*), a* = argmax_a Q'(s', a); with double_q, argmax_a Q(s', a)
            back_up(config, batch, &input, targets);
            // loss = mean w * d(Q(s, a), y), d Huber's loss, the cross-entropy, or that of quantiles
            let (found, gradient) =
                batch_loss(&LossInput { config, head, batch, entries, targets }, &online, &mut errors);
            report = found;
            (report.loss, gradient)
        })?;
        context.errors = errors;
        let settled = context.number() > SETTLED;
        let metrics = &mut *context.metrics;
        metrics.add("loss", report.loss);
        metrics.add("q_value_mean", report.q_mean);
        metrics.add("q_max", report.q_max);
        metrics.add("target_mean", report.target_mean);
        metrics.add("td_error_mean", report.td_error_mean);
        metrics.add("grad_norm", norm);
        if matches!(head, Head::Categorical { .. }) {
            metrics.add("outside_mass", report.outside_mass);
            if settled && report.outside_mass > MISFIT {
                metrics.note(
                    "much of the targets' probability lies outside the support (outside_mass), where it is cut off; \
                     widen v_min and v_max, or scale the rewards",
                );
            }
        }
        metrics.set("learning_rate", f64::from(rate));
        metrics.set("exploration_rate", exploration_rate);
        Ok(())
    }

    fn stepped(&mut self, before: u64, after: u64) {
        let every = self.config.target_update_interval;
        if before / every < after / every {
            self.model.soft_update(self.config.tau);
        }
    }

    /// With an empty memory.
    fn values(&mut self, input: ActInput<'_>, values: &mut [f32]) -> bool {
        self.look(input, &mut Memory::new(input.rows(), self.memory_width()), None);
        for (row, value) in values.iter_mut().enumerate() {
            let q = self.here.q(0, row);
            *value = q[argmax(q, input.mask(row))];
        }
        true
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.model.visit_state(io)
    }
}

#[cfg(test)]
mod tests;
