//! Two critics that look for themselves, their slow copy, and what a policy learns from them.

use super::candidates::{best_mixtures, join_each};
use crate::agent::{Learned, UpdateContext};
use crate::parts::descend::{Loss, ParamGroup};
use crate::parts::input::ObsEncoder;
use crate::parts::seeing::{Forward, SeeingNet};
use crate::parts::tracked::{Tracked, Trainable};
use crate::state::{StateError, StateIo};
use axiomrl_core::Batch;
use axiomrl_envs::Rng;
use axiomrl_nn::{Activation, AdamConfig, Init, Mlp, MlpSpec, OptimizerConfig, Params, fused_loss};

const CRITICS: usize = 2;

pub struct TwinCritic {
    pub net: Tracked<SeeingNet>,
    group: ParamGroup,
}

/// What critics think of actions: the mean over the rows, and its derivative by every number of every action.
pub struct Ascent {
    pub value: f32,
    pub by_action: Vec<f32>,
}

impl TwinCritic {
    /// Over what `encoder` sees and `actions` numbers of an action; the encoder is trained with the critics.
    pub fn new(encoder: ObsEncoder, actions: usize, hidden: &[usize], activation: Activation, rng: &mut Rng) -> Self {
        let spec = MlpSpec::new(encoder.width() + actions, hidden, 1, activation);
        let mut net = SeeingNet { layers: Mlp::new(spec, CRITICS, &Init::pytorch(), rng), encoder };
        let adam = OptimizerConfig::Adam(AdamConfig::default());
        Self { group: ParamGroup::new(&adam, &net.params(), f32::INFINITY), net: Tracked::new(net) }
    }

    /// y = R + D * max_j [lambda * min_i + (1 - lambda) * max_i] Q'_i(s', a_j), with `each` candidates for every row at what the
    /// slow encoder sees next.
    pub fn targets(&self, batch: &Batch, seen: &[f32], candidates: &[f32], each: usize, lambda: f32) -> Vec<f32> {
        let q = scores(&self.net.target.layers, seen, candidates, batch.rows, each);
        let values = best_mixtures(&q, CRITICS, each, lambda);
        let returns = batch.reward.iter().zip(&batch.discount).zip(values);
        returns.map(|((reward, discount), value)| reward + discount * value).collect()
    }

    /// One step of critics and encoder on sum_i mean (Q_i(s, a) - y)^2. Gives what the encoder saw before it.
    pub fn fit(
        &mut self,
        batch: &Batch,
        targets: &[f32],
        rate: f32,
        context: &mut UpdateContext<'_>,
    ) -> Learned<Vec<f32>> {
        let share = 1.0 / batch.rows as f32;
        let (mut value, mut q_mean, mut error_mean) = (0.0, 0.0, 0.0);
        let Forward { out, seen, tracked } = self.net.online.forward(batch.obs(), &batch.action);
        let node = fused_loss([out], |[q]| {
            let errors: Vec<f32> = q.iter().enumerate().map(|(at, q)| q - targets[at % batch.rows]).collect();
            value = share * errors.iter().map(|e| e * e).sum::<f32>();
            q_mean = q.iter().sum::<f32>() / q.len() as f32;
            error_mean = errors.iter().map(|e| e.abs()).sum::<f32>() / q.len() as f32;
            (value, [errors.iter().map(|e| 2.0 * share * e).collect()])
        });
        let learned = &mut self.net.online.params();
        let norm = self.group.descend("the critics", Loss { node, value, tracked }, learned, rate, context.number())?;
        context.metrics.add("critic_loss", value);
        context.metrics.add("critic_grad_norm", norm);
        context.metrics.add("q_data_mean", q_mean);
        context.metrics.add("target_q_mean", share * targets.iter().sum::<f32>());
        context.metrics.add("td_error", error_mean);
        Ok(seen)
    }

    /// The first critic by itself: the other need not be evaluated.
    pub fn first(&self) -> Mlp {
        let Mlp { spec, params } = &self.net.online.layers;
        let len = params.per_member();
        Mlp { spec: spec.clone(), params: Params::from_vec(1, len, params.as_slice()[..len].to_vec()) }
    }

    /// What acting needs.
    pub fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.net.online.encoder.visit_state("encoder", io)?;
        io.network("critic", &mut self.net.online.layers)
    }

    /// What only learning needs.
    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("critic_target", &mut self.net.target.layers)?;
        self.net.target.encoder.visit_state("encoder_target", io)?;
        self.group.visit_state("critic", io)
    }
}

/// The values of `each` candidates for every row of what was seen: `[critics, rows * each]`.
pub fn scores(critics: &Mlp, seen: &[f32], candidates: &[f32], rows: usize, each: usize) -> Vec<f32> {
    let (mut joint, mut q) = (Vec::new(), Vec::new());
    join_each(seen, candidates, rows, each, &mut joint);
    critics.infer(&joint, rows * each, &mut q);
    q
}

