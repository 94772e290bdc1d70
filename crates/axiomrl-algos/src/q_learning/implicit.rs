//! Networks that give the return at any fraction they are asked for: IQN, and FQF which also learns what to ask.

mod onnx;

use super::fractions::{Fractions, even_fractions};
use super::model::{Lesson, LossFn, Model, Outputs};
use super::outcomes::{Outcomes, Spoken};
use crate::agent::{Diverged, UpdateContext};
use crate::export::{Graph, NoGraph, Shown};
use crate::parts::descend::{Loss, ParamGroup};
use crate::parts::torso::{Sequences, Torso};
use crate::parts::tracked::{Tracked, Trainable};
use crate::state::{StateError, StateIo};
use axiomrl_envs::Rng;
use axiomrl_nn::{Activation, Init, Mlp, MlpSpec, OptimizerConfig, Params, Tensor, fused_loss, leaf, values};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Features of the observation, times features of the fraction, to the returns of all actions.
#[derive(Clone)]
pub struct ImplicitNet {
    torso: Torso,
    /// After a memory there need not be any.
    layers: Option<Mlp>,
    embedding: Mlp,
    head: Mlp,
    actions: usize,
    cosines: usize,
    scratch: Scratch,
}

#[derive(Clone, Default)]
struct Scratch {
    features: Vec<f32>,
    cosines: Vec<f32>,
    embedded: Vec<f32>,
    outputs: Vec<f32>,
}

impl ImplicitNet {
    /// `hidden` are the widths of the layers between the torso and the features.
    pub fn new(
        torso: Torso,
        hidden: &[usize],
        activation: Activation,
        actions: usize,
        cosines: usize,
        rng: &mut ChaCha8Rng,
    ) -> Self {
        let remembers = torso.state_width() > 0;
        let width = hidden.last().copied().unwrap_or(if remembers { torso.features() } else { 64 });
        let before = &hidden[..hidden.len().saturating_sub(1)];
        let layers = (!remembers || !hidden.is_empty())
            .then(|| MlpSpec::new(torso.features(), before, width, activation).with_output_activation(activation));
        let embedding = MlpSpec::new(cosines, &[], width, activation).with_output_activation(Activation::Relu);
        let head = MlpSpec::new(width, &[width], actions, activation);
        let mut net = |spec| Mlp::new(spec, 1, &Init::pytorch(), rng);
        Self {
            torso,
            layers: layers.map(&mut net),
            embedding: net(embedding),
            head: net(head),
            actions,
            cosines,
            scratch: Scratch::default(),
        }
    }

    pub fn features(&self) -> usize {
        self.embedding.spec.outputs
    }

    fn observe(&mut self, seen: Sequences<'_>, state: &mut [f32]) -> Vec<f32> {
        let looked = self.torso.infer(seen, state);
        let Some(layers) = &self.layers else { return looked.into_owned() };
        let mut features = std::mem::take(&mut self.scratch.features);
        layers.infer(&looked, seen.steps * seen.rows, &mut features);
        features
    }

    /// Returns `[row][fraction][action]` at the fractions `[row][count]` of rows with known features.
    fn returns_at(&mut self, features: &[f32], fractions: &[f32], rows: usize) -> &[f32] {
        let (width, count) = (self.features(), fractions.len() / rows);
        let s = &mut self.scratch;
        cosine_features(fractions, self.cosines, &mut s.cosines);
        self.embedding.infer(&s.cosines, fractions.len(), &mut s.embedded);
        for (at, row) in s.embedded.chunks_exact_mut(width).enumerate() {
            let from = at / count * width;
            row.iter_mut().zip(&features[from..from + width]).for_each(|(e, f)| *e *= f);
        }
        self.head.infer(&s.embedded, fractions.len(), &mut s.outputs);
        &s.outputs
    }

