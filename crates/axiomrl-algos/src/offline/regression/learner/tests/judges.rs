//! What judges say of recorded actions, worked out again from what their networks give.

use super::*;
use crate::offline::regression::by_policy::ByPolicy;
use crate::offline::regression::critics::{Asked, Critics};
use crate::offline::regression::in_sample::InSample;
use crate::offline::regression::value_loss::ValueFit;
use crate::offline::regression::{AdvantageKind, WeightKind};
use crate::testing::with_context;
use axiomrl_envs::Rng;

fn close(found: f32, wanted: f32, what: &str) {
    assert!((found - wanted).abs() < 1e-4 * wanted.abs().max(1.0), "{what}: {found} is not {wanted}");
}

fn mean(values: impl Iterator<Item = f32>) -> f32 {
    let values: Vec<f32> = values.collect();
    values.iter().sum::<f32>() / values.len() as f32
}

/// What the two critics say, one after the other.
fn both(critics: &Critics, asked: Asked, batch: &Batch, next: bool, actions: &[f32]) -> [Vec<f32>; 2] {
    let out = critics.all(asked, if next { batch.next_obs() } else { batch.obs() }, actions);
    let (first, second) = out.split_at(out.len() / 2);
    [first.to_vec(), second.to_vec()]
}

fn lower([first, second]: &[Vec<f32>; 2]) -> Vec<f32> {
    first.iter().zip(second).map(|(a, b)| a.min(*b)).collect()
}

/// sum_i mean (Q_i - y)^2
fn squares(q: &[Vec<f32>; 2], targets: &[f32]) -> f32 {
    q.iter().map(|q| mean(q.iter().zip(targets).map(|(q, y)| (q - y).powi(2)))).sum()
}

struct Parts<J> {
    imitator: Imitator,
    judge: J,
    batch: Batch,
}

/// A judge after a few updates, so that its slow copies are others than its networks.
fn parts<J: Judge>(
    config: RegressionConfig,
    actions: &Space,
    make: impl Fn(&RegressionConfig, &Setup, &mut Rng) -> Result<J, Problem>,
) -> Parts<J> {
    let [setup, _] = vector_and_image(actions);
    let mut rng = setup.rng("init");
    let mut imitator = Imitator::new(small(config), &setup, &mut rng).unwrap();
    let mut judge = make(&imitator.config, &setup, &mut rng).unwrap();
    let mut batch = batch(&setup, ROWS);
    // One row has no future.
    batch.discount[2] = 0.0;
    for _ in 0..3 {
        with_context(|context| judge.update(&batch, &mut imitator, context).unwrap());
    }
    Parts { imitator, judge, batch }
}

/// One more update, and what it reports.
fn reported(parts: &mut Parts<impl Judge>) -> Vec<(String, f64)> {
    with_context(|context| {
        parts.judge.update(&parts.batch, &mut parts.imitator, context).unwrap();
        context.metrics.take().into_iter().map(|(name, value)| (name.into_owned(), value)).collect()
    })
}

#[test]
fn the_value_steps_first_and_policy_and_critics_take_it_as_it_is_then() {
    for actions in [box_actions(), Space::Discrete { n: 3 }] {
        for advantage in [AdvantageKind::Expectile, AdvantageKind::Gumbel] {
            let config = RegressionConfig { advantage, critic_huber: None, beta: 0.7, ..presets::iql() };
            let mut seen = parts(config.clone(), &actions, InSample::new);
            let mut copy = parts(config, &actions, InSample::new);
            let Parts { judge, batch, imitator } = &mut copy;
            // The lower of the slow critics; the same by hand with a step of the value alone.
            let q = lower(&both(&judge.critics, Asked::Target, batch, false, &batch.action));
            let settings = imitator.config.clone();
            let fit = |values: &[f32]| match advantage {
                AdvantageKind::Gumbel => ValueFit::gumbel(&q, values, 2.0, 7.0),
                _ => ValueFit::expectile(&q, values, 0.7),
            };
            let before = judge.value.values(batch.obs());
            let rate = with_context(|context| settings.rate(context.fraction()));
            with_context(|context| judge.value.step(batch.obs(), rate, context, fit).unwrap());
            let (now, next) = (judge.value.values(batch.obs()), judge.value.values(batch.next_obs()));
            assert_ne!(before, now);
            let targets: Vec<f32> = (0..ROWS).map(|row| batch.reward[row] + batch.discount[row] * next[row]).collect();
            let online = both(&judge.critics, Asked::Online, batch, false, &batch.action);
            let found = reported(&mut seen);
            close(metric(&found, "value_loss"), fit(&before).loss, "value_loss");
            close(metric(&found, "critic_loss"), squares(&online, &targets), "critic_loss");
            let advantages: Vec<f32> = q.iter().zip(&now).map(|(q, v)| q - v).collect();
            close(metric(&found, "advantage_mean"), mean(advantages.iter().copied()), "advantage_mean");
            close(metric(&found, "weight_mean"), mean(advantages.iter().map(|a| (0.7 * a).exp())), "weight_mean");
            close(metric(&found, "q_data_mean"), mean(online.iter().flatten().copied()), "q_data_mean");
            let off = online.iter().flat_map(|q| q.iter().zip(&targets).map(|(q, y)| (q - y).abs()));
            close(metric(&found, "td_error"), mean(off), "td_error");
        }
    }
}

