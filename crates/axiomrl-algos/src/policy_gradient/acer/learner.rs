//! An update on the newest rollout, then some on stored ones.

use super::AcerConfig;
use super::objective::{AcerTerms, PolicyRow, RetraceStep, by_logits, probability_gradient, ratio, retrace};
use super::store::{End, RolloutStore, StoredWindow, Widths, stacked};
use crate::agent::{LearnError, Setup, UpdateContext};
use crate::config::Problem;
use crate::export::{Answer, Graph, NoGraph, Shown, best};
use crate::parts::checks::BuildError;
use crate::parts::descend::ParamGroup;
use crate::parts::statistics::ObsStats;
use crate::parts::torso::Sequences;
use crate::parts::tracked::{Tracked, Trainable};
use crate::policy::{ActContext, ActInput, Actor, Mode};
use crate::policy_gradient::net::{PolicyValueNet, PolicyValueSpec};
use crate::policy_gradient::shared::{explained, without_signal};
use crate::regimes::{ActedRow, Played, RolloutLearner};
use crate::state::{StateError, StateIo};
use axiomrl_core::{Metrics, Rollout, random};
use axiomrl_envs::{ObsRef, Rng, Space};
use axiomrl_nn::{Distribution, OptimizerConfig, Params, RmsPropConfig};
use rand_distr::{Distribution as _, Poisson};

#[cfg(test)]
mod tests;

/// The learner of ACER.
pub struct AcerLearner {
    config: AcerConfig,
    actions: usize,
    family: Distribution,
    /// Logits and Q of all actions over one torso; its average beside it.
    net: Tracked<PolicyValueNet>,
    group: ParamGroup,
    store: RolloutStore,
    widths: Widths,
    /// Updates on stored rollouts that are still to be made after the newest one; none before that.
    left: Option<u64>,
    head: Vec<f32>,
    q: Vec<f32>,
    /// There are no standard deviations.
    none: Params,
}

impl AcerLearner {
    pub fn new(config: AcerConfig, setup: &Setup) -> Result<Self, BuildError> {
        let Space::Discrete { n: actions } = *setup.action_space() else {
            return Err(Problem::new(&[], "ACER chooses among Discrete actions").into());
        };
        let spec = PolicyValueSpec {
            observations: setup.observation_space(),
            vision: config.vision,
            hidden_sizes: &config.hidden_sizes,
            memory: None,
            head_sizes: &[],
            activation: config.activation,
            shared: true,
            aux_head: false,
            outputs: actions,
            value_outputs: actions,
        };
        let mut net = PolicyValueNet::new(&spec, &mut setup.rng("init"))?;
        // As TensorFlow has it: small first steps.
        let rmsprop = RmsPropConfig {
            alpha: 0.99,
            eps: 1e-5,
            eps_inside_sqrt: true,
            initial_square: 1.0,
            ..RmsPropConfig::default()
        };
        let group = ParamGroup::new(&OptimizerConfig::RmsProp(rmsprop), &net.params(), config.max_grad_norm);
        let widths = Widths { obs: setup.spaces.obs().widths, actions, masks: setup.mask_width() };
        Ok(Self {
            actions,
            family: Distribution::Categorical { n: actions },
            net: Tracked::new(net),
            group,
            store: RolloutStore::new(widths, setup.num_envs, config.buffer_capacity / setup.num_envs),
            widths,
            left: None,
            head: Vec::new(),
            q: Vec::new(),
            none: Params::from_vec(1, 0, Vec::new()),
            config,
        })
    }

    /// Logits and Q of every row.
    fn infer(&mut self, obs: ObsRef<'_>) {
        self.net.online.infer(Sequences::single(obs, &[]), &mut [], &mut self.head, Some(&mut self.q));
    }

    /// V of every row: sum f Q.
    fn state_values(&mut self, input: ActInput<'_>, values: &mut [f32]) {
        self.infer(input.obs);
        let rows = self.head.chunks_exact(self.actions).zip(self.q.chunks_exact(self.actions));
        for (row, ((head, q), value)) in rows.zip(values).enumerate() {
            *value = softmax(head, input.mask(row)).iter().zip(q).map(|(f, q)| f * q).sum();
        }
    }

