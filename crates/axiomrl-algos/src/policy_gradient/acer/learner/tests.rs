use super::*;
use crate::agent::Agent;
use crate::policy::Memory;
use crate::policy_gradient::testing::{self, vector, vector_and_image};
use crate::regimes::OnPolicy;
use crate::testing::drive;
use axiomrl_core::{RolloutSpec, stream};
use axiomrl_envs::{ObsBuf, Spaces};
use rand::RngExt;

fn small() -> AcerConfig {
    AcerConfig { num_steps: 4, hidden_sizes: vec![8], replay_start: 8, buffer_capacity: 24, ..AcerConfig::default() }
}

fn setup(observations: Space) -> Setup {
    Setup { num_envs: 2, seed: 3, ..Setup::new(Spaces::new(observations, Space::Discrete { n: 3 })) }
}

/// Four steps of two environments; the first one's second step ends the world, the second one's third its clock.
fn rollout(learner: &mut AcerLearner, setup: &Setup) -> Rollout {
    let (widths, mut rng) = (setup.spaces.obs().widths, stream(5, "rollout"));
    let spec = RolloutSpec { steps: 4, lanes: 2, widths, action_width: 1, mask_width: 0, raw: true, intrinsic: false };
    let mut rollout = Rollout::new(spec);
    let mut draw = |rows: usize| {
        let mut obs = ObsBuf::zeros(widths, rows);
        obs.floats.iter_mut().for_each(|x| *x = rng.random_range(-1.0..1.0));
        obs.bytes.iter_mut().for_each(|x| *x = rng.random());
        obs
    };
    for t in 0..4 {
        let obs = draw(2);
        let (mut actions, mut log_probs, mut values) = ([0.0; 2], [0.0; 2], [0.0; 2]);
        let row = ActedRow { actions: &mut actions, log_probs: &mut log_probs, values: &mut values };
        let mut memory = Memory::new(2, 0);
        learner
            .play(ActInput::of(obs.as_ref()), ActContext::new(&mut memory, Mode::Sample, &mut stream(t, "act")), row)
            .unwrap();
        let t = t as usize;
        rollout.begin_row(t, obs.as_ref(), &[], &actions, &log_probs, &values);
        rollout.set_raw(t, obs.as_ref());
        for lane in 0..2 {
            rollout.set_next_obs(t, lane, draw(1).row(0));
            rollout.set_outcome(t, lane, 1.0, (t, lane) == (1, 0), (t, lane) == (2, 1));
        }
    }
    rollout
}

fn update(learner: &mut AcerLearner, rollout: &Rollout) -> bool {
    let played = Played { rollout, starts: &[], states: &[], length: 1, statistics: None };
    crate::testing::with_context(|context| learner.update(played, context).unwrap())
}

#[test]
fn one_update_moves_both_heads_and_the_average_follows() {
    for (observations, torso) in
        [(vector(), "policy.encoder"), (vector_and_image(), "policy.encoder policy.head policy.vision")]
    {
        let setup = setup(observations);
        let mut learner = AcerLearner::new(small(), &setup).unwrap();
        let rollout = rollout(&mut learner, &setup);
        let before = testing::tensors(&mut learner);
        let moved =
            testing::changed(&mut learner, |learner| assert!(!update(learner, &rollout) || learner.left.is_none()));
        assert!(moved.contains(torso) && moved.contains("policy.head") && moved.contains("value.head"), "{moved}");
        let after = testing::tensors(&mut learner);
        for (name, old) in before.iter().filter(|(name, _)| name.starts_with("average.")) {
            let aim = &after[name.trim_start_matches("average.")];
            for ((found, old), aim) in after[name].iter().zip(old).zip(aim) {
                assert!((found - (old + 0.01 * (aim - old))).abs() < 1e-6, "{name}");
            }
        }
    }
}

#[test]
fn windows_know_their_ends_and_what_was_there() {
    let setup = setup(vector());
    let mut learner = AcerLearner::new(small(), &setup).unwrap();
    let rollout = rollout(&mut learner, &setup);
    learner.keep(&rollout);
    let [first, second] = [0, 1].map(|lane| learner.store.window(0, lane).clone());
    assert_eq!(first.ends, [End::GoesOn, End::Terminated, End::GoesOn, End::Cut]);
    assert_eq!(second.ends, [End::GoesOn, End::GoesOn, End::Cut, End::Cut]);
    let raw = rollout.raw.as_ref().unwrap();
    assert_eq!(second.cut_obs.row(0), raw.next_obs.row(2 * 2 + 1));
    assert_eq!(second.cut_obs.row(1), raw.next_obs.row(3 * 2 + 1));
    assert_eq!(first.obs.row(3), raw.obs.row(3 * 2));
    // The probabilities are those that the actions were drawn with.
    for (lane, window) in [&first, &second].into_iter().enumerate() {
        for t in 0..4 {
            let then = window.policy[3 * t + window.action[t] as usize];
            assert!((then.ln() - rollout.log_prob[2 * t + lane]).abs() < 1e-5);
        }
    }
}