#[test]
fn large_errors_of_critics_count_linearly_where_they_are_told_to() {
    let config = |critic_huber| RegressionConfig { critic_huber, critic_loss_coef: 1.0, ..presets::xql() };
    let [mut cut, mut whole] = [Some(0.01), None].map(|huber| {
        let [setup, _] = vector_and_image(&box_actions());
        let critics = Critics::new(&small(config(huber)), &setup, &mut setup.rng("init")).unwrap();
        (critics, batch(&setup, ROWS))
    });
    let (critics, batch) = &mut cut;
    let q = both(critics, Asked::Online, batch, false, &batch.action);
    let far = vec![5.0; ROWS];
    let step = with_context(|context| critics.step(batch, &far, 1e-3, context).unwrap());
    let linear = |q: &f32| 0.01 * (5.0 - q) - 0.5 * 0.01 * 0.01;
    close(step.loss, 2.0 * mean(q.iter().flatten().map(linear)), "beyond the edge");
    let (critics, batch) = &mut whole;
    let step = with_context(|context| critics.step(batch, &far, 1e-3, context).unwrap());
    close(step.loss, 0.5 * squares(&q, &far), "half the squares");
}

#[test]
fn targets_ask_the_policy_and_the_slow_critics_about_what_comes_next() {
    let config = RegressionConfig { beta: 0.5, ..presets::awac() };
    let mut seen = parts(config.clone(), &box_actions(), ByPolicy::new);
    let Parts { judge, batch, imitator } = &mut parts(config, &box_actions(), ByPolicy::new);
    let (targets, advantages) = with_context(|context| {
        let mut next = vec![0.0; batch.action.len()];
        imitator.policy.sample(ActInput::of(batch.next_obs()), context.rng, &mut next);
        let q = lower(&both(&judge.critics, Asked::Target, batch, true, &next));
        let targets: Vec<f32> = (0..ROWS).map(|row| batch.reward[row] + batch.discount[row] * q[row]).collect();
        let rate = imitator.config.rate(context.fraction());
        let before = both(&judge.critics, Asked::Online, batch, false, &batch.action);
        judge.critics.step(batch, &targets, rate, context).unwrap();
        // After the step.
        let mut own = vec![0.0; batch.action.len()];
        imitator.policy.sample(ActInput::of(batch.obs()), context.rng, &mut own);
        let recorded = lower(&both(&judge.critics, Asked::Online, batch, false, &batch.action));
        let drawn = lower(&both(&judge.critics, Asked::Online, batch, false, &own));
        (squares(&before, &targets), recorded.iter().zip(drawn).map(|(q, own)| q - own).collect::<Vec<f32>>())
    });
    let found = reported(&mut seen);
    close(metric(&found, "critic_loss"), targets, "critic_loss");
    close(metric(&found, "advantage_mean"), mean(advantages.iter().copied()), "advantage_mean");
    close(metric(&found, "weight_mean"), mean(advantages.iter().map(|a| (0.5 * a).exp())), "weight_mean");
    close(metric(&found, "weight_max"), advantages.iter().map(|a| (0.5 * a).exp()).fold(0.0, f32::max), "weight_max");
}

#[test]
fn several_draws_are_averaged_or_the_best_of_them_taken() {
    let config = |advantage| RegressionConfig { advantage, n_action_samples: 3, ..presets::crr() };
    let [average, best] = [AdvantageKind::PolicyMean, AdvantageKind::PolicyMax].map(|advantage| {
        let Parts { judge, batch, imitator } = parts(config(advantage), &box_actions(), ByPolicy::new);
        let found = judge.advantages(&batch, &imitator, &mut stream(1, "draws"));
        let mut drawn = vec![0.0; 3 * batch.action.len()];
        imitator.policy.sample(ActInput::of(batch.obs()), &mut stream(1, "draws"), &mut drawn);
        let q = |actions: &[f32]| judge.critics.lowest(Asked::Online, batch.obs(), actions);
        let own: Vec<Vec<f32>> = drawn.chunks(batch.action.len()).map(q).collect();
        let recorded = q(&batch.action);
        let usual = |row: usize| match advantage {
            AdvantageKind::PolicyMean => mean(own.iter().map(|q| q[row])),
            _ => own.iter().map(|q| q[row]).fold(f32::NEG_INFINITY, f32::max),
        };
        for (row, value) in found.values.iter().enumerate() {
            close(*value, recorded[row] - usual(row), "advantage");
        }
        close(found.of_policy, mean(own.iter().flatten().copied()), "of the policy");
        found.values
    });
    // Each judge learned by its own advantages, so only the direction can be compared.
    assert_ne!(average, best);
}

