use super::super::testing::{changed, recorded, recorded_with, rollout, setup, spaces};
use super::*;
use crate::imitation::GeneratorKind;
use crate::imitation::{Airl, AirlConfig, AirlRewardForm, Gail, GailConfig, RewardForm};
use crate::policy_gradient::testing::saved;
use crate::regimes::{Learner, OnPolicy};
use crate::registry::Algorithm;
use crate::testing::{drive, with_context};
use axiomrl_envs::{BoxSpace, Space};

fn gail() -> GailConfig {
    GailConfig {
        num_steps: 4,
        minibatch_size: 8,
        hidden_sizes: vec![8],
        discriminator_hidden_sizes: vec![8],
        discriminator_updates: 2,
        discriminator_batch_size: 16,
        ..GailConfig::default()
    }
}

fn airl() -> AirlConfig {
    AirlConfig {
        num_steps: 4,
        minibatch_size: 8,
        hidden_sizes: vec![8],
        reward_hidden_sizes: vec![8],
        potential_hidden_sizes: vec![8],
        discriminator_updates: 2,
        discriminator_batch_size: 16,
        ..AirlConfig::default()
    }
}

/// Learners of both kinds, for choices and for numbers.
fn learners() -> Vec<(&'static str, AdversarialLearner, Setup)> {
    let discrete = setup(recorded(4, 6));
    let numbers = setup(recorded_with(spaces(Space::Box(BoxSpace::uniform(1, -1.0, 1.0))), 4, 6, 0.5));
    let mut learners = Vec::new();
    for setup in [discrete, numbers] {
        learners.push(("gail", gail().learner(&setup).unwrap(), setup.clone()));
        let trpo = GailConfig { generator: GeneratorKind::Trpo, ..gail() };
        learners.push(("gail by trpo", trpo.learner(&setup).unwrap(), setup.clone()));
        learners.push(("airl", airl().learner(&setup).unwrap(), setup));
    }
    learners
}

/// One slice of the work on rewards.
fn slice(learner: &mut AdversarialLearner, rollout: &mut Rollout, starts: &[bool]) -> bool {
    let statistics = learner.fixed_statistics();
    let unrewarded = Unrewarded { rollout, starts, statistics: statistics.as_ref() };
    with_context(|context| learner.compute_rewards(unrewarded, context).unwrap())
}

/// All of it. Says how many slices it took.
fn pay(learner: &mut AdversarialLearner, rollout: &mut Rollout, starts: &[bool]) -> usize {
    (1..).find(|_| slice(learner, rollout, starts)).unwrap()
}

fn learn(learner: &mut AdversarialLearner, rollout: &Rollout, starts: &[bool]) {
    let played = Played { rollout, starts, states: &[], length: 1, statistics: None };
    with_context(|context| while !learner.update(played, context).unwrap() {});
}

#[test]
fn the_discriminators_step_touches_nothing_of_the_policy_and_the_policys_nothing_of_the_discriminator() {
    for (name, mut learner, setup) in learners() {
        let (mut rollout, starts) = rollout(&mut learner, &setup, 4);
        let before = rollout.reward.clone();
        let moved = changed(&mut learner, |learner| assert!(!slice(learner, &mut rollout, &starts)));
        let nets: &[&str] = if name.starts_with("gail") {
            &["discriminator.net.1.weight"]
        } else {
            &["discriminator.potential.1.weight"]
        };
        assert!(nets.iter().all(|net| moved.contains(&(*net).to_owned())), "{name}: {moved:?}");
        assert!(moved.iter().all(|tensor| tensor.starts_with("discriminator.")), "{name}: {moved:?}");
        assert_eq!(rollout.reward, before, "{name}: rewards are written when the discriminator is done");
        assert!(!slice(&mut learner, &mut rollout, &starts));
        let moved = changed(&mut learner, |learner| assert!(slice(learner, &mut rollout, &starts)));
        assert!(moved.is_empty(), "{name}: {moved:?}");
        assert!(rollout.reward.iter().all(|r| r.abs() <= 10.0), "{name}: {:?}", rollout.reward);
        rollout.compute_gae(0.9, 0.9);
        let moved = changed(&mut learner, |learner| learn(learner, &rollout, &starts));
        assert!(moved.iter().any(|tensor| tensor.starts_with("policy.")), "{name}: {moved:?}");
        assert!(moved.iter().any(|tensor| tensor.starts_with("value.")), "{name}: {moved:?}");
        assert!(!moved.iter().any(|tensor| tensor.starts_with("discriminator.")), "{name}: {moved:?}");
    }
}

