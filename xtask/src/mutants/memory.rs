//! Stores, windows, priorities, hindsight, and learners that remember.

use super::{EXPRESSION, Mutant, STATEMENTS};

const IN_SAMPLE: Mutant = Mutant { file: "axiomrl-core/src/view/sample.rs", filter: "view::", ..EXPRESSION };
const IN_SEQUENCES: Mutant = Mutant { file: "axiomrl-core/src/view/sequences.rs", ..IN_SAMPLE };
const IN_RELABEL: Mutant = Mutant { file: "axiomrl-core/src/view/relabel.rs", ..IN_SAMPLE };
const IN_PRIORITIES: Mutant =
    Mutant { file: "axiomrl-core/src/priorities.rs", filter: "priorities:: view::", ..EXPRESSION };
const IN_Q_LEARNING: Mutant =
    Mutant { file: "axiomrl-algos/src/q_learning/learner.rs", filter: "q_learning::", ..EXPRESSION };
const IN_MINIBATCH: Mutant = Mutant {
    file: "axiomrl-algos/src/policy_gradient/minibatch.rs",
    filter: "policy_gradient::ppo policy_gradient::minibatch",
    form: STATEMENTS.form,
    ..EXPRESSION
};
const IN_RECURRENT: Mutant = Mutant {
    file: "axiomrl-nn/src/recurrent/passes/forward.rs",
    filter: "recurrence:: gradients:: pytorch::",
    target: super::Target::Test("suite"),
    form: STATEMENTS.form,
    ..EXPRESSION
};

pub const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "window_discount_once",
        what: "a window of n steps is discounted once",
        find: "sum.discount *= self.gamma;",
        replace: "",
        form: STATEMENTS.form,
        ..IN_SAMPLE
    },
    Mutant {
        name: "truncation_terminates",
        what: "a time limit counts as the end of the world",
        find: "store.flags[sum.row] & TERMINATED != 0",
        replace: "store.flags[sum.row] != 0",
        ..IN_SAMPLE
    },
    Mutant {
        name: "truncation_terminates_sequences",
        what: "within sequences a time limit counts as the end of the world",
        find: "flags & TERMINATED != 0",
        replace: "flags != 0",
        ..IN_SEQUENCES
    },
    Mutant {
        name: "stored_state_lost",
        what: "sequences do not begin with the memory that was stored",
        find: "out.state[row * width..(row + 1) * width].copy_from_slice(self.memories.get(lane, window));",
        replace: "",
        form: STATEMENTS.form,
        ..IN_SEQUENCES
    },
    Mutant {
        name: "priority_exponent_ignored",
        what: "priorities are the errors themselves, whatever alpha is",
        find: "f64::from(self.spec.alpha)",
        replace: "1.0",
        ..IN_PRIORITIES
    },
    Mutant {
        name: "importance_weights_inverted",
        what: "what is drawn often weighs more",
        find: "-beta",
        replace: "beta",
        ..IN_PRIORITIES
    },
    Mutant {
        name: "sequence_error_mixed_up",
        what: "eta weighs the mean error of a sequence in place of the largest",
        find: "eta * largest + (1.0 - eta) * sum / count.max(1) as f32",
        replace: "(1.0 - eta) * largest + eta * sum / count.max(1) as f32",
        ..IN_PRIORITIES
    },
    Mutant {
        name: "hindsight_discount",
        what: "reaching the relabelled goal does not end the episode",
        find: "if terminated[k] { 0.0 } else { self.window.gamma }",
        replace: "self.window.gamma",
        ..IN_RELABEL
    },
    Mutant {
        name: "hindsight_of_the_past",
        what: "goals are those reached before",
        find: "options.rng.random_range(number..episode.end)",
        replace: "options.rng.random_range(episode.start..number + 1)",
        ..IN_RELABEL
    },
    Mutant {
        name: "hindsight_keeps_reward",
        what: "the reward for the old goal stays",
        find: "out.reward[row] = options.reward.apply(reward[k]);",
        replace: "",
        form: STATEMENTS.form,
        ..IN_RELABEL
    },
    Mutant {
        name: "burn_in_too_short",
        what: "the memory is warmed up for one step too few",
        find: "all.part(0, burn_in)",
        replace: "all.part(0, burn_in - 1)",
        ..IN_Q_LEARNING
    },
    Mutant {
        name: "rescaled_values_not_undone",
        what: "R2D2's next values stay on the network's scale",
        file: "axiomrl-algos/src/q_learning/backup.rs",
        find: "scale.stretch(z)",
        replace: "z",
        ..IN_Q_LEARNING
    },
    Mutant {
        name: "recurrent_ppo_forgets",
        what: "recurrent PPO learns from sequences that begin without a memory",
        find: "self.state.extend_from_slice(&states[sequence * width..(sequence + 1) * width]);",
        replace: "self.state.resize(self.state.len() + width, 0.0); let _ = (states, sequence);",
        ..IN_MINIBATCH
    },
    Mutant {
        name: "recurrent_ppo_runs_on",
        what: "recurrent PPO's memory goes on over the end of an episode",
        find: "copy_rows(starts, 1, &self.shown, &mut self.resets);",
        replace: "",
        ..IN_MINIBATCH
    },
    Mutant {
        name: "lstm_cell_not_reset",
        what: "an LSTM's cell goes on over the end of an episode",
        find: "chunk.reset(step, c_in);",
        replace: "",
        ..IN_RECURRENT
    },
];
