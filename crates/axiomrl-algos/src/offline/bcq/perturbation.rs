//! The small correction of a decoded action: xi(s, a) = clip(a + reach * tanh f(s, a), -1, 1).

use super::super::candidates::join_each;
use super::super::twin_critic::Ascent;
use crate::agent::{Diverged, UpdateContext};
use crate::export::{Graph, Value};
use crate::parts::columns::join_columns;
use crate::parts::descend::ParamGroup;
use crate::parts::tracked::{Tracked, Trainable};
use crate::state::{StateError, StateIo};
use axiomrl_envs::Rng;
use axiomrl_nn::{Activation, AdamConfig, Init, Mlp, MlpSpec, OptimizerConfig};

pub struct Perturbation {
    /// tanh f
    pub net: Tracked<Mlp>,
    group: ParamGroup,
    /// The largest correction.
    reach: f32,
}

impl Perturbation {
    pub fn new(
        seen: usize,
        actions: usize,
        hidden: &[usize],
        activation: Activation,
        reach: f32,
        rng: &mut Rng,
    ) -> Self {
        let spec = MlpSpec::new(seen + actions, hidden, actions, activation).with_output_activation(Activation::Tanh);
        let mut net = Mlp::new(spec, 1, &Init::pytorch(), rng);
        let group = ParamGroup::new(&OptimizerConfig::Adam(AdamConfig::default()), &net.params(), f32::INFINITY);
        Self { net: Tracked::new(net), group, reach }
    }

    /// The corrected actions, `each` for every row of what was seen.
    pub fn online(&self, seen: &[f32], actions: &[f32], each: usize) -> Vec<f32> {
        self.apply(&self.net.online, seen, actions, each)
    }

    /// As [`Perturbation::online`], as nodes of a graph: `seen` and `actions` are `[rows, each, width]`.
    pub fn onnx(&self, graph: &mut Graph, seen: Value, actions: Value) -> Value {
        let joint = graph.concat(&[seen, actions]);
        let moves = self.net.online.onnx(graph, joint);
        let moves = graph.scale(moves, self.reach);
        let moved = graph.add(actions, moves);
        graph.clip(moved, -1.0, 1.0)
    }

    /// As [`Perturbation::online`], by the slow copy.
    pub fn target(&self, seen: &[f32], actions: &[f32], each: usize) -> Vec<f32> {
        self.apply(&self.net.target, seen, actions, each)
    }

    fn apply(&self, net: &Mlp, seen: &[f32], actions: &[f32], each: usize) -> Vec<f32> {
        let all = actions.len() / net.spec.outputs;
        let (mut joint, mut moves) = (Vec::new(), Vec::new());
        join_each(seen, actions, all / each, each, &mut joint);
        net.infer(&joint, all, &mut moves);
        actions.iter().zip(&moves).map(|(a, by)| (a + self.reach * by).clamp(-1.0, 1.0)).collect()
    }

    /// One step on -mean Q(s, xi(s, a)), one action for every row. `ascend` says what the critics think of the corrected
    /// actions; gives the value.
    pub fn fit(
        &mut self,
        seen: &[f32],
        actions: &[f32],
        rate: f32,
        context: &mut UpdateContext<'_>,
        ascend: impl FnOnce(&[f32]) -> Ascent,
    ) -> Result<f32, Diverged> {
        let rows = actions.len() / self.net.online.spec.outputs;
        let mut joint = Vec::new();
        join_columns(seen, actions, rows, &mut joint);
        let pass = self.net.online.pass(&joint, rows, None);
        let moved: Vec<f32> = actions.iter().zip(pass.outputs()).map(|(a, by)| a + self.reach * by).collect();
        let corrected: Vec<f32> = moved.iter().map(|a| a.clamp(-1.0, 1.0)).collect();
        let Ascent { value, by_action } = ascend(&corrected);
        // What was cut at the bounds does not move with the correction.
        let slopes = by_action.iter().zip(&moved).map(|(by, a)| if a.abs() <= 1.0 { -self.reach * by } else { 0.0 });
        let gradient = [pass.params_gradient(&slopes.collect::<Vec<f32>>())];
        drop(pass);
        let (params, number) = (&mut self.net.online.params(), context.number());
        self.group.descend_along("the perturbation", -value, &gradient, params, rate, number, |_| Vec::new())?;
        Ok(value)
    }

    /// What acting needs.
    pub fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("perturbation", &mut self.net.online)
    }

    /// What only learning needs.
    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("perturbation_target", &mut self.net.target)?;
        self.group.visit_state("perturbation", io)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::with_context;

    /// One number seen, actions of two, and a network that is its output's bias alone.
    fn biased(reach: f32, bias: [f32; 2]) -> Perturbation {
        let mut rng = axiomrl_core::stream(1, "init");
        let mut own = Perturbation::new(1, 2, &[], Activation::Relu, reach, &mut rng);
        for net in [&mut own.net.online, &mut own.net.target] {
            let params = net.params.make_mut();
            params.fill(0.0);
            let end = params.len();
            params[end - 2..].copy_from_slice(&bias);
        }
        own
    }

    fn close(found: &[f32], wanted: &[f32]) {
        assert!(found.iter().zip(wanted).all(|(f, w)| (f - w).abs() < 1e-6), "{found:?} is not {wanted:?}");
    }

    #[test]
    fn actions_are_moved_by_at_most_the_reach_and_stay_within_their_bounds() {
        let own = biased(0.05, [0.5, -30.0]);
        let by = 0.05 * 0.5f32.tanh();
        close(&own.online(&[0.0], &[0.2, 0.2, 0.99, -0.99], 2), &[0.2 + by, 0.15, 1.0, -1.0]);
        assert_eq!(biased(0.0, [3.0, 3.0]).online(&[0.0], &[0.2, -1.0], 1), [0.2, -1.0]);
    }

    #[test]
    fn the_slow_copy_corrects_by_its_own_opinion() {
        let mut own = biased(0.05, [0.5, 0.5]);
        own.net.target.params.make_mut().fill(0.0);
        assert_eq!(own.target(&[0.0], &[0.2, 0.3], 1), [0.2, 0.3]);
        assert_ne!(own.online(&[0.0], &[0.2, 0.3], 1), [0.2, 0.3]);
    }

    #[test]
    fn corrections_climb_the_value_where_they_are_not_cut() {
        let mut own = biased(0.1, [0.0, 3.0]);
        let before = own.net.online.params.as_slice().to_vec();
        with_context(|context| {
            let ascend = |corrected: &[f32]| {
                close(corrected, &[0.5, 1.0]);
                Ascent { value: 7.0, by_action: vec![2.0, 2.0] }
            };
            let value = own.fit(&[1.0], &[0.5, 1.0], 1e-2, context, ascend).unwrap();
            assert_eq!(value, 7.0);
        });
        let after = own.net.online.params.as_slice();
        let end = after.len();
        // Weights `[in, out]`: the bias of the first number rises, that of the second, which was cut at 1, stays.
        assert!(after[end - 2] > before[end - 2], "{after:?}");
        assert_eq!(after[end - 1], before[end - 1]);
        assert_eq!(own.net.target.params.as_slice(), before);
    }
}
