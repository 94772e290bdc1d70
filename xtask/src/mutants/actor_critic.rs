//! Actors with critics that learn from a store: the family of SAC and TD3, discrete SAC, MPO.

use super::{EXPRESSION, Mutant, STATEMENTS};

const TESTS: &str = "actor_critic::off_policy_ac parts::temperature parts::squashed_actor";
const IN_LEARNER: Mutant =
    Mutant { file: "axiomrl-algos/src/actor_critic/off_policy_ac/learner.rs", filter: TESTS, ..EXPRESSION };
const IN_TARGET: Mutant = Mutant { file: "axiomrl-algos/src/actor_critic/off_policy_ac/target.rs", ..IN_LEARNER };
const IN_CRITIC: Mutant = Mutant { file: "axiomrl-algos/src/actor_critic/off_policy_ac/critic.rs", ..IN_LEARNER };
const IN_JUDGE: Mutant = Mutant { file: "axiomrl-algos/src/actor_critic/off_policy_ac/critic/judge.rs", ..IN_LEARNER };
const IN_HEAD: Mutant = Mutant { file: "axiomrl-algos/src/parts/squashed_actor.rs", ..IN_LEARNER };
const IN_DISCRETE: Mutant = Mutant {
    file: "axiomrl-algos/src/actor_critic/discrete_sac/learner.rs",
    filter: "actor_critic::discrete_sac",
    ..EXPRESSION
};
const IN_MPO: Mutant =
    Mutant { file: "axiomrl-algos/src/actor_critic/mpo/learner.rs", filter: "actor_critic::mpo", ..EXPRESSION };