#[test]
fn the_policy_learns_from_the_discriminators_rewards_alone() {
    for at in 0..learners().len() {
        let learned = |own_reward: f32| {
            let (_, mut learner, setup) = learners().swap_remove(at);
            let (mut rollout, starts) = rollout(&mut learner, &setup, 4);
            rollout.reward.fill(own_reward);
            assert_eq!(pay(&mut learner, &mut rollout, &starts), 3, "two steps, then the rewards");
            rollout.compute_gae(0.9, 0.9);
            learn(&mut learner, &rollout, &starts);
            saved(&mut learner)
        };
        assert_eq!(learned(1e6), learned(-7.0));
    }
}

#[test]
fn a_frozen_discriminator_pays_every_step_alike() {
    let frozen = Schedule::Constant(0.0);
    for (form, wanted) in
        [(RewardForm::Softplus, 2.0f32.ln()), (RewardForm::LogD, -(2.0f32.ln())), (RewardForm::Logit, 0.0)]
    {
        let setup = setup(recorded(4, 6));
        let config = GailConfig { reward_form: form, discriminator_learning_rate: frozen.clone(), ..gail() };
        let mut learner = config.learner(&setup).unwrap();
        let (mut rollout, starts) = rollout(&mut learner, &setup, 4);
        pay(&mut learner, &mut rollout, &starts);
        assert!(rollout.reward.iter().all(|r| (r - wanted).abs() < 1e-6), "{form:?}: {:?}", rollout.reward);
    }
}

#[test]
fn paying_twice_is_the_same_to_the_bit_and_counts_nothing() {
    let setup = setup(recorded(4, 6));
    for statistics in [InputStatistics::Expert, InputStatistics::Running] {
        let mut learner = GailConfig { input_statistics: statistics, ..gail() }.learner(&setup).unwrap();
        let (mut rollout, starts) = rollout(&mut learner, &setup, 4);
        let seeded = learner.inputs.counted();
        assert_eq!(seeded, 24, "begun with the expert");
        slice(&mut learner, &mut rollout, &starts);
        slice(&mut learner, &mut rollout, &starts);
        let counted = learner.inputs.counted();
        let shown = if statistics == InputStatistics::Running { 2 * 2 * 16 } else { 0 };
        assert_eq!(counted, seeded + shown, "both halves of both batches, where statistics run");
        pay(&mut learner, &mut rollout.clone(), &starts);
        let paid: Vec<Vec<u32>> = (0..2)
            .map(|_| {
                let rows = learner.all_rows(&rollout).unwrap();
                learner.discriminator.rewards(&rows).into_iter().map(f32::to_bits).collect()
            })
            .collect();
        assert_eq!(paid[0], paid[1]);
        assert_eq!(learner.inputs.counted(), counted);
    }
}

#[test]
fn a_few_pairs_are_enough_for_a_large_batch() {
    let setup = setup(recorded(8, 8));
    let config = GailConfig { expert_subsample: 4, discriminator_batch_size: 1024, ..gail() };
    let mut learner = config.learner(&setup).unwrap();
    assert_eq!(learner.expert.as_ref().unwrap().count, 16);
    let (mut rollout, starts) = rollout(&mut learner, &setup, 4);
    assert_eq!(pay(&mut learner, &mut rollout, &starts), 3);
}

/// The expert always takes the first choice; what looks like it must be worth more.
#[test]
fn what_looks_like_the_expert_is_paid_more_whatever_the_form() {
    let setup = setup(recorded(4, 6));
    for form in [RewardForm::Softplus, RewardForm::LogD, RewardForm::Logit] {
        let config = GailConfig {
            reward_form: form,
            discriminator_updates: 60,
            discriminator_learning_rate: Schedule::Constant(1e-2),
            ..gail()
        };
        let mut learner = config.learner(&setup).unwrap();
        let (mut rollout, starts) = rollout(&mut learner, &setup, 32);
        pay(&mut learner, &mut rollout, &starts);
        let mut judged = [0.0; 2];
        assert!(learner.rewards(ObsRef::of_floats(2, &[3.0, 3.0]), &[0.0, 1.0], &mut judged));
        assert!(judged[0] > judged[1] + 0.2, "{form:?}: {judged:?}");
    }
}

