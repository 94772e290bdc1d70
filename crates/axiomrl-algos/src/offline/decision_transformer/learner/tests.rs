//! Formulas on numbers by hand, and one update and one episode seen from outside.

use super::*;
use crate::offline::decision_transformer::DecisionTransformer;
use crate::registry::Algorithm;
use crate::state::Snapshot;
use crate::testing::{changed, tensors, update, with_context};
use axiomrl_core::{Dataset, DatasetBuilder, Episode, RewardScale, Schedule, stream};
use axiomrl_envs::{BoxSpace, Spaces};
use rand::RngExt;

const CHOICE: Space = Space::Discrete { n: 3 };

fn numbers() -> Space {
    Space::Box(BoxSpace::uniform(2, -1.0, 1.0))
}

/// Episodes of noise with these rewards.
fn data(action: &Space, episodes: &[&[f32]]) -> Dataset {
    let mut rng = stream(7, "data");
    let mut builder = DatasetBuilder::new(spaces(action)).unwrap();
    for reward in episodes {
        let n = reward.len();
        let obs: Vec<f32> = (0..2 * (n + 1)).map(|_| rng.random_range(-1.0..1.0)).collect();
        let action: Vec<f32> = match action {
            Space::Discrete { n: choices } => (0..n).map(|_| rng.random_range(0..*choices) as f32).collect(),
            _ => (0..2 * n).map(|_| rng.random_range(-1.0..1.0)).collect(),
        };
        let (mut terminated, truncated) = (vec![false; n], vec![false; n]);
        terminated[n - 1] = true;
        let obs = ObsRef::of_floats(n + 1, &obs);
        let (masks, terminated, truncated) = (&[][..], &terminated[..], &truncated[..]);
        builder.push(&Episode { obs, masks, action: &action, reward, terminated, truncated }).unwrap();
    }
    builder.build().unwrap()
}

fn spaces(action: &Space) -> Spaces {
    Spaces::new(Space::Box(BoxSpace::uniform(2, -1.0, 1.0)), action.clone())
}

fn small() -> DecisionTransformerConfig {
    DecisionTransformerConfig {
        context_length: 4,
        embed_dim: 8,
        n_layers: 2,
        max_timestep: 6,
        dropout: 0.0,
        ..DecisionTransformerConfig::default()
    }
}

fn setup(action: &Space, episodes: &[&[f32]]) -> Setup {
    Setup { prior: Some(data(action, episodes)), seed: 3, total: 100, ..Setup::new(spaces(action)) }
}

const EPISODES: &[&[f32]] = &[&[1.0, 2.0, 3.0, 0.5, 1.0], &[2.0, 1.0], &[1.0, 0.0, 4.0, 1.0, 1.0, 2.0, 3.0, 1.0]];

fn learner_with(action: &Space, config: DecisionTransformerConfig) -> DecisionTransformerLearner {
    let mut learner = DecisionTransformerLearner::new(config, &setup(action, EPISODES)).unwrap();
    // Weights as small as those of the start would let every output be about the same.
    for (at, params) in learner.model.params().into_iter().enumerate() {
        let mut rng = stream(at as u64, "weights");
        params.make_mut().iter_mut().for_each(|p| *p += rng.random_range(-0.4..0.4));
    }
    learner
}

fn learner(action: &Space) -> DecisionTransformerLearner {
    learner_with(action, small())
}

fn batch(learner: &mut DecisionTransformerLearner, starts: &[u64]) -> Batch {
    let mut batch = Batch::default();
    learner.windows.as_mut().unwrap().gather(starts, &mut batch).unwrap();
    batch
}

/// What the head says of every state.
fn outputs(learner: &DecisionTransformerLearner, steps: &Steps) -> Vec<f32> {
    let mut seen = Vec::new();
    learner.model.pass(steps, None, |outputs| {
        seen = outputs.to_vec();
        (0.0, vec![0.0; outputs.len()])
    });
    seen
}

