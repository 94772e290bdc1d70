//! What was done, as a distribution: a conditional variational auto-encoder of recorded actions.
//!
//! What it decodes are actions like those of the record, for any observation: candidates that a policy may choose among, or the
//! samples that it must stay close to.

use super::candidates::join_each;
use crate::agent::{Diverged, UpdateContext};
use crate::export::{Graph, Value};
use crate::parts::columns::join_columns;
use crate::parts::descend::ParamGroup;
use crate::parts::noise::fill_normal;
use crate::parts::tracked::Trainable;
use crate::state::{StateError, StateIo};
use axiomrl_core::random::normal;
use axiomrl_envs::Rng;
use axiomrl_nn::{Activation, AdamConfig, Init, Mlp, MlpSpec, OptimizerConfig, Params, Pooled};

/// Bounds of the logarithm of a latent's spread.
const LOG_STD: (f32, f32) = (-4.0, 15.0);

/// The shape of the model, and what its loss and its draws are like.
pub struct VaeSettings<'a> {
    pub hidden: &'a [usize],
    pub activation: Activation,
    /// Numbers of a latent; absent is two for each of an action.
    pub latent: Option<usize>,
    /// Largest number of a latent that is drawn.
    pub latent_clip: f32,
    /// Weight of the divergence in the loss.
    pub kl_weight: f32,
}

/// Those of the groups `action_model` and `network`.
macro_rules! vae_settings {
    ($config:expr) => {
        $crate::offline::action_vae::VaeSettings {
            hidden: &$config.vae_hidden_sizes,
            activation: $config.activation,
            latent: $config.latent_size,
            latent_clip: $config.latent_clip,
            kl_weight: $config.kl_weight,
        }
    };
}
pub(crate) use vae_settings;

/// The loss of a batch, and its two parts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VaeLoss {
    pub value: f32,
    pub reconstruction: f32,
    pub divergence: f32,
}

pub struct ActionVae {
    /// (s, a) to mean and log-spread of the latent.
    encoder: Mlp,
    /// (s, z) to the action, before its tanh.
    decoder: Mlp,
    group: ParamGroup,
    latent: usize,
    latent_clip: f32,
    kl_weight: f32,
}

impl ActionVae {
    /// Over `seen` numbers of an observation and `actions` of an action.
    pub fn new(settings: &VaeSettings<'_>, seen: usize, actions: usize, rng: &mut Rng) -> Self {
        let latent = settings.latent.unwrap_or(2 * actions);
        let mut network = |inputs: usize, outputs: usize| {
            Mlp::new(MlpSpec::new(inputs, settings.hidden, outputs, settings.activation), 1, &Init::pytorch(), rng)
        };
        let (mut encoder, mut decoder) = (network(seen + actions, 2 * latent), network(seen + latent, actions));
        let adam = OptimizerConfig::Adam(AdamConfig::default());
        let group = ParamGroup::new(&adam, &[&mut encoder.params, &mut decoder.params], f32::INFINITY);
        let &VaeSettings { latent_clip, kl_weight, .. } = settings;
        Self { encoder, decoder, group, latent, latent_clip, kl_weight }
    }

    /// One step of encoder and decoder on mean (a^ - a)^2 + kl_weight * mean KL(N(mu, sigma) || N(0, 1)).
    pub fn fit(
        &mut self,
        seen: &[f32],
        actions: &[f32],
        rate: f32,
        context: &mut UpdateContext<'_>,
    ) -> Result<VaeLoss, Diverged> {
        let mut noise = Vec::new();
        let rows = actions.len() / self.decoder.spec.outputs;
        fill_normal(&mut noise, rows * self.latent, context.rng);
        let (loss, gradients) = self.loss(seen, actions, &noise);
        let (group, params) = (&mut self.group, &mut [&mut self.encoder.params, &mut self.decoder.params]);
        let number = context.number();
        group.descend_along("the action model", loss.value, &gradients, params, rate, number, |_| Vec::new())?;
        context.metrics.add("vae_loss", loss.value);
        context.metrics.add("vae_reconstruction", loss.reconstruction);
        Ok(loss)
    }

