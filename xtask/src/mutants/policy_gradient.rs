//! Learning from a policy's own rollouts, curiosity, and populations.

use super::{EXPRESSION, Mutant, STATEMENTS};

const IN_GAE: Mutant = Mutant { file: "axiomrl-core/src/gae.rs", filter: "gae:: returns::", ..EXPRESSION };
const IN_PPO: Mutant = Mutant {
    file: "axiomrl-algos/src/policy_gradient/ppo_loss.rs",
    filter: "policy_gradient::p policy_gradient::a2c policy_gradient::minibatch",
    ..EXPRESSION
};
const IN_PG: Mutant = Mutant { file: "axiomrl-algos/src/policy_gradient/pg_loss.rs", ..IN_PPO };
const IN_TRPO: Mutant =
    Mutant { file: "axiomrl-algos/src/policy_gradient/trpo/learner.rs", filter: "policy_gradient::trpo", ..EXPRESSION };
const IN_ACER: Mutant = Mutant {
    file: "axiomrl-algos/src/policy_gradient/acer/objective.rs",
    filter: "policy_gradient::acer",
    ..EXPRESSION
};
const IN_POPULATION: Mutant = Mutant { filter: "population::", ..EXPRESSION };

pub const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "gae_value_after_termination",
        what: "advantages see a future after a termination",
        find: "if self.terminated[i] { 0.0 } else { gamma * self.next_value[i] }",
        replace: "gamma * self.next_value[i]",
        ..IN_GAE
    },
    Mutant {
        name: "gae_trace_over_truncation",
        what: "advantages of the next episode flow back over a time limit",
        find: "i + self.lanes < self.reward.len() && !self.terminated[i] && !self.truncated[i]",
        replace: "i + self.lanes < self.reward.len() && !self.terminated[i]",
        ..IN_GAE
    },
    Mutant {
        name: "gae_without_lambda",
        what: "later advantages count in full, whatever lambda is",
        find: "gamma * lambda * advantage[i + steps.lanes]",
        replace: "{ let _ = lambda; gamma * advantage[i + steps.lanes] }",
        ..IN_GAE
    },
    Mutant {
        name: "ppo_clip_one_sided",
        what: "PPO's ratio is limited from above alone",
        find: "ratio.clamp(1.0 - clip, 1.0 + clip)",
        replace: "ratio.min(1.0 + clip)",
        ..IN_PPO
    },
    Mutant {
        name: "ppo_slope_not_clipped",
        what: "PPO's gradient goes on where the objective is clipped",
        find: "if free <= bounded { free } else { 0.0 }",
        replace: "free",
        ..IN_PPO
    },
    Mutant {
        name: "ppo_value_clip_takes_smaller",
        what: "PPO's value loss takes the smaller of free and limited error",
        find: "limited > free.0",
        replace: "limited < free.0",
        ..IN_PPO
    },
    Mutant {
        name: "ppo_entropy_sign",
        what: "PPO lowers the entropy",
        find: "-terms.entropy_weight * share",
        replace: "terms.entropy_weight * share",
        ..IN_PPO
    },
    Mutant {
        name: "ppo_advantages_not_standardised",
        what: "PPO's advantages keep their scale",
        file: "axiomrl-algos/src/policy_gradient/minibatch.rs",
        find: "standardise(&mut self.advantage);",
        replace: "",
        form: STATEMENTS.form,
        ..IN_PPO
    },
    Mutant {
        name: "ppo_target_kl_ignored",
        what: "passes go on however far the policy has moved",
        file: "axiomrl-algos/src/policy_gradient/passes.rs",
        find: "target_kl.is_some_and(|limit| self.divergence > 1.5 * limit)",
        replace: "false && target_kl.is_some()",
        ..IN_PPO
    },
    Mutant {
        name: "policy_gradient_sign",
        what: "actions become likelier where they were worse than expected",
        find: "-share * self.advantage[row]",
        replace: "share * self.advantage[row]",
        ..IN_PG
    },
    Mutant {
        name: "value_error_halved",
        what: "A2C's value loss is a quarter of the squared error in place of a half",
        find: "2.0 * share * error",
        replace: "share * error",
        ..IN_PG
    },
    Mutant {
        name: "natural_step_sign",
        what: "TRPO steps down its objective",
        find: "g.iter_mut().for_each(|g| *g = -*g);",
        replace: "",
        form: STATEMENTS.form,
        ..IN_TRPO
    },
    Mutant {
        name: "trpo_divergence_reversed",
        what: "TRPO measures the divergence of the old policy from the new one",
        find: "distribution.kl(before, &old.log_std, now, log_std, mask)",
        replace: "distribution.kl(now, log_std, before, &old.log_std, mask)",
        ..IN_TRPO
    },
    Mutant {
        name: "trpo_takes_losses",
        what: "TRPO's line search takes a step that gains nothing",
        file: "axiomrl-algos/src/policy_gradient/trpo/search.rs",
        find: "found.kl < f64::from(max_kl) && found.gain > 0.0",
        replace: "found.kl < f64::from(max_kl)",
        ..IN_TRPO
    },
    Mutant {
        name: "deviation_information_halved",
        what: "the information of a log standard deviation is taken for 1",
        file: "axiomrl-algos/src/policy_gradient/trpo/natural.rs",
        find: "2.0 * v",
        replace: "1.0 * v",
        ..IN_TRPO
    },
    Mutant {
        name: "ppg_clones_the_wrong_way",
        what: "PPG's auxiliary phase measures its divergence the other way round",
        file: "axiomrl-algos/src/policy_gradient/ppg/phase.rs",
        find: "family.kl(old, old_log_std, new, log_std, mask)",
        replace: "family.kl(new, log_std, old, old_log_std, mask)",
        ..IN_PPO
    },
    Mutant {
        name: "acktr_trust_region_root",
        what: "ACKTR's step is scaled by the square of what the region leaves",
        file: "axiomrl-algos/src/policy_gradient/acktr/natural.rs",
        find: "(f64::from(trust_region) / (f64::from(rate).powi(2) * product)).sqrt()",
        replace: "f64::from(trust_region) / (f64::from(rate).powi(2) * product)",
        filter: "policy_gradient::acktr",
        ..EXPRESSION
    },
    Mutant {
        name: "retrace_not_truncated",
        what: "Retrace trusts what the policy would do more often without limit",
        find: "step.ratio.min(1.0)",
        replace: "step.ratio",
        ..IN_ACER
    },
    Mutant {
        name: "acer_correction_dropped",
        what: "ACER does not correct for its truncated ratios",
        find: "u[j] += share * (q[j] - v);",
        replace: "",
        form: STATEMENTS.form,
        ..IN_ACER
    },
    Mutant {
        name: "acer_trust_region_sign",
        what: "ACER's trust region pushes away from the average policy",
        find: "-average[j] / (now[j] + GUARD)",
        replace: "average[j] / (now[j] + GUARD)",
        ..IN_ACER
    },
    Mutant {
        name: "bonus_not_summed",
        what: "curiosity's bonuses are scaled by their own deviation, not by that of their discounted sum",
        file: "axiomrl-algos/src/policy_gradient/curiosity/scale.rs",
        find: "self.gamma * self.sums[env] + f64::from(bonus)",
        replace: "f64::from(bonus)",
        filter: "policy_gradient::curiosity::scale",
        ..EXPRESSION
    },
    Mutant {
        name: "icm_features_chase_model",
        what: "ICM's features learn to be foreseen",
        file: "axiomrl-algos/src/policy_gradient/curiosity/icm.rs",
        find: "(before.detach(), after.detach())",
        replace: "(before, after)",
        filter: "policy_gradient::curiosity::icm",
        ..EXPRESSION
    },
    Mutant {
        name: "ars_ranks_by_worse",
        what: "ARS keeps the directions whose worse side is best",
        file: "axiomrl-algos/src/population/ars.rs",
        find: "pairs[direction][0].max(pairs[direction][1])",
        replace: "pairs[direction][0].min(pairs[direction][1])",
        ..IN_POPULATION
    },
    Mutant {
        name: "es_descends",
        what: "evolution strategies go where scores fall",
        file: "axiomrl-algos/src/population/openai_es.rs",
        find: "(ranks[0] - ranks[1]) / pairs.scores.len() as f64",
        replace: "(ranks[1] - ranks[0]) / pairs.scores.len() as f64",
        ..IN_POPULATION
    },
    Mutant {
        name: "cem_fits_the_worst",
        what: "the cross-entropy method fits its Gaussian to the worst candidates",
        file: "axiomrl-algos/src/population/cem.rs",
        find: "scores[b].total_cmp(&scores[a])",
        replace: "scores[a].total_cmp(&scores[b])",
        ..IN_POPULATION
    },
];
