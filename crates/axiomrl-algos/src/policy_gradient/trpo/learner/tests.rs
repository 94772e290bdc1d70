use super::*;
use crate::agent::Agent;
use crate::policy_gradient::testing::{self, Noise, image, vector};
use crate::policy_gradient::trpo::Trpo;
use crate::regimes::{OnPolicy, RolloutLearner};
use crate::registry::Algorithm;
use crate::testing::drive;
use std::collections::BTreeMap;

mod parity;

fn small() -> TrpoConfig {
    TrpoConfig { num_steps: 4, hidden_sizes: vec![8], update_epochs: 1, minibatch_size: 4, ..TrpoConfig::default() }
}

fn learner(config: TrpoConfig) -> (TrpoLearner, Noise) {
    let setup = testing::setup(vector());
    let mut learner = TrpoLearner::new(config, &setup).unwrap();
    let noise = Noise::new(&mut learner, &setup, 1);
    (learner, noise)
}

/// What the step of the policy logged.
fn improved(config: TrpoConfig) -> BTreeMap<String, f64> {
    let (mut learner, noise) = learner(config);
    testing::update(&mut learner, &noise).1
}

#[test]
fn the_policy_moves_once_and_then_the_value_alone() {
    let (mut learner, noise) = learner(small());
    for (wanted, last) in [("log_std policy", false), ("value", false), ("value", true), ("log_std policy", false)] {
        let mut done = false;
        let moved = testing::changed(&mut learner, |learner| done = testing::update(learner, &noise).0);
        assert_eq!((&moved[..], done), (wanted, last));
    }
}

#[test]
fn a_step_stays_within_the_region_and_gains_what_was_promised() {
    let found = improved(TrpoConfig { max_kl: 1e-4, ..small() });
    assert_eq!(found["line_search_success"], 1.0);
    assert!(found["kl"] > 0.3e-4 && found["kl"] < 1e-4, "{found:?}");
    // So small a step is nearly linear.
    let ratio = found["surrogate_improvement"] / (found["step_fraction"] * found["expected_improvement"]);
    assert!((ratio - 1.0).abs() < 0.1, "{found:?}");
}

#[test]
fn a_search_that_finds_nothing_leaves_every_bit() {
    let (mut learner, noise) = learner(small());
    learner.rule.reversed = true;
    let mut found = BTreeMap::new();
    let moved = testing::changed(&mut learner, |learner| found = testing::update(learner, &noise).1);
    assert_eq!((&moved[..], found["line_search_success"], found["kl"]), ("", 0.0, 0.0));
    assert_eq!((found["surrogate_improvement"], found["step_fraction"]), (0.0, 0.0));
    assert!(found["expected_improvement"] < 0.0);
    // Without the search the step is taken, whatever becomes of it.
    learner.rule.config.line_search_steps = 0;
    learner.rule.improved = false;
    let moved = testing::changed(&mut learner, |learner| found = testing::update(learner, &noise).1);
    assert!(moved == "log_std policy" && found["surrogate_improvement"] < 0.0, "{moved} {found:?}");
}

#[test]
fn more_conjugate_gradients_promise_more() {
    let promised = |iterations| improved(TrpoConfig { cg_iterations: iterations, cg_damping: 1e-3, ..small() })["expected_improvement"];
    let (one, five, many) = (promised(1), promised(5), promised(15));
    assert!(one > 0.0 && five > one && many >= five * 0.9999, "{one} {five} {many}");
}

#[test]
fn curvature_of_some_steps_points_elsewhere() {
    let of = |share| improved(TrpoConfig { curvature_share: share, ..small() });
    assert_ne!(of(1.0)["expected_improvement"], of(0.5)["expected_improvement"]);
    assert_eq!(of(1.0)["grad_norm"], of(0.5)["grad_norm"], "the gradient is that of all steps");
}

/// Whatever the space of actions: saved and loaded after every piece, the same bytes.
#[test]
fn stops_anywhere_change_nothing() {
    let make = |config: &TrpoConfig, setup: Setup| -> Box<dyn Agent> {
        let learner: Box<dyn RolloutLearner> = Box::new(TrpoLearner::new(config.clone(), &setup).unwrap());
        Box::new(OnPolicy::new(learner, config.rollout(), &setup).unwrap())
    };
    let config = TrpoConfig { num_steps: 8, minibatch_size: 16, curvature_share: 0.5, ..small() };
    for env in ["CartPole-v1", "Pendulum-v1", "IdentityMasked-v0", "IdentityMultiDiscrete-v0", "IdentityMultiBinary-v0"]
    {
        let run = |stopping| drive(env, 3, 80, stopping, |setup| make(&config, setup));
        assert_eq!(run(true), run(false), "{env}");
    }
}

#[test]
fn images_are_refused_with_the_remedy() {
    let setup = testing::setup(image());
    let refused = Trpo::check_setup(&small(), &setup).unwrap_err().to_string();
    assert!(refused.contains("`vision: flat`"), "{refused}");
    let flat = TrpoConfig { vision: crate::parts::input::Vision::Flat, ..small() };
    assert!(Trpo::check_setup(&flat, &setup).is_ok());
    let mut learner = TrpoLearner::new(flat, &setup).unwrap();
    let noise = Noise::new(&mut learner, &setup, 1);
    let moved = testing::changed(&mut learner, |learner| drop(testing::update(learner, &noise)));
    assert_eq!(moved, "log_std policy");
}

/// With the search on no step leaves the region; with a region that is too wide for its curvature and no search, some do.
#[test]
fn the_search_is_what_keeps_steps_within_the_region() {
    let share_outside = |steps| {
        let outside = |seed: u64| {
            let setup = Setup { seed, ..testing::setup(vector()) };
            let config = TrpoConfig { line_search_steps: steps, max_kl: 0.1, cg_damping: 1e-3, ..small() };
            let mut learner = TrpoLearner::new(config, &setup).unwrap();
            let noise = Noise::new(&mut learner, &setup, 1);
            f64::from(testing::update(&mut learner, &noise).1["kl"] >= 0.1)
        };
        (0..20).map(outside).sum::<f64>() / 20.0
    };
    assert_eq!(share_outside(10), 0.0);
    assert!(share_outside(0) > 0.0);
}

#[test]
fn the_divergence_is_that_of_the_new_policy_from_the_old_one() {
    let (mut learner, noise) = learner(small());
    testing::update(&mut learner, &noise);
    let TrpoLearner { policy, rule } = &mut learner;
    policy.net.infer(rule.batch.sequences(), &mut [], &mut policy.head, None);
    let log_std = policy.log_std.as_slice();
    let old = Old { heads: policy.head.clone(), log_std: log_std.iter().map(|log_std| log_std + 1.0).collect() };
    // KL(old ‖ new) of equal means, where the old deviation is e times the new one: -1 + e²/2 - 1/2. The other way round 0.57.
    let wanted = log_std.len() as f64 * (0.5 * 2f64.exp() - 1.5);
    let (kl, _) = rule.measure(policy, &old, 0.0);
    assert!((kl - wanted).abs() < 1e-4 * wanted, "{kl} {wanted}");
}
