use super::*;
use crate::agent::Agent;
use crate::policy_gradient::acktr::Acktr;
use crate::policy_gradient::testing::{self, Noise, image, vector};
use crate::regimes::OnPolicy;
use crate::registry::Algorithm;
use crate::testing::drive;
use axiomrl_core::Schedule;

fn small() -> AcktrConfig {
    AcktrConfig { num_steps: 4, hidden_sizes: vec![8], ..AcktrConfig::default() }
}

#[test]
fn the_region_and_the_step_by_hand() {
    let scale = trust_scale(0.001, 0.25, 0.990_099);
    assert!((scale - 0.127_122).abs() < 1e-5 && (0.25 * scale - 0.031_780_5).abs() < 1e-6);
    let mut velocity = [0.0];
    let step = step_along(&mut velocity, &[0.990_099], scale, 0.25, 0.9);
    assert!((step[0] + 0.003_146_58).abs() < 1e-7, "{step:?}");
    // The same again: momentum makes it 1.9 times as long.
    let step = step_along(&mut velocity, &[0.990_099], scale, 0.25, 0.9);
    assert!((step[0] + 1.9 * 0.003_146_58).abs() < 1e-7, "{step:?}");
    assert_eq!(trust_scale(0.001, 0.25, 1e-9), 1.0, "a step that is short enough is left alone");
    assert_eq!(trust_scale(0.001, 0.0, 1.0), 1.0);
}

#[test]
fn one_update_moves_everything_within_the_region() {
    let setup = testing::setup(vector());
    let mut learner = AcktrLearner::new(small(), &setup).unwrap();
    let noise = Noise::new(&mut learner, &setup, 1);
    let mut logged = Default::default();
    let moved = testing::changed(&mut learner, |learner| {
        let (done, found) = testing::update(learner, &noise);
        assert!(done);
        logged = found;
    });
    let networks: Vec<&str> = moved.split(' ').filter(|name| *name != "kfac").collect();
    assert_eq!(networks, ["log_std", "policy", "value"]);
    // Of one size, as they must be: gradients without their batch in S, or advantages in it, would be far off.
    let ratio = logged["measured_kl"] / logged["predicted_kl"];
    assert!((0.2..5.0).contains(&ratio), "{logged:?}");
    assert!(logged["predicted_kl"] < 0.0005, "{logged:?}");
    learner.rule.config.learning_rate = Schedule::Constant(0.0);
    let moved = testing::changed(&mut learner, |learner| drop(testing::update(learner, &noise)));
    assert_eq!(moved, "", "no step, and no eigenvectors before their time");
}

#[test]
fn the_curvature_of_the_value_is_that_of_a_draw() {
    // The last layer's S for one output: the mean of (2 e)², about 4.
    let setup = testing::setup(vector());
    let mut learner = AcktrLearner::new(AcktrConfig { factor_share: 0.02, ..small() }, &setup).unwrap();
    let noise = Noise::new(&mut learner, &setup, 1);
    let (mut rng, mut metrics) = (axiomrl_core::stream(1, "learn"), axiomrl_core::Metrics::default());
    let clock = crate::agent::Clock { env_steps: 8, updates: 0, at: 8, total: 100 };
    for _ in 0..300 {
        let mut context = UpdateContext::new(clock, &mut rng, &mut metrics);
        let AcktrLearner { policy, rule } = &mut learner;
        rule.step(policy, noise.played(), &mut context).unwrap();
    }
    let buffers = learner.rule.value.kfac.buffers_mut();
    let (_, s) = buffers.into_iter().find(|(name, _)| name == "1.s.mean").unwrap();
    assert!((2.5..5.5).contains(&s[0]), "{}", s[0]);
}

#[test]
fn stops_anywhere_change_nothing() {
    let make = |config: &AcktrConfig, setup: Setup| -> Box<dyn Agent> {
        let learner = Box::new(AcktrLearner::new(config.clone(), &setup).unwrap());
        Box::new(OnPolicy::new(learner, config.rollout(), &setup).unwrap())
    };
    let config = AcktrConfig { inverse_every: 3, ..small() };
    for env in ["CartPole-v1", "Pendulum-v1", "IdentityMasked-v0", "IdentityMultiDiscrete-v0", "IdentityMultiBinary-v0"]
    {
        let run = |stopping| drive(env, 3, 120, stopping, |setup| make(&config, setup));
        assert_eq!(run(true), run(false), "{env}");
    }
}

#[test]
fn what_cannot_be_factored_is_refused_with_the_remedy() {
    let refused = |config: AcktrConfig, setup: &Setup| Acktr::check_setup(&config, setup).unwrap_err().to_string();
    let message = refused(small(), &testing::setup(image()));
    assert!(message.contains("`vision: flat`"), "{message}");
    let wide = AcktrConfig { hidden_sizes: vec![64, 1024], ..small() };
    let message = refused(wide, &testing::setup(vector()));
    assert!(message.contains("1024") && message.contains("512 is the most"), "{message}");
    assert!(Acktr::check_setup(&small(), &testing::setup(vector())).is_ok());
}
