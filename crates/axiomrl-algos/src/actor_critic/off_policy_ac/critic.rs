//! The critics: one ensemble network over a trunk, its slow copy, and its update.

mod judge;
#[cfg(test)]
mod testing;

use super::choices::TargetReducer;
use super::conservative::{Conservative, Proposals};
use super::diversity::Diversity;
use super::head::{RowFit, ValueHead};
use super::settings::AcConfig;
use super::target::{NextOutputs, TargetMaker};
use super::window::Window;
use crate::agent::Diverged;
use crate::parts::columns::join_columns;
use crate::parts::descend::{Loss, ParamGroup};
use crate::parts::input::ObsEncoder;
use crate::parts::renorm::Net;
use crate::parts::tracked::{Trainable, soft_update};
use crate::parts::trunk::{Span, Trunk};
use crate::state::{StateError, StateIo};
use axiomrl_envs::{ObsRef, Rng};
use axiomrl_nn::{Mlp, MlpSpec, Tensor, fused_loss, leaf, values};
use std::borrow::Cow;

/// One view of the observations ahead, with the actions that follow the entries.
pub struct Ahead<'a> {
    /// As the targets look: with the slow encoder, where there is one.
    pub seen: Cow<'a, [f32]>,
    /// One for each entry, or as many as targets choose from.
    pub action: Vec<f32>,
    /// -alpha * log pi(a'|s'), and what else is added to the value of each action.
    pub bonus: Vec<f32>,
}

/// What the critics learn from: observations, some views of them one after the other, and what was done in them.
pub struct Predicted<'a> {
    pub obs: ObsRef<'a>,
    pub views: usize,
    pub window: Window<'a>,
    /// The memory before the first of these observations.
    pub state: &'a [f32],
    /// Rewards as they are learned.
    pub reward: &'a [f32],
    /// Other actions, where the critics are held to value recorded ones.
    pub proposals: Option<&'a Proposals>,
}

/// What an update of the critics reports.
#[derive(Clone, Debug, Default)]
pub struct CriticStep {
    pub loss: f32,
    pub value_mean: f32,
    pub value_max: f32,
    pub target_mean: f32,
    pub edge_mass: f32,
    pub grad_norm: f32,
    /// Mean size of the errors.
    pub error: f32,
    /// By how much other actions are valued above recorded ones, and what that weighs.
    pub gap: Option<(f32, f32)>,
    /// How much the critics' slopes agree.
    pub agreement: Option<f32>,
    /// What the encoder saw in the first view.
    pub seen: Vec<f32>,
}

pub struct Critic {
    head: ValueHead,
    members: usize,
    dropout: bool,
    pub trunk: Trunk,
    net: Net,
    /// The slow copy; with batch renormalisation targets come from the network itself, in the same batch as the predictions.
    target: Option<(Trunk, Mlp)>,
    group: ParamGroup,
    targets: TargetMaker,
    loss_coef: f32,
    conservative: Option<Conservative>,
    diversity: Option<Diversity>,
    /// Whether what the critics make of the policy's actions is compared with what they make of recorded ones.
    pub compares: bool,
    pessimistic: bool,
    joint: Vec<f32>,
    out: Vec<f32>,
}

