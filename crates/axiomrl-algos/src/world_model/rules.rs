//! Which settings contradict each other or an environment, and which have no effect beside others.

use super::choices::{Core, Heads, Latents, OptimizerKind, Returns, Sight};
use super::images::parts;
use super::settings::WorldModelConfig;
use crate::agent::Setup;
use crate::config::{Idle, Problem};
use axiomrl_envs::ObsSpace;

/// Blocks that DreamerV3's recurrent model has.
const BLOCKS: usize = 8;

impl WorldModelConfig {
    /// Finds settings that contradict each other; the message says what to change.
    pub fn check(&self) -> Result<(), Problem> {
        let Some(dims) = self.dims() else {
            let keys = ["size", "deter_size", "hidden_size", "latent_groups", "latent_classes", "conv_depth", "units"];
            return Err(Problem::new(&keys, format!("set `size`, or all of `{}`", keys[1..].join("`, `"))));
        };
        let deter = dims.deter;
        Problem::when(self.core == Core::BlockGru && !deter.is_multiple_of(BLOCKS), &["deter_size"], || {
            format!(
                "`deter_size` {deter} is not divided by the {BLOCKS} blocks of `core: block_gru`; make it a multiple"
            )
        })?;
        Problem::when(
            self.stored_latents && self.latents != Latents::Categorical,
            &["stored_latents", "latents"],
            || "`stored_latents` keeps choices; set `latents: categorical`, or `stored_latents: false`".to_owned(),
        )?;
        let (horizon, last) = (self.imagination_horizon, self.imagination_last.unwrap_or(self.batch_length));
        Problem::when(self.returns == Returns::Own && horizon < 2, &["imagination_horizon", "returns"], || {
            "with `returns: own` an action shows in the return of the next state; set `imagination_horizon` to 2 or more"
                .to_owned()
        })?;
        Problem::when(last > self.batch_length, &["imagination_last", "batch_length"], || {
            format!("`imagination_last` {last} is more than `batch_length` {}", self.batch_length)
        })?;
        Problem::when(
            last < 2 && self.replay_critic_scale > 0.0,
            &["imagination_last", "replay_critic_scale"],
            || {
                "the critic on replayed rows needs two of them; raise `imagination_last`, or set `replay_critic_scale: 0`"
                .to_owned()
            },
        )?;
        let own = self.returns == Returns::Own && self.replay_critic_scale > 0.0;
        Problem::when(own, &["replay_critic_scale", "returns"], || {
            "replayed returns begin with the next reward; set `returns: next`, or `replay_critic_scale: 0`".to_owned()
        })?;
        let length = self.batch_length + usize::from(self.stored_latents);
        Problem::when(self.buffer_capacity < length, &["buffer_capacity", "batch_length"], || {
            format!(
                "`buffer_capacity` {} has no room for windows of {length} rows; make it larger",
                self.buffer_capacity
            )
        })
    }

    /// Finds settings that do not go with an environment.
    pub fn check_setup(&self, setup: &Setup) -> Result<(), Problem> {
        parts(&ObsSpace::of(setup.observation_space()), self.vision)?;
        Problem::when(setup.mask_width() > 0, &[], || {
            "in what a model imagines nobody says which actions are allowed; use an environment without action masks"
                .to_owned()
        })?;
        let dynamics = self.is_dynamics(setup.action_space());
        Problem::when(dynamics && self.heads == Heads::TwoHot, &["actor_gradient", "heads"], || {
            "there is no way back through `heads: two_hot`; set `actor_gradient: reinforce`, or `heads: normal`"
                .to_owned()
        })?;
        let length = self.batch_length + usize::from(self.stored_latents);
        let each = self.buffer_capacity.div_ceil(setup.num_envs);
        Problem::when(each < length, &["buffer_capacity", "batch_length"], || {
            format!(
                "`buffer_capacity` leaves {each} rows for each environment, and a window has {length}; make it {} or more",
                length * setup.num_envs
            )
        })
    }

