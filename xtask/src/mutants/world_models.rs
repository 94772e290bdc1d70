//! World models: what they are trained on, and what is learned from what they imagine.

use super::{EXPRESSION, Mutant, STATEMENTS, Target};

const IN_KL: Mutant = Mutant { file: "axiomrl-nn/src/rssm/kl.rs", filter: "rssm::kl", ..EXPRESSION };
const IN_IMAGINED: Mutant = Mutant { file: "axiomrl-core/src/imagined.rs", filter: "imagined::", ..EXPRESSION };
const IN_BEHAVIOUR: Mutant =
    Mutant { file: "axiomrl-algos/src/world_model/behaviour.rs", filter: "world_model::", ..EXPRESSION };

pub const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "kl_sides_swapped",
        what: "the posterior learns at the prior's scale",
        find: "by_posterior.iter_mut().for_each(|g| *g *= representation * share);",
        replace: "by_posterior.iter_mut().for_each(|g| *g *= dynamics * share);",
        form: STATEMENTS.form,
        ..IN_KL
    },
    Mutant {
        name: "free_nats_still_pull",
        what: "divergence below the free nats is still learned from",
        find: "if is_free(*kl) { 0.0 } else { 1.0 / rows as f32 }",
        replace: "{ let _ = (&is_free, kl); 1.0 / rows as f32 }",
        ..IN_KL
    },
    Mutant {
        name: "two_hot_shares_swapped",
        what: "two-hot gives each target to the farther bin",
        file: "axiomrl-nn/src/two_hot.rs",
        find: "1.0 - high",
        replace: "high",
        filter: "two_hot",
        ..EXPRESSION
    },
    Mutant {
        name: "straight_through_without_mix",
        what: "the uniform share is missing in the gradient of a drawn choice",
        file: "axiomrl-nn/src/rssm/latent.rs",
        find: "keep * *s",
        replace: "{ let _ = keep; *s }",
        filter: "rssm::",
        ..EXPRESSION
    },
    Mutant {
        name: "update_gate_not_slow",
        what: "a world model's update gate starts in the middle",
        file: "axiomrl-nn/src/kernels/update_gates.rs",
        find: "sum_u[k] - 1.0",
        replace: "sum_u[k]",
        filter: "update_gates rssm::",
        ..EXPRESSION
    },
    Mutant {
        name: "latent_not_reset",
        what: "a world model's latent goes on over the start of an episode",
        file: "axiomrl-nn/src/rssm/sequence/forward.rs",
        find: "chunk.reset(step, z_in, latent);",
        replace: "",
        form: STATEMENTS.form,
        filter: "rssm::",
        target: Target::Test("suite"),
        ..EXPRESSION
    },
    Mutant {
        name: "action_not_reset",
        what: "a world model sees the action of the episode before",
        file: "axiomrl-nn/src/rssm/sequence/forward.rs",
        find: "chunk.reset(step, seen, spec.actions);",
        replace: "",
        form: STATEMENTS.form,
        filter: "rssm::",
        target: Target::Test("suite"),
        ..EXPRESSION
    },
    Mutant {
        name: "imagined_reward_index",
        what: "returns of the one convention begin with the reward of the state itself",
        find: "t + 1",
        replace: "t",
        ..IN_IMAGINED
    },
    Mutant {
        name: "imagined_lambda_reversed",
        what: "values and later returns exchange their weights",
        find: "(1.0 - lambda) * self.value[next] + lambda * later",
        replace: "lambda * self.value[next] + (1.0 - lambda) * later",
        ..IN_IMAGINED
    },
    Mutant {
        name: "imagined_weights_dropped",
        what: "imagined states count in full after a likely end",
        find: "before * self.discount[at]",
        replace: "before",
        ..IN_IMAGINED
    },
    Mutant {
        name: "replayed_trace_over_end",
        what: "replayed returns flow back over the end of an episode",
        find: "if self.last[next] { 0.0 } else { lambda }",
        replace: "lambda",
        ..IN_IMAGINED
    },
    Mutant {
        name: "return_scale_below_one",
        what: "small returns are blown up",
        find: "(self.high - self.low).max(1.0)",
        replace: "(self.high - self.low).max(1e-3)",
        ..IN_IMAGINED
    },
    Mutant {
        name: "imagined_advantage_by_return",
        what: "the actor climbs returns, without what the critic foresaw",
        find: "(r - v) / spread",
        replace: "{ let _ = v; r / spread }",
        ..IN_BEHAVIOUR
    },
    Mutant {
        name: "slow_critic_ignored",
        what: "nothing holds the critic near its slow copy",
        find: "(self.rules.slow_scale, &slow[..])",
        replace: "(0.0, &slow[..])",
        ..IN_BEHAVIOUR
    },
    Mutant {
        name: "replay_critic_over_ends",
        what: "the critic learns from rows in which an episode ended",
        find: "if last { 0.0 } else { 1.0 }",
        replace: "{ let _ = last; 1.0 }",
        ..IN_BEHAVIOUR
    },
    Mutant {
        name: "warm_up_off_by_one",
        what: "the first update of a warm-up already moves something",
        file: "axiomrl-algos/src/world_model/steps.rs",
        find: "(number - 1) as f64",
        replace: "number as f64",
        ..IN_BEHAVIOUR
    },
];