impl Critic {
    /// Over what `encoder` sees, compressed to `features`; it is trained with the critics.
    pub fn new(
        config: &AcConfig,
        encoder: &mut ObsEncoder,
        features: Option<usize>,
        actions: usize,
        rng: &mut Rng,
    ) -> Self {
        let head = ValueHead::new(config);
        let hidden = config.critic_hidden_sizes.as_ref().unwrap_or(&config.hidden_sizes);
        let init = config.critic_init(features.is_some());
        let mut trunk = Trunk::new(encoder.width(), features, config.memory_spec(hidden).as_ref(), &init, rng);
        let inputs = trunk.width() + actions;
        let mut spec = MlpSpec::new(inputs, config.layers(hidden), head.outputs(), config.activation);
        spec.layer_norm = config.critic_layer_norm;
        spec.layer_norm_after = config.layer_norm_after;
        spec.dropout = config.critic_dropout;
        let warmup = config.batch_renorm.then_some(config.batch_renorm_warmup);
        let mut net = Net::new(spec, config.n_critics, warmup, &init, rng);
        let learned: Vec<_> = encoder.params().into_iter().chain(trunk.params()).chain(net.params()).collect();
        let group = ParamGroup::new(&config.adam(), &learned, config.max_grad_norm.unwrap_or(f32::INFINITY));
        Self {
            head,
            members: config.n_critics,
            dropout: config.critic_dropout > 0.0,
            target: (!config.batch_renorm).then(|| (trunk.clone(), net.evaluation().clone())),
            trunk,
            net,
            group,
            targets: TargetMaker::new(config),
            loss_coef: config.critic_loss_coef,
            conservative: Conservative::new(config),
            diversity: Diversity::new(config, actions),
            compares: false,
            pessimistic: matches!(config.target_reducer, TargetReducer::Min | TargetReducer::SubsetMin),
            joint: Vec::new(),
            out: Vec::new(),
        }
    }

    /// A seed for dropout masks, if there is dropout.
    pub fn dropout_seed(&self, rng: &mut Rng) -> Option<u64> {
        self.dropout.then(|| rand::Rng::next_u64(rng))
    }

    /// Whether targets are made of the same batch as the predictions.
    pub fn in_one_batch(&self) -> bool {
        self.target.is_none()
    }

