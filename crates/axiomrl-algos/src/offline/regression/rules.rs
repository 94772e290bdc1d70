//! Which settings contradict each other, and which have no effect beside others.

use super::settings::{AdvantageKind, AdvantageScale, PolicyKind, RegressionConfig, WeightKind};
use crate::config::{Idle, Problem, offline, online, without_steps};

impl RegressionConfig {
    /// Whether environment steps are taken.
    fn steps(&self) -> bool {
        !self.offline || self.online_timesteps > 0
    }

    /// Finds settings that contradict each other; the message says what to change.
    pub fn check(&self) -> Result<(), Problem> {
        let judged = self.advantage != AdvantageKind::None;
        Problem::when(!judged && self.weight != WeightKind::One, &["weight", "advantage"], || {
            "without an `advantage` there is nothing to weigh actions by; set `weight: one`".to_owned()
        })?;
        Problem::when(!judged && self.steps(), &["online_timesteps", "offline", "advantage"], || {
            "a policy that imitates every action alike learns nothing from rewards, so steps of its own would teach it \
             nothing; set `online_timesteps: 0` and `offline: true`, or an `advantage`"
                .to_owned()
        })?;
        let looks_up = self.advantage.looks_up_returns();
        Problem::when(looks_up && self.steps(), &["online_timesteps", "offline", "advantage"], || {
            "returns are known of recorded episodes alone; set `online_timesteps: 0` and `offline: true`, or \
             `advantage: expectile`"
                .to_owned()
        })?;
        Problem::when(looks_up && self.n_step > 1, &["n_step", "advantage"], || {
            "returns reach to the end of an episode in any case; set `n_step: 1`".to_owned()
        })?;
        let deterministic = self.policy == PolicyKind::Deterministic;
        Problem::when(deterministic && self.advantage.asks_the_policy(), &["policy", "advantage"], || {
            "actions are drawn from the policy to be compared with; set `policy: gaussian`".to_owned()
        })?;
        Problem::when(deterministic && self.steps(), &["policy", "online_timesteps"], || {
            "a deterministic policy does not explore; set `policy: gaussian`".to_owned()
        })?;
        let clash = self.advantage_scale == AdvantageScale::Dataset && self.advantage != AdvantageKind::LambdaReturns;
        Problem::when(clash, &["advantage_scale", "advantage"], || {
            "only `advantage: lambda_returns` has the advantages of all transitions at once; set \
             `advantage_scale: moving_average`, or none"
                .to_owned()
        })?;
        let clash = self.advantage == AdvantageKind::LambdaReturns && self.advantage_scale != AdvantageScale::Dataset;
        Problem::when(clash, &["advantage_scale", "advantage"], || {
            "advantages of `lambda_returns` are standardised over the dataset; set `advantage_scale: dataset`"
                .to_owned()
        })?;
        let clash = self.target_policy && !self.advantage.asks_the_policy();
        Problem::when(clash, &["target_policy", "advantage"], || {
            "targets ask no policy; set `target_policy: false`, or `advantage: policy_mean`".to_owned()
        })
    }

    /// Settings without an effect beside the others.
    pub fn idle(&self) -> Vec<Idle> {
        let idle = |now, keys, switch, why| Idle { now, keys, switch: Some(switch), why };
        let by = |now, keys, why| idle(now, keys, "advantage", why);
        let (advantage, weight) = (self.advantage, self.weight);
        let gaussian = self.policy != PolicyKind::Deterministic;
        vec![
            by(
                !advantage.asks_the_policy(),
                &["n_action_samples", "advantage_before_update"],
                "no actions are drawn to be compared with; set `advantage: policy_mean`",
            ),
            by(
                advantage != AdvantageKind::Expectile,
                &["expectile"],
                "the value is no expectile; set `advantage: expectile`",
            ),
            by(
                advantage != AdvantageKind::Gumbel,
                &["gumbel_temperature", "gumbel_clip"],
                "the value is no soft maximum; set `advantage: gumbel`",
            ),
            by(
                advantage != AdvantageKind::LambdaReturns,
                &["td_lambda", "value_updates", "actor_updates"],
                "returns are not taken anew; set `advantage: lambda_returns`",
            ),
            by(!advantage.has_value(), &["value_layer_norm"], "there is no value network; set `advantage: expectile`"),
            by(
                !advantage.has_critics(),
                &["n_critics", "critic_loss_coef", "critic_huber", "tau", "target_update_interval"],
                "there are no critics; set `advantage: expectile`",
            ),
            by(matches!(advantage, AdvantageKind::None), &["gamma"], "rewards are not looked at; set an `advantage`"),
            idle(
                !matches!(weight, WeightKind::Exp | WeightKind::Softmax),
                &["beta"],
                "weight",
                "the size of an advantage does not count; set `weight: exp`",
            ),
            idle(weight != WeightKind::Exp, &["max_weight"], "weight", "weights need no limit; set `weight: exp`"),
            idle(
                self.advantage_scale != AdvantageScale::MovingAverage,
                &["advantage_rate"],
                "advantage_scale",
                "advantages have no moving average; set `advantage_scale: moving_average`",
            ),
            idle(
                !gaussian,
                &["log_std_init", "learn_std"],
                "policy",
                "the policy has no standard deviation; set `policy: gaussian`",
            ),
            idle(
                self.policy != PolicyKind::LinearGaussian,
                &["bounds_penalty"],
                "policy",
                "the policy's mean stays within its bounds; set `policy: linear_gaussian`",
            ),
            online(!self.offline),
            offline(self.offline),
            without_steps(!self.steps()),
        ]
    }
}
