//! Fitting an ensemble to a store, a piece at a time.
//!
//! A piece is one gradient step of all members, or one look at the rows held out. What a fit consists of follows from the seed,
//! its number and the store, which does not change while it lasts; so what is saved is how far it has come.

use super::early_stop::{EarlyStop, Patience};
use super::rows::{Bootstrap, RawRows, generator, permutation};
use super::{Dynamics, Prediction};
use crate::agent::LearnError;
use crate::state::{StateError, StateIo};
use axiomrl_core::{Metrics, Ring};
use axiomrl_nn::losses::bounded_gaussian_nll;
use axiomrl_nn::{Pooled, clip_scale, global_norm};
use serde::{Deserialize, Serialize};

/// Weight of the distance between the bounds of the log-variances.
const BOUNDS_WEIGHT: f32 = 0.01;

/// Rows that are predicted at once where there are many.
const BLOCK: usize = 4096;

/// How an ensemble is fitted.
#[derive(Clone, Debug)]
pub struct FitSettings {
    /// Rows per member and gradient step.
    pub batch_size: usize,
    /// The part of the rows that is held out, and the most of them.
    pub holdout: Option<(f32, usize)>,
    pub patience: Patience,
    /// Measures progress from the weights before the fit, instead of taking the first look as it is.
    pub from_warm: bool,
    /// Most gradient steps of the first fit, and of the others.
    pub most: [Option<u64>; 2],
    /// Fewest epochs and gradient steps, for fits without rows held out, which end then.
    pub epochs: u64,
    pub fewest: u64,
    /// Gives each row the change of another, to see what a model is worth.
    pub permute: bool,
}

/// How far a fit has come.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Fits begun.
    number: u64,
    running: bool,
    /// Rows of the store in this fit, or in the last one.
    rows: usize,
    pub(super) steps: u64,
    /// Whether the rows held out are to be looked at before the next step.
    pub(super) look: bool,
}

/// The fit under way, and what is left of the last one.
pub struct Fit {
    seed: u64,
    pub(super) progress: Progress,
    stop: EarlyStop,
    /// Weights of each member when it last made progress.
    pub(super) best: Vec<f32>,
    /// Sum of losses since the last look, and their number.
    loss: [f32; 2],
    /// Made again where a run is taken up.
    data: Option<FitData>,
}

struct FitData {
    inputs: Vec<f32>,
    targets: Vec<f32>,
    held_inputs: Vec<f32>,
    held_targets: Vec<f32>,
    bootstrap: Bootstrap,
}

/// What a fit came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitReport {
    pub steps: u64,
    pub loss: f32,
    pub holdout: Option<f32>,
}

impl Fit {
    pub fn new(members: usize, seed: u64) -> Self {
        let (progress, stop) = (Progress::default(), EarlyStop::new(members));
        Self { seed, progress, stop, best: Vec::new(), loss: [0.0; 2], data: None }
    }

    pub fn visit_state(&mut self, weights: usize, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.value("model_fit", &mut self.progress)?;
        self.stop.visit_state(io)?;
        io.floats("model_fit.loss", &mut self.loss)?;
        if io.loading() {
            self.data = None;
        }
        if self.progress.running {
            self.best.resize(weights, 0.0);
            io.floats("model_fit.best_weights", &mut self.best)?;
        }
        Ok(())
    }
}

impl Dynamics {
    /// Begins a fit to all rows of the store. `Err` where there are too few to hold some out.
    pub fn begin_fit(&mut self, store: &Ring, metrics: &mut Metrics) -> Result<(), LearnError> {
        let rows = store.len();
        self.check_rows(rows)?;
        if rows < 50 {
            metrics
                .note(format!("the model is fitted to {rows} rows; raise learning_starts to have it begin with more"));
        }
        let before = self.fit.progress.rows;
        if self.fit.progress.number > 0 && store.spec().lanes == 1 && rows > before {
            self.report_unseen(store, before..rows, metrics)?;
        }
        self.fit.progress =
            Progress { number: self.fit.progress.number + 1, running: true, rows, steps: 0, look: false };
        self.fit.data = None;
        self.fit.loss = [0.0; 2];
        let raw = self.raw_rows(store)?;
        let (held, learned) = self.split();
        let (inputs, outputs) = (self.net.spec.inputs, self.outputs());
        let of = |rows: &[u32], from: &[f32], width: usize| -> Vec<f32> { gathered(rows, from, width) };
        let (x, y) = (of(&learned, &raw.inputs, inputs), of(&learned, &raw.targets, outputs));
        // Of the rows that are learned from, and of no others.
        self.scaler = super::Scaler::of(&x, &y, (inputs, outputs), self.settings.standardize_targets);
        self.fit.data = Some(self.data(raw, &held, &learned));
        self.fit.best.clear();
        self.fit.best.extend_from_slice(self.net.params.as_slice());
        self.fit.stop = EarlyStop::new(self.members());
        if self.settings.fit.from_warm && self.settings.fit.holdout.is_some() {
            self.fit.stop = EarlyStop::from_scores(&self.scores());
        }
        Ok(())
    }