    /// The loss with z = mu + sigma * noise, and its derivative by the parameters of encoder and decoder.
    fn loss(&self, seen: &[f32], actions: &[f32], noise: &[f32]) -> (VaeLoss, [Pooled; 2]) {
        let (d, latent) = (self.decoder.spec.outputs, self.latent);
        let rows = actions.len() / d;
        let (mut joint, mut coded) = (Vec::new(), Vec::new());
        join_columns(seen, actions, rows, &mut joint);
        let encoded = self.encoder.pass(&joint, rows, None);
        let z: Vec<f32> = Latent::of(encoded.outputs(), noise, latent).map(|of| of.value()).collect();
        join_columns(seen, &z, rows, &mut coded);
        let decoded = self.decoder.pass(&coded, rows, None);

        let mut loss = VaeLoss::default();
        let share = 1.0 / actions.len() as f32;
        let by_decoded: Vec<f32> = decoded
            .outputs()
            .iter()
            .zip(actions)
            .map(|(raw, action)| {
                let found = raw.tanh();
                loss.reconstruction += share * (found - action) * (found - action);
                2.0 * share * (found - action) * (1.0 - found * found)
            })
            .collect();
        let (by_decoder, by_coded) = decoded.gradients(&by_decoded);

        let (share, width) = (1.0 / z.len() as f32, self.decoder.spec.inputs);
        let mut by_encoded = vec![0.0; 2 * z.len()];
        for (i, of) in Latent::of(encoded.outputs(), noise, latent).enumerate() {
            let (row, column) = (i / latent, i % latent);
            let by_z = by_coded[(row + 1) * width - latent + column];
            loss.divergence += share * of.divergence();
            let by = &mut by_encoded[row * 2 * latent..(row + 1) * 2 * latent];
            by[column] = by_z + self.kl_weight * share * of.mean;
            by[latent + column] = of.by_raw(by_z, self.kl_weight * share);
        }
        loss.value = loss.reconstruction + self.kl_weight * loss.divergence;
        (loss, [encoded.params_gradient(&by_encoded), by_decoder])
    }

    /// `count` latents to decode: standard normal numbers, cut to the clip.
    pub fn draw_latents(&self, count: usize, rng: &mut Rng) -> Vec<f32> {
        let clip = self.latent_clip;
        (0..count * self.latent).map(|_| normal(rng).clamp(-clip, clip)).collect()
    }

    /// Actions before their tanh, `each` for every row of what was seen: `latents` holds that many for every row.
    pub fn decode_raw(&self, seen: &[f32], latents: &[f32], each: usize) -> Vec<f32> {
        let rows = latents.len() / (each * self.latent);
        let (mut joint, mut out) = (Vec::new(), Vec::new());
        join_each(seen, latents, rows, each, &mut joint);
        self.decoder.infer(&joint, rows * each, &mut out);
        out
    }

    /// As [`ActionVae::decode_raw`], actions in [-1, 1].
    pub fn decode(&self, seen: &[f32], latents: &[f32], each: usize) -> Vec<f32> {
        let mut actions = self.decode_raw(seen, latents, each);
        actions.iter_mut().for_each(|a| *a = a.tanh());
        actions
    }

    /// As [`ActionVae::decode`] with the same `latents` for every row, as nodes of a graph: `seen` is `[rows, each, width]`.
    pub fn onnx(&self, graph: &mut Graph, seen: Value, latents: &[f32], each: usize) -> Value {
        let latents = graph.for_each_row(latents, (each, self.latent), seen);
        let joint = graph.concat(&[seen, latents]);
        let raw = self.decoder.onnx(graph, joint);
        graph.tanh(raw)
    }

    /// What decoding needs.
    pub fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("vae_decoder", &mut self.decoder)
    }

    /// What only learning needs.
    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("vae_encoder", &mut self.encoder)?;
        self.group.visit_state("vae", io)
    }
}

impl Trainable for ActionVae {
    fn params(&mut self) -> Vec<&mut Params> {
        vec![&mut self.encoder.params, &mut self.decoder.params]
    }
}

/// One number of a latent: what the encoder said of it, and the noise it is drawn with.
#[derive(Clone, Copy)]
struct Latent {
    mean: f32,
    log_std: f32,
    /// Whether the log-spread was inside of its bounds, where it follows the output.
    inside: bool,
    noise: f32,
}

impl Latent {
    /// Of rows of outputs: `latent` means, then as many log-spreads.
    fn of(outputs: &[f32], noise: &[f32], latent: usize) -> impl Iterator<Item = Self> {
        outputs.chunks_exact(2 * latent).zip(noise.chunks_exact(latent)).flat_map(move |(row, noise)| {
            let (mean, raw) = row.split_at(latent);
            mean.iter().zip(raw).zip(noise).map(|((&mean, &raw), &noise)| {
                let log_std = raw.clamp(LOG_STD.0, LOG_STD.1);
                Self { mean, log_std, inside: log_std == raw, noise }
            })
        })
    }

    fn value(self) -> f32 {
        self.mean + self.log_std.exp() * self.noise
    }

    /// KL(N(mean, std) || N(0, 1)).
    fn divergence(self) -> f32 {
        0.5 * (self.mean * self.mean + (2.0 * self.log_std).exp() - 1.0 - 2.0 * self.log_std)
    }