    /// The returns of rows with known features at the fractions in `out`. The features are kept for another question.
    fn answer(&mut self, features: Vec<f32>, rows: usize, out: &mut Outcomes) {
        let count = out.fractions.len() / rows;
        (out.members, out.rows, out.actions, out.width) = (1, rows, self.actions, count);
        let returns = self.returns_at(&features, &out.fractions, rows);
        turn(returns, rows, count, out.actions, &mut out.values);
        self.scratch.features = features;
    }

    fn visit_state(&mut self, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.torso.visit_state(name, io)?;
        if let Some(layers) = &mut self.layers {
            io.network(&format!("{name}.torso"), layers)?;
        }
        io.network(&format!("{name}.embedding"), &mut self.embedding)?;
        io.network(&format!("{name}.head"), &mut self.head)
    }
}

impl Trainable for ImplicitNet {
    /// The torso, then layers, embedding and head.
    fn params(&mut self) -> Vec<&mut Params> {
        let nets = self.layers.iter_mut().chain([&mut self.embedding, &mut self.head]);
        self.torso.params().into_iter().chain(nets.map(|net| &mut net.params)).collect()
    }
}

/// cos(pi i tau) for i = 1 ..= n.
fn cosine_features(fractions: &[f32], n: usize, out: &mut Vec<f32>) {
    out.clear();
    for fraction in fractions {
        out.extend((1..=n).map(|i| (std::f32::consts::PI * i as f32 * fraction).cos()));
    }
}

/// From `[row][fraction][action]` to `[row][action][fraction]`, or back with the last two counts exchanged.
fn turn(from: &[f32], rows: usize, outer: usize, inner: usize, to: &mut Vec<f32>) {
    to.clear();
    to.reserve(from.len());
    for row in from.chunks_exact(outer * inner).take(rows) {
        for i in 0..inner {
            to.extend((0..outer).map(|o| row[o * inner + i]));
        }
    }
}

/// How many fractions are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// In predictions that are learned.
    pub learned: usize,
    /// In targets.
    pub target: usize,
    /// In choices of actions.
    pub choice: usize,
}

/// An implicit network, its copy, and where its fractions come from.
pub struct ImplicitModel {
    nets: Tracked<ImplicitNet>,
    group: ParamGroup,
    /// Fractions that are asked for.
    counts: Counts,
    /// FQF's proposal of fractions; IQN draws them at random.
    proposal: Option<Fractions>,
}

impl ImplicitModel {
    pub fn new(
        online: ImplicitNet,
        counts: Counts,
        proposal: Option<Fractions>,
        optimizer: &OptimizerConfig,
        max_norm: f32,
    ) -> Self {
        let mut nets = Tracked::new(online);
        let group = ParamGroup::new(optimizer, &nets.online.params(), max_norm);
        Self { nets, group, counts, proposal }
    }

    fn infer(
        &mut self,
        which: Which,
        seen: Sequences<'_>,
        state: &mut [f32],
        draw: Option<&mut Rng>,
        out: &mut Outcomes,
    ) {
        let (net, count) = match which {
            Which::Online => (&mut self.nets.online, self.counts.choice),
            Which::Target => (&mut self.nets.target, self.counts.target),
        };
        let rows = seen.steps * seen.rows;
        let features = net.observe(seen, state);
        match (&mut self.proposal, draw) {
            (Some(proposal), _) => proposal.propose(&features, rows, &mut out.fractions, &mut out.share),
            (None, Some(rng)) => draw_fractions(rows, count, rng, out),
            (None, None) => {
                out.fractions = even_fractions(count).repeat(rows);
                out.share = even_share(count);
            }
        }
        net.answer(features, rows, out);
    }
}

/// Fractions drawn at random, all of which count alike.
fn draw_fractions(rows: usize, count: usize, rng: &mut Rng, out: &mut Outcomes) {
    out.fractions.clear();
    out.fractions.extend((0..rows * count).map(|_| rng.random::<f32>()));
    out.share = even_share(count);
}

fn even_share(count: usize) -> Vec<f32> {
    vec![1.0 / count as f32; count]
}

#[derive(Clone, Copy, PartialEq)]
enum Which {
    Online,
    Target,
}

impl Model for ImplicitModel {
    fn memory_width(&self) -> usize {
        self.nets.online.torso.state_width()
    }

