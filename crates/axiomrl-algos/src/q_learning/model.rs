//! What the learner asks of a value network and its slowly moving copy.

use super::direct::DirectNet;
use super::entries::Entry;
use super::outcomes::{Outcomes, Spoken, row_of};
use crate::agent::{Diverged, UpdateContext};
use crate::export::{Graph, NoGraph, Shown};
use crate::parts::descend::{Loss, ParamGroup};
use crate::parts::torso::{Sequences, Torso};
use crate::parts::tracked::{Tracked, Trainable};
use crate::parts::weight_noise::sigma_gradient;
use crate::state::{StateError, StateIo};
use axiomrl_core::Batch;
use axiomrl_envs::Rng;
use axiomrl_nn::{MlpPass, OptimizerConfig, Params, fused_loss};

/// What the online network said of everything that a loss is taken of.
#[derive(Clone, Copy)]
pub struct Outputs<'a> {
    pub members: usize,
    pub rows: usize,
    pub actions: usize,
    /// Numbers per action.
    pub width: usize,
    /// `[member][row][action][number]`
    pub values: &'a [f32],
    /// As in [`Outcomes`].
    pub fractions: &'a [f32],
    pub share: &'a [f32],
}

impl<'a> Outputs<'a> {
    /// The fractions of a row.
    pub fn fractions(&self, row: usize) -> &'a [f32] {
        row_of(self.fractions, row, self.width)
    }

    /// The weights of a row's numbers.
    pub fn share(&self, row: usize) -> &'a [f32] {
        row_of(self.share, row, self.width)
    }

    /// Copies them to where outcomes are looked up.
    pub fn write_to(&self, out: &mut Outcomes) {
        (out.members, out.rows, out.actions, out.width) = (self.members, self.rows, self.actions, self.width);
        for (to, from) in
            [(&mut out.values, self.values), (&mut out.fractions, self.fractions), (&mut out.share, self.share)]
        {
            to.clear();
            to.extend_from_slice(from);
        }
    }
}

/// Loss and gradient of the online network's outputs.
pub type LossFn<'a> = &'a mut dyn FnMut(Outputs<'_>) -> (f32, Vec<f32>);

/// What a step of learning is taken from.
#[derive(Clone, Copy)]
pub struct Lesson<'a> {
    /// What the online network looks at.
    pub seen: Sequences<'a>,
    /// What it remembers before.
    pub state: &'a [f32],
    pub batch: &'a Batch,
    pub entries: &'a [Entry],
    /// Step size.
    pub rate: f32,
}

/// Outcomes are left unsettled. A memory `state` moves on with everything that is looked at.
pub trait Model: Send {
    /// Numbers of a row of memory; 0 without one.
    fn memory_width(&self) -> usize;