#[test]
fn critics_before_their_step_judge_otherwise_than_after() {
    let actors = [true, false].map(|advantage_before_update| {
        let config = RegressionConfig { advantage_before_update, ..presets::crr() };
        let mut parts = parts(config, &box_actions(), ByPolicy::new);
        let before = parts.judge.advantages(&parts.batch, &parts.imitator, &mut stream(2, "draws")).of_policy;
        let found = reported(&mut parts);
        let after = parts.judge.advantages(&parts.batch, &parts.imitator, &mut stream(2, "draws")).of_policy;
        assert_ne!(before, after);
        metric(&found, "advantage_mean")
    });
    assert_ne!(actors[0], actors[1]);
}

#[test]
fn copies_are_made_at_their_interval_and_whole() {
    let [setup, _] = vector_and_image(&box_actions());
    let config = RegressionConfig { target_update_interval: 3, ..small(presets::crr()) };
    let (mut learner, batch) = (learner(config, &setup), batch(&setup, ROWS));
    for number in 1..=7 {
        let found = changed(&mut learner, |learner| drop(update(learner, &batch, number)));
        let all = tensors(&mut learner);
        let copied = all
            .keys()
            .filter(|name| name.contains("_target"))
            .all(|name| all[name] == all[&name.replace("_target", "")]);
        let due = number % 3 == 0;
        assert_eq!(copied, due, "{number}");
        let targets: Vec<&String> = found.iter().filter(|name| name.contains("_target")).collect();
        assert_eq!(targets, if due { vec!["actor_target", "critic_target", "log_std_target"] } else { vec![] });
    }
}

#[test]
fn slow_critics_follow_by_tau() {
    for preset in [presets::iql(), presets::awac()] {
        let [setup, _] = vector_and_image(&box_actions());
        let mut learner = learner(small(preset), &setup);
        crate::testing::follows(&mut learner, &batch(&setup, ROWS), "critic", "critic_target", 0.005);
    }
}

#[test]
fn a_critic_of_choices_learns_of_the_one_that_was_made() {
    let [setup, _] = vector_and_image(&Space::Discrete { n: 3 });
    let mut critics = Critics::new(&small(presets::iql()), &setup, &mut setup.rng("init")).unwrap();
    let mut batch = batch(&setup, ROWS);
    batch.action.fill(1.0);
    let of = |critics: &Critics, action: f32| critics.all(Asked::Online, batch.obs(), &[action; ROWS]);
    let before = [0.0, 1.0, 2.0].map(|action| of(&critics, action));
    // With the hidden layer left alone only the outputs of the choice that was made would move: its bias tells.
    let bias = |critics: &mut Critics| {
        let mut saved = Snapshot::default();
        critics.visit_state(&mut StateIo::save(&mut saved, None)).unwrap();
        let of = |member: usize| saved.training.tensors[&format!("critic.{member}.1.bias")].values.clone();
        [of(0), of(1)].concat()
    };
    let old = bias(&mut critics);
    with_context(|context| critics.step(&batch, &[9.0; ROWS], 1e-2, context).unwrap());
    let new = bias(&mut critics);
    let moved: Vec<bool> = old.iter().zip(&new).map(|(a, b)| a != b).collect();
    assert_eq!(moved, [false, true, false, false, true, false]);
    assert!(mean(of(&critics, 1.0).into_iter()) > mean(before[1].iter().copied()));
}

#[test]
fn what_an_observation_is_worth_is_what_the_best_action_is_worth() {
    let [setup, _] = vector_and_image(&box_actions());
    let (setup, batch) = with_data(&setup);
    for (preset, thinks) in
        [(presets::bc(), false), (presets::iql(), true), (presets::awac(), true), (presets::marwil(), true)]
    {
        let mut values = vec![9.0; ROWS];
        assert_eq!(learner(small(preset), &setup).values(ActInput::of(batch.obs()), &mut values), thinks);
        assert_eq!(values[0] != 9.0, thinks);
    }
    let Parts { judge, batch, imitator } = parts(presets::iql(), &box_actions(), InSample::new);
    let best = imitator.best(ActInput::of(batch.obs()));
    assert_eq!(judge.values(batch.obs(), &best), judge.critics.lowest(Asked::Online, batch.obs(), &best));
}

#[test]
fn softmax_weights_average_to_one_in_an_update() {
    let config = RegressionConfig { weight: WeightKind::Softmax, beta: 4.0, ..presets::awac() };
    let found = reported(&mut parts(config, &box_actions(), ByPolicy::new));
    close(metric(&found, "weight_mean"), 1.0, "weight_mean");
    assert!(metric(&found, "weight_max") > 1.0);
}