/// mean_s min_i mean_j Q_i(s, a_j) over `each` actions of every row, with its derivative by the actions. The critics enter as
/// constants.
pub fn ascend(critics: &Mlp, seen: &[f32], actions: &[f32], rows: usize, each: usize) -> Ascent {
    let (mut joint, all) = (Vec::new(), rows * each);
    join_each(seen, actions, rows, each, &mut joint);
    let pass = critics.pass(&joint, all, None);
    let share = 1.0 / all as f32;
    let (q, mut value) = (pass.outputs(), 0.0);
    let mut by_q = vec![0.0; q.len()];
    for row in 0..rows {
        let of = |critic: usize| critic * all + row * each..critic * all + (row + 1) * each;
        let sum = |critic: usize| q[of(critic)].iter().sum::<f32>();
        let lowest = (1..critics.params.members()).fold((0, sum(0)), |(best, least), critic| {
            let found = sum(critic);
            if found < least { (critic, found) } else { (best, least) }
        });
        value += share * lowest.1;
        by_q[of(lowest.0)].fill(share);
    }
    let by_joint = pass.input_gradient(&by_q);
    let (width, own) = (critics.spec.inputs, actions.len() / all);
    let by_action = by_joint.chunks_exact(width).flat_map(|row| &row[width - own..]).copied().collect();
    Ascent { value, by_action }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::input::Vision;
    use crate::testing::{batch, vector_and_image, with_context};
    use axiomrl_envs::{BoxSpace, Space};

    fn critics() -> Mlp {
        let spec = MlpSpec::new(3, &[7], 1, Activation::Tanh);
        let mut net = Mlp::new(spec, CRITICS, &Init::pytorch(), &mut axiomrl_core::stream(4, "init"));
        net.params.make_mut().iter_mut().for_each(|w| *w *= 2.0);
        net
    }

    const SEEN: [f32; 3] = [0.2, -0.7, 0.9];
    /// Two actions of two numbers for each of three rows.
    const ACTIONS: [f32; 12] = [0.1, -0.4, 0.8, 0.3, -0.9, 0.6, 0.2, -0.2, 0.5, 0.7, -0.6, -0.1];

    #[test]
    fn the_lowest_critic_of_each_row_counts_by_its_mean() {
        let critics = critics();
        let q = scores(&critics, &SEEN, &ACTIONS, 3, 2);
        let means: Vec<[f32; 2]> =
            (0..3).map(|row| [0, 6].map(|at| 0.5 * (q[at + 2 * row] + q[at + 2 * row + 1]))).collect();
        assert!(means.iter().any(|m| m[0] < m[1]) && means.iter().any(|m| m[0] > m[1]), "{means:?}");
        let wanted = means.iter().map(|m| m[0].min(m[1])).sum::<f32>() / 3.0;
        assert!((ascend(&critics, &SEEN, &ACTIONS, 3, 2).value - wanted).abs() < 1e-6);
    }

    #[test]
    fn both_critics_come_closer_to_their_targets_by_the_sum_of_their_squares() {
        for setup in vector_and_image(&Space::Box(BoxSpace::uniform(2, -1.0, 1.0))) {
            let mut rng = setup.rng("init");
            let encoder = ObsEncoder::new(setup.observation_space(), Vision::Auto, &Init::pytorch(), &mut rng).unwrap();
            let mut critic = TwinCritic::new(encoder, 2, &[8], Activation::Tanh, &mut rng);
            let batch = batch(&setup, 5);
            let targets = [1.0, -1.0, 2.0, 0.5, 3.0];
            let fit = |critic: &mut TwinCritic| {
                let q = critic.net.online.infer(batch.obs(), &batch.action);
                let logged = with_context(|context| {
                    critic.fit(&batch, &targets, 1e-2, context).unwrap();
                    context.metrics.take()
                });
                let of = |name: &str| logged.iter().find(|(found, _)| found == name).unwrap().1 as f32;
                let errors: Vec<f32> = q.iter().enumerate().map(|(i, q)| q - targets[i % 5]).collect();
                let close = |name: &str, wanted: f32| assert!((of(name) - wanted).abs() < 1e-4, "{name}: {logged:?}");
                close("critic_loss", errors.iter().map(|e| e * e).sum::<f32>() / 5.0);
                close("td_error", errors.iter().map(|e| e.abs()).sum::<f32>() / 10.0);
                close("q_data_mean", q.iter().sum::<f32>() / 10.0);
                close("target_q_mean", 1.1);
                [0, 5].map(|at| errors[at..at + 5].iter().map(|e| e * e).sum::<f32>())
            };
            let before = fit(&mut critic);
            let mut after = before;
            (0..20).for_each(|_| after = fit(&mut critic));
            assert!(after[0] < 0.8 * before[0] && after[1] < 0.8 * before[1], "{before:?} {after:?}");
        }
    }

    #[test]
    fn slopes_agree_with_finite_differences() {
        let critics = critics();
        let exact = ascend(&critics, &SEEN, &ACTIONS, 3, 2).by_action;
        for i in 0..ACTIONS.len() {
            let at = |by: f32| {
                let mut moved = ACTIONS;
                moved[i] += by;
                ascend(&critics, &SEEN, &moved, 3, 2).value
            };
            let numeric = (at(1e-2) - at(-1e-2)) / 2e-2;
            assert!((numeric - exact[i]).abs() < 1e-3, "{i}: {numeric} {}", exact[i]);
        }
        assert!(exact.iter().any(|g| g.abs() > 0.02), "{exact:?}");
    }
}