    /// What some networks explore with (noise in the weights, random fractions) comes from `noise`; without it nothing is
    /// left to chance.
    fn infer_online(&mut self, seen: Sequences<'_>, state: &mut [f32], noise: Option<&mut Rng>, out: &mut Outcomes);

    fn infer_target(&mut self, seen: Sequences<'_>, state: &mut [f32], rng: &mut Rng, out: &mut Outcomes);

    /// What the target network says once more of what it looked at last, to choose by: where its answer depends on draws that
    /// its value should not share. False, and nothing is written, where it does not.
    fn infer_choice(&mut self, _rng: &mut Rng, _out: &mut Outcomes) -> bool {
        false
    }

    /// Moves on the memories of the online and of the target network, and no more.
    fn remember(&self, seen: Sequences<'_>, online: &mut [f32], target: &mut [f32]);

    /// One step down the gradient of `loss`; gives the gradient's norm.
    fn fit(&mut self, lesson: Lesson<'_>, context: &mut UpdateContext<'_>, loss: LossFn<'_>) -> Result<f32, Diverged>;

    /// target += tau * (online - target)
    fn soft_update(&mut self, tau: f32);

    /// As [`Model::infer_online`] without chance, as nodes of a graph.
    fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Spoken, NoGraph>;

    /// Saves or loads what acting needs.
    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;

    /// Saves or loads the rest.
    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;
}

/// A network with direct outputs, and its copy.
pub struct DirectModel {
    nets: Tracked<DirectQ>,
    group: ParamGroup,
}

/// What a network makes of observations, and what it says of every action.
#[derive(Clone)]
struct DirectQ {
    torso: Torso,
    net: DirectNet,
}

impl DirectQ {
    /// With `noisy`, with the noise drawn last.
    fn infer(&mut self, seen: Sequences<'_>, state: &mut [f32], noisy: bool, out: &mut Outcomes) {
        self.net.infer(&self.torso.infer(seen, state), seen.steps * seen.rows, noisy, out);
    }

    fn visit_state(&mut self, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.torso.visit_state(name, io)?;
        self.net.visit_state(name, io)
    }
}

impl Trainable for DirectQ {
    /// The torso, the streams, the size of their noise.
    fn params(&mut self) -> Vec<&mut Params> {
        self.torso.params().into_iter().chain(self.net.params()).collect()
    }
}

impl DirectModel {
    pub fn new(torso: Torso, net: DirectNet, optimizer: &OptimizerConfig, max_norm: f32) -> Self {
        let mut nets = Tracked::new(DirectQ { torso, net });
        let group = ParamGroup::new(optimizer, &nets.online.params(), max_norm);
        Self { nets, group }
    }
}

impl Model for DirectModel {
    fn memory_width(&self) -> usize {
        self.nets.online.torso.state_width()
    }

    fn infer_online(&mut self, seen: Sequences<'_>, state: &mut [f32], noise: Option<&mut Rng>, out: &mut Outcomes) {
        let noisy = noise.is_some();
        if let Some(rng) = noise {
            self.nets.online.net.draw_noise(rng);
        }
        self.nets.online.infer(seen, state, noisy, out);
    }

    fn infer_target(&mut self, seen: Sequences<'_>, state: &mut [f32], rng: &mut Rng, out: &mut Outcomes) {
        self.nets.target.net.draw_noise(rng);
        self.nets.target.infer(seen, state, true, out);
    }

    fn remember(&self, seen: Sequences<'_>, online: &mut [f32], target: &mut [f32]) {
        self.nets.online.torso.infer(seen, online);
        self.nets.target.torso.infer(seen, target);
    }

    fn fit(&mut self, lesson: Lesson<'_>, context: &mut UpdateContext<'_>, loss: LossFn<'_>) -> Result<f32, Diverged> {
        let DirectQ { torso, net } = &mut self.nets.online;
        net.draw_noise(context.rng);
        if !torso.learns() {
            // Nothing but the streams learns: no graph is needed.
            let (rows, features) = (lesson.seen.steps * lesson.seen.rows, torso.infer(lesson.seen, &mut []));
            let passes: Vec<MlpPass<'_>> = net.streams().iter().map(|net| net.pass(&features, rows, None)).collect();
            let (value, gradients) = match &passes[..] {
                [advantages, values] => {
                    let joint = net.join([advantages.outputs(), values.outputs()]);
                    let (value, by_joint) = loss(net.outputs(rows, &joint));
                    let [by_advantages, by_values] = net.split(by_joint);
                    (value, vec![advantages.params_gradient(&by_advantages), values.params_gradient(&by_values)])
                }
                single => {
                    let (value, by_outputs) = loss(net.outputs(rows, single[0].outputs()));
                    (value, vec![single[0].params_gradient(&by_outputs)])
                }
            };
            drop(passes);
            let (mut params, draws) = net.params_and_draws();
            let (group, number) = (&mut self.group, context.number());
            let sigmas = |found: &[&[f32]]| draws.iter().zip(found).map(|(draw, g)| sigma_gradient(draw, g)).collect();
            return group.descend_along("the Q-network", value, &gradients, &mut params, lesson.rate, number, sigmas);
        }
        let (features, mut tracked) = torso.forward(lesson.seen, lesson.state);
        let before = tracked.len();
        let (streams, of_streams) = net.forward(features);
        tracked.extend(of_streams);
        let rows = lesson.seen.steps * lesson.seen.rows;
        let mut value = 0.0;
        let node = match <[_; 1]>::try_from(streams) {
            Ok(single) => fused_loss(single, |[values]| {
                let (found, gradient) = loss(net.outputs(rows, values));
                value = found;
                (found, [gradient])
            }),
            Err(streams) => {
                let both = <[_; 2]>::try_from(streams).unwrap_or_else(|_| unreachable!("two streams at most"));
                fused_loss(both, |both| {
                    let (found, gradient) = loss(net.outputs(rows, &net.join(both)));
                    value = found;
                    (found, net.split(gradient))
                })
            }
        };
        let (of_net, draws) = net.params_and_draws();
        let mut params = torso.params();
        params.extend(of_net);
        let loss = Loss { node, value, tracked };
        self.group.descend_with("the Q-network", loss, &mut params, lesson.rate, context.number(), |gradients| {
            draws.iter().zip(&gradients[before..]).map(|(draw, g)| sigma_gradient(draw, g)).collect()
        })
    }

    fn soft_update(&mut self, tau: f32) {
        self.nets.soft_update(tau);
    }

    fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Spoken, NoGraph> {
        let DirectQ { torso, net } = &self.nets.online;
        let (features, memory) = torso.onnx(graph, shown, shown.memory)?;
        let (values, (actions, width)) = (net.onnx(graph, features), net.sizes());
        Ok(Spoken { values, actions, width, share: None, memory })
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.nets.online.visit_state("q", io)
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.nets.target.visit_state("q_target", io)?;
        self.group.visit_state("q", io)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::input::Vision;
    use crate::parts::torso::TorsoSpec;
    use crate::testing::with_context;
    use axiomrl_envs::{BoxSpace, ObsRef, Space};
    use axiomrl_nn::{Activation, AdamConfig, Init, MlpSpec};

    #[test]
    fn noise_is_drawn_anew_for_every_network_and_every_update() {
        let mut rng = axiomrl_core::stream(1, "test");
        let (space, activation) = (Space::Box(BoxSpace::uniform(2, -1.0, 1.0)), Activation::Relu);
        let spec = TorsoSpec { observations: &space, vision: Vision::Auto, layers: &[], activation, memory: None };
        let torso = Torso::new(&spec, &Init::pytorch(), &mut rng).unwrap();
        let layers = |outputs| MlpSpec::new(2, &[4], outputs, activation);
        let net = DirectNet::new(layers, 3, 1, 1, false, Some(0.5), &mut rng);
        let adam = OptimizerConfig::Adam(AdamConfig::default());
        let mut model = DirectModel::new(torso, net, &adam, f32::INFINITY);
        let seen = Sequences::single(ObsRef::of_floats(1, &[0.3, -0.4]), &[]);
        let [mut online, mut first, mut second] = [(); 3].map(|()| Outcomes::default());
        model.infer_online(seen, &mut [], Some(&mut rng), &mut online);
        model.infer_target(seen, &mut [], &mut rng, &mut first);
        model.infer_target(seen, &mut [], &mut rng, &mut second);
        let (batch, mut learned) = (Batch::default(), Vec::new());
        let lesson = Lesson { seen, state: &[], batch: &batch, entries: &[], rate: 0.0 };
        let mut loss = |said: Outputs<'_>| {
            learned = said.values.to_vec();
            (0.0, vec![0.0; 3])
        };
        with_context(|context| model.fit(lesson, context, &mut loss).unwrap());
        let all = [online.values, first.values, second.values, learned];
        assert!((1..4).all(|i| !all[..i].contains(&all[i])), "{all:?}");
    }
}
