use super::trials::Trials;
use super::*;
use crate::parts::statistics::ObsScaling;
use crate::policy::{Memory, Mode};
use crate::population::{ArsConfig, CemConfig, OpenAiEsConfig};
use crate::registry::{Algorithm, Settings};
use crate::testing::{Kept, drive};
use axiomrl_envs::{BoxSpace, ObsRef, Space, Spaces};
use std::sync::{Arc, Mutex};

fn agent<C: Settings>(config: C, setup: &Setup) -> Box<dyn Agent> {
    C::Algorithm::build(config, setup).unwrap().into_agent(setup).unwrap()
}

fn ars() -> ArsConfig {
    ArsConfig { num_directions: 3, num_top_directions: 2, episodes_per_candidate: 2, ..ArsConfig::default() }
}

fn played(env: &str, lanes: usize, stopping: bool) -> Kept {
    drive(env, lanes, 4000, stopping, |setup| agent(ars(), &setup))
}

#[test]
fn the_number_of_environments_changes_nothing_that_is_learned() {
    for env in ["CartPole-v1", "Context-v0"] {
        let alone = played(env, 1, false);
        assert!(alone.value("iteration").as_u64() > Some(1), "{env}");
        for lanes in [2, 5, 40] {
            let together = played(env, lanes, false);
            assert_eq!(together.value("iteration"), alone.value("iteration"), "{env}, {lanes}");
            assert_eq!(together.policy(), alone.policy(), "{env}, {lanes}");
        }
    }
    let network = |lanes| {
        let config = || OpenAiEsConfig { hidden_sizes: vec![16], num_directions: 4, ..OpenAiEsConfig::default() };
        drive("Pendulum-v1", lanes, 5000, false, |setup| agent(config(), &setup))
    };
    assert_eq!(network(1).policy(), network(7).policy());
}

#[test]
fn whoever_stops_after_every_piece_ends_alike() {
    assert_eq!(played("CartPole-v1", 3, true), played("CartPole-v1", 3, false));
    let cem = |stopping| {
        let config = || CemConfig { population: 5, elite_fraction: 0.4, ..CemConfig::default() };
        drive("CartPole-v1", 2, 700, stopping, |setup| agent(config(), &setup))
    };
    assert_eq!(cem(true), cem(false));
    let es = |stopping| {
        let config = || OpenAiEsConfig { hidden_sizes: vec![4], num_directions: 3, ..OpenAiEsConfig::default() };
        drive("CartPole-v1", 4, 700, stopping, |setup| agent(config(), &setup))
    };
    assert_eq!(es(true), es(false));
}

/// Hears what the regime tells.
struct Listening(Arc<Mutex<Vec<f64>>>);

impl Search for Listening {
    fn candidates(&self) -> usize {
        2
    }

    fn candidate(&self, mean: &[f32], _: u64, candidate: usize, params: &mut [f32]) {
        // The second candidate always takes action 1.
        params.copy_from_slice(mean);
        if candidate == 1
            && let Some(bias) = params.last_mut()
        {
            *bias = 1.0;
        }
    }

    fn update(&mut self, _: &mut Params, played: Iteration<'_>, _: &mut UpdateContext<'_>) -> Learned {
        self.0.lock().unwrap().extend(played.scores);
        Ok(())
    }