#[test]
fn rewards_are_divided_by_the_deviation_of_their_returns_and_not_centred() {
    // Returns 1, 0.9 + 2 and, in another episode, 3: variance 0.846667.
    let mut stats = RewardStats::new(1, 0.9);
    for (reward, begins) in [(1.0, true), (2.0, false), (3.0, true)] {
        if begins {
            stats.restarted(0..1);
        }
        stats.add(0, reward);
    }
    assert!((stats.scaled(3.0) - 3.260_36).abs() < 1e-5, "{}", stats.scaled(3.0));
    assert!(stats.scaled(1e-6) > 0.0, "what is positive stays so");

    // The same through a rollout, where episodes begin anew after the second step.
    let setup = setup(recorded(4, 6));
    let mut learner = GailConfig { scale_reward: Some(true), gamma: 0.9, ..gail() }.learner(&setup).unwrap();
    let (mut rollout, starts) = rollout(&mut learner, &setup, 4);
    rollout.valid[5] = false;
    while learner.steps < 2 {
        slice(&mut learner, &mut rollout, &starts);
    }
    let raw = learner.discriminator.rewards(&learner.all_rows(&rollout).unwrap());
    slice(&mut learner, &mut rollout, &starts);
    let (mut returns, mut all) = ([0.0f64; 2], Vec::new());
    for row in (0..8).filter(|&row| row != 5) {
        let before = if row < 2 || row == 4 { 0.0 } else { returns[row % 2] };
        returns[row % 2] = 0.9 * before + f64::from(raw[row]);
        all.push(returns[row % 2]);
    }
    let mean = all.iter().sum::<f64>() / 7.0;
    let deviation = (all.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / 7.0 + 1e-8).sqrt();
    for row in (0..8).filter(|&row| row != 5) {
        let wanted = (f64::from(raw[row]) / deviation).min(10.0);
        assert!((f64::from(rollout.reward[row]) - wanted).abs() < 1e-3 * wanted.abs(), "{row}: {:?}", rollout.reward);
    }
    assert_eq!(rollout.reward[5], 1e6, "nothing was done there");
}

#[test]
fn the_default_scale_goes_with_the_form() {
    let scaled =
        |form, scale_reward| GailConfig { reward_form: form, scale_reward, ..gail() }.learner(&setup(recorded(1, 2)));
    let is_on = |form, switch| scaled(form, switch).unwrap().rewards.is_some();
    assert!(is_on(RewardForm::Logit, None) && !is_on(RewardForm::Softplus, None) && !is_on(RewardForm::LogD, None));
    assert!(!is_on(RewardForm::Logit, Some(false)) && is_on(RewardForm::Softplus, Some(true)));
}

#[test]
fn a_discriminator_that_is_never_wrong_is_told_of() {
    let mut learner = gail().learner(&setup(recorded(1, 2))).unwrap();
    let mut metrics = Metrics::default();
    let mut told = |accuracy: f32, rounds: u32| {
        for _ in 0..rounds {
            (learner.steps, learner.accuracy) = (2, 2.0 * accuracy);
            learner.watch(&mut metrics);
        }
        metrics.take_notes()
    };
    assert!(told(1.0, PATIENCE - 1).is_empty());
    assert!(told(0.9, 1).is_empty());
    assert!(told(1.0, PATIENCE - 1).is_empty(), "it was wrong in between");
    let note = told(1.0, 1);
    assert!(note.len() == 1 && note[0].contains("discriminator_updates"), "{note:?}");
}

#[test]
fn policy_and_discriminator_see_the_world_by_the_experts_measure() {
    let setup = setup(recorded(2, 3));
    let learner = gail().learner(&setup).unwrap();
    let stats = learner.fixed_statistics().unwrap();
    // The expert saw 0, 1, 2, 10, 11, 12: mean 6, deviation 5.066.
    assert_eq!(stats.running().mean(), [6.0]);
    let mut shown = vec![6.0, 6.0 + 5.066_228, 1e4];
    stats.scale(&mut shown, 1);
    assert!(shown[0].abs() < 1e-6 && (shown[1] - 1.0).abs() < 1e-3 && shown[2] == 10.0, "{shown:?}");
    let running = GailConfig { input_statistics: InputStatistics::Running, ..gail() };
    assert!(running.learner(&setup).unwrap().fixed_statistics().is_none());
    // A policy that is to be loaded has room for them.
    let blank = gail().learner(&Setup { prior: None, ..setup }).unwrap();
    assert!(blank.fixed_statistics().is_some());
}

#[test]
fn without_an_expert_there_is_a_policy_and_no_training() {
    let alone = Setup { prior: None, ..setup(recorded(1, 2)) };
    let learner = gail().learner(&alone).unwrap();
    let refused = OnPolicy::new(Box::new(learner), gail_rollout(), &alone).err().unwrap().to_string();
    assert!(refused.contains("`dataset`"), "{refused}");
    let foreign = Setup { prior: Some(recorded_with(spaces(Space::Discrete { n: 3 }), 1, 2, 0.0)), ..alone };
    let refused = gail().learner(&foreign).err().unwrap().to_string();
    assert!(refused.contains("the environment they were recorded in"), "{refused}");
}