#[test]
fn returns_go_on_to_the_end_of_the_episode_and_are_brought_to_scale() {
    let config = DecisionTransformerConfig { return_scale: Some(10.0), context_length: 2, ..small() };
    let setup = setup(&CHOICE, &[&[1.0, 2.0, 3.0], &[7.0]]);
    let mut learner = DecisionTransformerLearner::new(config, &setup).unwrap();
    let batch = batch(&mut learner, &[0, 2, 1, 3]);
    let (steps, _) = learner.steps(&batch);
    // 6, 5, 3 over 10. A window ends with its episode, and its returns do not end with the window.
    assert_eq!(steps.lengths, [2, 1, 2, 1]);
    assert_eq!(steps.returns, [0.6, 0.5, 0.3, 0.5, 0.3, 0.7]);
    assert_eq!(steps.times, [0, 1, 2, 1, 2, 0]);
    assert_eq!(batch.index, [0, 2, 1, 3]);
}

#[test]
fn without_a_target_and_a_scale_those_of_the_data_are_taken() {
    let history = |episodes: &[&[f32]], config| {
        DecisionTransformerLearner::new(config, &setup(&CHOICE, episodes)).unwrap().history
    };
    let found = history(&[&[1.0, 2.0, 3.0], &[20.0, -10.0]], small());
    assert_eq!((found.target, found.scale), (10.0, 2.0));
    let found = history(&[&[-60.0], &[-50.0, -50.0]], small());
    assert_eq!((found.target, found.scale), (-60.0, 20.0));
    assert_eq!(history(&[&[0.0]], small()).scale, 1.0);
    let told = DecisionTransformerConfig { target_return: Some(7.0), return_scale: Some(3.0), ..small() };
    let found = history(&[&[1.0]], told);
    assert_eq!((found.target, found.scale), (7.0, 3.0));
}

#[test]
fn every_transition_begins_a_window_as_often() {
    let mut learner = learner(&CHOICE);
    let (mut rng, mut batch, mut counts) = (stream(1, "store"), Batch::default(), [0; 15]);
    for _ in 0..100 {
        learner.windows.as_mut().unwrap().draw(60, &mut rng, &mut batch).unwrap();
        batch.index.iter().for_each(|&start| counts[start as usize] += 1);
    }
    // 400 of each, with a deviation of about 19.
    assert!(counts.iter().all(|count| (300..=500).contains(count)), "{counts:?}");
}

#[test]
fn the_losses_by_hand() {
    let (value, gradient) = Actions::Numbers(2).loss(&[0.5, -0.5, 1.0, 0.0], &[1.0, 0.0, 1.0, 0.0]);
    assert_eq!((value, gradient), (0.125, vec![-0.25, -0.25, 0.0, 0.0]));
    let (value, gradient) = Actions::Choice(2).loss(&[0.0, 3f32.ln(), 0.0, 0.0], &[1.0, 0.0]);
    // (-ln 3/4 - ln 1/2) / 2
    assert!((value - 0.490_415).abs() < 1e-6, "{value}");
    let wanted = [0.125, -0.125, -0.25, 0.25];
    assert!(gradient.iter().zip(wanted).all(|(g, w)| (g - w).abs() < 1e-6), "{gradient:?}");
}

#[test]
fn a_prediction_knows_what_came_before_its_action_and_nothing_later() {
    for action in [CHOICE, numbers()] {
        let mut learner = learner(&action);
        let width = learner.actions.width();
        let batch = batch(&mut learner, &[7, 0]);
        let (steps, _) = learner.steps(&batch);
        let before = outputs(&learner, &steps);
        let differs = |change: &dyn Fn(&mut Steps)| {
            let mut other = steps.clone();
            change(&mut other);
            let after = outputs(&learner, &other);
            let rows = before.chunks_exact(width).zip(after.chunks_exact(width));
            rows.map(|(a, b)| a != b).collect::<Vec<bool>>()
        };
        // Steps 1 of 4 in the first window; the second window must not notice.
        let rest = [false; 4];
        let of_action = differs(&|steps| steps.actions[width] += 1.0);
        assert_eq!(of_action, [&[false, false, true, true][..], &rest].concat());
        let of_state = differs(&|steps| steps.obs[2] += 1.0);
        assert_eq!(of_state, [&[false, true, true, true][..], &rest].concat());
        let of_return = differs(&|steps| steps.returns[1] += 1.0);
        assert_eq!(of_return, [&[false, true, true, true][..], &rest].concat());
        let of_time = differs(&|steps| steps.times[1] = 5);
        assert_eq!(of_time, [&[false, true, true, true][..], &rest].concat());
        // The action of the last step is the one to be told.
        assert_eq!(differs(&|steps| steps.actions[3 * width] += 1.0), [false; 8]);
    }
}

