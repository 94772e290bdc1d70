use super::*;
use crate::policy::Memory;
use crate::testing::with_context;
use axiomrl_core::{random, stream};
use axiomrl_envs::{BoxSpace, ObsBuf, Space, Spaces};

fn setup(action: Space) -> Setup {
    Setup { seed: 2, ..Setup::new(Spaces::new(Space::Box(BoxSpace::uniform(2, -1.0, 1.0)), action)) }
}

fn numbers() -> Space {
    Space::Box(BoxSpace::uniform(2, -1.0, 1.0))
}

fn learner(action: Space, ent_coef: f32) -> DaggerLearner {
    let config = DaggerConfig { hidden_sizes: vec![4], ent_coef, ..DaggerConfig::default() };
    let mut learner = DaggerLearner::new(&config, &setup(action)).unwrap();
    let mut rng = stream(3, "net");
    learner.net.params.make_mut().iter_mut().for_each(|w| *w += 0.3 * random::normal(&mut rng));
    learner
}

fn labels(action: &[f32], masks: &[bool]) -> Labels {
    let mut obs = ObsBuf::zeros(setup(numbers()).spaces.obs().widths, 3);
    obs.floats.copy_from_slice(&[0.1, 0.2, -0.5, 0.9, 0.4, -0.8]);
    Labels { rows: 3, obs, masks: masks.to_vec(), action: action.to_vec() }
}

#[test]
fn gradients_agree_with_differences_of_the_loss() {
    let numbers = (numbers(), labels(&[0.1, -0.5, 0.9, 1.0, -1.0, 0.0], &[]));
    let choices =
        (Space::Discrete { n: 3 }, labels(&[0.0, 2.0, 1.0], &[true, true, true, true, false, true, true, true, false]));
    for (space, batch) in [numbers, choices] {
        let mut learner = learner(space, 0.5);
        let Answered { by_net, by_log_std, loss, nll, entropy } = learner.answered(&batch);
        assert!((loss - (nll - 0.5 * entropy)).abs() < 1e-6, "entropy is wanted");
        let by_net = by_net.to_vec();
        for i in 0..by_net.len() + by_log_std.len() {
            let mut moved = |step: f32| {
                let nets = by_net.len();
                let move_by = |learner: &mut DaggerLearner, step: f32| {
                    let params = if i < nets { &mut learner.net.params } else { &mut learner.log_std };
                    params.make_mut()[if i < nets { i } else { i - nets }] += step;
                };
                move_by(&mut learner, step);
                let loss = f64::from(learner.answered(&batch).loss);
                move_by(&mut learner, -step);
                loss
            };
            let numeric = (moved(4e-3) - moved(-4e-3)) / 8e-3;
            let found = by_net.iter().chain(&by_log_std).nth(i).unwrap();
            assert!((numeric - f64::from(*found)).abs() < 3e-3, "{i}: {numeric} {found}");
        }
    }
}

#[test]
fn updates_bring_the_experts_answers_and_no_deviation_vanishes() {
    let batch = labels(&[0.1, -0.5, 0.9, 1.0, -1.0, 0.0], &[]);
    let mut learner = learner(numbers(), 0.0);
    with_context(|context| (0..3000).for_each(|_| learner.update(&batch, context).unwrap()));
    let (mut memory, mut actions) = (Memory::new(3, 0), vec![0.0; 6]);
    let input = ActInput::of(batch.obs.as_ref());
    learner.act(input, ActContext::new(&mut memory, Mode::Best, &mut stream(1, "act")), &mut actions).unwrap();
    assert!(actions.iter().zip(&batch.action).all(|(a, b)| (a - b).abs() < 0.05), "{actions:?}");
    assert!(learner.log_std.as_slice().iter().all(|s| (-5.0..-2.0).contains(s)), "{:?}", learner.log_std.as_slice());
}

#[test]
fn what_acts_is_saved_as_the_policy() {
    let mut snapshot = crate::state::Snapshot::default();
    let mut learner = learner(numbers(), 0.0);
    learner.visit_policy(&mut StateIo::save(&mut snapshot, None)).unwrap();
    assert!(snapshot.training.tensors.keys().any(|name| name == "log_std"));
    assert!(snapshot.training.tensors.keys().any(|name| name.starts_with("policy.")));
}
