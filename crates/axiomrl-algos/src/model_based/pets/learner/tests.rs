//! What the planner learns, remembers and needs.

use super::*;
use crate::model_based::Termination;
use crate::model_based::testing::random;
use crate::policy::{Memory, Mode};
use crate::state::Snapshot;
use crate::testing::{changed, with_context};
use axiomrl_core::stream;
use axiomrl_envs::{BoxSpace, ObsRef, RowRules, Space, Spaces};

fn setup() -> Setup {
    let spaces = Spaces::new(Space::Box(BoxSpace::uniform(3, -8.0, 8.0)), Space::Box(BoxSpace::uniform(1, -2.0, 2.0)));
    let rules = RowRules::shared(|obs: &[f32], _: &[f32], _: &[f32]| (obs[0], false), |_| {});
    Setup { seed: 3, rules, to_train: true, ..Setup::new(spaces) }
}

fn config() -> PetsConfig {
    PetsConfig {
        model_hidden_sizes: vec![8],
        learning_starts: 5,
        model_epochs: 1,
        reward: RewardSource::Known,
        termination: Termination::Auto,
        planning_horizon: 4,
        planning_candidates: 12,
        plan_elites: 3,
        planning_iterations: 2,
        planning_particles: 5,
        ..PetsConfig::default()
    }
}

fn fitted(config: PetsConfig) -> PetsLearner {
    let mut learner = PetsLearner::new(config, &setup());
    let store = random(60);
    let given = Preparation { store: &store, stats: None };
    let now = with_context(|context| context.clock);
    assert!(learner.prepares(now));
    while learner.prepares(now) {
        with_context(|context| learner.prepare(given, context).unwrap());
    }
    learner
}

fn act(learner: &mut PetsLearner, memory: &mut Memory) -> Result<f32, LearnError> {
    let (obs, mut action) = ([1.0, 0.0, 0.5], [9.0]);
    let input = ActInput::of(ObsRef::of_floats(1, &obs));
    learner.act(input, ActContext::new(memory, Mode::Best, &mut stream(4, "act")), &mut action)?;
    Ok(action[0])
}

#[test]
fn the_model_learns_after_every_episode_and_steps_count_as_updates() {
    let mut learner = fitted(config());
    let now = with_context(|context| context.clock);
    assert!(learner.ready && !learner.prepares(now));
    learner.episode_ended(0);
    assert!(learner.prepares(now));
    let store = random(60);
    let given = Preparation { store: &store, stats: None };
    let step = |learner: &mut PetsLearner| with_context(|context| learner.prepare(given, context).unwrap());
    assert_eq!(step(&mut learner), 0, "a fit begins");
    let moved = changed(&mut learner, |learner| assert_eq!(step(learner), 1));
    assert!(moved.contains(&"model".to_owned()), "{moved:?}");
}

#[test]
fn a_plan_is_the_memory_of_its_episode() {
    let mut learner = fitted(config());
    let mut memory = Memory::new(1, learner.memory_width());
    assert_eq!(memory.width(), 4);
    let first = act(&mut learner, &mut memory).unwrap();
    assert!((-1.0..=1.0).contains(&first));
    assert!(memory.state[..3].iter().any(|x| *x != 0.0) && memory.state[3] == 0.0, "{:?}", memory.state);
    let goes_on = act(&mut learner, &mut memory.clone()).unwrap();
    let afresh = act(&mut learner, &mut Memory::new(1, 4)).unwrap();
    assert!(afresh == first && goes_on != first, "{first} {goes_on} {afresh}");
}

#[test]
fn before_the_first_fit_there_is_no_plan() {
    let mut learner = PetsLearner::new(config(), &setup());
    let mut memory = Memory::new(1, 4);
    assert_eq!((act(&mut learner, &mut memory).unwrap(), &memory.state[..]), (0.0, &[0.0; 4][..]));
}

#[test]
fn a_loaded_policy_plans_alike_and_asks_for_rules_where_it_needs_them() {
    for reward in [RewardSource::Known, RewardSource::Learned] {
        let config = PetsConfig { reward, ..config() };
        let mut learner = fitted(config.clone());
        let mut saved = Snapshot::default();
        learner.visit_policy(&mut StateIo::save(&mut saved, None)).unwrap();
        let blank = Setup { rules: None, to_train: false, ..setup() };
        let mut loaded = PetsLearner::new(config, &blank);
        loaded.visit_policy(&mut StateIo::load(&saved, None)).unwrap();
        let refused = act(&mut loaded, &mut Memory::new(1, 4)).err().map(|error| error.to_string());
        assert_eq!(
            refused.as_ref().is_some_and(|told| told.contains("reward: learned")),
            reward == RewardSource::Known
        );
        loaded.know_rules(setup().rules);
        assert_eq!(
            act(&mut loaded, &mut Memory::new(1, 4)).unwrap(),
            act(&mut learner, &mut Memory::new(1, 4)).unwrap()
        );
    }
}

#[test]
fn both_kinds_of_propagation_plan() {
    let ts_inf = act(&mut fitted(config()), &mut Memory::new(1, 4)).unwrap();
    let ts1 = PetsConfig { propagation: Propagation::Ts1, ..config() };
    assert_ne!(act(&mut fitted(ts1), &mut Memory::new(1, 4)).unwrap(), ts_inf);
}
