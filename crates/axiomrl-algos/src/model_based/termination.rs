//! Where imagined episodes end: by the environment's own rules, or by what was learned of its ends.

use super::dynamics::{generator, moments};
use crate::agent::{LearnError, Setup};
use crate::parts::descend::ParamGroup;
use crate::parts::tracked::Trainable;
use crate::state::{StateError, StateIo};
use axiomrl_core::random::below;
use axiomrl_core::{Batch, Ring};
use axiomrl_envs::{ActionMap, ObsRef, Rng, Rows, TaskRules};
use axiomrl_nn::{Activation, AdamConfig, Init, Mlp, MlpSpec, OptimizerConfig, math};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Ends that must have been seen before any is predicted.
const ENOUGH: usize = 5;
/// Largest weight of an end in the loss: there are far fewer than of other steps.
const MOST_WEIGHT: f32 = 20.0;
/// Gradient steps of each fit, the rows of one, and its size.
const STEPS: u64 = 200;
const BATCH: usize = 256;
const RATE: f32 = 1e-3;
const HIDDEN: [usize; 2] = [64, 64];

/// Who says where imagined episodes end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Termination {
    /// The environment's own rules where it has them, and otherwise what was learned.
    Auto,
    /// What was learned of the ends that were seen.
    Learned,
    /// Nobody: the world never ends.
    Never,
}

/// An imagined step, row by row, with raw observations and actions in [−1, 1].
#[derive(Clone, Copy)]
pub struct Imagined<'a> {
    pub obs: &'a [f32],
    pub action: &'a [f32],
    pub next_obs: &'a [f32],
}

/// What is known of a task beyond what its model says.
pub struct Ends {
    rules: Option<Arc<dyn TaskRules>>,
    map: Option<ActionMap>,
    head: Option<EndHead>,
    never: bool,
    width: usize,
}

impl Ends {
    pub fn new(kind: Termination, setup: &Setup, rng: &mut Rng) -> Self {
        let width = setup.spaces.obs().widths.floats;
        let rules = setup.rules.clone();
        let learned = kind == Termination::Learned || (kind == Termination::Auto && rules.is_none());
        Self {
            map: ActionMap::of(setup.action_space()).ok(),
            head: learned.then(|| EndHead::new(width, setup.action_width(), setup.seed, rng)),
            never: kind == Termination::Never,
            rules,
            width,
        }
    }

    /// Takes rules where there were none when it was made.
    pub fn know(&mut self, rules: Option<Arc<dyn TaskRules>>) {
        if self.rules.is_none() {
            self.rules = rules;
        }
    }

    pub fn rules(&self) -> Option<&Arc<dyn TaskRules>> {
        self.rules.as_ref()
    }

    /// Whether there is anything to fit.
    pub fn learns(&self) -> bool {
        self.head.is_some()
    }

    /// Brings guessed observations back to possible ones, where the task's rules know how.
    pub fn project(&self, obs: &mut [f32]) {
        if let Some(rules) = &self.rules {
            rules.project(obs);
        }
    }

    /// Whether each step ends its episode, and what it is worth where that is asked for, which only rules know.
    pub fn judge(
        &self,
        step: Imagined<'_>,
        reward: Option<&mut [f32]>,
        terminated: &mut [bool],
    ) -> Result<(), LearnError> {
        let rows = terminated.len();
        terminated.fill(false);
        if let (Some(rules), Some(map)) = (&self.rules, &self.map)
            && (reward.is_some() || !(self.never || self.head.is_some()))
        {
            let mut action = vec![0.0; step.action.len()];
            map.to_env(step.action, &mut action);
            let obs = ObsRef::of_floats(rows, step.obs);
            let next_obs = ObsRef::of_floats(rows, step.next_obs);
            rules.apply(Rows { obs, action: &action, next_obs }, reward, terminated)?;
        }
        if self.never || self.head.is_some() {
            terminated.fill(false);
        }
        if let Some(head) = &self.head {
            head.judge(step, self.width, terminated);
        }
        Ok(())
    }

    /// Begins to fit what is learned to a store.
    pub fn begin_fit(&mut self) {
        if let Some(head) = &mut self.head {
            head.left = STEPS;
            head.fit += 1;
            head.data = None;
        }
    }

    pub fn is_fitting(&self) -> bool {
        self.head.as_ref().is_some_and(|head| head.left > 0)
    }