    fn check_rows(&self, rows: usize) -> Result<(), LearnError> {
        let Some((ratio, _)) = self.settings.fit.holdout else { return Ok(()) };
        if (f64::from(ratio) * rows as f64 + 1e-9) as usize >= 1 {
            return Ok(());
        }
        let problem = format!(
            "the dynamics model has {rows} rows, of which a `holdout_ratio` of {ratio} holds out none; raise \
             `learning_starts` or `holdout_ratio`"
        );
        Err(LearnError::Other(problem.into()))
    }

    /// The next piece of the fit; what it came to when that was the last. `update` names the piece, should a number stop being one.
    pub fn fit_piece(&mut self, store: &Ring, rate: f32, update: u64) -> Result<Option<FitReport>, LearnError> {
        if self.fit.data.is_none() {
            let raw = self.raw_rows(store)?;
            let (held, learned) = self.split();
            self.fit.data = Some(self.data(raw, &held, &learned));
        }
        if self.fit.progress.look {
            return Ok(self.look());
        }
        let (epoch, ends_epoch) = self.step(rate, update)?;
        let (steps, settings) = (self.fit.progress.steps, &self.settings.fit);
        let most = settings.most[usize::from(self.fit.progress.number > 1)];
        if settings.holdout.is_none() {
            let enough = ends_epoch && epoch + 1 >= settings.epochs && steps >= settings.fewest;
            return Ok((enough || most == Some(steps)).then(|| self.finish()));
        }
        self.fit.progress.look = match settings.patience {
            Patience::Epochs(_) => ends_epoch,
            Patience::Steps { interval, .. } => steps.is_multiple_of(interval),
        } || most == Some(steps);
        Ok(None)
    }

    /// One gradient step of all members. Gives the epoch that it belongs to, and whether it is the last of it.
    fn step(&mut self, rate: f32, update: u64) -> Result<(u64, bool), LearnError> {
        let members = self.members();
        let (inputs, outputs, size) = (self.net.spec.inputs, self.outputs(), self.settings.fit.batch_size);
        let Some(data) = &mut self.fit.data else { unreachable!("a fit has its rows") };
        let rows = data.targets.len() / outputs;
        let batches = rows.div_ceil(size) as u64;
        let (epoch, batch) = (self.fit.progress.steps / batches, (self.fit.progress.steps % batches) as usize);
        let chosen = batch * size..rows.min((batch + 1) * size);
        let count = chosen.len();
        let (mut x, mut y) = (Vec::with_capacity(members * count * inputs), Vec::new());
        for list in data.bootstrap.in_epoch(epoch) {
            for &row in &list[chosen.clone()] {
                let row = row as usize;
                x.extend_from_slice(&data.inputs[row * inputs..(row + 1) * inputs]);
                y.extend_from_slice(&data.targets[row * outputs..(row + 1) * outputs]);
            }
        }
        // sum over members of mean [(mu - y)^2 e^-lv + lv], decay of weights, .01 * sum (max - min)
        let (loss, gradients) = self.gradients(&x, &y, count);
        let flat = slices_of(&gradients);
        let whose = "the dynamics model";
        let params: &mut [&mut _] = if self.settings.learned_bounds {
            &mut [&mut self.net.params, &mut self.bounds]
        } else {
            &mut [&mut self.net.params]
        };
        crate::agent::finite(&format!("the loss of {whose}"), loss, update)?;
        let norm = self.optimizers.step(params, &flat[..params.len()], rate);
        crate::agent::finite(&format!("the gradient of {whose}"), norm, update)?;
        self.fit.progress.steps += 1;
        self.fit.loss = [self.fit.loss[0] + loss, self.fit.loss[1] + 1.0];
        Ok((epoch, batch as u64 + 1 == batches))
    }

