//! Steps of the policy's network alone, and of the value's alone.

use super::{PolicyValueNet, columns, there_is};
use crate::agent::Diverged;
use crate::parts::descend::{Loss, ParamGroup};
use crate::parts::input::ObsEncoder;
use crate::parts::torso::Sequences;
use crate::parts::tracked::Trainable;
use axiomrl_nn::{Mlp, Params, fused_loss};

const POLICY: &str = "the policy";
const VALUE: &str = "the value";

impl PolicyValueNet {
    /// What the policy consists of, the standard deviations last, where there are any.
    pub fn policy_params<'a>(&'a mut self, log_std: &'a mut Params) -> Vec<&'a mut Params> {
        let mut params = self.torso.params();
        params.push(&mut self.policy.params);
        params.extend(there_are(log_std));
        params
    }

    /// The same with the head that values observations for the policy.
    pub fn policy_and_aux_params<'a>(&'a mut self, log_std: &'a mut Params) -> Vec<&'a mut Params> {
        let mut params = self.torso.params();
        params.push(&mut self.policy.params);
        params.extend(self.aux.as_mut().map(|aux| &mut aux.params));
        params.extend(there_are(log_std));
        params
    }

    /// What the value consists of, where it is apart from the policy.
    pub fn value_params(&mut self) -> Vec<&mut Params> {
        let torso = self.value_torso.iter_mut().flat_map(Trainable::params);
        torso.chain([&mut self.value.params]).collect()
    }

    /// The policy's network, where there is nothing before it that learns.
    pub fn policy_mlp(&mut self) -> &mut Mlp {
        &mut self.policy
    }

    /// The network of the policy, and that of the value: what looks at observations, and the layers after it. For networks apart
    /// without a memory.
    pub fn apart(&self) -> [(&ObsEncoder, &Mlp); 2] {
        let of_value = self.value_torso.as_ref().unwrap_or(&self.torso);
        [(&self.torso.input, &self.policy), (&of_value.input, &self.value)]
    }

    /// What the networks are shown, where nothing before them learns.
    pub fn input<'a>(&self, sequences: Sequences<'a>) -> std::borrow::Cow<'a, [f32]> {
        self.torso.input.infer(sequences.obs)
    }

    /// One step down a loss of the policy's heads and of the standard deviations: `loss` gives its value and its gradient by both.
    /// Gives the norm of the gradient.
    pub fn descend_policy(
        &mut self,
        group: &mut ParamGroup,
        log_std: &mut Params,
        (sequences, state): (Sequences<'_>, &[f32]),
        (rate, update): (f32, u64),
        loss: impl FnOnce(&[f32]) -> (f32, Vec<f32>, Vec<f32>),
    ) -> Result<f32, Diverged> {
        if !self.torso.learns() {
            let seen = self.torso.input.infer(sequences.obs);
            let pass = self.policy.pass(&seen, sequences.obs.rows, None);
            let (value, by_head, last) = loss(pass.outputs());
            let gradients = [pass.params_gradient(&by_head)];
            drop(pass);
            let params = &mut self.policy_params(log_std);
            return group.descend_along(POLICY, value, &gradients, params, rate, update, |_| there_is(last));
        }
        let [own, _] = self.parts_of_state();
        let (seen, mut tracked) = self.torso.forward(sequences, &columns(state, self.state_width(), own));
        let params = self.policy.params.tracked();
        let head = self.policy.forward(seen, params.clone(), None);
        tracked.push(params);
        let (mut value, mut by_log_std) = (0.0, Vec::new());
        let node = fused_loss([head], |[head]| {
            let (found, by_head, last) = loss(head);
            (value, by_log_std) = (found, last);
            (found, [by_head])
        });
        let loss = Loss { node, value, tracked };
        group.descend_with(POLICY, loss, &mut self.policy_params(log_std), rate, update, |_| there_is(by_log_std))
    }

    /// One step down a loss of the values alone.
    pub fn descend_value(
        &mut self,
        group: &mut ParamGroup,
        (sequences, state): (Sequences<'_>, &[f32]),
        (rate, update): (f32, u64),
        loss: impl FnOnce(&[f32]) -> (f32, Vec<f32>),
    ) -> Result<f32, Diverged> {
        let Some(torso) = &self.value_torso else {
            let seen = self.torso.input.infer(sequences.obs);
            let pass = self.value.pass(&seen, sequences.obs.rows, None);
            let (value, by_values) = loss(pass.outputs());
            let gradients = [pass.params_gradient(&by_values)];
            drop(pass);
            let params = &mut self.value_params();
            return group.descend_along(VALUE, value, &gradients, params, rate, update, |_| Vec::new());
        };
        let [_, own] = self.parts_of_state();
        let (seen, mut tracked) = torso.forward(sequences, &columns(state, self.state_width(), own));
        let params = self.value.params.tracked();
        let values = self.value.forward(seen, params.clone(), None);
        tracked.push(params);
        let mut value = 0.0;
        let node = fused_loss([values], |[values]| {
            let (found, by_values) = loss(values);
            value = found;
            (found, [by_values])
        });
        group.descend(VALUE, Loss { node, value, tracked }, &mut self.value_params(), rate, update)
    }

    /// One step down a loss of the policy's heads, of what its network thinks observations are worth, and of the standard
    /// deviations: `loss` gives its value and its gradients by all three.
    ///
    /// # Panics
    /// Without a head for it, or with a memory.
    pub fn descend_aux(
        &mut self,
        group: &mut ParamGroup,
        log_std: &mut Params,
        sequences: Sequences<'_>,
        (rate, update): (f32, u64),
        loss: impl FnOnce(&[f32], &[f32]) -> (f32, [Vec<f32>; 2], Vec<f32>),
    ) -> Result<f32, Diverged> {
        let (seen, mut tracked) = self.torso.forward(sequences, &[]);
        let aux = self.aux.as_ref().expect("a network with an auxiliary head");
        let params = [self.policy.params.tracked(), aux.params.tracked()];
        let head = self.policy.forward(seen.clone(), params[0].clone(), None);
        let values = aux.forward(seen, params[1].clone(), None);
        tracked.extend(params);
        let (mut value, mut by_log_std) = (0.0, Vec::new());
        let node = fused_loss([head, values], |[head, values]| {
            let (found, gradients, last) = loss(head, values);
            (value, by_log_std) = (found, last);
            (found, gradients)
        });
        let loss = Loss { node, value, tracked };
        let params = &mut self.policy_and_aux_params(log_std);
        group.descend_with(POLICY, loss, params, rate, update, |_| there_is(by_log_std))
    }
}

/// Standard deviations, where there are any.
fn there_are(log_std: &mut Params) -> Option<&mut Params> {
    (!log_std.as_slice().is_empty()).then_some(log_std)
}
