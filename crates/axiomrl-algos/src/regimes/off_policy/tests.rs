use super::*;
use crate::by_hand::{Handed, Transitions};
use crate::parts::statistics::ObsScaling;
use crate::q_learning::{Dqn, DqnConfig};
use crate::regimes::Learner;
use crate::registry::Algorithm;
use crate::state::Snapshot;
use axiomrl_envs::{BoxSpace, ObsBuf, Space, Spaces};

fn config() -> DqnConfig {
    DqnConfig { hidden_sizes: vec![8], batch_size: 4, buffer_capacity: 100, learning_starts: 0, ..DqnConfig::default() }
}

/// One number is seen, one of two choices is made.
fn setup(lanes: usize) -> Setup {
    let spaces = Spaces::new(Space::Box(BoxSpace::uniform(1, -99.0, 99.0)), Space::Discrete { n: 2 });
    Setup { num_envs: lanes, total: 100, ..Setup::new(spaces) }
}

/// An agent whose environments show 0.
fn agent(config: DqnConfig, setup: &Setup) -> OffPolicy {
    let Learner::OffPolicy(learner, settings) = Dqn::build(config, setup).unwrap() else { panic!("it is off-policy") };
    let mut agent = OffPolicy::new(learner, settings, setup).unwrap();
    agent.restarted(0..setup.num_envs, &VecState::new(&setup.spaces, setup.num_envs)).unwrap();
    agent
}

fn column(setup: &Setup, seen: &[f32]) -> ObsBuf {
    let mut obs = ObsBuf::zeros(setup.spaces.obs().widths, seen.len());
    obs.floats = seen.to_vec();
    obs
}

/// Steps from one number to another, each with the former as its reward; true ends the world, false the clock.
fn steps(setup: &Setup, from_to: &[(f32, f32, Option<bool>)]) -> Transitions {
    let (from, to): (Vec<f32>, Vec<f32>) = from_to.iter().map(|step| (step.0, step.1)).unzip();
    Transitions {
        obs: column(setup, &from),
        next_obs: column(setup, &to),
        action: vec![1.0; from.len()],
        reward: from,
        terminated: from_to.iter().map(|step| step.2 == Some(true)).collect(),
        truncated: from_to.iter().map(|step| step.2 == Some(false)).collect(),
        ..Transitions::default()
    }
}

/// The different steps that are stored.
fn stored(agent: &OffPolicy) -> Vec<(f32, f32, Option<bool>)> {
    let drawn = agent.sample(500, &mut axiomrl_core::stream(1, "test")).unwrap();
    let end = |row: usize| match (drawn.terminated[row], drawn.truncated[row]) {
        (false, false) => None,
        (terminated, _) => Some(terminated),
    };
    let mut found: Vec<_> = (0..500).map(|row| (drawn.obs.floats[row], drawn.next_obs.floats[row], end(row))).collect();
    found.sort_by(|a, b| a.partial_cmp(b).unwrap());
    found.dedup();
    found
}

#[test]
fn what_is_added_is_what_is_drawn() {
    let setup = setup(1);
    let mut agent = agent(config(), &setup);
    assert!(matches!(agent.sample(1, &mut axiomrl_core::stream(1, "test")), Err(Refused::NotYet(_))));
    let given = [(1.0, 2.0, None), (2.0, 3.0, Some(true)), (5.0, 6.0, Some(false)), (7.0, 8.0, None)];
    agent.add(&steps(&setup, &given)).unwrap();
    assert_eq!((stored(&agent), agent.len()), (given.to_vec(), 4));
    let drawn = agent.sample(7, &mut axiomrl_core::stream(2, "test")).unwrap();
    assert_eq!((drawn.reward, drawn.action), (drawn.obs.floats, vec![1.0; 7]));
    // A mistake in the last row: nothing is stored.
    let mut wrong = steps(&setup, &given);
    wrong.action[3] = 2.0;
    assert!(matches!(agent.add(&wrong), Err(Refused::Rows(problem)) if problem.contains("row 3")));
    assert_eq!(agent.len(), 4);
}