    /// The derivative by the raw log-spread, of the value with slope `by_value` and of `weight` times the divergence.
    fn by_raw(self, by_value: f32, weight: f32) -> f32 {
        let std = self.log_std.exp();
        if self.inside { by_value * std * self.noise + weight * (std * std - 1.0) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::with_context;

    fn vae(latent_clip: f32, kl_weight: f32) -> ActionVae {
        let settings =
            VaeSettings { hidden: &[8, 6], activation: Activation::Tanh, latent: None, latent_clip, kl_weight };
        ActionVae::new(&settings, 3, 2, &mut axiomrl_core::stream(2, "init"))
    }

    /// Two rows of observations of three numbers and actions of two.
    const SEEN: [f32; 6] = [0.3, -0.6, 0.9, -0.2, 0.5, 0.1];
    const ACTIONS: [f32; 4] = [0.8, -0.4, -0.9, 0.2];
    const NOISE: [f32; 8] = [0.4, -1.1, 0.7, 0.2, -0.5, 1.3, -0.8, 0.6];

    #[test]
    fn the_divergence_by_hand_and_its_weight_in_the_loss() {
        let of = |mean: f32, std: f32| Latent { mean, log_std: std.ln(), inside: true, noise: 0.0 };
        assert!((of(1.0, 0.5).divergence() - 0.81815).abs() < 1e-5);
        assert_eq!(of(0.0, 1.0).divergence(), 0.0);

        // Encoder and decoder are their output biases alone: mu = 1, sigma = 1/2 in each of four latents; an action of tanh(1/2).
        let mut vae = vae(0.5, 0.5);
        for net in [&mut vae.encoder, &mut vae.decoder] {
            net.params.make_mut().fill(0.0);
        }
        let end = vae.encoder.params.per_member();
        vae.encoder.params.make_mut()[end - 8..].copy_from_slice(&[1.0; 8]);
        vae.encoder.params.make_mut()[end - 4..].fill(0.5f32.ln());
        let end = vae.decoder.params.per_member();
        vae.decoder.params.make_mut()[end - 2..].fill(0.5);
        let (loss, _) = vae.loss(&SEEN, &ACTIONS, &NOISE);
        assert!((loss.divergence - 0.81815).abs() < 1e-5, "a mean over rows and latents: {loss:?}");
        let reconstruction = ACTIONS.iter().map(|a| (0.5f32.tanh() - a).powi(2)).sum::<f32>() / 4.0;
        assert!((loss.reconstruction - reconstruction).abs() < 1e-6, "{loss:?}");
        assert!((loss.value - (reconstruction + 0.5 * 0.81815)).abs() < 1e-5, "{loss:?}");
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        let mut vae = vae(0.5, 0.5);
        // Larger weights, so that no gradient is lost in rounding.
        vae.params().into_iter().for_each(|params| params.make_mut().iter_mut().for_each(|w| *w *= 2.0));
        let (_, gradients) = vae.loss(&SEEN, &ACTIONS, &NOISE);
        let mut checked = 0;
        for (net, exact) in gradients.iter().enumerate() {
            for i in (0..exact.len()).step_by(7) {
                let mut at = |by: f32| {
                    vae.params()[net].make_mut()[i] += by;
                    let value = vae.loss(&SEEN, &ACTIONS, &NOISE).0.value;
                    vae.params()[net].make_mut()[i] -= by;
                    value
                };
                let numeric = (at(1e-2) - at(-1e-2)) / 2e-2;
                assert!((numeric - exact[i]).abs() < 2e-3, "network {net}, weight {i}: {numeric} {}", exact[i]);
                checked += usize::from(exact[i].abs() > 1e-2);
            }
        }
        assert!(checked > 10, "{checked} gradients worth speaking of");
    }

    #[test]
    fn a_spread_outside_of_its_bounds_is_cut_and_gets_no_gradient() {
        let of = |raw: f32| Latent::of(&[0.5, raw], &[2.0], 1).next().unwrap();
        assert!((of(-9.0).value() - (0.5 + 2.0 * (-4f32).exp())).abs() < 1e-6);
        assert_eq!((of(-9.0).by_raw(1.0, 1.0), of(20.0).log_std), (0.0, 15.0));
        assert!((of(0.0).by_raw(3.0, 1.0) - 6.0).abs() < 1e-6);
        assert!((of(0.5f32.ln()).by_raw(0.0, 2.0) + 1.5).abs() < 1e-6);
    }

    #[test]
    fn recorded_actions_are_learned_and_decoded_for_their_observations() {
        let mut vae = vae(0.5, 0.01);
        let mut loss = VaeLoss::default();
        with_context(|context| {
            (0..400).for_each(|_| loss = vae.fit(&SEEN, &ACTIONS, 1e-2, context).unwrap());
        });
        assert!(loss.reconstruction < 0.02, "{loss:?}");
        let mut rng = axiomrl_core::stream(1, "test");
        let latents = vae.draw_latents(2 * 50, &mut rng);
        assert_eq!(latents.len(), 2 * 50 * 4);
        assert!(latents.iter().all(|z| z.abs() <= 0.5) && latents.iter().filter(|z| z.abs() == 0.5).count() > 200);
        let actions = vae.decode(&SEEN, &latents, 50);
        let raw = vae.decode_raw(&SEEN, &latents, 50);
        assert!(actions.iter().zip(&raw).all(|(a, u)| *a == u.tanh()));
        for (row, own) in actions.chunks_exact(100).enumerate() {
            for i in 0..2 {
                let mean = own.iter().skip(i).step_by(2).sum::<f32>() / 50.0;
                assert!((mean - ACTIONS[2 * row + i]).abs() < 0.25, "row {row}: {mean}");
            }
        }
    }
}
