//! What the policy draws, what it takes recorded actions for, and how it acts on raw observations.

use super::*;
use crate::offline::regression::PolicyKind;
use crate::offline::regression::policy::RegressionPolicy;
use crate::parts::statistics::{ObsScaling, ObsStats};
use crate::policy::Memory;
use crate::registry::Algorithm;
use crate::testing::with_context;
use axiomrl_envs::ObsRef;

const KINDS: [PolicyKind; 4] =
    [PolicyKind::Deterministic, PolicyKind::Gaussian, PolicyKind::LinearGaussian, PolicyKind::SquashedGaussian];

fn policy(config: RegressionConfig) -> (RegressionPolicy, Setup) {
    let [setup, _] = vector_and_image(&box_actions());
    (RegressionPolicy::new(&small(config), &setup, &mut setup.rng("init")).unwrap(), setup)
}

#[test]
fn every_policy_acts_within_its_bounds_and_only_stochastic_ones_vary() {
    for kind in KINDS {
        let (policy, setup) = policy(RegressionConfig { policy: kind, log_std_init: 1.0, ..presets::iql() });
        let batch = batch(&setup, ROWS);
        let input = ActInput::of(batch.obs());
        let (mut best, mut drawn, mut again) = (vec![9.0; 16], vec![9.0; 16], vec![9.0; 16]);
        policy.best(input, &mut best);
        policy.sample(input, &mut stream(1, "draw"), &mut drawn);
        policy.sample(input, &mut stream(2, "draw"), &mut again);
        assert!(best.iter().chain(&drawn).all(|a| a.abs() <= 1.0), "{kind:?}");
        assert_eq!(
            (drawn == best, drawn == again),
            (kind == PolicyKind::Deterministic, kind == PolicyKind::Deterministic)
        );
    }
}

/// Imitates one constant action for a while; gives the best action then.
fn imitated(config: RegressionConfig, action: [f32; 2]) -> (Vec<f32>, RegressionPolicy) {
    let (mut policy, setup) = policy(config);
    let mut batch = batch(&setup, ROWS);
    batch.action.chunks_exact_mut(2).for_each(|row| row.copy_from_slice(&action));
    for _ in 0..600 {
        with_context(|context| policy.step(&batch, &[1.0; ROWS], 2e-2, context).unwrap());
    }
    let mut best = vec![9.0; 16];
    policy.best(ActInput::of(batch.obs()), &mut best);
    (best, policy)
}

#[test]
fn every_policy_finds_the_action_that_it_imitates() {
    for kind in KINDS {
        // One of the numbers lies on the bound, where a squashed Gaussian would have no density.
        let (best, _) = imitated(RegressionConfig { policy: kind, learn_std: false, ..presets::iql() }, [0.3, -1.0]);
        for row in best.chunks_exact(2) {
            assert!((row[0] - 0.3).abs() < 0.05 && (row[1] + 1.0).abs() < 0.05, "{kind:?}: {row:?}");
        }
    }
}

fn log_std(policy: &mut RegressionPolicy) -> Vec<f32> {
    let mut saved = Snapshot::default();
    policy.visit_policy(&mut StateIo::save(&mut saved, None)).unwrap();
    saved.training.tensors["log_std"].values.clone()
}

#[test]
fn standard_deviations_shrink_no_further_than_their_bound_and_only_if_they_are_learned() {
    let (_, mut learned) = imitated(presets::iql(), [0.3, 0.1]);
    let found = log_std(&mut learned);
    assert!(found.iter().all(|s| (-5.0..-2.0).contains(s)), "{found:?}");
    let (_, mut fixed) = imitated(presets::awr(), [0.3, 0.1]);
    assert_eq!(log_std(&mut fixed), [presets::awr().log_std_init; 2]);
    assert!((presets::awr().log_std_init.exp() - 0.2).abs() < 1e-6);
    // From the bound on inwards it is free to move.
    let (mut wide, setup) = policy(RegressionConfig { log_std_init: -5.0, ..presets::iql() });
    let batch = batch(&setup, ROWS);
    with_context(|context| wide.step(&batch, &[1.0; ROWS], 1e-2, context).unwrap());
    assert!(log_std(&mut wide).iter().all(|&s| s > -5.0));
}

#[test]
fn dropped_units_change_learning_and_not_acting() {
    let step = |actor_dropout| {
        let (mut policy, setup) = policy(RegressionConfig { actor_dropout, ..presets::iql() });
        let batch = batch(&setup, ROWS);
        let mut best = vec![9.0; 16];
        policy.best(ActInput::of(batch.obs()), &mut best);
        (best, with_context(|context| policy.step(&batch, &[1.0; ROWS], 1e-2, context).unwrap().loss))
    };
    let ((best, loss), (same, other)) = (step(0.0), step(0.5));
    assert_eq!(best, same);
    assert_ne!(loss, other);
}