    fn infer_online(&mut self, seen: Sequences<'_>, state: &mut [f32], noise: Option<&mut Rng>, out: &mut Outcomes) {
        self.infer(Which::Online, seen, state, noise, out);
    }

    fn infer_target(&mut self, seen: Sequences<'_>, state: &mut [f32], rng: &mut Rng, out: &mut Outcomes) {
        self.infer(Which::Target, seen, state, Some(rng), out);
    }

    /// Proposed fractions depend on the observation alone: drawn ones are drawn anew.
    fn infer_choice(&mut self, rng: &mut Rng, out: &mut Outcomes) -> bool {
        if self.proposal.is_some() {
            return false;
        }
        let net = &mut self.nets.target;
        let features = std::mem::take(&mut net.scratch.features);
        let rows = features.len() / net.features();
        draw_fractions(rows, self.counts.choice, rng, out);
        net.answer(features, rows, out);
        true
    }

    fn remember(&self, seen: Sequences<'_>, online: &mut [f32], target: &mut [f32]) {
        self.nets.online.torso.infer(seen, online);
        self.nets.target.torso.infer(seen, target);
    }

    fn fit(&mut self, lesson: Lesson<'_>, context: &mut UpdateContext<'_>, loss: LossFn<'_>) -> Result<f32, Diverged> {
        let net = &mut self.nets.online;
        let (rows, count, actions) = (lesson.seen.steps * lesson.seen.rows, self.counts.learned, net.actions);
        let width = net.features();
        let (mut seen, mut tracked) = net.torso.forward(lesson.seen, lesson.state);
        if let Some(layers) = &net.layers {
            tracked.push(layers.params.tracked());
            seen = layers.forward(seen, tracked[tracked.len() - 1].clone(), None).reshape([rows, width]);
        }
        // The one pass over the observation serves the proposal too, cut off from its gradient.
        let features = values(&seen);
        let (mut fractions, mut share) = (Vec::new(), Vec::new());
        match &mut self.proposal {
            Some(proposal) => proposal.propose(&features, rows, &mut fractions, &mut share),
            None => {
                fractions.extend((0..rows * count).map(|_| context.rng.random::<f32>()));
                share = even_share(count);
            }
        }
        let mut cosines = Vec::new();
        cosine_features(&fractions, net.cosines, &mut cosines);
        let [embedding, head] = [&net.embedding, &net.head].map(|n| n.params.tracked());
        tracked.extend([embedding.clone(), head.clone()]);
        let asked = net.embedding.forward(leaf(&cosines, [rows * count, net.cosines]), embedding, None);
        let joint: Tensor<3> = seen.reshape([rows, 1, width]) * asked.reshape([rows, count, width]);
        let returns = net.head.forward(joint.reshape([rows * count, width]), head, None);
        let (mut value, mut found) = (0.0, Vec::new());
        let node = fused_loss([returns], |[returns]| {
            turn(returns, rows, count, actions, &mut found);
            let (fractions, share) = (&fractions[..], &share[..]);
            let (loss, by_action) =
                loss(Outputs { members: 1, rows, actions, width: count, values: &found, fractions, share });
            value = loss;
            let mut gradient = Vec::new();
            turn(&by_action, rows, actions, count, &mut gradient);
            (value, [gradient])
        });
        if let Some(proposal) = &mut self.proposal {
            let at_edges = net.returns_at(&features, &proposal.inner_edges(rows), rows);
            proposal.learn(lesson, &features, &found, at_edges, actions, context)?;
        }
        let loss = Loss { node, value, tracked };
        self.group.descend("the Q-network", loss, &mut net.params(), lesson.rate, context.number())
    }

    fn soft_update(&mut self, tau: f32) {
        self.nets.soft_update(tau);
    }

    fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Spoken, NoGraph> {
        onnx::spoken(&self.nets.online, self.proposal.as_ref(), self.counts.choice, graph, shown)
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.nets.online.visit_state("q", io)?;
        self.proposal.as_mut().map_or(Ok(()), |p| p.visit_policy(io))
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.nets.target.visit_state("q_target", io)?;
        self.group.visit_state("q", io)?;
        self.proposal.as_mut().map_or(Ok(()), |p| p.visit_state(io))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::input::Vision;
    use crate::parts::torso::TorsoSpec;
    use axiomrl_envs::{BoxSpace, ObsRef, Space};
    use axiomrl_nn::CellKind;

    #[test]
    fn turning_twice_gives_the_same() {
        let from: Vec<f32> = (0..24).map(|i| i as f32).collect();
        let (mut turned, mut back) = (Vec::new(), Vec::new());
        turn(&from, 2, 3, 4, &mut turned);
        assert_eq!(turned[..6], [0.0, 4.0, 8.0, 1.0, 5.0, 9.0]);
        turn(&turned, 2, 4, 3, &mut back);
        assert_eq!(back, from);
    }

    #[test]
    fn shapes_of_the_network() {
        let mut rng = axiomrl_core::stream(1, "test");
        let space = Space::Box(BoxSpace::uniform(4, -1.0, 1.0));
        for (memory, hidden, width) in [
            (None, &[16, 8][..], 8),
            (None, &[], 64),
            (Some((CellKind::Gru, 6)), &[8], 8),
            (Some((CellKind::Gru, 6)), &[], 6),
        ] {
            let activation = Activation::Relu;
            let spec = TorsoSpec { observations: &space, vision: Vision::Auto, layers: &[], activation, memory };
            let torso = Torso::new(&spec, &Init::pytorch(), &mut rng).unwrap();
            let mut net = ImplicitNet::new(torso, hidden, activation, 3, 64, &mut rng);
            let mut state = vec![0.0; 2 * net.torso.state_width()];
            let seen = Sequences::single(ObsRef::of_floats(2, &[0.1; 8]), &[true, true]);
            let features = net.observe(seen, &mut state);
            assert_eq!((features.len(), net.features()), (2 * width, width));
            assert_eq!(net.returns_at(&features, &[0.2, 0.5, 0.1, 0.9], 2).len(), 2 * 2 * 3);
        }
    }

    #[test]
    fn the_choice_is_made_at_fractions_of_its_own() {
        let mut rng = axiomrl_core::stream(1, "test");
        let space = Space::Box(BoxSpace::uniform(2, -1.0, 1.0));
        let activation = Activation::Relu;
        let spec = TorsoSpec { observations: &space, vision: Vision::Auto, layers: &[], activation, memory: None };
        let torso = Torso::new(&spec, &Init::pytorch(), &mut rng).unwrap();
        let net = ImplicitNet::new(torso, &[8], activation, 3, 16, &mut rng);
        let counts = Counts { learned: 2, target: 4, choice: 5 };
        let mut model =
            ImplicitModel::new(net, counts, None, &OptimizerConfig::Adam(axiomrl_nn::AdamConfig::default()), 0.0);
        let seen = Sequences::single(ObsRef::of_floats(2, &[0.1, 0.2, -0.5, 0.3]), &[]);
        let (mut valued, mut chosen) = (Outcomes::default(), Outcomes::default());
        model.infer_target(seen, &mut [], &mut rng, &mut valued);
        assert!(model.infer_choice(&mut rng, &mut chosen));
        assert_eq!((valued.width, chosen.width, chosen.rows), (4, 5, 2));
        assert!(chosen.fractions.iter().all(|fraction| !valued.fractions.contains(fraction)));
        // It speaks of the same observations: at the same fractions it says the same.
        let mut again = Outcomes { fractions: valued.fractions.clone(), ..Outcomes::default() };
        let features = std::mem::take(&mut model.nets.target.scratch.features);
        model.nets.target.answer(features, 2, &mut again);
        assert_eq!(again.values, valued.values);
        // Acting asks as often as choosing, and evaluation at even fractions.
        model.infer_online(seen, &mut [], None, &mut chosen);
        assert_eq!(chosen.fractions, even_fractions(5).repeat(2));
    }
}