    /// Keeps the rollout that was just played, with what the policy was.
    fn keep(&mut self, rollout: &Rollout) {
        let rows = rollout.filled * rollout.lanes;
        self.infer(rollout.obs.range(0..rows));
        let masks = self.widths.masks;
        let heads = self.head.chunks_exact(self.actions).enumerate();
        let policy: Vec<f32> =
            heads.flat_map(|(row, head)| softmax(head, &rollout.masks[row * masks..(row + 1) * masks])).collect();
        let windows = (0..rollout.lanes).map(|lane| StoredWindow::of(rollout, lane, &policy, self.widths));
        self.store.push(windows.collect());
    }

    /// One update on a window of each environment.
    fn learn(
        &mut self,
        chosen: &[usize],
        statistics: Option<&ObsStats>,
        context: &mut UpdateContext<'_>,
    ) -> Result<(), LearnError> {
        let (config, fraction, number) = (&self.config, context.fraction(), context.number());
        let rate = config.learning_rate.at(fraction) as f32;
        let terms = AcerTerms {
            truncation: config.truncation,
            trust_region: config.trust_region,
            entropy_weight: config.ent_coef.at(fraction) as f32,
        };
        let store = &self.store;
        let windows: Vec<&StoredWindow> =
            chosen.iter().enumerate().map(|(lane, &rollout)| store.window(rollout, lane)).collect();
        let obs = stacked(windows.iter().map(|window| &window.obs), self.widths.obs, statistics);
        let cuts = stacked(windows.iter().map(|window| &window.cut_obs), self.widths.obs, statistics);
        let seen = Sequences::single(obs.as_ref(), &[]);

        // What follows the cuts is worth, and what the average policy would do.
        let (mut head, mut q, mut average) = (Vec::new(), Vec::new(), Vec::new());
        if cuts.rows() > 0 {
            self.net.online.infer(Sequences::single(cuts.as_ref(), &[]), &mut [], &mut head, Some(&mut q));
        }
        let rows = head.chunks_exact(self.actions).zip(q.chunks_exact(self.actions));
        // No mask is kept of an observation that nobody acted on: all of its actions count.
        let cut_values: Vec<f32> =
            rows.map(|(head, q)| softmax(head, &[]).iter().zip(q).map(|(f, q)| f * q).sum()).collect();
        self.net.target.infer(seen, &mut [], &mut average, None);

        let batch = Windows { windows: &windows, actions: self.actions, masks: self.widths.masks, cut_values, average };
        let (mut report, rng) = (AcerReport::default(), &mut *context.rng);
        let state = (seen, &[][..]);
        let norm = self.net.online.descend(&mut self.group, &mut self.none, state, (rate, number), |head, q| {
            let shuffled = config.shuffle_advantages.then_some(rng);
            let (found, gradients) = batch.loss(head, q, (config.gamma, config.q_coef), terms, shuffled);
            report = found;
            (found.loss, gradients, Vec::new())
        })?;
        self.net.soft_update(1.0 - config.average_decay);
        report.log(context.metrics, norm);
        context.metrics.set("learning_rate", f64::from(rate));
        Ok(())
    }
}

/// Probabilities; an empty mask allows all.
fn softmax(logits: &[f32], mask: &[bool]) -> Vec<f32> {
    let allowed = |j: usize| mask.is_empty() || mask[j];
    let largest = (0..logits.len()).filter(|&j| allowed(j)).fold(f32::NEG_INFINITY, |m, j| m.max(logits[j]));
    let weights: Vec<f32> =
        (0..logits.len()).map(|j| if allowed(j) { (logits[j] - largest).exp() } else { 0.0 }).collect();
    let sum: f32 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

/// A window of each environment, one below the other, and what is known of them before their gradient.
struct Windows<'a> {
    windows: &'a [&'a StoredWindow],
    actions: usize,
    masks: usize,
    /// V where a window was cut, in order.
    cut_values: Vec<f32>,
    /// Logits of the average policy.
    average: Vec<f32>,
}

