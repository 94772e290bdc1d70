use super::*;
use crate::agent::Agent;
use crate::parts::descend::ParamGroup;
use crate::parts::input::Vision;
use crate::policy_gradient::acktr::Acktr;
use crate::policy_gradient::net::with_log_std;
use crate::policy_gradient::testing::{self, Noise, image, vector, vector_and_image};
use crate::regimes::OnPolicy;
use crate::registry::Algorithm;
use crate::testing::drive;
use axiomrl_core::Schedule;
use axiomrl_envs::{BoxSpace, Space};
use axiomrl_nn::{OptimizerConfig, SgdConfig};
use std::collections::BTreeMap;

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

/// What one update changes, and what it logs.
fn one_update(learner: &mut AcktrLearner, noise: &Noise) -> (String, BTreeMap<String, f64>) {
    let mut logged = Default::default();
    let moved = testing::changed(learner, |learner| {
        let (done, found) = testing::update(learner, noise);
        assert!(done);
        logged = found;
    });
    let networks: Vec<&str> = moved.split(' ').filter(|name| *name != "kfac").collect();
    (networks.join(" "), logged)
}

#[test]
fn one_update_moves_everything_within_the_region() {
    let of_images = "log_std policy.head policy.vision value.head value.vision";
    for (space, wanted) in [(vector(), "log_std policy value"), (image(), of_images), (vector_and_image(), of_images)] {
        let setup = testing::setup(space);
        let mut learner = AcktrLearner::new(small(), &setup).unwrap();
        let noise = Noise::new(&mut learner, &setup, 1);
        let (moved, logged) = one_update(&mut learner, &noise);
        assert_eq!(moved, wanted);
        // Of one size, as they must be: gradients without their batch in S, or advantages in it, would be far off.
        let ratio = logged["measured_kl"] / logged["predicted_kl"];
        assert!((0.2..5.0).contains(&ratio), "{wanted}: {logged:?}");
        assert!(logged["predicted_kl"] < 0.0005, "{wanted}: {logged:?}");
        learner.rule.config.learning_rate = Schedule::Constant(0.0);
        let moved = testing::changed(&mut learner, |learner| drop(testing::update(learner, &noise)));
        assert_eq!(moved, "", "no step, and no eigenvectors before their time");
    }
}

#[test]
fn without_weight_the_value_stays_what_it_was_and_so_does_what_it_looks_with() {
    let setup = testing::setup(image());
    let mut learner = AcktrLearner::new(AcktrConfig { vf_coef: 0.0, ..small() }, &setup).unwrap();
    let noise = Noise::new(&mut learner, &setup, 1);
    assert_eq!(one_update(&mut learner, &noise).0, "log_std policy.head policy.vision");
}

/// Each parameter moves by what curvature makes of its own gradient: against the graph's gradient, with factors
/// that are 0, so that damping is all there is.
#[test]
fn convolutions_go_down_their_own_gradient() {
    let setup = testing::setup(vector_and_image());
    let config = AcktrConfig { damping: 1.0, momentum: 0.0, trust_region: 10.0, ..small() };
    let (mut learner, mut other) =
        (AcktrLearner::new(config.clone(), &setup).unwrap(), AcktrLearner::new(config, &setup).unwrap());
    let noise = Noise::new(&mut learner, &setup, 1);
    let rate = 0.25;
    // Past the first update no eigenvectors are looked for: they stay those of nothing.
    for natural in [&mut learner.rule.policy, &mut learner.rule.value] {
        natural.kfac.refresh();
        natural.kfac.count = 1;
    }
    let before = testing::tensors(&mut learner);
    testing::update(&mut learner, &noise);
    let stepped = testing::tensors(&mut learner);
    // The same loss by plain gradient descent through the graph.
    let mut batch = Minibatch::default();
    let sequences = PlayedSequences::new(noise.played(), 0);
    batch.gather(&sequences, &sequences.numbers(), false);
    let PolicyValue { net, log_std, distribution, .. } = &mut other.policy;
    let free = log_std.as_slice().to_vec();
    let group = &mut ParamGroup::new(&OptimizerConfig::Sgd(SgdConfig::default()), &with_log_std(net, log_std), 1e9);
    net.descend(group, log_std, (batch.sequences(), &[]), (rate, 0), |head, values| {
        let (report, by_head) = batch.policy_gradient(distribution, head, &free, 0.01);
        let (value_loss, by_values) = batch.value_error(values, &batch.returns);
        let by_values = by_values.iter().map(|slope| 0.5 * slope).collect();
        (report.policy_loss + value_loss, [by_head.head, by_values], by_head.log_std)
    })
    .unwrap();
    let descended = testing::tensors(&mut other);
    for (name, before) in before.iter().filter(|(name, _)| !name.starts_with("kfac") && *name != "log_std") {
        let (natural, plain) = (&stepped[name], &descended[name]);
        let off = |i: usize| (natural[i] - plain[i]).abs() > 1e-5 + 1e-3 * (plain[i] - before[i]).abs();
        assert!(!(0..before.len()).any(off), "{name}");
    }
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
    let choices = ["IdentityMasked-v0", "IdentityMultiDiscrete-v0", "IdentityMultiBinary-v0"];
    // The last two are looked at: an image alone, and one beside a vector.
    for env in ["CartPole-v1", "Pendulum-v1"].into_iter().chain(choices).chain(["Catch-v0", "CatchTold-v0"]) {
        let run = |stopping| drive(env, 3, 120, stopping, |setup| make(&config, setup));
        assert_eq!(run(true), run(false), "{env}");
    }
}

#[test]
fn what_cannot_be_factored_is_refused_with_the_remedy() {
    let refused = |config: AcktrConfig, setup: &Setup| Acktr::check_setup(&config, setup).unwrap_err().to_string();
    let of_pixels = |side: usize, channels| testing::setup(Space::Box(BoxSpace::image(side, side, channels)));
    let looks = |vision| AcktrConfig { vision, ..small() };
    // The residual network, and Nature's patches of 3*3*64 numbers: where the small network fits, it is the remedy.
    let message = refused(looks(Vision::Impala), &testing::setup(image()));
    assert!(message.contains("residual") && message.contains("set `vision: small`"), "{message}");
    let message = refused(looks(Vision::Nature), &of_pixels(40, 1));
    assert!(message.contains("576") && message.contains("512 is the most; take `a2c`"), "{message}");
    // 6x6 features of 32 channels are too many, the pixels are not; and then both.
    let message = refused(small(), &of_pixels(22, 1));
    assert!(message.contains("1152") && message.contains("set `vision: flat`"), "{message}");
    let message = refused(small(), &of_pixels(84, 1));
    assert!(message.contains("576") && message.contains("take `a2c`"), "{message}");
    for setup in [testing::setup(image()), testing::setup(vector_and_image()), of_pixels(16, 4), of_pixels(32, 9)] {
        assert!(Acktr::check_setup(&small(), &setup).is_ok());
    }
    let wide = AcktrConfig { hidden_sizes: vec![64, 1024], ..small() };
    let message = refused(wide, &testing::setup(vector()));
    assert!(message.contains("1024") && message.contains("512 is the most"), "{message}");
    assert!(Acktr::check_setup(&small(), &testing::setup(vector())).is_ok());
    let message = refused(small(), &testing::setup(Space::Box(BoxSpace::uniform(600, -1.0, 1.0))));
    assert!(message.contains("600 numbers") && message.contains("take `a2c`"), "{message}");
}