#[test]
fn later_steps_than_there_are_numbers_for_share_the_last() {
    let mut learner = learner(&CHOICE);
    let batch = batch(&mut learner, &[13]);
    let (mut steps, _) = learner.steps(&batch);
    steps.times = vec![5, 5];
    let clipped = outputs(&learner, &steps);
    steps.times = vec![5, 1000];
    assert_eq!(outputs(&learner, &steps), clipped);
    steps.times = vec![4, 5];
    assert_ne!(outputs(&learner, &steps), clipped);
}

#[test]
fn what_fills_up_a_batch_is_not_learned_from() {
    for action in [CHOICE, numbers()] {
        // Windows of four, two and one step.
        let learned = |spoil: &dyn Fn(&mut Batch)| {
            let mut learner = learner(&action);
            let mut batch = batch(&mut learner, &[0, 5, 14]);
            spoil(&mut batch);
            let (steps, done) = learner.steps(&batch);
            let (loss, _) = learner.model.pass(&steps, None, |outputs| learner.actions.loss(outputs, &done));
            update(&mut learner, &batch);
            (loss, tensors(&mut learner))
        };
        let plain = learned(&|_| {});
        let noise = learned(&|batch| {
            let (rows, width) = (batch.rows, batch.action.len() / batch.valid.len());
            for at in (0..batch.valid.len()).filter(|&at| !batch.valid[at]).collect::<Vec<_>>() {
                assert!(at >= rows, "every window has a step");
                batch.obs.floats[2 * at..2 * at + 2].fill(9.0);
                batch.action[at * width..(at + 1) * width].fill(1.0);
                batch.extra.iter_mut().for_each(|column| column.values[at] = 5.0);
            }
        });
        assert!(plain == noise, "loss {} and {}", plain.0, noise.0);
        let more = learned(&|batch| {
            let (rows, width) = (batch.rows, batch.action.len() / batch.valid.len());
            batch.steps += 3;
            batch.valid.resize(batch.steps * rows, false);
            batch.action.resize(batch.steps * rows * width, 0.0);
            batch.obs.floats.resize((batch.steps + 1) * rows * 2, 0.0);
            batch.extra.iter_mut().for_each(|column| column.values.resize(batch.steps * rows, 0.0));
        });
        assert!(plain == more, "loss {} and {}", plain.0, more.0);
    }
}

#[test]
fn gradients_match_finite_differences() {
    for action in [CHOICE, numbers()] {
        let mut learner = learner_with(&action, DecisionTransformerConfig { dropout: 0.1, n_heads: 2, ..small() });
        let batch = batch(&mut learner, &[7, 5, 1]);
        let (steps, done) = learner.steps(&batch);
        let kind = learner.actions;
        let (_, gradients) = learner.model.pass(&steps, Some(4), |outputs| kind.loss(outputs, &done));
        for (at, gradient) in gradients.iter().enumerate() {
            let mut rng = stream(at as u64, "direction");
            let along: Vec<f32> = gradient.iter().map(|_| rng.random_range(-1.0..1.0)).collect();
            let mut moved = |by: f32| {
                let before = learner.model.params()[at].as_slice().to_vec();
                let params = learner.model.params().remove(at).make_mut();
                params.iter_mut().zip(&along).for_each(|(p, d)| *p += by * d);
                let (value, _) = learner.model.pass(&steps, Some(4), |outputs| kind.loss(outputs, &done));
                learner.model.params().remove(at).make_mut().copy_from_slice(&before);
                f64::from(value)
            };
            let numeric = (moved(1e-3) - moved(-1e-3)) / 2e-3;
            let exact: f64 = gradient.iter().zip(&along).map(|(g, d)| f64::from(*g) * f64::from(*d)).sum();
            let size = gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
            assert!(size > 1e-3 && (numeric - exact).abs() < 2e-2 * size, "{at}: {numeric} {exact} ({size})");
        }
    }
}

