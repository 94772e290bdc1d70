//! The network: three tokens for every step, a causal transformer, and a head on what was seen.

use super::DecisionTransformerConfig;
use super::history::Steps;
use crate::parts::tracked::Trainable;
use crate::state::{StateError, StateIo};
use axiomrl_nn::{Activation, Init, Mlp, MlpSpec, Params, Pooled, Transformer};
use rand_chacha::ChaCha8Rng;

/// Deviation of the weights at the start.
const STD: f32 = 0.02;

pub struct Model {
    embed_return: Mlp,
    embed_state: Mlp,
    embed_action: Mlp,
    /// `[max_timestep, width]`
    embed_time: Params,
    trunk: Transformer,
    head: Mlp,
}

/// The tokens of a step.
#[derive(Clone, Copy)]
struct Place {
    step: usize,
    /// The token of the return; that of the state comes next.
    token: usize,
    /// Whether the action follows: not that of the last step, which no state sees.
    acted: bool,
}

impl Model {
    /// Steps have `state` and `action` numbers, and the head `outputs`.
    pub fn new(
        config: &DecisionTransformerConfig,
        [state, action, outputs]: [usize; 3],
        output: Activation,
        rng: &mut ChaCha8Rng,
    ) -> Self {
        let (width, init) = (config.embed_dim, Init::Normal { std: STD });
        let linear = |inputs, outputs| MlpSpec::new(inputs, &[], outputs, Activation::Relu);
        let mut embed = |inputs: usize| Mlp::new(linear(inputs, width), 1, &init, rng);
        let [embed_return, embed_state, embed_action] = [1, state, action].map(&mut embed);
        // A table of numbers is a linear map of choices; it has no biases.
        let mut times = embed(config.max_timestep).params.as_slice().to_vec();
        times.truncate(config.max_timestep * width);
        Self {
            embed_return,
            embed_state,
            embed_action,
            embed_time: Params::from_vec(config.max_timestep, width, times),
            trunk: Transformer::new(config.trunk(), &init, rng),
            head: Mlp::new(linear(width, outputs).with_output_activation(output), 1, &init, rng),
        }
    }

    fn width(&self) -> usize {
        self.trunk.spec.width
    }

    /// The numbers of step `time`; later ones than there are share the last.
    fn time_row(&self, time: usize) -> usize {
        time.min(self.embed_time.members() - 1)
    }

    /// Tokens, laid out as they are placed: each is what it stands for plus the number of its step.
    fn tokens(&self, steps: &Steps, [returns, states, actions]: [&[f32]; 3]) -> Vec<f32> {
        let (width, times) = (self.width(), self.embed_time.as_slice());
        let mut tokens = vec![0.0; token_lengths(steps).iter().sum::<usize>() * width];
        for Place { step, token, acted } in places(steps) {
            let time = &times[self.time_row(steps.times[step]) * width..][..width];
            for (kind, of_kind) in [returns, states, actions].iter().enumerate().take(if acted { 3 } else { 2 }) {
                let to = &mut tokens[(token + kind) * width..][..width];
                let from = &of_kind[step * width..][..width];
                to.iter_mut().zip(from).zip(time).for_each(|((to, from), time)| *to = from + time);
            }
        }
        tokens
    }

    /// What the head says of the last state of each episode.
    pub fn predict(&self, steps: &Steps) -> Vec<f32> {
        let (count, width) = (steps.times.len(), self.width());
        let mut embedded = [const { Vec::new() }; 3];
        let [returns, states, actions] = &mut embedded;
        self.embed_return.infer(&steps.returns, count, returns);
        self.embed_state.infer(&steps.obs, count, states);
        self.embed_action.infer(&steps.actions, count, actions);
        let tokens = self.tokens(steps, [&embedded[0], &embedded[1], &embedded[2]]);
        let (mut seen, mut out) = (Vec::new(), Vec::new());
        self.trunk.infer(&tokens, &token_lengths(steps), &mut seen);
        let last = places(steps).filter(|place| !place.acted);
        let last: Vec<f32> = last.flat_map(|place| &seen[(place.token + 1) * width..][..width]).copied().collect();
        self.head.infer(&last, steps.lengths.len(), &mut out);
        out
    }