    fn visit_state(&mut self, _: &mut StateIo<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

fn setup() -> Setup {
    let shown = Space::Box(BoxSpace::uniform(1, -9.0, 9.0));
    Setup { num_envs: 3, seed: 4, ..Setup::new(Spaces::new(shown, Space::Discrete { n: 2 })) }
}

fn listening(settings: PopulationSettings) -> (Population, Arc<Mutex<Vec<f64>>>) {
    let (heard, setup) = (Arc::new(Mutex::new(Vec::new())), setup());
    let init = axiomrl_nn::Init::pytorch();
    let policy = SearchPolicy::new(&[], axiomrl_nn::Activation::Tanh, &init, None, &setup).unwrap();
    let searcher = Searcher { policy, search: Box::new(Listening(heard.clone())) };
    (Population::new(searcher, settings, &setup).unwrap(), heard)
}

const PLAIN: PopulationSettings =
    PopulationSettings { episodes: 2, reward_shift: 0.0, minimize: false, permute_scores: false };

/// Plays the four episodes of an iteration: reward 1 for action 0 and 3 for action 1; they last 1, 2, 3 and 4 steps.
fn iteration(agent: &mut Population) {
    let mut state = VecState::new(&setup().spaces, 3);
    let (mut actions, mut metrics, mut begun) = (vec![9.0; 3], Metrics::default(), 0);
    let (mut lengths, mut steps) = ([0; 3], [0; 3]);
    let clock = Clock { total: 100, ..Clock::default() };
    while agent.need(clock) == Need::Steps {
        for (lane, _) in agent.begins() {
            begun += 1;
            (lengths[lane], steps[lane]) = (begun, 0);
        }
        agent.act(&state, clock, &mut actions).unwrap();
        for lane in (0..3).filter(|&lane| !agent.rests(lane)).collect::<Vec<_>>() {
            steps[lane] += 1;
            state.reward[lane] = 1.0 + 2.0 * actions[lane];
            state.terminated[lane] = steps[lane] == lengths[lane];
            agent.observe(lane..lane + 1, &actions, &state).unwrap();
        }
    }
    assert_eq!(agent.update(clock, &mut metrics).unwrap(), 1);
    let logged = metrics.take();
    let mean = logged.iter().find(|(name, _)| name == "return_mean").unwrap().1;
    assert_eq!(mean, 6.0, "logged returns are as they were");
}

#[test]
fn scores_are_means_over_episodes_and_shifts_are_per_step() {
    let (mut agent, heard) = listening(PLAIN);
    iteration(&mut agent);
    // Episodes of 1 and 2 steps at 1, of 3 and 4 steps at 3.
    assert_eq!(*heard.lock().unwrap(), [1.5, 10.5]);
    let (mut agent, heard) = listening(PopulationSettings { reward_shift: 1.0, ..PLAIN });
    iteration(&mut agent);
    assert_eq!(*heard.lock().unwrap(), [0.0, 7.0]);
    let (mut agent, heard) = listening(PopulationSettings { minimize: true, ..PLAIN });
    iteration(&mut agent);
    assert_eq!(*heard.lock().unwrap(), [-1.5, -10.5]);
}

#[test]
fn permuted_scores_are_the_same_numbers_in_an_order_that_changes() {
    let (mut agent, heard) = listening(PopulationSettings { permute_scores: true, ..PLAIN });
    (0..12).for_each(|_| iteration(&mut agent));
    let heard = heard.lock().unwrap().clone();
    let orders: Vec<&[f64]> = heard.chunks(2).collect();
    assert!(orders.iter().all(|order| **order == [1.5, 10.5] || **order == [10.5, 1.5]));
    let turned = orders.iter().filter(|order| order[0] > order[1]).count();
    assert!((2..=10).contains(&turned), "{turned} of 12");
}

/// A population whose best does well and whose mean does badly is reported by its mean.
#[test]
fn the_policy_is_the_mean_and_never_a_candidate() {
    let (mut agent, _) = listening(PLAIN);
    let mut actions = [9.0; 3];
    agent.begins();
    agent.act(&VecState::new(&setup().spaces, 3), Clock::default(), &mut actions).unwrap();
    assert_eq!(actions, [0.0, 0.0, 1.0], "two episodes of the first candidate, then the second");
    let (mut memory, mut rng) = (Memory::new(1, 0), stream(1, "act"));
    let mut action = [9.0];
    let input = ActInput::of(ObsRef::of_floats(1, &[1.0]));
    agent.policy().act(input, ActContext::new(&mut memory, Mode::Best, &mut rng), &mut action).unwrap();
    assert_eq!(action, [0.0]);
}

#[test]
fn lanes_without_work_rest_and_both_of_a_pair_meet_the_same_chances() {
    let setup = Setup { num_envs: 9, ..setup() };
    let config = ArsConfig { num_directions: 2, num_top_directions: 2, ..ArsConfig::default() };
    let mut agent = agent(config, &setup);
    let begun = agent.begins();
    let streams: Vec<&str> = begun.iter().map(|(_, seeding)| &*seeding.stream).collect();
    assert_eq!(streams, ["episode/0/0/0", "episode/0/0/0", "episode/0/1/0", "episode/0/1/0"]);
    assert_eq!((0..9).filter(|&lane| !agent.rests(lane)).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(agent.begins().is_empty(), "asking again begins nothing");
    // Whoever was cut off begins again.
    agent.restarted(1..3, &VecState::new(&setup.spaces, 9)).unwrap();
    let again: Vec<(usize, String)> =
        agent.begins().into_iter().map(|(lane, seeding)| (lane, seeding.stream)).collect();
    assert_eq!(again, [(1, "episode/0/0/0".to_owned()), (2, "episode/0/1/0".to_owned())]);
}

#[test]
fn what_is_seen_is_gathered_in_the_order_of_numbers_whoever_ends_first() {
    let play = |order: [usize; 3]| {
        let mut trials = Trials::new(3, 3, 1);
        while trials.hand_out().is_some() {}
        for lane in order {
            for step in 0..=lane {
                trials.saw(lane, [0.1 + lane as f64 + 0.3 * step as f64].into_iter());
                assert!(!trials.are_done());
                trials.stepped(lane, 1.0, step == lane);
            }
        }
        assert!(trials.are_done());
        assert_eq!((trials.steps(), trials.outcome(2)), (6, (3.0, 3)));
        trials.seen().clone()
    };
    assert_eq!(play([0, 1, 2]), play([2, 0, 1]));
    assert_eq!(play([0, 1, 2]), play([2, 1, 0]));
    assert_eq!(play([0, 1, 2]).count(), 6);
}

/// A batch that steps as a whole goes on where nobody has anything to do, and may reset in steps of its own.
#[test]
fn episodes_begin_where_a_lane_shows_the_beginning_of_one() {
    let mut trials = Trials::new(2, 2, 1);
    assert_eq!((trials.hand_out(), trials.hand_out(), trials.hand_out()), (Some((0, 0)), Some((1, 1)), None));
    trials.stepped(1, 5.0, true);
    trials.saw(0, [1.0].into_iter());
    trials.begins_only_now(0);
    trials.stepped(0, 2.0, false);
    // In lane 1 an episode goes on that nobody asked for.
    trials.stepped(1, 9.0, false);
    trials.stepped(0, 2.0, true);
    assert!(trials.are_done());
    assert_eq!((trials.outcome(0), trials.outcome(1), trials.seen().count()), ((4.0, 2), (5.0, 1), 0));
    trials.begin_anew();
    assert_eq!((trials.hand_out(), trials.hand_out()), (Some((0, 0)), None));
    trials.stepped(1, 9.0, true);
    assert_eq!(trials.hand_out(), Some((1, 1)));
}

#[test]
fn a_state_that_contradicts_itself_is_refused() {
    let saved = || {
        let mut trials = Trials::new(3, 2, 1);
        while trials.hand_out().is_some() {}
        trials.stepped(0, 1.0, true);
        let mut snapshot = crate::Snapshot::default();
        trials.visit_state(&mut StateIo::save(&mut snapshot, None)).unwrap();
        snapshot
    };
    let load = |snapshot: &crate::Snapshot| Trials::new(3, 2, 1).visit_state(&mut StateIo::load(snapshot, None));
    assert!(load(&saved()).is_ok());
    let damages: [fn(&mut crate::Snapshot); 6] = [
        |s| s.training.values.get_mut("trials.lanes").unwrap()[0]["trial"] = 1.into(),
        |s| s.training.values.get_mut("trials.lanes").unwrap()[0]["trial"] = 7.into(),
        |s| s.training.values.get_mut("trials").unwrap()[1]["stage"] = "waiting".into(),
        |s| s.training.values.get_mut("trials").unwrap()[0]["stage"] = "waiting".into(),
        |s| *s.training.values.get_mut("trials.settled").unwrap() = 2.into(),
        |s| {
            s.training.values.get_mut("trials").unwrap().as_array_mut().unwrap().pop();
        },
    ];
    for (number, damage) in damages.iter().enumerate() {
        let mut snapshot = saved();
        damage(&mut snapshot);
        assert!(load(&snapshot).is_err(), "{number}");
    }
}

#[test]
fn what_a_search_cannot_use_is_refused_with_the_remedy() {
    let refused = |setup: Setup| {
        let found = [
            crate::population::Ars::check_setup(&ArsConfig::default(), &setup),
            crate::population::OpenAiEs::check_setup(&OpenAiEsConfig::default(), &setup),
            crate::population::Cem::check_setup(&CemConfig::default(), &setup),
        ];
        found.map(|result| result.unwrap_err().to_string())
    };
    for told in refused(Setup { scaling: ObsScaling::Running, ..setup() }) {
        assert!(told.contains("`normalize_observation`") && told.contains("leave it out"), "{told}");
    }
    for told in refused(Setup { normalize_reward: true, ..setup() }) {
        assert!(told.contains("`normalize_reward` has no effect"), "{told}");
    }
    let camera = Space::Box(BoxSpace::image(4, 4, 1));
    for told in refused(Setup::new(Spaces::new(camera, Space::Discrete { n: 2 }))) {
        assert!(told.contains("images"), "{told}");
    }
    assert!(crate::population::Ars::check_setup(&ArsConfig::default(), &setup()).is_ok());
}

#[test]
fn an_observation_that_is_no_number_is_named() {
    let (mut agent, _) = listening(PLAIN);
    let mut state = VecState::new(&setup().spaces, 3);
    agent.begins();
    state.obs.floats[1] = f32::NAN;
    let error = agent.act(&state, Clock::default(), &mut [0.0; 3]).unwrap_err().to_string();
    assert!(error.contains("an observation") && error.contains("NaN"), "{error}");
}
