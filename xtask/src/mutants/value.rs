//! Q-learning: what a next state is worth, and what is learned of it.

use super::{EXPRESSION, Mutant, STATEMENTS};

const TESTS: &str = "q_learning:: parts::value_head parts::weight_noise";
const IN_BACKUP: Mutant = Mutant { file: "axiomrl-algos/src/q_learning/backup.rs", filter: TESTS, ..EXPRESSION };
const IN_LOSS: Mutant = Mutant { file: "axiomrl-algos/src/q_learning/loss.rs", ..IN_BACKUP };
const IN_LEARNER: Mutant = Mutant { file: "axiomrl-algos/src/q_learning/learner.rs", ..IN_BACKUP };
const IN_FRACTIONS: Mutant = Mutant { file: "axiomrl-algos/src/q_learning/fractions.rs", ..IN_BACKUP };
const IN_MODEL: Mutant = Mutant { file: "axiomrl-algos/src/q_learning/model.rs", form: STATEMENTS.form, ..IN_BACKUP };
const IN_HEAD: Mutant = Mutant { file: "axiomrl-algos/src/parts/value_head.rs", ..IN_BACKUP };

pub const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "double_formula_is_plain",
        what: "the target network chooses the next action in double Q-learning's formula",
        find: "input.chooser.unwrap_or(next)",
        replace: "next",
        ..IN_BACKUP
    },
    Mutant {
        name: "double_wire_is_plain",
        what: "what the online network says of the next state does not reach the formula",
        find: "apart.then_some(&*chooser)",
        replace: "None",
        ..IN_LEARNER
    },
    Mutant {
        name: "masks_dropped_in_backup",
        what: "a forbidden next action may be the best one",
        find: "argmax(chooser, mask)",
        replace: "argmax(chooser, &[])",
        ..IN_BACKUP
    },
    Mutant {
        name: "mellowmax_is_max",
        what: "mellowmax is the maximum",
        find: "mellowmax(&allowed, config.mellowmax_omega) - q[best]",
        replace: "0.0",
        ..IN_BACKUP
    },
    Mutant {
        name: "expected_is_max",
        what: "expected Sarsa values the best action alone",
        find: "policy[best] += 1.0 - epsilon;",
        replace: "policy.fill(0.0); policy[best] = 1.0;",
        form: STATEMENTS.form,
        ..IN_BACKUP
    },
    Mutant {
        name: "boltzmann_is_max",
        what: "Boltzmann's backup values the best action alone",
        find: "softmax(chooser, mask, config.boltzmann_temperature, policy)",
        replace: "policy[best] = 1.0",
        ..IN_BACKUP
    },
    Mutant {
        name: "soft_without_entropy",
        what: "soft Q-learning leaves the entropy of the next action out",
        find: "-temperature * p.ln()",
        replace: "0.0",
        ..IN_BACKUP
    },
    Mutant {
        name: "twin_takes_first",
        what: "of two networks the first values, not the more cautious one",
        find: "next.smallest_member(entry.next, action)",
        replace: "0",
        ..IN_BACKUP
    },
    Mutant {
        name: "twin_takes_larger",
        what: "of two networks the bolder one values",
        file: "axiomrl-algos/src/q_learning/outcomes.rs",
        find: "self.q(m, row)[action] < self.q(best, row)[action]",
        replace: "self.q(m, row)[action] > self.q(best, row)[action]",
        ..IN_BACKUP
    },
    Mutant {
        name: "munchausen_sign",
        what: "Munchausen's log-policy is subtracted",
        find: "bonus += munchausen_bonus(&allowed, action, tau, config.munchausen_alpha, floor);",
        replace: "bonus -= munchausen_bonus(&allowed, action, tau, config.munchausen_alpha, floor);",
        form: STATEMENTS.form,
        ..IN_BACKUP
    },
    Mutant {
        name: "munchausen_dropped",
        what: "Munchausen's log-policy is left out",
        find: "bonus += munchausen_bonus(&allowed, action, tau, config.munchausen_alpha, floor);",
        replace: "",
        form: STATEMENTS.form,
        ..IN_BACKUP
    },
    Mutant {
        name: "munchausen_ignores_masks",
        what: "Munchausen's policy may take forbidden actions",
        find: "if permitted(mask, i) { *q } else { f32::NEG_INFINITY }",
        replace: "*q",
        ..IN_BACKUP
    },
    Mutant {
        name: "advantage_dropped",
        what: "advantage learning does not widen the gap",
        find: "bonus -= config.advantage_alpha * smaller;",
        replace: "",
        form: STATEMENTS.form,
        ..IN_BACKUP
    },
    Mutant {
        name: "advantage_sign",
        what: "advantage learning narrows the gap",
        find: "bonus -= config.advantage_alpha * smaller;",
        replace: "bonus += config.advantage_alpha * smaller;",
        form: STATEMENTS.form,
        ..IN_BACKUP
    },
    Mutant {
        name: "persistent_takes_larger",
        what: "persistent advantage learning takes the larger gap",
        find: "smaller.min(gap(q_next, mask))",
        replace: "smaller.max(gap(q_next, mask))",
        ..IN_BACKUP
    },
    Mutant {
        name: "persistent_gap_after_end",
        what: "persistent advantage learning sees a gap after the end",
        find: "smaller.min(0.0)",
        replace: "smaller",
        ..IN_BACKUP
    },
    Mutant {
        name: "value_after_termination",
        what: "there is a future after a termination",
        find: "batch.discount[entry.at]",
        replace: "batch.discount[entry.at].max(0.5)",
        ..IN_BACKUP
    },
    Mutant {
        name: "hysteretic_reversed",
        what: "hysteretic learning weakens what raises a value",
        find: "error > 0.0",
        replace: "error < 0.0",
        ..IN_LOSS
    },
    Mutant {
        name: "discrete_cql_removed",
        what: "DQN's conservative penalty is left out",
        find: "config.cql_alpha > 0.0",
        replace: "false",
        ..IN_LOSS
    },
    Mutant {
        name: "discrete_cql_ignores_masks",
        what: "the conservative penalty lowers forbidden actions",
        find: "if permitted(mask, action) { q } else { f32::NEG_INFINITY }",
        replace: "q",
        ..IN_LOSS
    },
    Mutant {
        name: "importance_weights_dropped",
        what: "importance weights do not reach the loss of Q-learning",
        find: "batch.weight[entry.row] / n as f32",
        replace: "1.0 / n as f32",
        ..IN_LOSS
    },
    Mutant {
        name: "priorities_constant",
        what: "every row has the same error for its priority",
        find: "counts / members as f32",
        replace: "1.0",
        ..IN_LOSS
    },
    Mutant {
        name: "iqn_shares_draws",
        what: "IQN chooses the next action at the fractions that value it",
        find: "!self.config.double_q && self.model.infer_choice(rng, &mut self.chooser)",
        replace: "false",
        ..IN_LEARNER
    },
    Mutant {
        name: "target_follows_every_step",
        what: "the target network follows at every step, whatever its interval",
        find: "before / every < after / every",
        replace: "every > 0",
        ..IN_LEARNER
    },
    Mutant {
        name: "noise_of_target_missing",
        what: "the target network's noise is never drawn",
        find: "self.nets.target.net.draw_noise(rng);",
        replace: "",
        ..IN_MODEL
    },
    Mutant {
        name: "noise_of_update_shared",
        what: "an update learns with the noise that acted or chose",
        find: "net.draw_noise(context.rng);",
        replace: "",
        ..IN_MODEL
    },
    Mutant {
        name: "noise_not_shaped",
        what: "factorised noise is f(x) = x in place of sign(x) sqrt|x|",
        file: "axiomrl-algos/src/parts/weight_noise.rs",
        find: "x.abs().sqrt().copysign(x)",
        replace: "x",
        ..IN_BACKUP
    },
    Mutant {
        name: "tau_reversed",
        what: "the quantile loss has tau and 1 - tau exchanged",
        find: "if error < 0.0 { 1.0 - fraction } else { *fraction }",
        replace: "if error < 0.0 { *fraction } else { 1.0 - fraction }",
        ..IN_HEAD
    },
    Mutant {
        name: "quantiles_count_alike",
        what: "uneven quantiles count alike in targets",
        find: "interpreted.iter().zip(share).for_each(|(v, s)| take(*v, *s))",
        replace: "interpreted.iter().for_each(|v| take(*v, 1.0 / interpreted.len() as f32))",
        ..IN_HEAD
    },
    Mutant {
        name: "projection_shares_swapped",
        what: "C51 gives each return to the farther atom",
        find: "at - low as f32",
        replace: "1.0 - (at - low as f32)",
        ..IN_HEAD
    },
    Mutant {
        name: "dueling_without_mean",
        what: "dueling adds the advantages without taking off their mean",
        file: "axiomrl-algos/src/q_learning/direct.rs",
        find: "v + a - m",
        replace: "{ let _ = m; v + a }",
        ..IN_BACKUP
    },
    Mutant {
        name: "fqf_entropy_sign",
        what: "FQF's fractions are drawn together by their entropy",
        find: "entropy_weight * (share.max(1e-12).ln() + entropy)",
        replace: "-entropy_weight * (share.max(1e-12).ln() + entropy)",
        ..IN_FRACTIONS
    },
    Mutant {
        name: "fqf_crossing_ignored",
        what: "FQF does not turn the sign where quantiles cross",
        find: "if here > before { left } else { -left }",
        replace: "{ let _ = before; left }",
        ..IN_FRACTIONS
    },
    Mutant {
        name: "naf_values_by_online",
        what: "NAF's target asks the network that learns",
        file: "axiomrl-algos/src/q_learning/naf.rs",
        find: "self.q.target.infer(batch.next_obs(), &[])",
        replace: "self.q.online.infer(batch.next_obs(), &[])",
        ..IN_BACKUP
    },
];