    /// The likelihood part of the loss, and the gradients of the whole: by weights, clipped member by member, and by bounds.
    pub(super) fn gradients(&self, x: &[f32], y: &[f32], rows: usize) -> (f32, [Pooled; 2]) {
        let d = self.outputs();
        let (max, min) = self.bounds.as_slice().split_at(d);
        let pass = self.net.pass(x, rows, None);
        let (mut by_outputs, mut by_bounds) = (Pooled::new(pass.outputs().len()), Pooled::new(2 * d));
        by_bounds.fill(0.0);
        let (by_max, by_min) = by_bounds.split_at_mut(d);
        let share = 1.0 / (rows * d) as f32;
        let loss = bounded_gaussian_nll(pass.outputs(), y, max, min, share, &mut by_outputs, by_max, by_min);
        by_max.iter_mut().for_each(|by| *by += BOUNDS_WEIGHT);
        by_min.iter_mut().for_each(|by| *by -= BOUNDS_WEIGHT);
        let mut by_weights = pass.params_gradient(&by_outputs);
        self.add_decay(&mut by_weights);
        if let Some(most) = self.settings.max_grad_norm {
            for member in by_weights.chunks_exact_mut(self.net.params.per_member()).chain([&mut by_bounds[..]]) {
                let scale = clip_scale(global_norm(&[member]), most);
                if scale != 1.0 {
                    member.iter_mut().for_each(|by| *by *= scale);
                }
            }
        }
        (loss, [by_weights, by_bounds])
    }

    /// The derivative of ½·decay·weight², which biases do not have.
    fn add_decay(&self, gradient: &mut [f32]) {
        let layout = self.net.spec.layout();
        let weights: Vec<_> = layout.iter().filter(|tensor| tensor.name.ends_with(".weight")).collect();
        let per_member = self.net.params.per_member();
        let members = gradient.chunks_exact_mut(per_member).zip(self.net.params.as_slice().chunks_exact(per_member));
        for (gradient, values) in members {
            for (layer, tensor) in weights.iter().enumerate() {
                let decay = self.decay(layer, weights.len());
                let range = tensor.offset..tensor.offset + tensor.shape.iter().product::<usize>();
                gradient[range.clone()].iter_mut().zip(&values[range]).for_each(|(by, w)| *by += decay * w);
            }
        }
    }

    /// The decay of a layer: of the first, the second, any other hidden one, the output.
    fn decay(&self, layer: usize, layers: usize) -> f32 {
        let kinds = &self.settings.weight_decay;
        let kind = if layer + 1 == layers { 3 } else { layer.min(2) };
        kinds.get(kind).copied().unwrap_or(0.0)
    }

    /// Looks at the rows held out: who made progress is remembered, and when nobody does for long the fit ends.
    fn look(&mut self) -> Option<FitReport> {
        self.fit.progress.look = false;
        let scores = self.scores();
        let per_member = self.net.params.per_member();
        for (member, _) in self.fit.stop.look(&scores).iter().enumerate().filter(|(_, progress)| **progress) {
            let own = member * per_member..(member + 1) * per_member;
            self.fit.best[own.clone()].copy_from_slice(&self.net.params.as_slice()[own]);
        }
        let settings = &self.settings.fit;
        let most = settings.most[usize::from(self.fit.progress.number > 1)];
        let over = self.fit.stop.is_over(settings.patience) || most.is_some_and(|most| self.fit.progress.steps >= most);
        if over {
            return Some(self.finish());
        }
        self.fit.loss = [0.0; 2];
        None
    }

    /// Brings back what was best of every member, and chooses among them. Bounds and moments stay as they are.
    fn finish(&mut self) -> FitReport {
        let [sum, count] = self.fit.loss;
        let loss = sum / count.max(1.0) / self.members() as f32;
        let mut holdout = None;
        if self.settings.fit.holdout.is_some() {
            self.net.params.make_mut().copy_from_slice(&self.fit.best);
            let scores = self.scores();
            let mut order: Vec<usize> = (0..self.members()).collect();
            // Stable: of equals, the first.
            order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
            order.truncate(self.settings.elites);
            holdout = Some(order.iter().map(|&elite| scores[elite]).sum::<f32>() / order.len().max(1) as f32);
            self.elites = order;
        }
        self.fit.progress.running = false;
        self.fit.best = Vec::new();
        self.fit.data = None;
        FitReport { steps: self.fit.progress.steps, loss, holdout }
    }

