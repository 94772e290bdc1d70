//! Learning from recorded data: held to it, or imitating it.

use super::{EXPRESSION, Mutant, STATEMENTS};

const IN_REGRESSION: Mutant = Mutant { filter: "offline::regression", ..EXPRESSION };
const IN_OFFLINE: Mutant = Mutant { filter: "offline::", ..EXPRESSION };
const IN_AC: Mutant = Mutant { filter: "actor_critic::off_policy_ac", ..EXPRESSION };
const IN_IMITATION: Mutant = Mutant { filter: "imitation::", ..EXPRESSION };

pub const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "expectile_reversed",
        what: "IQL's values lean to the worse targets",
        file: "axiomrl-algos/src/offline/regression/value_loss.rs",
        find: "if u > 0.0 { tau } else { 1.0 - tau }",
        replace: "if u > 0.0 { 1.0 - tau } else { tau }",
        ..IN_REGRESSION
    },
    Mutant {
        name: "gumbel_learns_beyond_clip",
        what: "XQL learns from rows beyond its clip",
        file: "axiomrl-algos/src/offline/regression/value_loss.rs",
        find: "if z > clip { (clip, 0.0) } else { (z, 1.0) }",
        replace: "if z > clip { (clip, 1.0) } else { (z, 1.0) }",
        ..IN_REGRESSION
    },
    Mutant {
        name: "weights_not_capped",
        what: "the exponential of an advantage is not limited",
        file: "axiomrl-algos/src/offline/regression/weight.rs",
        find: "if weight > most { most } else { weight }",
        replace: "{ let _ = most; weight }",
        ..IN_REGRESSION
    },
    Mutant {
        name: "softmax_weights_sum_to_one",
        what: "weights of a batch sum to 1 in place of averaging 1",
        file: "axiomrl-algos/src/offline/regression/weight.rs",
        find: "weights.len() as f32 / weights.iter().sum::<f32>()",
        replace: "1.0 / weights.iter().sum::<f32>()",
        ..IN_REGRESSION
    },
    Mutant {
        name: "mixture_reversed",
        what: "BCQ weighs the higher critic where it should weigh the lower",
        file: "axiomrl-algos/src/offline/candidates.rs",
        find: "lambda * low + (1.0 - lambda) * high",
        replace: "lambda * high + (1.0 - lambda) * low",
        ..IN_OFFLINE
    },
    Mutant {
        name: "mmd_without_root",
        what: "BEAR bounds the squared distance",
        file: "axiomrl-algos/src/offline/bear/mmd.rs",
        find: "(squared.max(0.0) + FLOOR).sqrt()",
        replace: "(squared.max(0.0) + FLOOR)",
        ..IN_OFFLINE
    },
    Mutant {
        name: "bear_dual_sign",
        what: "BEAR's weight falls while the policy is too far from the record",
        file: "axiomrl-algos/src/offline/bear/dual.rs",
        find: "-self.weight() * (distance - self.threshold)",
        replace: "self.weight() * (distance - self.threshold)",
        ..IN_OFFLINE
    },
    Mutant {
        name: "target_return_not_used_up",
        what: "the decision transformer asks for the whole return at every step",
        file: "axiomrl-algos/src/offline/decision_transformer/history.rs",
        find: "self.target - row[EARNED]",
        replace: "self.target",
        ..IN_OFFLINE
    },
    Mutant {
        name: "cql_density_sign",
        what: "CQL's penalty counts likely actions more often",
        file: "axiomrl-algos/src/actor_critic/off_policy_ac/conservative.rs",
        find: "(value - log_density[at]) / temperature",
        replace: "(value + log_density[at]) / temperature",
        ..IN_AC
    },
    Mutant {
        name: "cal_ql_lifts_random",
        what: "Cal-QL bounds random actions by what was earned, too",
        file: "axiomrl-algos/src/actor_critic/off_policy_ac/conservative.rs",
        find: "at >= policy && values[at] < earned",
        replace: "{ let _ = policy; values[at] < earned }",
        ..IN_AC
    },
    Mutant {
        name: "td3_bc_scale_dropped",
        what: "TD3+BC does not bring values to their mean size",
        file: "axiomrl-algos/src/actor_critic/off_policy_ac/anchor.rs",
        find: "alpha / size.max(SMALLEST_SIZE)",
        replace: "{ let _ = size; alpha }",
        ..IN_AC
    },
    Mutant {
        name: "diversity_along_slope",
        what: "EDAC's gradient lengthens slopes in place of turning them",
        file: "axiomrl-algos/src/actor_critic/off_policy_ac/diversity.rs",
        find: "sum - along * unit",
        replace: "{ let _ = (along, unit); *sum }",
        ..IN_AC
    },
    Mutant {
        name: "gail_reward_sign",
        what: "GAIL pays for being told apart from the expert",
        file: "axiomrl-algos/src/imitation/gail/discriminator.rs",
        find: "softplus(f)",
        replace: "softplus(-f)",
        place: (2, 3),
        ..IN_IMITATION
    },
    Mutant {
        name: "discriminator_entropy_sign",
        what: "a discriminator is rewarded for being sure",
        file: "axiomrl-algos/src/imitation/adversarial/logistic.rs",
        find: "-sign * sigmoid(-sign * f) - entropy_coef * slope",
        replace: "-sign * sigmoid(-sign * f) + entropy_coef * slope",
        ..IN_IMITATION
    },
    Mutant {
        name: "airl_potential_after_end",
        what: "AIRL's potential goes on after the end of an episode",
        file: "axiomrl-algos/src/imitation/airl/shaped.rs",
        find: "g + gamma * goes_on * next_h - h",
        replace: "{ let _ = goes_on; g + gamma * next_h - h }",
        ..IN_IMITATION
    },
    Mutant {
        name: "airl_log_prob_sign",
        what: "AIRL adds the policy's log-probability to its logit",
        file: "axiomrl-algos/src/imitation/airl/shaped.rs",
        find: "f - log_prob.max(LEAST_LOG_PROB)",
        replace: "f + log_prob.max(LEAST_LOG_PROB)",
        ..IN_IMITATION
    },
    Mutant {
        name: "mixture_of_sources_reversed",
        what: "the first source of a mixed batch gives the second one's share",
        file: "axiomrl-core/src/mixture.rs",
        find: "self.share * rows.len() as f32",
        replace: "(1.0 - self.share) * rows.len() as f32",
        filter: "mixture::",
        ..EXPRESSION
    },
    Mutant {
        name: "rebrac_target_sign",
        what: "ReBRAC's targets reward distance from the record",
        file: "axiomrl-algos/src/actor_critic/off_policy_ac/learner.rs",
        find: "hold_targets(&mut bonus, &self.drawn.action, next_action, held);",
        replace: "hold_targets(&mut bonus, &self.drawn.action, next_action, -held);",
        form: STATEMENTS.form,
        ..IN_AC
    },
];