#[test]
fn an_update_changes_every_part_and_dropout_changes_the_update() {
    for action in [CHOICE, numbers()] {
        let mut learner = learner(&action);
        let batch = batch(&mut learner, &[7, 0, 5]);
        let all = ["embed_action", "embed_return", "embed_state", "embed_time", "head", "trunk"];
        assert_eq!(changed(&mut learner, |learner| update(learner, &batch)), all);
        let after = |dropout| {
            let mut learner = learner_with(&action, DecisionTransformerConfig { dropout, ..small() });
            update(&mut learner, &batch);
            tensors(&mut learner)
        };
        assert!(after(0.0) == after(0.0) && after(0.3) == after(0.3) && after(0.0) != after(0.3));
    }
}

/// One update, the second of the run, as changes of every number of a tensor.
fn moved(config: DecisionTransformerConfig, name: &str) -> Vec<(f32, f32)> {
    let mut learner = learner_with(&CHOICE, config);
    let batch = batch(&mut learner, &[7, 0]);
    let before = tensors(&mut learner);
    update(&mut learner, &batch);
    let after = tensors(&mut learner);
    before[name].iter().copied().zip(after[name].iter().copied()).collect()
}

#[test]
fn the_step_size_rises_over_the_warm_up() {
    // Adam's first step is as long as the rate, whatever the gradient.
    let step = |warmup_updates| {
        let config = DecisionTransformerConfig {
            learning_rate: Schedule::Constant(1e-2),
            weight_decay: 0.0,
            warmup_updates,
            ..small()
        };
        moved(config, "head.0.bias").iter().map(|(before, after)| (after - before).abs()).fold(0.0, f32::max)
    };
    assert!((step(Some(1)) - 1e-2).abs() < 1e-5);
    assert!((step(Some(2)) - 1e-2).abs() < 1e-5);
    assert!((step(Some(8)) - 2.5e-3).abs() < 1e-5);
    // A tenth of a run of 100 updates.
    assert!((step(None) - 2e-3).abs() < 1e-5);
    let config = DecisionTransformerConfig::default();
    assert_eq!([0, 50_000, 100_000, 1_000_000].map(|total| config.warm_up(total)), [1, 5_000, 10_000, 10_000]);
}

#[test]
fn the_decay_reaches_all_parameters() {
    let config = |weight_decay| DecisionTransformerConfig {
        learning_rate: Schedule::Constant(1e-2),
        warmup_updates: Some(1),
        weight_decay,
        ..small()
    };
    // No window reaches step 5, so nothing but the decay moves its numbers.
    for (before, after) in &moved(config(0.5), "embed_time")[5 * 8..] {
        assert_eq!(*after, (1.0 - 1e-2 * 0.5) * before);
    }
    assert!(moved(config(0.0), "embed_time")[5 * 8..].iter().all(|(before, after)| before == after));
}

#[test]
fn gradients_are_clipped_as_one() {
    let mut learner = learner_with(&CHOICE, DecisionTransformerConfig { max_grad_norm: 1e-3, ..small() });
    let batch = batch(&mut learner, &[7, 0]);
    update(&mut learner, &batch);
    let mut snapshot = Snapshot::default();
    learner.visit_state(&mut StateIo::save(&mut snapshot, None)).unwrap();
    let moments = snapshot.training.tensors.iter().filter(|(name, _)| name.ends_with(".m"));
    let squares: f64 = moments.flat_map(|(_, m)| &m.values).map(|m| f64::from(*m).powi(2)).sum();
    // The first moment is a tenth of the gradient.
    assert!((squares.sqrt() - 1e-4).abs() < 1e-7, "{}", squares.sqrt());
}

fn act(learner: &mut DecisionTransformerLearner, memory: &mut Memory, obs: &[f32], actions: &mut [f32]) {
    let input = ActInput::of(ObsRef::of_floats(memory.starts.len(), obs));
    learner.act(input, ActContext::new(memory, Mode::Best, &mut stream(1, "act")), actions).unwrap();
}

