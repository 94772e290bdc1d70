//! Networks that give the return at any fraction they are asked for: IQN, and FQF which also learns what to ask.

use super::fractions::{Fractions, even_fractions};
use super::heads::Head;
use super::model::{LossFn, Model, Shape};
use super::outcomes::Outcomes;
use crate::agent::{Diverged, UpdateContext, finite};
use crate::parts::descend::{ParamGroup, slices};
use crate::parts::input::ObsEncoder;
use crate::parts::tracked::Trainable;
use crate::state::{StateError, StateIo};
use axiomrl_core::Batch;
use axiomrl_envs::{ObsRef, Rng};
use axiomrl_nn::{
    Activation, Init, Mlp, MlpSpec, OptimizerConfig, Params, Tensor, fused_loss, gradients_of, leaf, values,
};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Features of the observation, times features of the fraction, to the returns of all actions.
#[derive(Clone)]
pub struct ImplicitNet {
    sight: ObsEncoder,
    torso: Mlp,
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
    pub fn new(
        sight: ObsEncoder,
        hidden: &[usize],
        activation: Activation,
        actions: usize,
        cosines: usize,
        rng: &mut ChaCha8Rng,
    ) -> Self {
        let width = hidden.last().copied().unwrap_or(64);
        let before = &hidden[..hidden.len().saturating_sub(1)];
        let torso = MlpSpec::new(sight.width(), before, width, activation).with_output_activation(activation);
        let embedding = MlpSpec::new(cosines, &[], width, activation).with_output_activation(Activation::Relu);
        let head = MlpSpec::new(width, &[width], actions, activation);
        let mut net = |spec| Mlp::new(spec, 1, &Init::pytorch(), rng);
        Self {
            sight,
            torso: net(torso),
            embedding: net(embedding),
            head: net(head),
            actions,
            cosines,
            scratch: Scratch::default(),
        }
    }

    pub fn features(&self) -> usize {
        self.torso.spec.outputs
    }