/// What an update came to.
#[derive(Clone, Copy, Debug, Default)]
struct AcerReport {
    loss: f32,
    q_loss: f32,
    truncated: f32,
    correction: f32,
    entropy: f32,
    ratio_max: f32,
    share_truncated: f32,
    projected: f32,
    explained: f32,
}

impl AcerReport {
    fn log(&self, metrics: &mut Metrics, norm: f32) {
        metrics.add("q_loss", self.q_loss);
        metrics.add("policy_loss_truncated", self.truncated);
        metrics.add("policy_loss_correction", self.correction);
        metrics.add("entropy", self.entropy);
        metrics.add("ratio_max", self.ratio_max);
        metrics.add("share_truncated", self.share_truncated);
        metrics.add("trust_region_active", self.projected);
        metrics.add("explained_variance", self.explained);
        metrics.add("grad_norm", norm);
    }
}

impl Windows<'_> {
    /// The loss of all steps where something was done, and its gradients by logits and Q.
    fn loss(
        &self,
        head: &[f32],
        q: &[f32],
        (gamma, q_coef): (f32, f32),
        terms: AcerTerms,
        shuffled: Option<&mut Rng>,
    ) -> (AcerReport, [Vec<f32>; 2]) {
        let n = self.actions;
        let masks: Vec<bool> = self.windows.iter().flat_map(|window| &window.masks).copied().collect();
        let mask = |row: usize| &masks[row * self.masks..(row + 1) * self.masks];
        let now: Vec<f32> = head.chunks_exact(n).enumerate().flat_map(|(row, head)| softmax(head, mask(row))).collect();
        let average: Vec<f32> =
            self.average.chunks_exact(n).enumerate().flat_map(|(row, head)| softmax(head, mask(row))).collect();
        let then: Vec<f32> = self.windows.iter().flat_map(|window| &window.policy).copied().collect();
        let action: Vec<usize> = self.windows.iter().flat_map(|w| &w.action).map(|&action| action as usize).collect();
        let v: Vec<f32> = now
            .chunks_exact(n)
            .zip(q.chunks_exact(n))
            .map(|(f, q)| f.iter().zip(q).map(|(f, q)| f * q).sum())
            .collect();
        let targets = self.targets(&now, &then, &action, q, &v, gamma);

        let played: Vec<usize> = self
            .windows
            .iter()
            .flat_map(|window| &window.ends)
            .enumerate()
            .filter(|(_, end)| **end != End::Idle)
            .map(|(row, _)| row)
            .collect();
        let mut advantages: Vec<f32> = played.iter().map(|&row| targets[row] - v[row]).collect();
        if let Some(rng) = shuffled {
            without_signal(&mut advantages, rng);
        }
        let share = 1.0 / played.len().max(1) as f32;
        let (mut by_head, mut by_q) = (vec![0.0; head.len()], vec![0.0; q.len()]);
        let (mut report, mut u) = (AcerReport::default(), vec![0.0; n]);
        for (&row, &advantage) in played.iter().zip(&advantages) {
            let (at, a) = (row * n..(row + 1) * n, action[row]);
            // critic: q_coef * mean 1/2 (q - Q_a)^2
            let error = q[row * n + a] - targets[row];
            report.q_loss += share * 0.5 * error * error;
            by_q[row * n + a] = q_coef * share * error;
            // policy: within the region, along the probabilities, then along the logits
            let (now, then, average) = (&now[at.clone()], &then[at.clone()], &average[at.clone()]);
            let own = PolicyRow { action: a, now, then, average, q: &q[at.clone()], v: v[row], advantage };
            let found = probability_gradient(own, terms, &mut u);
            by_logits(now, &u, share, &mut by_head[at]);
            report.truncated += share * found.truncated;
            report.correction += share * found.correction;
            report.entropy += share * found.entropy;
            report.ratio_max = report.ratio_max.max(found.ratio);
            report.share_truncated += if found.ratio > terms.truncation { share } else { 0.0 };
            report.projected += if found.projected { share } else { 0.0 };
        }
        let of_actions: Vec<f32> = played.iter().map(|&row| q[row * n + action[row]]).collect();
        let of_targets: Vec<f32> = played.iter().map(|&row| targets[row]).collect();
        report.explained = explained(&of_targets, &of_actions);
        report.loss =
            report.truncated + report.correction + q_coef * report.q_loss - terms.entropy_weight * report.entropy;
        (report, [by_head, by_q])
    }

    /// The Retrace return of every step, window by window.
    fn targets(&self, now: &[f32], then: &[f32], action: &[usize], q: &[f32], v: &[f32], gamma: f32) -> Vec<f32> {
        let (mut targets, mut first, mut cuts) = (Vec::with_capacity(v.len()), 0, self.cut_values.iter());
        for window in self.windows {
            let step = |(t, end): (usize, &End)| {
                let row = first + t;
                let at = row * self.actions + action[row];
                let next = match end {
                    End::GoesOn => None,
                    End::Terminated | End::Idle => Some(0.0),
                    End::Cut => cuts.next().copied(),
                };
                RetraceStep { reward: window.reward[t], next, ratio: ratio(now[at], then[at]), q: q[at], v: v[row] }
            };
            let steps: Vec<RetraceStep> = window.ends.iter().enumerate().map(step).collect();
            targets.extend(retrace(&steps, gamma));
            first += window.len();
        }
        targets
    }
}

