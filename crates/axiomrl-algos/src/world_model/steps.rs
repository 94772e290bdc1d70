//! How gradients become steps: one optimiser for everything, or one each for model, actor and critic.

use super::behaviour::Behaviour;
use super::choices::OptimizerKind;
use super::model::WorldModel;
use super::settings::WorldModelConfig;
use crate::agent::{Diverged, finite};
use crate::parts::descend::{ParamGroup, slices};
use crate::parts::tracked::Trainable;
use crate::state::{StateError, StateIo};
use axiomrl_core::{Metrics, Schedule};
use axiomrl_nn::{AdamConfig, Grad, LaPropConfig, OptimizerConfig, Params};

const ADAM_EPS: f32 = 1e-5;

/// Optimisers of all parameters: those of the model, in their order, then the actor's and the critic's.
pub struct Steps {
    groups: Vec<ParamGroup>,
    kind: OptimizerKind,
    /// Tensors of parameters that the model has.
    model: usize,
}

impl Steps {
    pub fn new(config: &WorldModelConfig, model: &WorldModel, behaviour: &Behaviour) -> Self {
        let actor = super::lens(behaviour.actor.net.spec.layout());
        let critic = super::lens(behaviour.critic.online.net.spec.layout());
        let mut lens = model.tensor_lens();
        let count = lens.len();
        lens.extend([actor, critic]);
        let groups = match config.optimizer {
            OptimizerKind::Laprop => {
                let laprop = LaPropConfig { agc: config.adaptive_clip, ..LaPropConfig::default() };
                vec![ParamGroup::of_tensors(&OptimizerConfig::LaProp(laprop), &lens, f32::INFINITY)]
            }
            OptimizerKind::Adam => {
                let adam = OptimizerConfig::Adam(AdamConfig { eps: ADAM_EPS, ..AdamConfig::default() });
                let parts = [&lens[..count], &lens[count..=count], &lens[count + 1..]];
                parts.map(|lens| ParamGroup::of_tensors(&adam, lens, config.max_grad_norm)).into()
            }
        };
        Self { groups, kind: config.optimizer, model: count }
    }

    /// One step of each optimiser. If a gradient is no number, what it is of is named and stays as it was.
    pub fn take(
        &mut self,
        config: &WorldModelConfig,
        model: &mut WorldModel,
        behaviour: &mut Behaviour,
        gradients: &[Grad],
        number: u64,
        fraction: f64,
        metrics: &mut Metrics,
    ) -> Result<(), Diverged> {
        // rate * min(1, (k - 1) / warmup) for update k = 1, 2, ...
        let warm = ((number - 1) as f64 / config.warmup_updates.max(1) as f64).min(1.0);
        let warm = if config.warmup_updates == 0 { 1.0 } else { warm };
        let rate = |schedule: &Schedule| (schedule.at(fraction) * warm) as f32;
        let (gradients, mut params) = (slices(gradients), model.params());
        params.push(&mut behaviour.actor.net.params);
        params.push(&mut behaviour.critic.online.net.params);
        metrics.set("learning_rate", f64::from(rate(&config.learning_rate)));
        match self.kind {
            OptimizerKind::Laprop => {
                let norm = self.groups[0].step(&mut params, &gradients, rate(&config.learning_rate));
                metrics.add("grad_norm", finite("the gradient of the world model", norm, number)?);
            }
            OptimizerKind::Adam => {
                let parts = [
                    ("the world model", "model_grad_norm", 0..self.model, &config.learning_rate),
                    ("the actor", "actor_grad_norm", self.model..self.model + 1, &config.actor_learning_rate),
                    ("the critic", "critic_grad_norm", self.model + 1..self.model + 2, &config.critic_learning_rate),
                ];
                for (group, (whose, name, at, schedule)) in self.groups.iter_mut().zip(parts) {
                    decay(&mut params[at.clone()], config.weight_decay, rate(schedule));
                    let norm = group.step(&mut params[at.clone()], &gradients[at], rate(schedule));
                    metrics.add(name, finite(&format!("the gradient of {whose}"), norm, number)?);
                }
            }
        }
        Ok(())
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        let mut groups = self.groups.iter_mut().enumerate();
        groups.try_for_each(|(at, group)| group.visit_state(&format!("optimizer.{at}"), io))
    }
}

/// θ := (1 - decay) θ, where anything is learned at all.
fn decay(params: &mut [&mut Params], decay: f32, rate: f32) {
    if decay > 0.0 && rate > 0.0 {
        for params in params {
            params.make_mut().iter_mut().for_each(|x| *x *= 1.0 - decay);
        }
    }
}