    /// Each member's mean squared error on the rows held out, over all outputs, in the units that networks work in.
    fn scores(&self) -> Vec<f32> {
        let Some(data) = &self.fit.data else { return Vec::new() };
        let (inputs, d) = (self.net.spec.inputs, self.outputs());
        let (mut sums, mut out) = (vec![0.0f64; self.members()], Vec::new());
        for (x, y) in data.held_inputs.chunks(BLOCK * inputs).zip(data.held_targets.chunks(BLOCK * d)) {
            let rows = y.len() / d;
            self.net.infer(x, rows, &mut out);
            for (sum, out) in sums.iter_mut().zip(out.chunks_exact(rows * 2 * d)) {
                for (out, y) in out.chunks_exact(2 * d).zip(y.chunks_exact(d)) {
                    *sum += out.iter().zip(y).map(|(mean, y)| f64::from(mean - y).powi(2)).sum::<f64>();
                }
            }
        }
        sums.into_iter().map(|sum| (sum / data.held_targets.len().max(1) as f64) as f32).collect()
    }

    /// How well rows that no fit has seen are predicted: error by variance, and squared error by predicted variance.
    fn report_unseen(
        &self,
        store: &Ring,
        rows: std::ops::Range<usize>,
        metrics: &mut Metrics,
    ) -> Result<(), LearnError> {
        let raw = RawRows::of(store, &rows.collect::<Vec<_>>(), self.settings.with_reward)?;
        let d = self.outputs();
        let (mut x, mut said) = (raw.inputs, Prediction::default());
        self.scaler.scale_inputs(&mut x);
        let (mut error, mut calibration, mut count) = (0.0, 0.0, 0.0);
        for &elite in &self.elites {
            said.mean.clear();
            said.std.clear();
            self.predict_with(elite, &x, raw.targets.len() / d, &mut said);
            for (i, ((mean, std), y)) in said.mean.iter().zip(&said.std).zip(&raw.targets).enumerate() {
                let squared = f64::from(mean - y).powi(2);
                error += squared / f64::from(self.scaler.variance(i % d));
                calibration += squared / f64::from(*std).powi(2);
                count += 1.0;
            }
        }
        metrics.set("model_unseen_error", error / count);
        metrics.set("model_calibration", calibration / count);
        Ok(())
    }

    /// The highest and lowest log-variances there can be, each the mean over outputs.
    pub fn log_var_range(&self) -> [f32; 2] {
        let d = self.outputs();
        let (max, min) = self.bounds.as_slice().split_at(d);
        [max, min].map(|bounds| bounds.iter().sum::<f32>() / d as f32)
    }

    fn raw_rows(&self, store: &Ring) -> Result<RawRows, LearnError> {
        let picks: Vec<usize> = (0..self.fit.progress.rows).collect();
        let mut raw = RawRows::of(store, &picks, self.settings.with_reward)?;
        if self.settings.fit.permute {
            let mut rng = generator(self.fit.seed, self.fit.progress.number, "permute");
            raw.permute_changes(self.outputs(), self.obs_width, &mut rng);
        }
        Ok(raw)
    }

    /// The rows held out, and those learned from.
    pub(super) fn split(&self) -> (Vec<u32>, Vec<u32>) {
        let rows = self.fit.progress.rows;
        let mut rng = generator(self.fit.seed, self.fit.progress.number, "split");
        let mut held = permutation(rows, &mut rng);
        let (ratio, most) = self.settings.fit.holdout.unwrap_or((0.0, 0));
        let learned = held.split_off(((f64::from(ratio) * rows as f64 + 1e-9) as usize).min(most));
        (held, learned)
    }

    fn data(&self, raw: RawRows, held: &[u32], learned: &[u32]) -> FitData {
        let (inputs, outputs) = (self.net.spec.inputs, self.outputs());
        let scaled = |rows: &[u32]| {
            let mut x = gathered(rows, &raw.inputs, inputs);
            let mut y = gathered(rows, &raw.targets, outputs);
            self.scaler.scale_inputs(&mut x);
            self.scaler.scale_targets(&mut y);
            (x, y)
        };
        let ((inputs, targets), (held_inputs, held_targets)) = (scaled(learned), scaled(held));
        let bootstrap = Bootstrap::new(self.fit.seed, self.fit.progress.number, self.members(), learned.len());
        FitData { inputs, targets, held_inputs, held_targets, bootstrap }
    }
}

fn slices_of(gradients: &[Pooled; 2]) -> [&[f32]; 2] {
    [&gradients[0], &gradients[1]]
}

fn gathered(rows: &[u32], from: &[f32], width: usize) -> Vec<f32> {
    rows.iter().flat_map(|&row| &from[row as usize * width..(row as usize + 1) * width]).copied().collect()
}