#[test]
fn acting_continues_what_was_seen_done_and_earned() {
    let config = DecisionTransformerConfig { target_return: Some(5.0), return_scale: Some(10.0), ..small() };
    let mut learner = learner_with(&numbers(), config);
    let mut memory = Memory::new(2, learner.memory_width());
    let mut actions = [0.0; 4];
    let seen = [[0.1, 0.2, -0.3, 0.4], [0.5, -0.6, 0.7, 0.8], [-0.9, 1.0, 0.0, 0.3]];
    // Of the second environment, what was chosen is done; of the first, something else. It also earns, and the second does not.
    let mut chosen = Vec::new();
    for obs in &seen {
        act(&mut learner, &mut memory, obs, &mut actions);
        chosen.push(actions);
        let done = [0.5, -0.5, actions[2], actions[3]];
        learner.feedback(&mut memory, 0..2, &done, &[1.0, 0.0]);
    }
    let steps = Steps {
        lengths: vec![3, 3],
        returns: vec![0.5, 0.4, 0.3, 0.5, 0.5, 0.5],
        obs: [0, 2].iter().flat_map(|&env| seen.iter().flat_map(move |obs| obs[env..env + 2].to_vec())).collect(),
        actions: [
            vec![0.5, -0.5, 0.5, -0.5, 9.0, 9.0],
            chosen[..2].iter().flat_map(|a| a[2..].to_vec()).collect(),
            vec![9.0, 9.0],
        ]
        .concat(),
        times: vec![0, 1, 2, 0, 1, 2],
    };
    // What learning would say of the same steps; the current actions are not looked at.
    let wanted = outputs(&learner, &steps);
    let last: Vec<f32> = [&wanted[4..6], &wanted[10..]].concat();
    assert!(last.iter().zip(&actions).all(|(w, a)| (w - a).abs() < 1e-6), "{last:?} {actions:?}");
    assert!(actions.iter().all(|a| a.abs() < 1.0 && *a != 0.0));
}

#[test]
fn another_target_asks_for_other_actions() {
    let choose = |target| {
        let config = DecisionTransformerConfig { target_return: Some(target), return_scale: Some(1.0), ..small() };
        let mut learner = learner_with(&numbers(), config);
        let (mut memory, mut actions) = (Memory::new(1, learner.memory_width()), [0.0; 2]);
        act(&mut learner, &mut memory, &[0.1, 0.2], &mut actions);
        actions
    };
    assert_ne!(choose(1.0), choose(-1.0));
}

#[test]
fn the_best_choice_is_taken_or_one_is_drawn_and_never_a_forbidden_one() {
    let mut learner = learner(&CHOICE);
    let (rows, mut actions) = (200, vec![0.0; 200]);
    let obs = vec![0.3; 2 * rows];
    let mut choose = |masks: &[bool], mode| {
        let mut memory = Memory::new(rows, learner.memory_width());
        let input = ActInput { obs: ObsRef::of_floats(rows, &obs), masks };
        learner.act(input, ActContext::new(&mut memory, mode, &mut stream(1, "act")), &mut actions).unwrap();
        let mut seen = [0; 3];
        actions.iter().for_each(|a| seen[*a as usize] += 1);
        seen
    };
    let best = choose(&[], Mode::Best);
    let favourite = best.iter().position(|count| *count == rows).expect("rows that are alike");
    let drawn = choose(&[], Mode::Sample);
    assert!(drawn.iter().all(|count| *count > 0 && *count < rows), "{drawn:?}");
    let forbidden: Vec<bool> = (0..3 * rows).map(|at| at % 3 != favourite).collect();
    for mode in [Mode::Best, Mode::Sample] {
        assert_eq!(choose(&forbidden, mode)[favourite], 0);
    }
}

