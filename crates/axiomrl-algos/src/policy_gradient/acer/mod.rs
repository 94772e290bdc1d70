//! # ACER: actor-critic with experience replay
//!
//! **What it does.** An actor-critic that learns from each of its rollouts several times: once when it is new, and again and
//! again from a store, corrected for what the policy would do by now, and held to an average of its recent self.
//!
//! **When to use it.** Discrete actions, where environment steps are dear and a stochastic policy is wanted; `a2c` with replay.
//! With replay and no need for a stochastic policy, look at `rainbow_dqn` too.
//!
//! **The update.** With f the policy, m what it was when it acted, r = f/m, Q the critic and V = sum f Q; backwards in time:
//! ```text
//! q = reward + gamma * (what follows: V at a cut, nothing after a termination, else G of the next step)
//! G = min(1, r_a) (q - Q_a) + V
//! critic:  q_coef * mean 1/2 (q - Q_a)^2
//! policy, along its probabilities:
//!     u_j = [j = a] min(c, r_a) (q - V) / f_a + max(0, 1 - c/r_j) (Q_j - V) - c_e (ln f_j + 1)
//!     u  -= max(0, (k u - trust_region) / |k|^2) k        with k_j = -average_j / f_j
//! ```
//! then one step of RMSProp on both, and the average policy follows by a hundredth.
//!
//! **Details that matter.**
//! - q is the Retrace return: the critic learns from the policy of today what the one of then has seen.
//! - `truncation` (c) bounds the weight of an action that is much likelier now; what that cuts off is made up for by the
//!   second term, with the critic in place of the return.
//! - The projection keeps every step near the average policy, whose share of the new one is 1 - `average_decay`. The critic's
//!   gradient is not projected.
//! - One update on the newest rollout, then a number of them on stored ones that is drawn from a Poisson distribution of mean
//!   `replay_ratio`, once the store holds `replay_start` steps. Every environment's part of an update is
//!   drawn for itself.
//! - Policy and critic share their hidden layers; an image is looked at once.
//! - Actions are kept with all their probabilities. Observations are kept raw: where they are standardised, they are so anew.
//! - A time limit is bootstrapped with the value of the last observation; a termination is not.
//! - Masked actions have probability zero and receive no gradient.
//! - `shuffle_advantages: true` takes the signal away and leaves everything else: nothing must be learned then.
//! - Logged: `share_truncated`, where the weight was cut, `trust_region_active`, where the projection did something.
//!
//! **What is left out.** Box actions, which need another critic; memories. Stored windows begin where rollouts began.
//!
//! **Reference.** Wang and others, Sample efficient actor-critic with experience replay, 2017.

mod learner;
mod objective;
mod store;

use crate::agent::Setup;
use crate::config::{Idle, Problem, settings};
use crate::parts::checks::BuildError;
use crate::parts::input::Vision;
use crate::regimes::{Learner, RolloutSettings};
use crate::registry::Algorithm;
use axiomrl_core::Schedule;
use axiomrl_nn::Activation;
use learner::AcerLearner;

settings! {
    /// Settings of ACER.
    pub struct AcerConfig {
        ..network,
        /// Steps of each environment per rollout.
        #[garde(range(min = 1, max = 1_000_000))]
        pub num_steps: usize,
        /// Discount per step.
        #[garde(range(min = 0.0, max = 1.0))]
        pub gamma: f32,
        /// Step size of RMSProp.
        #[garde(custom(axiomrl_core::Schedule::range_ok(0.0, 1.0)))]
        pub learning_rate: Schedule,
        /// Weight of the entropy bonus.
        #[garde(custom(axiomrl_core::Schedule::range_ok(0.0, 10.0)))]
        pub ent_coef: Schedule,
        /// Weight of the critic's loss.
        #[garde(range(min = 0.0, max = 100.0))]
        pub q_coef: f32,
        /// Largest norm of the gradient of all.
        #[garde(range(min = 0.0))]
        pub max_grad_norm: f32,
        /// Mean number of updates on stored rollouts for each new one; 0 makes none.
        #[garde(range(min = 0.0, max = 1000.0))]
        pub replay_ratio: f64,
        /// Steps kept, of all environments together.
        #[garde(range(min = 1, max = 100_000_000))]
        pub buffer_capacity: usize,
        /// Steps kept before stored ones are learned from.
        #[garde(range(max = 100_000_000))]
        pub replay_start: usize,
        /// Largest weight of an action that is likelier now than it was.
        #[garde(range(min = 0.0, max = 1e9))]
        pub truncation: f32,
        /// How far the gradient may point away from the average policy.
        #[garde(range(min = 1e-9, max = 1e9))]
        pub trust_region: f32,
        /// What the average policy keeps of itself at each update.
        #[garde(range(min = 0.0, max = 1.0))]
        pub average_decay: f32,
        /// Give every step the advantage of another one: a control, which must learn nothing.
        pub shuffle_advantages: bool,
    }
}

impl Default for AcerConfig {
    fn default() -> Self {
        Self {
            vision: Vision::Auto,
            hidden_sizes: vec![64, 64],
            activation: Activation::Tanh,
            num_steps: 20,
            gamma: 0.99,
            learning_rate: Schedule::Constant(7e-4),
            ent_coef: Schedule::Constant(0.01),
            q_coef: 0.5,
            max_grad_norm: 10.0,
            replay_ratio: 4.0,
            buffer_capacity: 50_000,
            replay_start: 10_000,
            truncation: 10.0,
            trust_region: 1.0,
            average_decay: 0.99,
            shuffle_advantages: false,
        }
    }
}

impl AcerConfig {
    /// The regime's own advantages are not looked at.
    fn rollout(&self) -> RolloutSettings {
        RolloutSettings::new(self.num_steps, self.gamma, 1.0)
    }
}

pub struct Acer;

impl Algorithm for Acer {
    type Config = AcerConfig;

    fn check(config: &AcerConfig) -> Result<(), Problem> {
        let (start, room) = (config.replay_start, config.buffer_capacity);
        Problem::when(start > room && config.replay_ratio > 0.0, &["replay_start", "buffer_capacity"], || {
            format!("`replay_start` {start} is never reached by a `buffer_capacity` of {room}; lower it")
        })
    }

    fn check_setup(config: &AcerConfig, setup: &Setup) -> Result<(), Problem> {
        let (steps, room) = (config.num_steps * setup.num_envs, config.buffer_capacity);
        Problem::when(room < steps, &["buffer_capacity", "num_steps"], || {
            format!("`buffer_capacity` {room} has no room for a rollout of {steps} steps; make it larger")
        })?;
        config.vision.check(setup.observation_space())
    }

    fn idle(config: &AcerConfig) -> Vec<Idle> {
        vec![Idle {
            now: config.replay_ratio == 0.0,
            keys: &["replay_start", "buffer_capacity"],
            switch: Some("replay_ratio"),
            why: "nothing stored is learned from; set `replay_ratio: 4`",
        }]
    }

    fn build(config: AcerConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let settings = config.rollout();
        Ok(Learner::OnPolicy(Box::new(AcerLearner::new(config, setup)?), settings))
    }
}
