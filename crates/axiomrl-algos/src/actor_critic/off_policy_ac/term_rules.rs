//! Which settings the terms for recorded transitions go with.

use super::choices::{CriticOutput, UpdateOrder};
use super::settings::AcConfig;
use crate::agent::Setup;
use crate::config::Problem;
use crate::parts::input::Vision;
use crate::parts::squashed_actor::ActorKind;
use crate::parts::torso::MemoryKind;
use axiomrl_envs::ObsSpace;
use axiomrl_nn::Activation;

impl AcConfig {
    /// Finds terms that contradict the rest; the message says what to change.
    pub(super) fn check_terms(&self) -> Result<(), Problem> {
        let gaussian = self.actor == ActorKind::TanhGaussian;
        let scalar = self.critic_output == CriticOutput::Scalar;
        let (gap, diverse, best) = (self.cql_alpha > 0.0, self.diversity_coef > 0.0, self.target_samples > 1);
        let draws = [("cql_alpha", gap), ("target_samples", best), ("bc_warmup", self.bc_warmup > 0)];
        if let Some((key, _)) = draws.into_iter().find(|(_, on)| *on && !gaussian) {
            return Err(Problem::new(
                &[key, "actor"],
                format!("`{key}` needs a policy with a density; set `actor: tanh_gaussian`"),
            ));
        }
        let values = [draws[0], draws[1], ("diversity_coef", diverse)];
        if let Some((key, _)) = values.into_iter().find(|(_, on)| *on && !scalar) {
            return Err(Problem::new(
                &[key, "critic_output"],
                format!("`{key}` compares values, not distributions; set `critic_output: scalar`"),
            ));
        }
        Problem::when(gap && diverse, &["cql_alpha", "diversity_coef"], || {
            "`cql_alpha` and `diversity_coef` are two remedies for one ill; set one of them to 0".to_owned()
        })?;
        let plain = self.activation == Activation::Relu && !self.critic_layer_norm && self.critic_dropout == 0.0;
        Problem::when(diverse && !plain, &["diversity_coef", "critic_layer_norm", "activation"], || {
            "`diversity_coef` needs critics that are linear but for their switches; set `activation: relu`, \
             `critic_layer_norm: false` and `critic_dropout: 0`"
                .to_owned()
        })?;
        Problem::when(diverse && self.n_critics < 2, &["n_critics", "diversity_coef"], || {
            "`diversity_coef` keeps critics apart, and there is only one; set `n_critics: 10`".to_owned()
        })?;
        let (low, high) = (self.cql_gap_min.unwrap_or(f32::MIN), self.cql_gap_max.unwrap_or(f32::MAX));
        Problem::when(low >= high, &["cql_gap_min", "cql_gap_max"], || {
            format!("`cql_gap_min` {low} is not below `cql_gap_max` {high}")
        })?;
        let (n, samples, extras) = (self.n_step, self.target_samples, self.extras());
        Problem::when(n > 1 && extras.next_action, &["critic_bc_weight", "n_step"], || {
            format!("`critic_bc_weight` asks what was done one step later; set `n_step` to 1, not {n}")
        })?;
        Problem::when(n > 1 && extras.return_to_go, &["cql_calibrated", "n_step"], || {
            format!("`cql_calibrated` asks what was earned from each step on; set `n_step` to 1, not {n}")
        })?;
        Problem::when(best && extras.next_action, &["critic_bc_weight", "target_samples"], || {
            format!("`critic_bc_weight` holds one action; set `target_samples` to 1, not {samples}")
        })?;
        self.check_rows()
    }

