use super::*;
use crate::parts::torso::MemoryKind;
use crate::policy_gradient::A2cOptimizer;
use crate::policy_gradient::testing::{self, Noise, image, vector, vector_and_image};
use crate::regimes::OnPolicy;
use crate::testing::drive;
use axiomrl_core::Schedule;
use axiomrl_envs::Space;
use axiomrl_nn::Distribution;
use std::sync::{Arc, Mutex};

fn small() -> A2cConfig {
    A2cConfig { num_steps: 4, hidden_sizes: vec![8], ..A2cConfig::default() }
}

fn remembering() -> A2cConfig {
    A2cConfig { memory: MemoryKind::Lstm, recurrent_hidden_size: 8, ..small() }
}

/// What one update with these settings changes.
fn changed(config: A2cConfig, observations: Space) -> String {
    let (length, setup) = (config.rollout().sequence_length, testing::setup(observations));
    let mut learner = A2cLearner::new(config, &setup).unwrap();
    let noise = Noise::new(&mut learner, &setup, length);
    testing::changed(&mut learner, |learner| assert!(testing::update(learner, &noise).0, "one step is all"))
}

#[test]
fn one_update_moves_everything_and_without_weight_the_value_stays() {
    let shared = |config| A2cConfig { shared: true, ..config };
    assert_eq!(changed(small(), vector()), "log_std policy value");
    assert_eq!(changed(A2cConfig { vf_coef: 0.0, ..small() }, vector()), "log_std policy");
    assert_eq!(changed(small(), vector_and_image()), "log_std policy.head policy.vision value.head value.vision");
    let of_image = changed(shared(small()), image());
    assert_eq!(of_image, "log_std policy.encoder policy.head policy.vision value.head");
    let networks = "log_std policy.encoder policy.head policy.recurrent value.encoder value.head value.recurrent";
    assert_eq!(changed(remembering(), vector()), networks);
    assert_eq!(changed(A2cConfig { optimizer: A2cOptimizer::Adam, ..small() }, vector()), "log_std policy value");
    assert_eq!(changed(A2cConfig { learning_rate: Schedule::Constant(0.0), ..small() }, vector()), "");
}

/// The loss that the gradient belongs to, from the networks as they are.
#[test]
fn the_step_is_down_the_loss_of_the_page() {
    let setup = testing::setup(vector());
    let config = A2cConfig { ent_coef: Schedule::Constant(0.1), max_grad_norm: 1e9, ..small() };
    let mut learner = A2cLearner::new(config, &setup).unwrap();
    let noise = Noise::new(&mut learner, &setup, 1);
    let loss = |learner: &mut A2cLearner| {
        let batch = &mut Minibatch::default();
        let sequences = PlayedSequences::new(noise.played(), 0);
        batch.gather(&sequences, &sequences.numbers(), false);
        let policy = &mut learner.policy;
        policy.net.infer(batch.sequences(), &mut [], &mut policy.head, Some(&mut policy.values));
        let family = Distribution::DiagGaussian { d: 2 };
        let mut total = 0.0;
        for row in 0..8 {
            let (head, log_std) = (&policy.head[2 * row..2 * row + 2], policy.log_std.as_slice());
            let action = &batch.action[2 * row..2 * row + 2];
            let error = policy.values[row] - batch.returns[row];
            total += -batch.advantage[row] * family.log_prob(head, log_std, &[], action) + 0.5 * error * error
                - 0.1 * family.entropy(head, log_std, &[]);
        }
        total / 8.0
    };
    // With running squares of 0 the first step is 10 * rate * sign(gradient): the loss falls by that much of the gradient's sum.
    let before = loss(&mut learner);
    learner.rule.config.learning_rate = Schedule::Constant(1e-6);
    testing::update(&mut learner, &noise);
    assert!(loss(&mut learner) < before, "{before} {}", loss(&mut learner));
}

/// Looks at every ratio on the way: rollouts are learned from once, so each must be 1.
#[test]
fn the_policy_that_learns_is_the_one_that_played() {
    struct Watched(A2cUpdate, Arc<Mutex<Vec<f32>>>);
    impl PolicyUpdate for Watched {
        fn step(
            &mut self,
            policy: &mut PolicyValue,
            played: Played<'_>,
            context: &mut UpdateContext<'_>,
        ) -> Learned<bool> {
            let sequences = PlayedSequences::new(played, policy.net.state_width());
            let batch = &mut self.0.batch;
            batch.gather(&sequences, &sequences.numbers(), false);
            policy.net.infer(batch.sequences(), &mut batch.state.clone(), &mut policy.head, None);
            let worst = batch.largest_ratio_error(&policy.distribution, &policy.head, policy.log_std.as_slice());
            self.1.lock().unwrap().push(worst);
            self.0.step(policy, played, context)
        }

        fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
            self.0.visit_state(io)
        }
    }
    for (env, config) in [
        ("CartPole-v1", small()),
        ("Pendulum-v1", small()),
        ("IdentityMasked-v0", small()),
        ("IdentityMultiDiscrete-v0", small()),
        ("IdentityMultiBinary-v0", small()),
        ("CartPoleNoVel-v1", remembering()),
        ("Catch-v0", A2cConfig { shared: true, ..small() }),
    ] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        drive(env, 3, 120, false, |setup| {
            let settings = config.rollout();
            let PolicyLearner { policy, rule } = A2cLearner::new(config.clone(), &setup).unwrap();
            let watched = PolicyLearner { policy, rule: Watched(rule, seen.clone()) };
            Box::new(OnPolicy::new(Box::new(watched), settings, &setup).unwrap())
        });
        let seen = seen.lock().unwrap();
        assert!(seen.len() == 10 && seen.iter().all(|worst| *worst < 1e-5), "{env}: {seen:?}");
    }
}

#[test]
fn shuffled_advantages_are_the_same_numbers_at_other_steps() {
    let setup = testing::setup(vector());
    let mut learner = A2cLearner::new(A2cConfig { shuffle_advantages: true, ..small() }, &setup).unwrap();
    let noise = Noise::new(&mut learner, &setup, 1);
    testing::update(&mut learner, &noise);
    let (mut shuffled, mut own) = (learner.rule.batch.advantage.clone(), noise.rollout.advantage.clone());
    let mean = own.iter().sum::<f32>() / own.len() as f32;
    own.iter_mut().for_each(|a| *a -= mean);
    assert!(shuffled.iter().zip(&own).any(|(s, o)| (s - o).abs() > 1e-3));
    shuffled.sort_by(f32::total_cmp);
    own.sort_by(f32::total_cmp);
    assert!(shuffled.iter().zip(&own).all(|(s, o)| (s - o).abs() < 1e-5), "{shuffled:?} {own:?}");
}