#[test]
fn the_agents_own_episode_is_cut_off_and_goes_on() {
    let setup = setup(1);
    let mut agent = agent(config(), &setup);
    let mut state = VecState::new(&setup.spaces, 1);
    let mut step = |agent: &mut OffPolicy, seen: f32| {
        (state.obs.floats[0], state.reward[0]) = (seen, 1.0);
        agent.observe(0..1, &[0.0], &state).unwrap();
    };
    step(&mut agent, 10.0);
    agent.add(&steps(&setup, &[(1.0, 2.0, None)])).unwrap();
    agent.add(&steps(&setup, &[(2.0, 3.0, None)])).unwrap();
    step(&mut agent, 11.0);
    step(&mut agent, 12.0);
    let cut = Some(false);
    let expected = [(0.0, 10.0, cut), (1.0, 2.0, None), (2.0, 3.0, cut), (10.0, 11.0, None), (11.0, 12.0, None)];
    assert_eq!(stored(&agent), expected);
}

#[test]
fn windows_reach_over_steps_that_were_added_one_by_one() {
    let setup = setup(2);
    let mut agent = agent(DqnConfig { n_step: 3, gamma: 0.5, ..config() }, &setup);
    // Two environments by turns.
    for (a, b) in [(1.0, 10.0), (2.0, 20.0), (3.0, 30.0)] {
        let ends = (a == 3.0).then_some(true);
        agent.add(&steps(&setup, &[(a, a + 1.0, ends), (b, b + 10.0, ends)])).unwrap();
    }
    assert_eq!((agent.real.store.len(), agent.real.ready()), (6, 6));
    assert_eq!((agent.real.store.episodes(0).count(), agent.real.store.episodes(1).count()), (1, 1));
    let mut metrics = Metrics::default();
    let clock = Clock { total: 100, ..Clock::default() };
    agent.check_spare_update(clock).unwrap();
    let mut sums = Vec::new();
    for _ in 0..30 {
        agent.update(clock, &mut metrics).unwrap();
        sums.extend_from_slice(&agent.batch.reward);
    }
    sums.sort_by(f32::total_cmp);
    sums.dedup();
    // 3, 2 + 3/2, 1 + 2/2 + 3/4, and ten times that.
    assert_eq!(sums, [2.75, 3.0, 3.5, 27.5, 30.0, 35.0]);
}

#[test]
fn rows_that_are_handed_over_are_brought_to_scale_like_stored_ones() {
    let reward = RewardScale { scale: 2.0, shift: 0.0, clip: None };
    let setup = Setup { scaling: ObsScaling::Running, reward, ..setup(1) };
    let mut agent = agent(DqnConfig { gamma: 0.5, ..config() }, &setup);
    agent.add(&steps(&setup, &[(1.0, 2.0, Some(true)), (4.0, 5.0, None)])).unwrap();
    let rows = steps(&setup, &[(1.0, 2.0, Some(true)), (4.0, 5.0, None)]);
    let (clock, mut metrics) = (Clock { total: 100, ..Clock::default() }, Metrics::default());
    let before = agent.pace.clone();
    agent.learn(&Handed { rows: rows.clone(), ..Handed::default() }, clock, &mut metrics).unwrap();
    let mut scaled = vec![1.0, 4.0, 2.0, 5.0];
    agent.acting.stats.as_ref().unwrap().scale(&mut scaled, 1);
    assert_eq!((agent.batch.obs.floats.clone(), agent.batch.reward.clone()), (scaled, vec![2.0, 8.0]));
    assert_eq!((agent.batch.discount.clone(), agent.batch.weight.clone()), (vec![0.0, 0.5], vec![1.0; 2]));
    let given = Handed { rows, discount: Some(vec![0.9, 0.25]), weight: Some(vec![0.5, 1.0]) };
    agent.learn(&given, clock, &mut metrics).unwrap();
    // The world's end is no matter of opinion.
    assert_eq!((agent.batch.discount.clone(), agent.batch.weight.clone()), (vec![0.0, 0.25], vec![0.5, 1.0]));
    assert!(metrics.take().iter().any(|(name, _)| name.contains("loss")));
    assert_eq!(format!("{:?}", agent.pace), format!("{before:?}"), "nothing was called for");
    // The next update draws again.
    agent.update(clock, &mut metrics).unwrap();
    assert_eq!(agent.batch.rows, 4);
}