    /// The value of a loss of what the head says of every state, and the gradients of all parameters. `loss` gives its value and its
    /// gradient; dropout follows from `seed`.
    pub fn pass(
        &self,
        steps: &Steps,
        seed: Option<u64>,
        loss: impl FnOnce(&[f32]) -> (f32, Vec<f32>),
    ) -> (f32, [Pooled; 6]) {
        let (count, width) = (steps.times.len(), self.width());
        let returns = self.embed_return.pass(&steps.returns, count, None);
        let states = self.embed_state.pass(&steps.obs, count, None);
        let actions = self.embed_action.pass(&steps.actions, count, None);
        let (lengths, tokens) =
            (token_lengths(steps), self.tokens(steps, [&returns, &states, &actions].map(|pass| pass.outputs())));
        let trunk = self.trunk.pass(&tokens, &lengths, seed);
        let of_states = places(steps).flat_map(|place| &trunk.outputs()[(place.token + 1) * width..][..width]);
        let of_states: Vec<f32> = of_states.copied().collect();
        let head = self.head.pass(&of_states, count, None);
        let (value, by_outputs) = loss(head.outputs());

        let (by_head, by_states) = (head.params_gradient(&by_outputs), head.input_gradient(&by_outputs));
        let mut by_tokens = vec![0.0; tokens.len()];
        for place in places(steps) {
            let from = &by_states[place.step * width..][..width];
            by_tokens[(place.token + 1) * width..][..width].copy_from_slice(from);
        }
        let by_trunk = trunk.backward(&mut by_tokens);
        let mut by_time = Pooled::new(self.embed_time.as_slice().len());
        by_time.fill(0.0);
        let mut by_kind = [(); 3].map(|()| vec![0.0; count * width]);
        for Place { step, token, acted } in places(steps) {
            let by_time = &mut by_time[self.time_row(steps.times[step]) * width..][..width];
            for (kind, by_kind) in by_kind.iter_mut().enumerate().take(if acted { 3 } else { 2 }) {
                let from = &by_tokens[(token + kind) * width..][..width];
                by_kind[step * width..][..width].copy_from_slice(from);
                by_time.iter_mut().zip(from).for_each(|(to, from)| *to += from);
            }
        }
        let [by_return, by_state, by_action] = by_kind;
        let gradients = [
            returns.params_gradient(&by_return),
            states.params_gradient(&by_state),
            actions.params_gradient(&by_action),
            by_time,
            by_trunk,
            by_head,
        ];
        (value, gradients)
    }

    pub fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("embed_return", &mut self.embed_return)?;
        io.network("embed_state", &mut self.embed_state)?;
        io.network("embed_action", &mut self.embed_action)?;
        io.params("embed_time", &mut self.embed_time)?;
        io.network("trunk", &mut self.trunk)?;
        io.network("head", &mut self.head)
    }
}

impl Trainable for Model {
    /// In the order of the gradients of [`Model::pass`].
    fn params(&mut self) -> Vec<&mut Params> {
        vec![
            &mut self.embed_return.params,
            &mut self.embed_state.params,
            &mut self.embed_action.params,
            &mut self.embed_time,
            &mut self.trunk.params,
            &mut self.head.params,
        ]
    }
}

/// Tokens of each episode: all but the last of its actions.
fn token_lengths(steps: &Steps) -> Vec<usize> {
    steps.lengths.iter().map(|length| (3 * length).saturating_sub(1)).collect()
}

/// Where the tokens of every step are.
fn places(steps: &Steps) -> impl Iterator<Item = Place> {
    let (mut first_step, mut first_token) = (0, 0);
    steps.lengths.iter().flat_map(move |&length| {
        let (step, token) = (first_step, first_token);
        first_step += length;
        first_token += (3 * length).saturating_sub(1);
        (0..length).map(move |i| Place { step: step + i, token: token + 3 * i, acted: i + 1 < length })
    })
}