    /// One step of an optimiser. Gives the loss.
    pub fn fit_piece(&mut self, store: &Ring, update: u64) -> Result<f32, LearnError> {
        match &mut self.head {
            Some(head) => head.fit_piece(store, update),
            None => Ok(0.0),
        }
    }

    /// What judging needs. Whether ends are learned is known when rules are: whoever only loads it may have none.
    pub fn visit_judgement(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        let mut learned = self.head.is_some();
        io.value("ends.learned", &mut learned)?;
        if !learned {
            self.head = None;
        }
        match &mut self.head {
            Some(head) => head.visit_judgement(io),
            None => Ok(()),
        }
    }

    /// What learning on needs besides.
    pub fn visit_learning(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        match &mut self.head {
            Some(head) => head.visit_learning(io),
            None => Ok(()),
        }
    }
}

/// A logistic function of both observations and the action.
struct EndHead {
    net: Mlp,
    optimizer: ParamGroup,
    seed: u64,
    fit: u64,
    /// Gradient steps left of the fit under way.
    left: u64,
    /// Ends seen in the newest fit.
    ends: usize,
    /// Mean and deviation of the inputs.
    mean: Vec<f32>,
    std: Vec<f32>,
    data: Option<(Vec<f32>, Vec<bool>)>,
}

impl EndHead {
    fn new(width: usize, actions: usize, seed: u64, rng: &mut Rng) -> Self {
        let inputs = 2 * width + actions;
        let spec = MlpSpec::new(inputs, &HIDDEN, 1, Activation::Relu);
        let mut net = Mlp::new(spec, 1, &Init::pytorch(), rng);
        let optimizer = ParamGroup::new(&OptimizerConfig::Adam(AdamConfig::default()), &net.params(), f32::INFINITY);
        let (mean, std) = (vec![0.0; inputs], vec![1.0; inputs]);
        Self { net, optimizer, seed, fit: 0, left: 0, ends: 0, mean, std, data: None }
    }

    fn judge(&self, step: Imagined<'_>, width: usize, terminated: &mut [bool]) {
        if self.ends < ENOUGH {
            return;
        }
        let (rows, actions) = (terminated.len(), self.net.spec.inputs - 2 * width);
        let mut x = Vec::with_capacity(rows * self.net.spec.inputs);
        for row in 0..rows {
            x.extend_from_slice(&step.obs[row * width..(row + 1) * width]);
            x.extend_from_slice(&step.action[row * actions..(row + 1) * actions]);
            x.extend_from_slice(&step.next_obs[row * width..(row + 1) * width]);
        }
        self.scale(&mut x);
        let mut logits = Vec::new();
        self.net.infer(&x, rows, &mut logits);
        terminated.iter_mut().zip(logits).for_each(|(ends, logit)| *ends = logit > 0.0);
    }

    fn scale(&self, rows: &mut [f32]) {
        for row in rows.chunks_exact_mut(self.mean.len()) {
            for ((x, mean), std) in row.iter_mut().zip(&self.mean).zip(&self.std) {
                *x = (*x - mean) / std;
            }
        }
    }

    fn fit_piece(&mut self, store: &Ring, update: u64) -> Result<f32, LearnError> {
        let fresh = self.left == STEPS;
        if self.data.is_none() {
            let (mut x, ends) = rows_of(store)?;
            if fresh {
                (self.mean, self.std) = moments(&x, self.mean.len());
                self.ends = ends.iter().filter(|ends| **ends).count();
            }
            self.scale(&mut x);
            self.data = Some((x, ends));
        }
        self.left -= 1;
        if self.ends < ENOUGH {
            (self.left, self.data) = (0, None);
        }
        let Some((x, ends)) = &self.data else { return Ok(0.0) };
        let inputs = self.net.spec.inputs;
        let weight = ((ends.len() - self.ends) as f32 / self.ends as f32).clamp(1.0, MOST_WEIGHT);
        let mut rng = generator(self.seed, self.fit, &format!("ends/{}", self.left));
        let chosen: Vec<usize> = (0..BATCH).map(|_| below(&mut rng, ends.len())).collect();
        let batch: Vec<f32> = chosen.iter().flat_map(|row| &x[row * inputs..(row + 1) * inputs]).copied().collect();
        let pass = self.net.pass(&batch, BATCH, None);
        let mut loss = 0.0;
        let by: Vec<f32> = pass
            .outputs()
            .iter()
            .zip(&chosen)
            .map(|(&logit, &row)| {
                let (label, share) = if ends[row] { (1.0, weight) } else { (0.0, 1.0) };
                // -log of the probability of what was seen
                loss += share * (math::softplus(logit) - label * logit) / BATCH as f32;
                share * (math::sigmoid(logit) - label) / BATCH as f32
            })
            .collect();
        let gradient = pass.params_gradient(&by);
        let params = &mut [&mut self.net.params];
        self.optimizer
            .descend_along("the ends of episodes", loss, &[gradient], params, RATE, update, |_| Vec::new())?;
        if self.left == 0 {
            self.data = None;
        }
        Ok(loss)
    }

