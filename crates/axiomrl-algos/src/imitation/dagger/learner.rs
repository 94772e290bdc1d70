//! The policy of DAgger: it learns to answer like the expert.

use super::DaggerConfig;
use crate::agent::{LearnError, Setup, UpdateContext};
use crate::export::{Answer, Graph, NoGraph, Shown, best};
use crate::parts::checks::BuildError;
use crate::parts::descend::ParamGroup;
use crate::parts::input::Flatten;
use crate::policy::{ActContext, ActInput, Actor, Mode};
use crate::policy_gradient::shared::distribution_for;
use crate::regimes::{LabelLearner, Labels};
use crate::state::{StateError, StateIo};
use axiomrl_core::Schedule;
use axiomrl_nn::{AdamConfig, Distribution, Init, Mlp, MlpSpec, OptimizerConfig, Params, Pooled};

#[cfg(test)]
mod tests;

/// Answers that never vary would shrink a deviation to nothing, and their likelihood to infinity.
const LOG_STD: (f32, f32) = (-5.0, 2.0);

pub struct DaggerLearner {
    flatten: Flatten,
    distribution: Distribution,
    net: Mlp,
    /// One log standard deviation per action of a Box; empty for choices.
    log_std: Params,
    group: ParamGroup,
    learning_rate: Schedule,
    ent_coef: f32,
    head: Vec<f32>,
}

impl DaggerLearner {
    pub fn new(config: &DaggerConfig, setup: &Setup) -> Result<Self, BuildError> {
        let distribution = distribution_for(setup.action_space())?;
        let flatten = Flatten::new(setup.observation_space());
        let spec = MlpSpec::new(flatten.width(), &config.hidden_sizes, distribution.head_width(), config.activation);
        let init = Init::Orthogonal { hidden_gain: std::f32::consts::SQRT_2, output_gain: 0.01 };
        let mut net = Mlp::new(spec, 1, &init, &mut setup.rng("init"));
        let free = distribution.log_std_width();
        let mut log_std = Params::from_vec(1, free, vec![config.log_std_init; free]);
        let adam = OptimizerConfig::Adam(AdamConfig::default());
        let group = ParamGroup::new(&adam, &with_log_std(&mut net, &mut log_std), f32::INFINITY);
        let (learning_rate, ent_coef) = (config.learning_rate.clone(), config.ent_coef);
        Ok(Self { flatten, distribution, net, log_std, group, learning_rate, ent_coef, head: Vec::new() })
    }

    /// `loss = mean −log π(expert's action | s) − c · mean entropy`
    fn answered(&self, batch: &Labels) -> Answered {
        let (rows, width, actions) = (batch.rows, self.distribution.head_width(), self.distribution.action_width());
        let share = 1.0 / rows as f32;
        let input = ActInput { obs: batch.obs.as_ref(), masks: &batch.masks };
        let seen = self.flatten.encode(batch.obs.as_ref());
        let pass = self.net.pass(&seen, rows, None);
        let deviations = self.log_std.as_slice().to_vec();

        let (mut nll, mut entropy) = (0.0f64, 0.0f64);
        let (mut by_head, mut by_log_std) = (vec![0.0; rows * width], vec![0.0; deviations.len()]);
        for (row, by_head) in by_head.chunks_exact_mut(width).enumerate() {
            let (head, mask) = (&pass.outputs()[row * width..(row + 1) * width], input.mask(row));
            let action = &batch.action[row * actions..(row + 1) * actions];
            let pi = &self.distribution;
            nll -= f64::from(pi.log_prob(head, &deviations, mask, action));
            entropy += f64::from(pi.entropy(head, &deviations, mask));
            pi.d_log_prob(head, &deviations, mask, action, -share, by_head, &mut by_log_std);
            pi.d_entropy(head, &deviations, mask, -self.ent_coef * share, by_head, &mut by_log_std);
        }
        let (nll, entropy) = ((nll * f64::from(share)) as f32, (entropy * f64::from(share)) as f32);
        let by_net = pass.params_gradient(&by_head);
        Answered { loss: nll - self.ent_coef * entropy, nll, entropy, by_net, by_log_std }
    }
}

/// How far a policy is from the expert's answers, and where to go.
struct Answered {
    loss: f32,
    nll: f32,
    entropy: f32,
    by_net: Pooled,
    by_log_std: Vec<f32>,
}

/// All that is learned; the standard deviations last, where there are any.
fn with_log_std<'a>(net: &'a mut Mlp, log_std: &'a mut Params) -> Vec<&'a mut Params> {
    let mut params = vec![&mut net.params];
    if !log_std.as_slice().is_empty() {
        params.push(log_std);
    }
    params
}

impl Actor for DaggerLearner {
    fn act(&mut self, input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        let ActContext { mode, rng, .. } = context;
        self.net.infer(&self.flatten.encode(input.obs), input.rows(), &mut self.head);
        let heads = self.head.chunks_exact(self.distribution.head_width());
        let chosen = actions.chunks_exact_mut(self.distribution.action_width());
        for (row, (head, action)) in heads.zip(chosen).enumerate() {
            let (log_std, mask) = (self.log_std.as_slice(), input.mask(row));
            match mode {
                Mode::Best => self.distribution.mode(head, log_std, mask, action),
                Mode::Sample => self.distribution.sample(head, log_std, mask, rng, action),
            }
        }
        Ok(())
    }

    fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Answer, NoGraph> {
        let empty = || NoGraph::because("its observations are empty");
        let input = self.flatten.onnx(graph, shown).ok_or_else(empty)?;
        let head = self.net.onnx(graph, input);
        Ok(best(graph, &self.distribution, head, shown.mask))
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("policy", &mut self.net)?;
        if !self.log_std.as_slice().is_empty() {
            io.params("log_std", &mut self.log_std)?;
        }
        Ok(())
    }
}

impl LabelLearner for DaggerLearner {
    fn update(&mut self, batch: &Labels, context: &mut UpdateContext<'_>) -> Result<(), LearnError> {
        let rate = self.learning_rate.at(context.fraction()) as f32;
        let Answered { loss, nll, entropy, by_net, by_log_std } = self.answered(batch);
        let params = &mut with_log_std(&mut self.net, &mut self.log_std);
        let rest = |_: &[&[f32]]| if by_log_std.is_empty() { Vec::new() } else { vec![by_log_std] };
        self.group.descend_along("the policy", loss, &[by_net], params, rate, context.number(), rest)?;
        self.log_std.make_mut().iter_mut().for_each(|s| *s = s.clamp(LOG_STD.0, LOG_STD.1));

        context.metrics.add("loss", loss);
        context.metrics.add("negative_log_likelihood", nll);
        context.metrics.add("entropy", entropy);
        context.metrics.set("learning_rate", f64::from(rate));
        Ok(())
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.group.visit_state("policy", io)
    }
}