#[test]
fn slow_copies_are_asked_for_targets_alone() {
    let (mut policy, setup) = policy(RegressionConfig { log_std_init: -5.0, ..presets::crr() });
    let batch = batch(&setup, ROWS);
    let input = ActInput::of(batch.obs());
    let draws = |policy: &RegressionPolicy| {
        let (mut own, mut slow) = (vec![9.0; 16], vec![9.0; 16]);
        policy.sample(input, &mut stream(1, "draw"), &mut own);
        policy.sample_for_target(input, &mut stream(1, "draw"), &mut slow);
        (own, slow)
    };
    let (before, same) = draws(&policy);
    assert_eq!(before, same);
    with_context(|context| policy.step(&batch, &[1.0; ROWS], 1e-1, context).unwrap());
    let (own, slow) = draws(&policy);
    assert_eq!(slow, before);
    assert_ne!(own, before);
    policy.soft_update(1.0);
    let (own, slow) = draws(&policy);
    assert_eq!(own, slow);
}

#[test]
fn forbidden_choices_are_neither_drawn_nor_best() {
    let [setup, _] = vector_and_image(&Space::Discrete { n: 3 });
    let policy = RegressionPolicy::new(&small(presets::iql()), &setup, &mut setup.rng("init")).unwrap();
    let batch = batch(&setup, ROWS);
    for forbidden in 0..3 {
        let masks: Vec<bool> = (0..ROWS).flat_map(|_| (0..3).map(move |choice| choice != forbidden)).collect();
        let input = ActInput { obs: batch.obs(), masks: &masks };
        // As many draws as there is room for.
        let mut drawn = vec![9.0; 50 * ROWS];
        policy.sample(input, &mut stream(1, "draw"), &mut drawn);
        policy.best(input, &mut drawn[..ROWS]);
        assert!(drawn.iter().all(|&choice| choice != forbidden as f32 && choice < 3.0));
    }
}

#[test]
fn a_policy_acts_on_raw_observations_as_it_learned_on_standardised_ones() {
    for preset in [presets::bc(), presets::iql(), presets::awr(), presets::marwil()] {
        let [setup, _] = vector_and_image(&box_actions());
        let data = dataset(&setup.spaces, &[40, 30]);
        let scaling = ObsScaling::Fitted(1e-3);
        let setup = Setup { prior: Some(data.clone()), scaling, total: 6, ..setup };
        let build = |setup: &Setup| {
            crate::offline::regression::WeightedRegression::build(small(preset.clone()), setup).unwrap()
        };
        let mut agent = build(&setup).into_agent(&setup).unwrap();
        for updates in 0..6 {
            let clock = Clock { updates, at: updates, total: 6, env_steps: 0 };
            agent.update(clock, &mut Metrics::default()).unwrap();
        }
        let mut saved = Snapshot::default();
        agent.policy().visit_state(&mut StateIo::save(&mut saved, None)).unwrap();
        // Loaded without data, it acts on what the environment shows.
        let bare = Setup { prior: None, ..setup.clone() };
        let mut policy = build(&bare).into_policy(&bare).unwrap();
        policy.visit_state(&mut StateIo::load(&saved, None)).unwrap();
        let raw = [0.3, -0.9, 2.0];
        let mut acted = [9.0; 2];
        let (mut memory, mut rng) = (Memory::new(1, 0), stream(1, "act"));
        let input = ActInput::of(ObsRef::of_floats(1, &raw));
        policy.act(input, ActContext::new(&mut memory, Mode::Best, &mut rng), &mut acted).unwrap();
        // The forward pass of training, on (s - mean) / (std + 1e-3) over the recorded observations that something followed.
        let mut seen = learner(small(preset.clone()), &setup);
        StateIo::load(&saved, None).policy(|io| seen.visit_policy(io)).unwrap();
        let mut batch = Batch::default();
        let numbers: Vec<u64> = (0..70).collect();
        data.gather(&numbers, 1.0, axiomrl_core::RewardScale::IDENTITY, &mut batch).unwrap();
        let column =
            |at: usize| batch.obs().floats.iter().skip(at).step_by(3).map(|&x| f64::from(x)).collect::<Vec<f64>>();
        let scaled: Vec<f32> = (0..3)
            .map(|at| {
                let column = column(at);
                let mean = column.iter().sum::<f64>() / 70.0;
                let variance = column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 70.0;
                ((f64::from(raw[at]) - mean) / (variance.sqrt() + 1e-3)) as f32
            })
            .collect();
        let mut wanted = [9.0; 2];
        seen.act(
            ActInput::of(ObsRef::of_floats(1, &scaled)),
            ActContext::new(&mut memory, Mode::Best, &mut rng),
            &mut wanted,
        )
        .unwrap();
        let mut unscaled = [9.0; 2];
        seen.act(input, ActContext::new(&mut memory, Mode::Best, &mut rng), &mut unscaled).unwrap();
        assert!(acted.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-4), "{acted:?} {wanted:?}");
        assert!(acted.iter().zip(unscaled).any(|(a, b)| (a - b).abs() > 1e-3), "the statistics make a difference");
        // Returns look at the same standardised observations as batches.
        let mut stats = ObsStats::new(&setup.spaces, scaling).unwrap().unwrap();
        stats.fit(&data);
        let mut recorded = crate::offline::regression::recorded::Recorded::of(&setup).unwrap().unwrap();
        let mut by_hand = batch.obs.clone();
        stats.scale(&mut by_hand.floats, 3);
        let (obs, next) = recorded.gather(&numbers).unwrap();
        assert_eq!((obs.floats, next.floats), (&by_hand.floats[..210], &by_hand.floats[210..]));
    }
}
