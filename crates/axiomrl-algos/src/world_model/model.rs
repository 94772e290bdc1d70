//! The model of the world: what it makes of a sequence, and how wrong it is.

use super::heads::{ContinueHead, ScalarHead};
use super::recipe::Recipe;
use super::reconstruction::Reconstruction;
use super::senses::Senses;
use super::sequence::Sequence;
use super::settings::WorldModelConfig;
use crate::agent::Setup;
use crate::config::Problem;
use crate::parts::tracked::Trainable;
use crate::state::{StateError, StateIo};
use axiomrl_core::Metrics;
use axiomrl_envs::ObsSpace;
use axiomrl_nn::{LatentKl, Mlp, Params, Rssm, RssmCore, RssmSpec, Tensor};
use rand_chacha::ChaCha8Rng;

pub struct WorldModel {
    pub senses: Senses,
    pub rssm: Rssm,
    pub reconstruction: Reconstruction,
    pub reward: ScalarHead,
    pub continues: Option<ContinueHead>,
    kl: LatentKl,
    scales: Scales,
    gamma: f32,
}

/// Weights of the losses.
#[derive(Clone, Copy)]
struct Scales {
    observation: f32,
    reward: f32,
    continues: f32,
}

/// What the model made of a sequence.
pub struct Seen {
    /// `[steps * rows, features]`: posterior states, as a node of the graph
    pub features: Tensor<2>,
    pub loss: Tensor<1>,
    pub value: f32,
}

impl WorldModel {
    /// Actions have `action` numbers as the model takes them.
    pub fn new(
        config: &WorldModelConfig,
        recipe: &Recipe,
        action: usize,
        setup: &Setup,
        rng: &mut ChaCha8Rng,
    ) -> Result<Self, Problem> {
        let (space, dims, style) = (ObsSpace::of(setup.observation_space()), recipe.dims, recipe.style);
        let senses = Senses::new(&space, config, recipe, rng)?;
        let (latent, tokens) = (recipe.latent, senses.width());
        let spec = match recipe.core {
            RssmCore::Gru => RssmSpec::v1(latent, dims.deter, dims.hidden, tokens, action),
            RssmCore::NormGru => RssmSpec::v2(latent, dims.deter, dims.hidden, tokens, action),
            RssmCore::BlockGru { blocks } => RssmSpec::v3(latent, dims.deter, blocks, dims.hidden, tokens, action),
        };
        spec.check().map_err(|error| Problem::new(&["deter_size", "hidden_size"], error.to_string()))?;
        let features = spec.features();
        let rssm = Rssm::new(spec, rng);
        let reconstruction = Reconstruction::new(&space, config, recipe, features, rng)?;
        let shape = |layers: usize| move |outputs: usize| style.mlp(features, layers, dims.units, outputs);
        let first = config.heads.first_scale();
        let reward = ScalarHead::new(config.heads, shape(config.reward_layers), &style.init(first), rng);
        let mut judge = || ContinueHead(Mlp::new(shape(config.continue_layers)(1), 1, &style.init(1.0), rng));
        let continues = config.continue_head.then(&mut judge);
        let scales = Scales {
            observation: config.observation_loss_scale,
            reward: config.reward_loss_scale,
            continues: config.continue_loss_scale,
        };
        Ok(Self { senses, rssm, reconstruction, reward, continues, kl: recipe.kl, scales, gamma: config.gamma })
    }

    /// Numbers of a state: its deterministic part, then its stochastic one.
    pub fn features(&self) -> usize {
        self.rssm.spec.features()
    }

    /// The discount of each row that was lived: γ where there is a future.
    pub fn discounts(&self, terminal: &[bool]) -> Vec<f32> {
        terminal.iter().map(|&over| if over { 0.0 } else { self.gamma }).collect()
    }

    /// The posterior states of a sequence, and the loss of the model on it. Parameters are added to `tracked`.
    pub fn observe(
        &self,
        sequence: &Sequence<'_>,
        noise: &[f32],
        tracked: &mut Vec<Tensor<2>>,
        metrics: &mut Metrics,
    ) -> Seen {
        // e_t = encoder(x_t);  h_t = core(h_t-1, z_t-1, a_t-1);  z_t ~ q(h_t, e_t)
        let tokens = self.senses.forward(sequence.obs, tracked);
        let params = self.rssm.params.tracked();
        let observed = self.rssm.observe(tokens, params.clone(), sequence.window(noise));
        tracked.push(params);
        let features = observed.features;
        // - log p(x_t | h_t, z_t)
        let (reconstructions, error) = self.reconstruction.loss(&features, sequence.obs, tracked);
        // - log p(r_t | h_t, z_t): the reward for arriving there
        let params = self.reward.net.params.tracked();
        let said = self.reward.outputs(features.clone(), params.clone());
        let (reward, reward_error) = self.reward.loss(said, &[(1.0, &sequence.reward)], &[]);
        tracked.push(params);
        // KL of posterior and prior
        let (divergence, kl) = self.kl.loss(observed.posterior, observed.prior);

        let Scales { observation, reward: reward_scale, continues } = self.scales;
        let mut loss = divergence + reward.mul_scalar(reward_scale);
        let mut value = kl.loss + reward_scale * reward_error + observation * error;
        for node in reconstructions {
            loss = loss + node.mul_scalar(observation);
        }
        if let Some(head) = &self.continues {
            // - log p(c_t | h_t, z_t) with c_t = γ (1 - terminal_t)
            let params = head.0.params.tracked();
            let targets = self.discounts(sequence.terminal);
            let (node, error) = head.loss(features.clone(), params.clone(), &targets);
            tracked.push(params);
            loss = loss + node.mul_scalar(continues);
            value += continues * error;
            metrics.add("continue_loss", error);
        }
        metrics.add("model_loss", value);
        metrics.add("reconstruction_loss", error);
        metrics.add("reward_loss", reward_error);
        metrics.add("kl_loss", kl.loss);
        metrics.add("kl", kl.kl);
        Seen { features, loss, value }
    }

    /// Lengths of the tensors inside of each of the parameters.
    pub fn tensor_lens(&self) -> Vec<Vec<usize>> {
        let mut lens = self.senses.tensor_lens();
        lens.push(super::lens(self.rssm.spec.layout()));
        lens.extend(self.reconstruction.tensor_lens());
        lens.push(super::lens(self.reward.net.spec.layout()));
        lens.extend(self.continues.iter().map(|head| super::lens(head.0.spec.layout())));
        lens
    }

    /// What acting needs, and the decoder, which shows what the model believes.
    pub fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.senses.visit_state(io)?;
        io.network("rssm", &mut self.rssm)?;
        self.reconstruction.visit_state(io)
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("reward", &mut self.reward.net)?;
        match &mut self.continues {
            Some(head) => io.network("continue", &mut head.0),
            None => Ok(()),
        }
    }
}

impl Trainable for WorldModel {
    /// In the order in which [`WorldModel::observe`] tracks them.
    fn params(&mut self) -> Vec<&mut Params> {
        let mut params = self.senses.params();
        params.push(&mut self.rssm.params);
        params.extend(self.reconstruction.params());
        params.push(&mut self.reward.net.params);
        params.extend(self.continues.iter_mut().map(|head| &mut head.0.params));
        params
    }
}