#[test]
fn stacked_frames_come_in_order_or_not_at_all() {
    let image = BoxSpace { frames: 2, ..BoxSpace::image(12, 12, 2) };
    let spaces = Spaces::new(Space::Box(image), Space::Discrete { n: 2 });
    let setup = Setup { spaces, ..setup(1) };
    let mut agent = agent(config(), &setup);
    // Two frames, pixel by pixel, each of one shade.
    let stack = |shades: &[[u8; 2]]| {
        let mut obs = ObsBuf::zeros(setup.spaces.obs().widths, shades.len());
        obs.bytes = shades.iter().flat_map(|shades| shades.repeat(144)).collect();
        obs
    };
    let step = |from: [u8; 2], to: [u8; 2]| Transitions {
        obs: stack(&[from]),
        next_obs: stack(&[to]),
        action: vec![0.0],
        reward: vec![1.0],
        terminated: vec![false],
        truncated: vec![false],
        ..Transitions::default()
    };
    agent.add(&step([1, 1], [1, 2])).unwrap();
    agent.add(&step([1, 2], [2, 3])).unwrap();
    let drawn = agent.sample(50, &mut axiomrl_core::stream(1, "test")).unwrap();
    assert!((0..50).any(|row| drawn.obs.row(row) == stack(&[[1, 2]]).row(0)));
    for wrong in [step([7, 8], [8, 9]), step([2, 3], [4, 5])] {
        assert!(matches!(agent.add(&wrong), Err(Refused::Rows(problem)) if problem.contains("in order")));
    }
    assert_eq!(agent.len(), 2);
    // An episode of the agent's own could not show its older frames after an interruption.
    agent.take_back();
    let state = VecState::new(&setup.spaces, 1);
    agent.observe(0..1, &[0.0], &state).unwrap();
    assert!(matches!(agent.add(&step([1, 1], [1, 2])), Err(Refused::NotYet(_))));
}

#[test]
fn whoever_saves_goes_on_as_whoever_resumes_does() {
    let setup = setup(1);
    let mut saved = agent(config(), &setup);
    saved.add(&steps(&setup, &[(1.0, 2.0, None)])).unwrap();
    saved.visit_state(&mut StateIo::save(&mut Snapshot::default(), None)).unwrap();
    assert!(saved.lent.iter().all(Option::is_none));
    saved.add(&steps(&setup, &[(2.0, 3.0, None)])).unwrap();
    assert_eq!(stored(&saved), [(1.0, 2.0, Some(false)), (2.0, 3.0, None)]);
}

#[test]
fn what_does_not_go_is_said() {
    let setup = setup(1);
    let recurrent =
        DqnConfig { memory: crate::parts::torso::MemoryKind::Lstm, sequence_length: 4, overlap: Some(0), ..config() };
    let mut agent = agent(recurrent, &setup);
    let rows = steps(&setup, &[(1.0, 2.0, None)]);
    agent.add(&rows).unwrap();
    let refused = agent.learn(&Handed { rows, ..Handed::default() }, Clock::default(), &mut Metrics::default());
    assert!(
        matches!(refused, Err(LearnError::Refused(Refused::Unsupported(problem))) if problem.contains("sequences"))
    );
    assert!(matches!(agent.check_spare_update(Clock::default()), Err(Refused::NotYet(_))));
}