    /// y = R + D * (reduced next value + bonus), by the slow copy. `memory` is where the critics' own begins in a row of it.
    pub fn compute_targets(
        &mut self,
        ahead: &[Ahead<'_>],
        window: &Window<'_>,
        memory: usize,
        reward: &[f32],
        rng: &mut Rng,
    ) {
        self.targets.choose(rng);
        let Some((trunk, net)) = &self.target else { return };
        let entries = window.entries();
        let seed = self.dropout.then(|| rand::Rng::next_u64(rng));
        let outputs = ahead.iter().map(|view| {
            let samples = view.bonus.len() / entries;
            let mut state = window.memory(memory, trunk.state_width());
            let features = window.following(trunk.infer(&view.seen, window.ahead().1, &mut state));
            join_repeated(&features, &view.action, entries, samples, &mut self.joint);
            let mut out = Vec::new();
            match seed {
                Some(seed) => net.infer_dropout(&self.joint, entries * samples, seed, &mut out),
                None => net.infer(&self.joint, entries * samples, &mut out),
            }
            if samples == 1 {
                return (out, Cow::Borrowed(&view.bonus[..]));
            }
            let all = NextOutputs { out: &out, rows_each: entries * samples, first: 0, bonus: &view.bonus };
            let (out, bonus) = self.targets.best_of(all, samples);
            (out, Cow::Owned(bonus))
        });
        let outputs: Vec<(Vec<f32>, Cow<'_, [f32]>)> = outputs.collect();
        let views = outputs.iter().map(|(out, bonus)| NextOutputs { out, rows_each: entries, first: 0, bonus });
        let views: Vec<NextOutputs<'_>> = views.collect();
        self.targets.fill(&views, reward, window.column(&window.batch.discount));
    }

    /// One step down sum_i mean (Q_i(s, a) - y)^2 / 2, on critics, trunk and encoder. `errors` gets one number per row.
    pub fn step(
        &mut self,
        encoder: &mut ObsEncoder,
        predicted: &Predicted<'_>,
        ahead: &[Ahead<'_>],
        rate: f32,
        number: u64,
        rng: &mut Rng,
        errors: &mut Vec<f32>,
    ) -> Result<CriticStep, Diverged> {
        let Predicted { obs, views, window, .. } = *predicted;
        let entries = window.entries();
        let seed = self.dropout_seed(rng);
        let now = window.now().1;
        let (span, mut action) = (Span { rows: now.rows * views, ..now }, Vec::new());
        let done = window.action();
        (0..views).for_each(|_| action.extend_from_slice(done));
        let in_one_batch = self.in_one_batch();
        let span = if in_one_batch {
            // Both halves in one batch, so that they share their statistics.
            action.extend_from_slice(&ahead[0].action);
            Span::single(2 * entries)
        } else {
            span
        };
        let rows = span.total();
        if !encoder.sees_images() && self.trunk.is_empty() && !in_one_batch {
            let seen = encoder.infer(obs);
            join_columns(&seen, &action, rows, &mut self.joint);
            let mut step = self.step_alone(predicted, &seen, rows, seed, rate, number, errors)?;
            step.seen = seen[..entries * encoder.width()].to_vec();
            return Ok(step);
        }
        let (seen, mut tracked) = encoder.forward(obs);
        let first_view = values(&seen)[..entries * encoder.width()].to_vec();
        let (features, own) = self.trunk.forward(seen, span, predicted.state);
        tracked.extend(own);
        let joint = Tensor::cat(vec![features, leaf(&action, [rows, action.len() / rows])], 1);
        let (out, own) = self.net.forward(joint, seed);
        tracked.push(own);
        if in_one_batch {
            let next = NextOutputs { out: &values(&out), rows_each: rows, first: entries, bonus: &ahead[0].bonus };
            self.targets.fill(&[next], predicted.reward, window.column(&window.batch.discount));
        }
        let mut step = CriticStep::default();
        let node = fused_loss([out], |[out]| {
            let (found, gradient) = self.loss(out, rows, views, &window, errors);
            step = found;
            (step.loss, [gradient])
        });
        let mut params: Vec<_> =
            encoder.params().into_iter().chain(self.trunk.params()).chain(self.net.params()).collect();
        let loss = Loss { node, value: step.loss, tracked };
        step.grad_norm = self.group.descend("the critics", loss, &mut params, rate, number)?;
        self.net.changed();
        step.seen = first_view;
        Ok(step)
    }

    /// The step where nothing but the critics learns, on the `rows` in `joint`: no graph is needed.
    fn step_alone(
        &mut self,
        predicted: &Predicted<'_>,
        seen: &[f32],
        rows: usize,
        seed: Option<u64>,
        rate: f32,
        number: u64,
        errors: &mut Vec<f32>,
    ) -> Result<CriticStep, Diverged> {
        let window = predicted.window;
        let others = self.conservative.as_ref().zip(predicted.proposals);
        let rows = rows + others.map_or(0, |(_, proposals)| proposals.append_to(seen, &mut self.joint));
        if self.diversity.is_some() {
            // An input of its own for each member: then each has slopes of its own.
            self.joint = self.joint.repeat(self.members);
        }
        let pass = self.net.evaluation().pass(&self.joint, rows, seed);
        let (mut step, mut by_outputs) = self.loss(pass.outputs(), rows, predicted.views, &window, errors);
        // + weight * (T * logsumexp_a (Q_i(s, a) - log density) / T - Q_i(s, recorded))
        let gaps = others.map(|(conservative, proposals)| {
            let gaps = conservative.add(pass.outputs(), rows, proposals, window.counted, &mut by_outputs);
            step.loss += conservative.loss(&gaps);
            step.gap = Some((gaps.iter().sum::<f32>() / gaps.len() as f32, conservative.weight()));
            gaps
        });
        let mut gradient = [pass.params_gradient(&by_outputs)];
        // + coef * sum_{i != j} cos(dQ_i/da, dQ_j/da) / (N - 1)
        if let Some(diversity) = &self.diversity {
            let (agreement, loss) = diversity.add(&pass, window.counted, &mut gradient[0]);
            step.loss += loss;
            step.agreement = Some(agreement);
        }
        drop(pass);
        let (group, params) = (&mut self.group, &mut self.net.params());
        step.grad_norm = group.descend_along("the critics", step.loss, &gradient, params, rate, number, |_| vec![])?;
        if let (Some(conservative), Some(gaps)) = (&mut self.conservative, gaps) {
            conservative.adapt(&gaps, rate);
        }
        Ok(step)
    }

    /// Compares the entries of every view, the first of each member's `rows_each` output rows, with the targets.
    fn loss(
        &self,
        out: &[f32],
        rows_each: usize,
        views: usize,
        window: &Window<'_>,
        errors: &mut Vec<f32>,
    ) -> (CriticStep, Vec<f32>) {
        let (entries, rows) = (window.entries(), window.batch.rows);
        let (outputs, width) = (self.head.outputs(), self.targets.width());
        let mut step = CriticStep { value_max: f32::MIN, target_mean: self.targets.mean(), ..CriticStep::default() };
        let all = window.counted.count * views;
        let each = 1.0 / (self.members * all) as f32;
        let of_row = |row: usize| (row..entries).step_by(rows).filter(|&at| window.counted.valid[at]).count();
        let parts: Vec<f32> = (0..rows).map(|row| (self.members * views * of_row(row).max(1)) as f32).collect();
        errors.clear();
        errors.resize(rows, 0.0);
        let mut gradient = vec![0.0; out.len()];
        for member in 0..self.members {
            for shown in (0..entries * views).filter(|shown| window.counted.valid[shown % entries]) {
                let (entry, at) = (shown % entries, (member * rows_each + shown) * outputs);
                let row = window.row(entry);
                let weight = self.loss_coef * (window.batch.weight[row] / all as f32);
                let target = &self.targets.targets[entry * width..(entry + 1) * width];
                let place = &mut gradient[at..at + outputs];
                let RowFit { loss, error, mean, edge } = self.head.fit(&out[at..at + outputs], target, weight, place);
                step.loss += weight * loss;
                step.value_mean += each * mean;
                step.value_max = step.value_max.max(mean);
                step.edge_mass += each * edge;
                step.error += each * error;
                errors[row] += error / parts[row];
            }
        }
        (step, gradient)
    }

    /// Moves the slow copy; the trunk at the pace of the encoder's copy, whose last layer it is, where there is one.
    pub fn soft_update(&mut self, tau: f32, encoder_tau: Option<f32>) {
        if let Some((trunk, net)) = &mut self.target {
            soft_update(trunk, &mut self.trunk, encoder_tau.unwrap_or(tau));
            net.params.polyak_from(&self.net.evaluation().params, tau);
        }
    }

    /// The slow copy of the trunk, where there is one.
    pub fn target_trunk(&self) -> &Trunk {
        self.target.as_ref().map_or(&self.trunk, |(trunk, _)| trunk)
    }

    #[cfg(test)]
    pub fn targets(&self) -> &[f32] {
        &self.targets.targets
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.trunk.visit_state("critic", io)?;
        let bare = self.trunk.is_empty();
        self.net.visit_state(if bare { "critic" } else { "critic.heads" }, io)?;
        if let Some((trunk, net)) = &mut self.target {
            trunk.visit_state("critic_target", io)?;
            io.network(if bare { "critic_target" } else { "critic_target.heads" }, net)?;
        }
        if let Some(conservative) = &mut self.conservative {
            conservative.visit_state(io)?;
        }
        self.group.visit_state("critic", io)
    }
}

/// Rows of features, each `times` times, beside as many actions.
fn join_repeated(features: &[f32], action: &[f32], rows: usize, times: usize, joint: &mut Vec<f32>) {
    if times == 1 {
        return join_columns(features, action, rows, joint);
    }
    let (width, each) = (features.len() / rows, action.len() / (rows * times));
    joint.clear();
    for (row, action) in action.chunks_exact(each).enumerate() {
        joint.extend_from_slice(&features[row / times * width..(row / times + 1) * width]);
        joint.extend_from_slice(action);
    }
}
