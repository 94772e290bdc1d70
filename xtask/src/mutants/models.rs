//! Learned models of transitions: ensembles, imagined steps, planning.

use super::{EXPRESSION, Mutant, STATEMENTS};

const IN_MODELS: Mutant = Mutant { filter: "model_based::", ..EXPRESSION };
const IN_ROLLOUTS: Mutant = Mutant { file: "axiomrl-algos/src/model_based/rollouts.rs", ..IN_MODELS };
const IN_PLANNER: Mutant = Mutant { file: "axiomrl-algos/src/model_based/pets/planner.rs", ..IN_MODELS };
const IN_CEM: Mutant = Mutant { file: "axiomrl-algos/src/model_based/pets/cem.rs", ..IN_MODELS };
const IN_NLL: Mutant = Mutant { file: "axiomrl-nn/src/losses/gaussian_nll.rs", filter: "gaussian_nll", ..EXPRESSION };

pub const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "variance_for_deviation",
        what: "an ensemble's predictions spread by their variance",
        file: "axiomrl-algos/src/model_based/dynamics/mod.rs",
        find: "axiomrl_nn::math::exp(0.5 * log_var)",
        replace: "axiomrl_nn::math::exp(log_var)",
        ..IN_MODELS
    },
    Mutant {
        name: "mopo_penalty_sign",
        what: "MOPO pays for the model's doubt",
        find: "reward[row] - imagination.penalty * penalty[row]",
        replace: "reward[row] + imagination.penalty * penalty[row]",
        ..IN_ROLLOUTS
    },
    Mutant {
        name: "mopo_least_doubt",
        what: "MOPO asks the surest member for its doubt",
        find: "lengths.fold(0.0, |largest, length| if length > largest || length.is_nan() { length } else { largest })",
        replace: "lengths.fold(f32::INFINITY, f32::min)",
        ..IN_ROLLOUTS
    },
    Mutant {
        name: "imagined_life_after_end",
        what: "imagined episodes go on after their end",
        find: "!terminated",
        replace: "true || !terminated",
        ..IN_ROLLOUTS
    },
    Mutant {
        name: "log_variance_gradient_sign",
        what: "a model becomes surer where it errs",
        find: "share * (1.0 - squared)",
        replace: "share * (squared - 1.0)",
        ..IN_NLL
    },
    Mutant {
        name: "log_variance_not_charged",
        what: "doubt costs a model nothing",
        find: "squared + log_var",
        replace: "squared + 0.0 * log_var",
        ..IN_NLL
    },
    Mutant {
        name: "any_progress_counts",
        what: "the smallest progress keeps a fit going",
        file: "axiomrl-algos/src/model_based/dynamics/early_stop.rs",
        find: "(best - score) / best > PROGRESS",
        replace: "score < best && PROGRESS > 0.0",
        ..IN_MODELS
    },
    Mutant {
        name: "lost_particles_are_free",
        what: "a particle whose numbers are lost costs nothing",
        find: "if cost.is_finite() { *cost } else { LOST }",
        replace: "if cost.is_finite() { *cost } else { 0.0 * LOST }",
        ..IN_PLANNER
    },
    Mutant {
        name: "plans_earn_after_end",
        what: "plans earn rewards after the end of an episode",
        find: "!*over",
        replace: "true || !*over",
        ..IN_PLANNER
    },
    Mutant {
        name: "plans_keep_the_dearest",
        what: "planning narrows in on the dearest plans",
        find: "costs[a].total_cmp(&costs[b])",
        replace: "costs[b].total_cmp(&costs[a])",
        ..IN_CEM
    },
    Mutant {
        name: "plans_smoothed_the_wrong_way",
        what: "the old mean and the new one exchange their weights",
        find: "old * mean[i] + (1.0 - old) * new",
        replace: "(1.0 - old) * mean[i] + old * new",
        ..IN_CEM
    },
    Mutant {
        name: "next_plan_not_moved_on",
        what: "the next decision begins with the plan of this one, not moved on by a step",
        find: "plan.rotate_left(actions_each);",
        replace: "",
        form: STATEMENTS.form,
        ..IN_PLANNER
    },
];