    fn visit_judgement(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("ends", &mut self.net)?;
        io.value("ends.seen", &mut self.ends)?;
        io.floats("ends.mean", &mut self.mean)?;
        io.floats("ends.std", &mut self.std)
    }

    fn visit_learning(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.optimizer.visit_state("ends_optimizer", io)?;
        io.value("ends.fit", &mut self.fit)?;
        io.value("ends.left", &mut self.left)?;
        self.data = None;
        Ok(())
    }
}

/// Inputs and ends of all transitions of a store.
fn rows_of(store: &Ring) -> Result<(Vec<f32>, Vec<bool>), LearnError> {
    let mut batch = Batch::default();
    store.transitions(&(0..store.len()).collect::<Vec<_>>(), &mut batch)?;
    let actions = batch.shape().action_width;
    let mut x = Vec::new();
    for row in 0..batch.rows {
        x.extend_from_slice(batch.obs().row(row).floats);
        x.extend_from_slice(&batch.action[row * actions..(row + 1) * actions]);
        x.extend_from_slice(batch.next_obs().row(row).floats);
    }
    Ok((x, batch.discount.iter().map(|discount| *discount == 0.0).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_core::{RingSpec, stream};
    use axiomrl_envs::{FrameSpec, ObsWidths};

    /// Numbers that walk up by the action, and an end past 1.
    fn store(steps: usize) -> Ring {
        let spec = RingSpec {
            capacity: steps,
            lanes: 1,
            widths: ObsWidths { floats: 1, bytes: 0 },
            byte_frames: FrameSpec::SINGLE,
            action_width: 1,
            mask_width: 0,
        };
        let (mut ring, mut rng, mut at) = (Ring::new(spec), stream(3, "walk"), 0.0f32);
        ring.begin(0, ObsRef::of_floats(1, &[0.0]), &[]);
        for _ in 0..steps {
            let action = 2.0 * axiomrl_core::random::uniform(&mut rng) as f32 - 1.0;
            let reached = [at + 0.5 * action];
            let ends = reached[0] > 1.0;
            at = if ends { 0.0 } else { reached[0] };
            let (next, last) = ([at], ObsRef::of_floats(1, &reached));
            ring.push(0, &[action], 0.0, ends, false, ObsRef::of_floats(1, &next), &[], last, &[]);
        }
        ring
    }

    fn judged(head: &EndHead, reached: &[f32]) -> Vec<bool> {
        let obs: Vec<f32> = reached.iter().map(|x| x - 0.25).collect();
        let mut ends = vec![false; reached.len()];
        head.judge(Imagined { obs: &obs, action: &vec![0.5; reached.len()], next_obs: reached }, 1, &mut ends);
        ends
    }

    #[test]
    fn ends_are_learned_and_none_are_seen_before_there_are_some() {
        let mut head = EndHead::new(1, 1, 5, &mut stream(1, "init"));
        let fit = |head: &mut EndHead, store: &Ring| {
            (head.left, head.fit) = (STEPS, head.fit + 1);
            while head.left > 0 {
                head.fit_piece(store, 1).unwrap();
            }
        };
        fit(&mut head, &store(8));
        assert!(head.ends < ENOUGH);
        assert_eq!(judged(&head, &[5.0]), [false], "too few to say anything");
        (0..5).for_each(|_| fit(&mut head, &store(3000)));
        // Ends are rare and weigh more, so the border lies somewhat before the place where they really are.
        assert_eq!(judged(&head, &[-0.5, 0.0, 0.3, 1.2, 1.4]), [false, false, false, true, true]);
    }
}