fn gail_rollout() -> crate::regimes::RolloutSettings {
    crate::regimes::RolloutSettings::new(4, 0.9, 0.9)
}

#[test]
fn an_expert_that_was_exchanged_is_noticed() {
    let mut learner = gail().learner(&setup(recorded(2, 3))).unwrap();
    let mut saved = crate::state::Snapshot::default();
    learner.visit_state(&mut StateIo::save(&mut saved, None)).unwrap();
    learner.visit_state(&mut StateIo::load(&saved, None)).unwrap();
    let mut other = gail().learner(&setup(recorded(2, 4))).unwrap();
    let refused = other.visit_state(&mut StateIo::load(&saved, None)).unwrap_err().to_string();
    assert!(refused.contains("not those that the run began with"), "{refused}");
}

#[test]
fn what_an_expert_would_do_is_as_likely_as_the_policy_that_played_has_it() {
    let (_, mut learner, setup) = learners().pop().unwrap();
    let stats = learner.fixed_statistics().unwrap();
    let expert = learner.expert.as_ref().unwrap();
    let found = expert_log_probs(learner.generator.as_mut(), expert, &[2, 9], Some(&stats)).unwrap();
    let mut shown = ObsBuf::zeros(setup.spaces.obs().widths, 2);
    shown.floats.copy_from_slice(&[2.0, 13.0]);
    let width = 1;
    stats.scale(&mut shown.floats, width);
    let mut wanted = [0.0; 2];
    learner.generator.log_probs(ActInput::of(shown.as_ref()), &[0.5, 0.5], &mut wanted).unwrap();
    assert_eq!(found, wanted);
    let raw = expert_log_probs(learner.generator.as_mut(), learner.expert.as_ref().unwrap(), &[2, 9], None).unwrap();
    assert_ne!(found, raw, "rows are scaled first");
    // The log-probabilities that were stored while playing are those of the same actions.
    let (rollout, _) = rollout(&mut learner, &setup, 4);
    let mut again = vec![0.0; 8];
    learner.generator.log_probs(ActInput::of(rollout.obs.as_ref()), &rollout.action, &mut again).unwrap();
    assert!(again.iter().zip(&rollout.log_prob).all(|(a, b)| (a - b).abs() < 1e-5), "{again:?}");
}

#[test]
fn only_the_end_of_the_world_is_one() {
    let (_, mut learner, setup) = learners().into_iter().find(|(name, ..)| *name == "airl").unwrap();
    let (rollout, _) = rollout(&mut learner, &setup, 4);
    let rows = learner.all_rows(&rollout).unwrap();
    assert_eq!(rows.goes_on, [1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0], "the second lane's end is one of the clock");
    assert_eq!(rows.log_prob, rollout.log_prob);
    let raw = rollout.raw.as_ref().unwrap();
    let mut next = raw.next_obs.floats.clone();
    learner.inputs.standardise(&mut next, 1);
    assert_eq!(rows.next, next);
}

/// Stopped after every piece, between two steps of the discriminator and inside a round of environments too.
#[test]
fn a_run_that_stops_after_every_piece_ends_alike() {
    let data = recorded_cartpole();
    let with_rewards =
        GailConfig { reward_form: RewardForm::Logit, input_statistics: InputStatistics::Running, ..gail() };
    let paper = AirlConfig { reward_form: AirlRewardForm::FMinusLogProb, ..airl() };
    let makers: [&dyn Fn(&Setup) -> Learner; 3] = [
        &|setup| Gail::build(gail(), setup).unwrap(),
        &|setup| Gail::build(with_rewards.clone(), setup).unwrap(),
        &|setup| Airl::build(paper.clone(), setup).unwrap(),
    ];
    for make in makers {
        let run = |stopping: bool| {
            drive("CartPole-v1", 3, 40, stopping, |setup| {
                let setup = Setup { prior: Some(data.clone()), ..setup };
                make(&setup).into_agent(&setup).unwrap()
            })
        };
        assert_eq!(run(true), run(false));
    }
}

fn recorded_cartpole() -> axiomrl_core::Dataset {
    let source = axiomrl_envs::source("CartPole-v1", &Default::default(), Default::default()).unwrap();
    let spaces = source.spaces().unwrap();
    let mut builder = axiomrl_core::DatasetBuilder::new(spaces).unwrap();
    let obs: Vec<f32> = (0..4 * 9).map(|i| (i as f32 * 0.7).sin() * 0.1).collect();
    builder
        .push(&axiomrl_core::Episode {
            obs: ObsRef::of_floats(9, &obs),
            masks: &[],
            action: &[0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0],
            reward: &[1.0; 8],
            terminated: &[false; 8],
            truncated: &[false; 8],
        })
        .unwrap();
    builder.build().unwrap()
}