    /// Terms that need single steps, and rows of plain numbers.
    fn check_rows(&self) -> Result<(), Problem> {
        let single = [
            ("cql_alpha", self.cql_alpha > 0.0),
            ("diversity_coef", self.diversity_coef > 0.0),
            ("critic_bc_weight", self.critic_bc_weight > 0.0),
            ("target_samples", self.target_samples > 1),
            ("update_order", self.update_order == UpdateOrder::Together),
        ];
        for (key, _) in single.iter().filter(|(_, on)| *on) {
            Problem::when(self.memory != MemoryKind::None, &[key, "memory"], || {
                format!("`{key}` is for single steps; set `memory: none`")
            })?;
            Problem::when(self.batch_renorm || self.actor_batch_renorm, &[key, "batch_renorm"], || {
                format!(
                    "`{key}` does not go with statistics over a batch; set `batch_renorm` and `actor_batch_renorm` to false"
                )
            })?;
        }
        for (key, _) in single[..2].iter().filter(|(_, on)| *on) {
            let views = self.feature_dim.is_some() || self.prediction_views > 1;
            Problem::when(views, &[key, "feature_dim", "prediction_views"], || {
                format!("`{key}` is for vectors as they are; remove `feature_dim`, and set `prediction_views: 1`")
            })?;
        }
        Ok(())
    }

    /// Terms that are not for images.
    pub(super) fn check_vectors(&self, setup: &Setup) -> Result<(), Problem> {
        let images = ObsSpace::of(setup.observation_space()).parts.iter().any(|part| part.image_shape().is_some());
        let seen = images && self.vision != Vision::Flat;
        Problem::when(seen && self.weighs_other_actions(), &["cql_alpha", "diversity_coef"], || {
            "`cql_alpha` and `diversity_coef` are for vectors, and this environment shows images; set both to 0"
                .to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::presets;
    use super::*;
    use axiomrl_envs::{BoxSpace, Space, Spaces};

    #[test]
    fn contradictions_are_refused_with_the_remedy() {
        let refused = |config: AcConfig, remedy: &str| {
            let message = config.check().unwrap_err().message;
            assert!(message.contains(remedy), "{message}");
        };
        let td3 = presets::td3;
        refused(AcConfig { cql_alpha: 1.0, ..td3() }, "actor: tanh_gaussian");
        refused(AcConfig { target_samples: 10, ..td3() }, "actor: tanh_gaussian");
        refused(AcConfig { bc_warmup: 10, ..td3() }, "actor: tanh_gaussian");
        refused(AcConfig { cql_alpha: 1.0, ..presets::tqc() }, "critic_output: scalar");
        refused(AcConfig { diversity_coef: 1.0, ..presets::tqc() }, "critic_output: scalar");
        refused(AcConfig { cql_alpha: 1.0, ..presets::edac() }, "one of them");
        refused(AcConfig { critic_layer_norm: true, ..presets::edac() }, "critic_layer_norm: false");
        refused(AcConfig { activation: Activation::Tanh, ..presets::edac() }, "activation: relu");
        refused(AcConfig { n_critics: 1, ..presets::edac() }, "n_critics");
        refused(AcConfig { cql_gap_min: Some(2.0), cql_gap_max: Some(2.0), ..presets::cql() }, "not below");
        refused(AcConfig { n_step: 3, ..presets::rebrac() }, "n_step");
        refused(AcConfig { n_step: 3, ..presets::cal_ql() }, "n_step");
        refused(AcConfig { critic_bc_weight: 1.0, target_samples: 2, ..presets::sac() }, "target_samples");
        refused(AcConfig { memory: MemoryKind::Lstm, ..presets::cql() }, "memory: none");
        refused(AcConfig { memory: MemoryKind::Lstm, ..presets::rebrac() }, "memory: none");
        refused(AcConfig { update_order: UpdateOrder::Together, ..presets::crossq() }, "batch_renorm");
        refused(AcConfig { feature_dim: Some(8), ..presets::cql() }, "feature_dim");
    }

    #[test]
    fn images_are_refused_where_actions_are_weighed_row_by_row() {
        let camera = Space::Box(BoxSpace::image(16, 16, 2));
        let setup = Setup::new(Spaces::new(camera, Space::Box(BoxSpace::uniform(2, -1.0, 1.0))));
        for (config, fits) in [(presets::cql(), false), (presets::edac(), false), (presets::rlpd(), true)] {
            assert_eq!(config.check_vectors(&setup).is_ok(), fits);
            assert!(AcConfig { vision: Vision::Flat, ..config }.check_vectors(&setup).is_ok());
        }
    }
}