    /// Settings without an effect beside the others.
    pub fn idle(&self) -> Vec<Idle> {
        let idle = |now, keys, switch, why| Idle { now, keys, switch: Some(switch), why };
        let laprop = self.optimizer == OptimizerKind::Laprop;
        vec![
            idle(
                laprop,
                &["actor_learning_rate", "critic_learning_rate", "max_grad_norm", "weight_decay"],
                "optimizer",
                "one step size is everybody's; set `optimizer: adam`",
            ),
            idle(!laprop, &["adaptive_clip"], "optimizer", "gradients are clipped as a whole; set `optimizer: laprop`"),
            idle(
                !self.continue_head,
                &["continue_loss_scale", "continue_layers"],
                "continue_head",
                "nothing predicts whether there is a future; set `continue_head: true`",
            ),
            idle(
                self.latents == Latents::Categorical,
                &["latent_size"],
                "latents",
                "states are choices; set `latents: gaussian`",
            ),
            idle(
                self.latents == Latents::Gaussian,
                &["latent_groups", "latent_classes"],
                "latents",
                "states are numbers; set `latents: categorical`",
            ),
            idle(
                self.slow_critic_scale == 0.0 && !self.slow_critic_targets,
                &["slow_critic_fraction", "slow_critic_interval"],
                "slow_critic_targets",
                "nothing asks the slow critic; set `slow_critic_targets: true`, or `slow_critic_scale`",
            ),
            idle(self.vision == Sight::Flat, &["conv_depth"], "vision", "nothing looks at images; set `vision: auto`"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::presets::{VARIANTS, dreamer, dreamerv3};
    use super::*;
    use axiomrl_envs::{BoxSpace, Space, Spaces};
    use garde::Validate;

    #[test]
    fn every_preset_is_sound() {
        for (name, _, _, settings) in VARIANTS {
            settings().validate().unwrap();
            settings().check().unwrap_or_else(|problem| panic!("{name}: {problem}"));
        }
    }

    #[test]
    fn contradictions_are_refused_with_the_remedy() {
        let refused = |config: WorldModelConfig, remedy: &str| {
            let message = config.check().unwrap_err().message;
            assert!(message.contains(remedy), "{message}");
        };
        refused(WorldModelConfig { size: None, ..dreamerv3() }, "set `size`");
        refused(WorldModelConfig { deter_size: Some(100), ..dreamerv3() }, "make it a multiple");
        refused(WorldModelConfig { stored_latents: true, ..dreamer() }, "latents: categorical");
        refused(WorldModelConfig { returns: Returns::Own, imagination_horizon: 1, ..dreamer() }, "2 or more");
        refused(WorldModelConfig { returns: Returns::Own, ..dreamerv3() }, "replay_critic_scale: 0");
        refused(WorldModelConfig { imagination_last: Some(1), ..dreamerv3() }, "raise `imagination_last`");
        refused(WorldModelConfig { imagination_last: Some(100), ..dreamerv3() }, "batch_length");
        refused(WorldModelConfig { buffer_capacity: 64, ..dreamerv3() }, "65 rows");
    }

    #[test]
    fn what_does_not_fit_an_environment_is_refused_with_the_remedy() {
        let board = Space::Box(BoxSpace::image(10, 5, 1));
        let (choice, number) = (Space::Discrete { n: 3 }, Space::Box(BoxSpace::uniform(1, -1.0, 1.0)));
        let refused = |config: WorldModelConfig, setup: &Setup, remedy: &str| {
            let message = config.check_setup(setup).unwrap_err().message;
            assert!(message.contains(remedy), "{message}");
        };
        let setup = |observation: &Space, action: &Space| Setup::new(Spaces::new(observation.clone(), action.clone()));
        refused(dreamerv3(), &setup(&board, &choice), "vision: flat");
        refused(WorldModelConfig { heads: Heads::TwoHot, ..dreamer() }, &setup(&number, &number), "heads: normal");
        let many = Setup { num_envs: 64, ..setup(&number, &choice) };
        refused(WorldModelConfig { buffer_capacity: 100, ..dreamerv3() }, &many, "make it 4160 or more");
        assert!(dreamerv3().check_setup(&many).is_ok() && dreamer().check_setup(&setup(&number, &number)).is_ok());
    }
}