/// Right after the rollout was played nothing is corrected: ratios are 1, and the returns are those of the steps.
#[test]
fn on_its_own_rollout_the_returns_are_plain() {
    let setup = setup(vector());
    let mut learner = AcerLearner::new(small(), &setup).unwrap();
    let rollout = rollout(&mut learner, &setup);
    learner.keep(&rollout);
    let windows = [learner.store.window(0, 0).clone(), learner.store.window(0, 1).clone()];
    let windows: Vec<&StoredWindow> = windows.iter().collect();
    let all = stacked(windows.iter().map(|w| &w.obs), learner.widths.obs, None);
    learner.infer(all.as_ref());
    let (head, q) = (learner.head.clone(), learner.q.clone());
    let batch =
        Windows { windows: &windows, actions: 3, masks: 0, cut_values: vec![5.0, 6.0, 7.0], average: head.clone() };
    let terms = AcerTerms { truncation: 10.0, trust_region: 1.0, entropy_weight: 0.0 };
    let (report, [by_head, by_q]) = batch.loss(&head, &q, (0.9, 0.5), terms, None);
    assert!((report.ratio_max - 1.0).abs() < 1e-4 && report.share_truncated == 0.0 && report.correction == 0.0);
    let now: Vec<f32> = head.chunks_exact(3).flat_map(|head| softmax(head, &[])).collect();
    let then: Vec<f32> = windows.iter().flat_map(|w| &w.policy).copied().collect();
    let action: Vec<usize> = windows.iter().flat_map(|w| &w.action).map(|&a| a as usize).collect();
    let v: Vec<f32> =
        now.chunks_exact(3).zip(q.chunks_exact(3)).map(|(f, q)| f.iter().zip(q).map(|(f, q)| f * q).sum()).collect();
    let targets = batch.targets(&now, &then, &action, &q, &v, 0.9);
    // The first environment: its second step is an end, its last one is cut where things are worth 5.
    assert!((targets[1] - 1.0).abs() < 1e-5 && (targets[3] - (1.0 + 0.9 * 5.0)).abs() < 1e-4, "{targets:?}");
    assert!((targets[6] - (1.0 + 0.9 * 6.0)).abs() < 1e-4 && (targets[7] - (1.0 + 0.9 * 7.0)).abs() < 1e-4);
    // Only the Q of actions that were taken get a gradient, and that of the logits sums to nothing.
    for row in 0..8 {
        let error = q[3 * row + action[row]] - targets[row];
        assert!((by_q[3 * row + action[row]] - 0.5 * error / 8.0).abs() < 1e-5);
        assert_eq!(by_q[3 * row..3 * row + 3].iter().filter(|g| **g != 0.0).count(), 1);
        assert!(by_head[3 * row..3 * row + 3].iter().sum::<f32>().abs() < 1e-5);
    }
}

#[test]
fn stored_rollouts_are_learned_from_once_there_are_enough() {
    let setup = setup(vector());
    let mut learner = AcerLearner::new(AcerConfig { replay_start: 16, ..small() }, &setup).unwrap();
    let rollout = rollout(&mut learner, &setup);
    assert!(update(&mut learner, &rollout), "four steps of each environment are not enough");
    let mut updates = 1;
    while !update(&mut learner, &rollout) {
        updates += 1;
    }
    assert!(updates > 1, "eight are");
    assert_eq!(learner.store.steps(), 8, "of each");
    let mut never = AcerLearner::new(AcerConfig { replay_ratio: 0.0, ..small() }, &setup).unwrap();
    assert!((0..5).all(|_| update(&mut never, &rollout)));
}

#[test]
fn stops_anywhere_change_nothing() {
    let make = |config: &AcerConfig, setup: Setup| -> Box<dyn Agent> {
        let learner = Box::new(AcerLearner::new(config.clone(), &setup).unwrap());
        Box::new(OnPolicy::new(learner, config.rollout(), &setup).unwrap())
    };
    for env in ["CartPole-v1", "IdentityMasked-v0", "Catch-v0"] {
        let run = |stopping| drive(env, 3, 100, stopping, |setup| make(&small(), setup));
        assert_eq!(run(true), run(false), "{env}");
    }
}

#[test]
fn probabilities_of_forbidden_actions_are_nothing() {
    assert_eq!(softmax(&[0.0, 9.0, 0.0], &[true, false, true]), [0.5, 0.0, 0.5]);
}
