//! A network that looks for itself, and the steps that a loss of its own takes it.

use crate::agent::Diverged;
use crate::parts::columns::join_columns;
use crate::parts::descend::{Loss, ParamGroup};
use crate::parts::seeing::SeeingNet;
use crate::parts::tracked::Trainable;
use crate::state::{StateError, StateIo};
use axiomrl_envs::ObsRef;
use axiomrl_nn::{AdamConfig, OptimizerConfig, Params, Tensor, fused_loss, leaf};

pub struct Fitted {
    pub net: SeeingNet,
    group: ParamGroup,
}

/// A loss of a network's outputs with its gradients.
#[derive(Default)]
pub struct OutputLoss {
    pub value: f32,
    /// By every output.
    pub gradient: Vec<f32>,
    /// By parameters that enter the loss directly; empty where there are none.
    pub direct: Vec<f32>,
}

/// How far a step goes, and which update it belongs to.
#[derive(Clone, Copy)]
pub struct Stride {
    pub rate: f32,
    pub update: u64,
    /// For the masks of hidden units that are dropped, where some are.
    pub dropout_seed: Option<u64>,
}

impl Fitted {
    /// `direct` are parameters that are learned with the network and enter its loss directly.
    pub fn new(mut net: SeeingNet, direct: Option<&mut Params>) -> Self {
        let adam = OptimizerConfig::Adam(AdamConfig::default());
        let learned: Vec<&mut Params> = net.params().into_iter().chain(direct).collect();
        let group = ParamGroup::new(&adam, &learned, f32::INFINITY);
        Self { net, group }
    }

    /// One step down the `loss` of what comes out for these observations, with the rows of `beside`, if there are any, beside
    /// what is seen of them. Gives the norm of the gradient.
    pub fn step(
        &mut self,
        whose: &str,
        (obs, beside): (ObsRef<'_>, &[f32]),
        direct: Option<&mut Params>,
        Stride { rate, update, dropout_seed }: Stride,
        loss: impl FnOnce(&[f32]) -> OutputLoss,
    ) -> Result<f32, Diverged> {
        let (net, rows) = (&mut self.net, obs.rows);
        if !net.encoder.sees_images() {
            // Nothing but the layers learns: no graph is needed.
            let (seen, mut joint) = (net.encoder.infer(obs), Vec::new());
            let pass = net.layers.pass(side_by_side(&seen, beside, rows, &mut joint), rows, dropout_seed);
            let OutputLoss { value, gradient, direct: by_direct } = loss(pass.outputs());
            let gradients = [pass.params_gradient(&gradient)];
            drop(pass);
            let mut params: Vec<&mut Params> = net.params().into_iter().chain(direct).collect();
            let rest = |_: &[&[f32]]| there_is(by_direct);
            return self.group.descend_along(whose, value, &gradients, &mut params, rate, update, rest);
        }
        let (features, mut tracked) = net.encoder.forward(obs);
        let input = match beside.len() {
            0 => features,
            all => Tensor::cat(vec![features, leaf(beside, [rows, all / rows])], 1),
        };
        let own = net.layers.params.tracked();
        tracked.push(own.clone());
        let (mut value, mut by_direct) = (0.0, Vec::new());
        let node = fused_loss([net.layers.forward(input, own, dropout_seed)], |[out]| {
            let found = loss(out);
            (value, by_direct) = (found.value, found.direct);
            (value, [found.gradient])
        });
        let mut params: Vec<&mut Params> = net.params().into_iter().chain(direct).collect();
        let loss = Loss { node, value, tracked };
        self.group.descend_with(whose, loss, &mut params, rate, update, |_| there_is(by_direct))
    }

    /// The network under `name`, in the part of the state that is being visited.
    pub fn visit_net(&mut self, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
        visit_net(&mut self.net, name, io)
    }

    pub fn visit_optimizer(&mut self, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.group.visit_state(name, io)
    }
}

/// Saves or loads what looks and what follows it.
pub fn visit_net(net: &mut SeeingNet, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
    net.encoder.visit_state(name, io)?;
    io.network(name, &mut net.layers)
}

/// Moves a slow copy towards what it follows; `tau` 1 makes it the same, to the last bit.
pub fn follow<'a>(
    target: impl IntoIterator<Item = &'a mut Params>,
    online: impl IntoIterator<Item = &'a mut Params>,
    tau: f32,
) {
    for (target, online) in target.into_iter().zip(online) {
        if tau < 1.0 { target.polyak_from(online, tau) } else { target.copy_from(online) }
    }
}

/// What a network takes: what was seen, and what stands beside it.
pub fn side_by_side<'a>(seen: &'a [f32], beside: &[f32], rows: usize, joint: &'a mut Vec<f32>) -> &'a [f32] {
    if beside.is_empty() {
        return seen;
    }
    join_columns(seen, beside, rows, joint);
    joint
}

/// A list of what is not empty.
fn there_is(gradient: Vec<f32>) -> Vec<Vec<f32>> {
    if gradient.is_empty() { Vec::new() } else { vec![gradient] }
}