#[test]
fn a_policy_is_saved_with_what_it_measures_returns_by_and_can_be_asked_for_another() {
    let mut trained = learner(&CHOICE);
    let mut saved = Snapshot::default();
    StateIo::save(&mut saved, None).policy(|io| trained.visit_policy(io)).unwrap();
    let loaded = |target_return| {
        let config = DecisionTransformerConfig { target_return, ..small() };
        let blank = Setup { seed: 9, ..Setup::new(spaces(&CHOICE)) };
        let mut learner = DecisionTransformerLearner::new(config, &blank).unwrap();
        StateIo::load(&saved, None).policy(|io| learner.visit_policy(io)).unwrap();
        learner
    };
    let mut same = loaded(None);
    assert_eq!((same.history.target, same.history.scale), (13.0, 13.0 / 5.0));
    assert_eq!((trained.history.target, trained.history.scale), (13.0, 13.0 / 5.0));
    let batch = batch(&mut trained, &[7]);
    let (steps, _) = trained.steps(&batch);
    assert_eq!(outputs(&same, &steps), outputs(&trained, &steps));
    assert_eq!((loaded(Some(2.0)).history.target, loaded(Some(2.0)).history.scale), (2.0, 13.0 / 5.0));
    // Who cannot draw windows says so.
    let (mut rng, mut empty) = (stream(1, "store"), Batch::default());
    let mut options = SampleOptions { rng: &mut rng, beta: 1.0, reward: RewardScale::IDENTITY };
    let mut source = axiomrl_core::View::new(data(&CHOICE, EPISODES), axiomrl_core::Window::steps(1, 1.0), None, None);
    let refused = same.fill(source.as_mut().unwrap(), 2, &mut options, &mut empty).unwrap_err().to_string();
    assert!(refused.contains("give the run a `dataset`"), "{refused}");
}

#[test]
fn a_learner_that_is_loaded_goes_on_bit_for_bit() {
    let config = DecisionTransformerConfig { dropout: 0.2, ..small() };
    let mut first = learner_with(&CHOICE, config.clone());
    let batches = [[7u64, 0, 5], [1, 2, 3], [9, 9, 14]].map(|starts| batch(&mut first, &starts));
    let learn = |learner: &mut DecisionTransformerLearner, batch: &Batch| {
        with_context(|context| learner.update(batch, context).unwrap());
    };
    learn(&mut first, &batches[0]);
    learn(&mut first, &batches[1]);
    let mut saved = Snapshot::default();
    let mut io = StateIo::save(&mut saved, None);
    io.policy(|io| first.visit_policy(io)).unwrap();
    first.visit_state(&mut io).unwrap();
    let mut second = DecisionTransformerLearner::new(config, &setup(&CHOICE, EPISODES)).unwrap();
    let mut io = StateIo::load(&saved, None);
    io.policy(|io| second.visit_policy(io)).unwrap();
    second.visit_state(&mut io).unwrap();
    learn(&mut first, &batches[2]);
    learn(&mut second, &batches[2]);
    assert!(tensors(&mut first) == tensors(&mut second));
}

#[test]
fn what_cannot_work_is_refused_with_the_remedy() {
    let heads = DecisionTransformerConfig { n_heads: 3, ..small() };
    assert!(DecisionTransformer::check(&heads).unwrap_err().to_string().contains("multiple of the heads"));
    let wide = DecisionTransformerConfig { embed_dim: 8192, n_layers: 64, ..small() };
    assert!(DecisionTransformer::check(&wide).unwrap_err().to_string().contains("lower `embed_dim`"));
    let camera = Spaces::new(Space::Box(BoxSpace::image(4, 4, 1)), CHOICE);
    let refused = DecisionTransformer::check_setup(&small(), &Setup::new(camera)).unwrap_err().to_string();
    assert!(refused.contains("does not look at images"), "{refused}");
    let reward = RewardScale { scale: 0.1, ..RewardScale::IDENTITY };
    let scaled = Setup { reward, ..setup(&CHOICE, EPISODES) };
    let refused = DecisionTransformer::check_setup(&small(), &scaled).unwrap_err().to_string();
    assert!(refused.contains("set `return_scale`"), "{refused}");
    assert!(DecisionTransformer::check_setup(&small(), &setup(&CHOICE, EPISODES)).is_ok());
}