    fn observe(&mut self, obs: ObsRef<'_>) -> &[f32] {
        self.torso.infer(&self.sight.infer(obs), obs.rows, &mut self.scratch.features);
        &self.scratch.features
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

    /// All that is learned: the sight, then torso, embedding and head.
    fn params(&mut self) -> Vec<&mut Params> {
        let nets = [&mut self.torso, &mut self.embedding, &mut self.head];
        self.sight.params().into_iter().chain(nets.map(|net| &mut net.params)).collect()
    }

    fn visit_state(&mut self, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.sight.visit_state(name, io)?;
        for (part, net) in [("torso", &mut self.torso), ("embedding", &mut self.embedding), ("head", &mut self.head)] {
            io.network(&format!("{name}.{part}"), net)?;
        }
        Ok(())
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
fn turn(from: &[f32], rows: usize, outer: usize, inner: usize) -> Vec<f32> {
    let mut to = Vec::with_capacity(from.len());
    for row in from.chunks_exact(outer * inner).take(rows) {
        for i in 0..inner {
            to.extend((0..outer).map(|o| row[o * inner + i]));
        }
    }
    to
}

/// An implicit network, its copy, and where its fractions come from.
pub struct ImplicitModel {
    online: ImplicitNet,
    target: ImplicitNet,
    group: ParamGroup,
    count: usize,
    /// FQF's proposal of fractions; IQN draws them at random.
    proposal: Option<Fractions>,
}

impl ImplicitModel {
    pub fn new(
        mut online: ImplicitNet,
        count: usize,
        proposal: Option<Fractions>,
        optimizer: &OptimizerConfig,
        max_norm: f32,
    ) -> Self {
        let group = ParamGroup::new(optimizer, &online.params(), max_norm);
        let target = online.clone();
        Self { online, target, group, count, proposal }
    }

    fn infer(&mut self, which: Which, obs: ObsRef<'_>, draw: Option<&mut Rng>, head: &Head, out: &mut Outcomes) {
        let net = if which == Which::Online { &mut self.online } else { &mut self.target };
        let rows = obs.rows;
        let features = net.observe(obs).to_vec();
        match (&mut self.proposal, draw) {
            (Some(proposal), _) => proposal.propose(&features, rows, &mut out.fractions, &mut out.share),
            (None, Some(rng)) => {
                out.fractions = (0..rows * self.count).map(|_| rng.random::<f32>()).collect();
                out.share = vec![1.0 / self.count as f32; self.count];
            }
            (None, None) => {
                out.fractions = even_fractions(self.count).repeat(rows);
                out.share = vec![1.0 / self.count as f32; self.count];
            }
        }
        let fractions = std::mem::take(&mut out.fractions);
        out.actions = net.actions;
        let returns = net.returns_at(&features, &fractions, rows);
        out.members = 1;
        out.rows = rows;
        out.width = self.count;
        out.values = turn(returns, rows, self.count, out.actions);
        out.fractions = fractions;
        out.settle(head);
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Which {
    Online,
    Target,
}

impl Model for ImplicitModel {
    fn infer_online(&mut self, obs: ObsRef<'_>, noise: Option<&mut Rng>, head: &Head, out: &mut Outcomes) {
        self.infer(Which::Online, obs, noise, head, out);
    }

    fn infer_target(&mut self, obs: ObsRef<'_>, rng: &mut Rng, head: &Head, out: &mut Outcomes) {
        self.infer(Which::Target, obs, Some(rng), head, out);
    }

    fn fit(
        &mut self,
        batch: &Batch,
        rate: f32,
        context: &mut UpdateContext<'_>,
        loss: LossFn<'_>,
    ) -> Result<f32, Diverged> {
        let (rows, count, actions) = (batch.rows, self.count, self.online.actions);
        let width = self.online.features();
        let net = &mut self.online;
        let (looked, looked_with) = net.sight.forward(batch.obs());
        let [torso, embedding, head] = [&net.torso, &net.embedding, &net.head].map(|n| n.params.tracked());
        let seen = net.torso.forward(looked, torso.clone(), None);
        // The one pass over the observation serves the proposal too, cut off from its gradient.
        let features = values(&seen);
        let (mut fractions, mut share) = (Vec::new(), vec![1.0 / count as f32; count]);
        match &mut self.proposal {
            Some(proposal) => proposal.propose(&features, rows, &mut fractions, &mut share),
            None => fractions.extend((0..rows * count).map(|_| context.rng.random::<f32>())),
        }
        let mut cosines = Vec::new();
        cosine_features(&fractions, net.cosines, &mut cosines);
        let asked = net.embedding.forward(leaf(&cosines, [rows * count, net.cosines]), embedding.clone(), None);
        let joint: Tensor<3> = seen.reshape([rows, 1, width]) * asked.reshape([rows, count, width]);
        let returns = net.head.forward(joint.reshape([rows * count, width]), head.clone(), None);
        let mut found = Vec::new();
        let node = fused_loss([returns], |[returns]| {
            found = turn(returns, rows, count, actions);
            let shape = Shape { members: 1, width: count, fractions: &fractions, share: &share };
            let (value, gradient) = loss(shape, &found);
            (value, [turn(&gradient, rows, actions, count)])
        });
        let params: Vec<_> = looked_with.into_iter().chain([torso, embedding, head]).collect();
        let gradients = gradients_of(node, &params);
        drop(params);
        if let Some(proposal) = &mut self.proposal {
            let between = proposal.inner_edges(rows);
            let at_edges = net.returns_at(&features, &between, rows).to_vec();
            proposal.learn(batch, &features, &found, &at_edges, actions, context)?;
        }
        let norm = self.group.step(&mut self.online.params(), &slices(&gradients), rate);
        finite("the gradient of the Q-network", norm, context.number())
    }

    fn follow(&mut self, tau: f32) {
        for (target, online) in self.target.params().into_iter().zip(self.online.params()) {
            target.polyak_from(online, tau);
        }
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.online.visit_state("q", io)?;
        self.proposal.as_mut().map_or(Ok(()), |p| p.visit_policy(io))
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.target.visit_state("q_target", io)?;
        self.group.visit_state("q", io)?;
        self.proposal.as_mut().map_or(Ok(()), |p| p.visit_state(io))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::input::Vision;
    use axiomrl_envs::{BoxSpace, Space};

    #[test]
    fn turning_twice_gives_the_same() {
        let from: Vec<f32> = (0..24).map(|i| i as f32).collect();
        let turned = turn(&from, 2, 3, 4);
        assert_eq!(turned[..6], [0.0, 4.0, 8.0, 1.0, 5.0, 9.0]);
        assert_eq!(turn(&turned, 2, 4, 3), from);
    }

    #[test]
    fn shapes_of_the_network() {
        let mut rng = axiomrl_core::stream(1, "test");
        let space = Space::Box(BoxSpace::uniform(4, -1.0, 1.0));
        let sight = ObsEncoder::new(&space, Vision::Auto, &Init::pytorch(), &mut rng).unwrap();
        let mut net = ImplicitNet::new(sight, &[16, 8], Activation::Relu, 3, 64, &mut rng);
        let features = net.observe(ObsRef::of_floats(2, &[0.1; 8])).to_vec();
        assert_eq!(features.len(), 2 * 8);
        assert_eq!(net.returns_at(&features, &[0.2, 0.5, 0.1, 0.9], 2).len(), 2 * 2 * 3);
    }
}