pub const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "entropy_bonus_sign",
        what: "targets charge for the entropy of the next action",
        find: "-alpha * log_prob",
        replace: "alpha * log_prob",
        ..IN_LEARNER
    },
    Mutant {
        name: "target_entropy_sign",
        what: "the entropy to aim for is the number of actions, not minus it",
        find: "-config.target_entropy_ratio * actions as f32",
        replace: "config.target_entropy_ratio * actions as f32",
        ..IN_LEARNER
    },
    Mutant {
        name: "temperature_sign",
        what: "the temperature falls where there is too little entropy",
        file: "axiomrl-algos/src/parts/temperature.rs",
        find: "-(mean_log_prob + self.target_entropy)",
        replace: "(mean_log_prob + self.target_entropy)",
        ..IN_LEARNER
    },
    Mutant {
        name: "policy_delay_ignored",
        what: "actor and copies move at every update, whatever the delay",
        find: "context.number().is_multiple_of(self.config.policy_delay)",
        replace: "true",
        ..IN_LEARNER
    },
    Mutant {
        name: "targets_not_delayed",
        what: "the slow copies move at every update, though the actor waits",
        find: "on_time",
        replace: "true",
        place: (3, 3),
        ..IN_LEARNER
    },
    Mutant {
        name: "actor_in_every_update",
        what: "REDQ's actor learns in every update of a block",
        find: "self.config.actor_once_per_block",
        replace: "false",
        ..IN_LEARNER
    },
    Mutant {
        name: "smoothing_dropped",
        what: "TD3's target actions have no noise",
        file: "axiomrl-algos/src/actor_critic/off_policy_ac/actor.rs",
        find: "self.smoothing.add_to(&mut drawn.action, rng);",
        replace: "",
        form: STATEMENTS.form,
        ..IN_LEARNER
    },
    Mutant {
        name: "smoothing_not_clipped",
        what: "the noise of target actions is not clipped",
        find: "(std * normal(rng)).clamp(-clip, clip)",
        replace: "{ let _ = clip; std * normal(rng) }",
        ..IN_HEAD
    },
    Mutant {
        name: "jitter_not_clipped",
        what: "DrQ-v2's scheduled noise is not clipped in updates",
        find: "Jitter { std, clip: self.config.target_noise_clip }",
        replace: "Jitter { std, clip: f32::INFINITY }",
        ..IN_LEARNER
    },
    Mutant {
        name: "actor_follows_lowest",
        what: "TD3's actor follows the lower critic in place of the first",
        find: "(config.actor_reducer, config.max_action_grad_norm)",
        replace: "(super::choices::ActorReducer::Min, config.max_action_grad_norm)",
        ..IN_LEARNER
    },
    Mutant {
        name: "actor_descends",
        what: "the actor goes where the critics see less",
        find: "-share * by_action",
        replace: "share * by_action",
        ..IN_HEAD
    },
    Mutant {
        name: "action_gradient_not_clipped",
        what: "D4PG's limit on the critics' slope is ignored",
        find: "max_norm.map_or(1.0, |max| clip_scale(norm, max))",
        replace: "{ let _ = norm; 1.0 }",
        ..IN_JUDGE
    },
    Mutant {
        name: "lowest_critic_ignored",
        what: "targets take the first critic in place of the lowest",
        find: "mean < least",
        replace: "mean < least && least == f32::INFINITY",
        ..IN_TARGET
    },
    Mutant {
        name: "lowest_quantiles_dropped",
        what: "TQC drops the lowest quantiles",
        find: "self.pool.truncate(self.pool.len() - self.dropped);",
        replace: "self.pool.drain(..self.dropped);",
        form: STATEMENTS.form,
        ..IN_TARGET
    },
    Mutant {
        name: "projection_without_end",
        what: "D4PG's projection goes on after the end of an episode",
        find: "categorical_projection(&self.pool, reward, discount, low, high, &mut self.scratch)",
        replace: "categorical_projection(&self.pool, reward, discount.max(0.5), low, high, &mut self.scratch)",
        ..IN_TARGET
    },
    Mutant {
        name: "subset_drawn_once",
        what: "REDQ's targets always ask the same critics",
        find: "self.targets.choose(rng);",
        replace: "self.targets.choose(&mut axiomrl_core::stream(1, \"mutant\")); let _ = &rng;",
        form: STATEMENTS.form,
        ..IN_CRITIC
    },
    Mutant {
        name: "dropout_masks_repeat",
        what: "DroQ's critics drop the same units in every update",
        find: "self.dropout.then(|| rand::Rng::next_u64(rng))",
        replace: "{ let _ = &rng; self.dropout.then_some(7) }",
        place: (1, 2),
        ..IN_CRITIC
    },
    Mutant {
        name: "dropout_missing_in_targets",
        what: "DroQ's targets are made without dropout",
        find: "self.dropout.then(|| rand::Rng::next_u64(rng))",
        replace: "None",
        place: (2, 2),
        ..IN_CRITIC
    },
    Mutant {
        name: "critic_weights_dropped",
        what: "importance weights do not reach the critics' loss",
        find: "window.batch.weight[row] / all as f32",
        replace: "1.0 / all as f32",
        ..IN_CRITIC
    },
    Mutant {
        name: "contrast_without_own_key",
        what: "CURL's gradient does not know which key belongs to a query",
        file: "axiomrl-algos/src/actor_critic/off_policy_ac/contrast.rs",
        find: "row[i] -= 1.0 / rows as f32;",
        replace: "",
        form: STATEMENTS.form,
        ..IN_LEARNER
    },
    Mutant {
        name: "discrete_temperature_sign",
        what: "discrete SAC's temperature moves the wrong way",
        find: "target_entropy - entropy",
        replace: "entropy - target_entropy",
        ..IN_DISCRETE
    },
    Mutant {
        name: "discrete_twin_takes_larger",
        what: "discrete SAC believes the bolder of its critics",
        find: "q[at].min(q[q.len() / 2 + at])",
        replace: "q[at].max(q[q.len() / 2 + at])",
        ..IN_DISCRETE
    },
    Mutant {
        name: "discrete_entropy_of_forbidden",
        what: "discrete SAC asks for the entropy of actions that are forbidden",
        find: "largest_entropy(batch.masks(), batch.rows, self.actions)",
        replace: "(self.actions as f32).ln()",
        ..IN_DISCRETE
    },
    Mutant {
        name: "mpo_dual_sign",
        what: "MPO's multipliers fall while the policy moves too far",
        find: "self.config.epsilon_mean - kl",
        replace: "kl - self.config.epsilon_mean",
        ..IN_MPO
    },
    Mutant {
        name: "mpo_samples_online",
        what: "MPO samples from the policy that learns",
        find: "self.actor.target.infer(&seen, obs.rows, &mut head)",
        replace: "self.actor.online.infer(&seen, obs.rows, &mut head)",
        ..IN_MPO
    },
    Mutant {
        name: "mpo_temperature_slope",
        what: "MPO's temperature forgets that its weights depend on it",
        file: "axiomrl-algos/src/actor_critic/mpo/duals.rs",
        find: "epsilon + log_mean - weighted",
        replace: "{ let _ = weighted; epsilon + log_mean }",
        ..IN_MPO
    },
];
