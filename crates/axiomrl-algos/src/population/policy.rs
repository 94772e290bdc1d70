//! What populations search for: a deterministic policy of a few numbers.

use super::input_scale::{InputScale, Rule};
use crate::agent::Setup;
use crate::export::{Answer, Graph, NoGraph, Shown, best};
use crate::parts::checks::BuildError;
use crate::parts::input::Flatten;
use crate::policy::ActInput;
use crate::policy_gradient::shared::distribution_for;
use crate::state::{StateError, StateIo};
use axiomrl_envs::RunningStats;
use axiomrl_nn::{Activation, Distribution, Init, Mlp, MlpSpec};

/// The most likely choice, or a Box action: clipped from a linear policy, squashed by a network with hidden layers.
pub struct SearchPolicy {
    flatten: Flatten,
    distribution: Distribution,
    scale: Option<InputScale>,
    net: Mlp,
    /// Inputs of the latest call, before and after they are scaled, and what came of them.
    raw: Vec<f32>,
    scaled: Vec<f32>,
    heads: Vec<f32>,
}

impl SearchPolicy {
    /// Without hidden layers the parameters begin at 0 and the policy is linear.
    pub fn new(
        hidden: &[usize],
        activation: Activation,
        init: &Init,
        rule: Option<Rule>,
        setup: &Setup,
    ) -> Result<Self, BuildError> {
        let distribution = distribution_for(setup.action_space())?;
        let flatten = Flatten::new(setup.observation_space());
        let linear = hidden.is_empty();
        let squashes = !linear && matches!(distribution, Distribution::DiagGaussian { .. });
        let output = if squashes { Activation::Tanh } else { Activation::Identity };
        let spec = MlpSpec::new(flatten.width(), hidden, distribution.head_width(), activation);
        let mut net = Mlp::new(spec.with_output_activation(output), 1, init, &mut setup.rng("init"));
        if linear {
            net.params.make_mut().fill(0.0);
        }
        let scale = rule.map(|rule| InputScale::new(rule, &flatten.on_a_scale()));
        Ok(Self { flatten, distribution, scale, net, raw: Vec::new(), scaled: Vec::new(), heads: Vec::new() })
    }

    /// What the search has come to.
    pub fn net(&self) -> &Mlp {
        &self.net
    }

    pub fn net_mut(&mut self) -> &mut Mlp {
        &mut self.net
    }

    pub fn params(&self) -> &[f32] {
        self.net.params.as_slice()
    }

    /// Parameters, or of a linear policy those without the biases, which come last.
    pub fn without_linear_bias(&self) -> usize {
        let spec = &self.net.spec;
        if spec.hidden.is_empty() { spec.inputs * spec.outputs } else { spec.param_count() }
    }

    /// Acts with what the search has come to.
    pub fn act(&mut self, input: ActInput<'_>, actions: &mut [f32]) {
        self.read(input);
        self.net.infer(&self.scaled, input.rows(), &mut self.heads);
        self.choose(input, actions);
    }

    /// As [`SearchPolicy::act`], as nodes of a graph.
    pub fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Answer, NoGraph> {
        let empty = || NoGraph::because("its observations are empty");
        let mut input = self.flatten.onnx(graph, shown).ok_or_else(empty)?;
        if let Some(scale) = &self.scale {
            input = scale.onnx(graph, input, self.flatten.width());
        }
        let head = self.net.onnx(graph, input);
        Ok(best(graph, &self.distribution, head, shown.mask))
    }

    /// Acts with parameters for each row, the members of `crowd`.
    pub fn act_as(&mut self, crowd: &Mlp, input: ActInput<'_>, actions: &mut [f32]) {
        self.read(input);
        crowd.infer(&self.scaled, 1, &mut self.heads);
        self.choose(input, actions);
    }

    fn read(&mut self, input: ActInput<'_>) {
        self.raw.clear();
        self.raw.extend_from_slice(&self.flatten.encode(input.obs));
        self.scaled.clone_from(&self.raw);
        if let Some(scale) = &self.scale {
            scale.scale(&mut self.scaled, self.flatten.width());
        }
    }

    fn choose(&self, input: ActInput<'_>, actions: &mut [f32]) {
        let heads = self.heads.chunks_exact(self.distribution.head_width());
        let chosen = actions.chunks_exact_mut(self.distribution.action_width());
        for (row, (head, action)) in heads.zip(chosen).enumerate() {
            self.distribution.mode(head, &[], input.mask(row), action);
            if let Distribution::DiagGaussian { .. } = self.distribution {
                action.iter_mut().for_each(|a| *a = a.clamp(-1.0, 1.0));
            }
        }
    }

    /// The rows that the latest call acted on, not scaled.
    pub fn inputs(&self) -> impl Iterator<Item = &[f32]> {
        self.raw.chunks_exact(self.flatten.width().max(1))
    }

    /// Numbers of a row that statistics are kept of.
    pub fn statistics_width(&self) -> usize {
        self.scale.as_ref().map_or(0, InputScale::width)
    }

    /// Those numbers of a row.
    pub fn to_be_counted<'a>(&'a self, row: &'a [f32]) -> impl Iterator<Item = f64> + 'a {
        self.scale.iter().flat_map(|scale| scale.counted(row))
    }

    /// Takes in what was seen.
    pub fn count(&mut self, seen: &RunningStats) {
        if let Some(scale) = &mut self.scale {
            scale.count(seen);
        }
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("policy", &mut self.net)?;
        match &mut self.scale {
            Some(scale) => scale.visit_state(io),
            None => Ok(()),
        }
    }
}