impl Actor for AcerLearner {
    fn act(&mut self, input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        let ActContext { mode, rng, .. } = context;
        self.net.online.infer(Sequences::single(input.obs, &[]), &mut [], &mut self.head, None);
        for (row, (head, action)) in self.head.chunks_exact(self.actions).zip(actions.chunks_exact_mut(1)).enumerate() {
            match mode {
                Mode::Best => self.family.mode(head, &[], input.mask(row), action),
                Mode::Sample => self.family.sample(head, &[], input.mask(row), rng, action),
            }
        }
        Ok(())
    }

    fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Answer, NoGraph> {
        let (head, _) = self.net.online.onnx(graph, shown)?;
        Ok(best(graph, &self.family, head, shown.mask))
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.net.online.visit_policy(io)
    }
}

impl RolloutLearner for AcerLearner {
    fn play(&mut self, input: ActInput<'_>, context: ActContext<'_>, row: ActedRow<'_>) -> Result<(), LearnError> {
        self.act(input, context, row.actions)?;
        self.state_values(input, row.values);
        for (at, (head, log_prob)) in self.head.chunks_exact(self.actions).zip(row.log_probs).enumerate() {
            *log_prob = self.family.log_prob(head, &[], input.mask(at), &row.actions[at..=at]);
        }
        Ok(())
    }

    fn values(&mut self, input: ActInput<'_>, _memory: &[f32], values: &mut [f32]) -> Result<(), LearnError> {
        self.state_values(input, values);
        Ok(())
    }

    fn keeps_raw(&self) -> bool {
        true
    }

    fn update(&mut self, played: Played<'_>, context: &mut UpdateContext<'_>) -> Result<bool, LearnError> {
        let lanes = played.rollout.lanes;
        let left = match self.left {
            // The newest windows, then as many updates on stored ones as are drawn.
            None => {
                self.keep(played.rollout);
                self.learn(&vec![self.store.len() - 1; lanes], played.statistics, context)?;
                let enough = self.store.steps() * lanes >= self.config.replay_start.max(1);
                let poisson = Poisson::new(self.config.replay_ratio).ok().filter(|_| enough);
                poisson.map_or(0, |poisson| poisson.sample(context.rng) as u64)
            }
            Some(left) => {
                let count = self.store.len();
                let chosen: Vec<usize> = (0..lanes).map(|_| random::below(context.rng, count)).collect();
                self.learn(&chosen, played.statistics, context)?;
                left - 1
            }
        };
        self.left = (left > 0).then_some(left);
        Ok(left == 0)
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.net.online.visit_value(io)?;
        io.scope("average", |io| {
            self.net.target.visit_policy(io)?;
            self.net.target.visit_value(io)
        })?;
        self.group.visit_state("policy_and_q", io)?;
        io.value("left", &mut self.left)?;
        io.streamed("rollouts", &mut self.store)
    }
}
