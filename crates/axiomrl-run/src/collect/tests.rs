use super::*;
use axiomrl_algos::parts::statistics::ObsStats;
use axiomrl_algos::{ActContext, ActInput, Memory, StateError, StateIo};
use axiomrl_envs::native::Identity;
use axiomrl_envs::scripted::expert;
use axiomrl_envs::{EachEnv, Env, Spaces, Stepping, VecState, Wrapping, registry};
use serde_json::json;
use std::ops::Range;
use std::sync::{Arc, Mutex};

fn source(env: &str) -> Arc<dyn EnvSource> {
    registry::source(env, &Default::default(), Wrapping::default()).unwrap()
}

fn recorded(env: &str, behaviours: &mut [(Behaviour<'_>, f32)], amount: Amount, noise: Noise) -> Vec<EpisodeBuf> {
    record("test", source(env).as_ref(), behaviours, amount, 1, noise).unwrap().episodes
}

fn refused(env: &str, behaviours: &mut [(Behaviour<'_>, f32)], amount: Amount, noise: Noise) -> String {
    record("test", source(env).as_ref(), behaviours, amount, 1, noise).unwrap_err().to_string()
}

const NONE: Noise = Noise { std: 0.0, epsilon: 0.0 };

#[test]
fn what_is_written_down_is_what_happened() {
    for env in ["CartPole-v1", "Pendulum-v1"] {
        let episodes = recorded(env, &mut [(Behaviour::Random, 1.0)], Amount::Episodes(5), NONE);
        assert_eq!(episodes.len(), 5);
        // The same worlds, driven by the recorded actions.
        let mut again = source(env).make(5, &Seeding::new(1, "collect/0"), Purpose::Evaluation).unwrap();
        again.reset(None).unwrap();
        for (i, episode) in episodes.iter().enumerate() {
            assert_eq!(episode.obs.rows(), episode.steps() + 1);
            assert_eq!(episode.obs.row(0), again.state().obs.row(i));
            for t in 0..episode.steps() {
                let mut actions = [0.0; 5];
                actions[i] = episode.actions[t];
                again.step(i..i + 1, &actions).unwrap();
                let (state, last) = (again.state(), t + 1 == episode.steps());
                assert_eq!(state.reward[i], episode.rewards[t]);
                assert_eq!(state.terminated[i], last && episode.ending == Ending::Terminated);
                assert_eq!(state.truncated[i], last && episode.ending == Ending::Truncated);
                let shown = if last { &state.final_obs } else { &state.obs };
                assert_eq!(episode.obs.row(t + 1), shown.row(i), "{env}: row {t} of episode {i}");
            }
        }
    }
}

#[test]
fn all_follows_from_the_seed() {
    let of = |seed| {
        let behaviours = &mut [(Behaviour::Random, 1.0), (Behaviour::Scripted(expert("CartPole-v1").unwrap()), 2.0)];
        record("test", source("CartPole-v1").as_ref(), behaviours, Amount::Transitions(700), seed, NONE).unwrap()
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn transitions_are_counted_exactly_and_the_last_episode_is_cut() {
    let episodes = recorded("CartPole-v1", &mut [(Behaviour::Random, 1.0)], Amount::Transitions(333), NONE);
    assert_eq!(episodes.iter().map(EpisodeBuf::steps).sum::<usize>(), 333);
    let (last, others) = episodes.split_last().unwrap();
    assert!(others.iter().all(|episode| episode.ending == Ending::Terminated));
    assert_eq!(last.ending, Ending::Truncated, "the seed was chosen so that the cut falls inside an episode");
    assert_eq!((last.obs.rows(), last.actions.len()), (last.steps() + 1, last.steps()));
}

#[test]
fn worlds_without_an_end_are_cut_too() {
    let endless = EachEnv::new("Endless", Wrapping::default(), || {
        Ok(Box::new(Identity::new(Space::Discrete { n: 3 })) as Box<dyn Env>)
    });
    let behaviours = &mut [(Behaviour::Random, 1.0)];
    let recording = record("test", &endless, behaviours, Amount::Transitions(100), 0, NONE).unwrap();
    assert_eq!(recording.episodes.len(), 1);
    assert_eq!((recording.episodes[0].steps(), recording.episodes[0].ending), (100, Ending::Truncated));
}

#[test]
fn shares_are_of_what_is_counted() {
    let rule = expert("CartPole-v1").unwrap();
    let good = |episodes: &[EpisodeBuf]| episodes.iter().filter(|episode| episode.steps() == 500).count();
    let both = || [(Behaviour::Random, 3.0), (Behaviour::Scripted(rule), 1.0)];
    let episodes = recorded("CartPole-v1", &mut both(), Amount::Episodes(20), NONE);
    assert_eq!((episodes.len(), good(&episodes)), (20, 5));
    // A random episode lasts some twenty steps: now it is many more of them to one of the expert.
    let episodes = recorded("CartPole-v1", &mut both(), Amount::Transitions(4_000), NONE);
    assert_eq!(good(&episodes), 2);
    assert_eq!(episodes.iter().map(EpisodeBuf::steps).sum::<usize>(), 4_000);
    assert!(episodes.len() > 60);
    let turns = episodes.iter().position(|episode| episode.steps() == 500).unwrap();
    assert!(turns < 20, "they take turns, so the expert comes before all random episodes are done");
}

#[test]
fn noise_on_a_box_has_its_size_in_units_of_the_box() {
    let rule = expert("Pendulum-v1").unwrap();
    let noise = Noise::of(0.1, &source("Pendulum-v1").spaces().unwrap().action);
    assert_eq!(noise, Noise { std: 0.1, epsilon: 0.0 });
    let mut differences = Vec::new();
    for episode in recorded("Pendulum-v1", &mut [(Behaviour::Scripted(rule), 1.0)], Amount::Episodes(20), noise) {
        for (t, &action) in episode.actions.iter().enumerate() {
            let mut meant = [0.0];
            rule.act(episode.obs.row(t), &mut meant);
            assert!(action.abs() <= 2.0);
            // Half of the Box's width is 2; what may have been clipped says nothing.
            if meant[0].abs() < 1.0 {
                differences.push((action - meant[0]) / 2.0);
            }
        }
    }
    assert!(differences.len() > 1_000);
    let std = (differences.iter().map(|d| d * d).sum::<f32>() / differences.len() as f32).sqrt();
    assert!((std - 0.1).abs() < 0.006, "{std}");
}

#[test]
fn noise_on_choices_is_how_often_they_are_random() {
    let rule = expert("Context-v0").unwrap();
    let noise = Noise::of(0.4, &source("Context-v0").spaces().unwrap().action);
    let right = |behaviour: Behaviour<'_>, noise| {
        let episodes = recorded("Context-v0", &mut [(behaviour, 1.0)], Amount::Episodes(100), noise);
        episodes.iter().map(EpisodeBuf::episode_return).sum::<f64>() / 5_000.0
    };
    // A quarter of the random ones is right again.
    assert!((right(Behaviour::Scripted(rule), noise) - 0.7).abs() < 0.03);
    assert_eq!(right(Behaviour::Scripted(rule), NONE), 1.0);
    assert!((right(Behaviour::Random, NONE) - 0.25).abs() < 0.03);
}

#[test]
fn random_actions_fill_the_box_evenly_whatever_the_noise() {
    let noise = Noise { std: 5.0, epsilon: 0.5 };
    let episodes = recorded("Pendulum-v1", &mut [(Behaviour::Random, 1.0)], Amount::Episodes(20), noise);
    let actions: Vec<f32> = episodes.iter().flat_map(|episode| episode.actions.clone()).collect();
    for low in [-2.0, -1.0, 0.0, 1.0] {
        let within = actions.iter().filter(|&&a| (low..low + 1.0).contains(&a)).count();
        assert!((900..1_100).contains(&within), "{within} of 4000 from {low} on");
    }
}

#[test]
fn masks_are_kept_and_respected() {
    let episodes = recorded("IdentityMasked-v0", &mut [(Behaviour::Random, 1.0)], Amount::Episodes(3), NONE);
    for episode in &episodes {
        assert_eq!(episode.masks.len(), 4 * (episode.steps() + 1));
        assert!(episode.rewards.iter().all(|&reward| reward >= 0.0), "a masked action costs 1");
    }
}

/// Pushes right when the number of its steps so far is even, and remembers what it was told.
struct Alternating {
    spaces: Spaces,
    map: ActionMap,
    told: Arc<Mutex<Vec<(f32, f32)>>>,
}

impl Alternating {
    fn of(env: &str) -> Self {
        let spaces = source(env).spaces().unwrap();
        Self { map: ActionMap::of(&spaces.action).unwrap(), spaces, told: Arc::default() }
    }
}

impl Policy for Alternating {
    fn spaces(&self) -> &Spaces {
        &self.spaces
    }
    fn action_map(&self) -> &ActionMap {
        &self.map
    }
    fn memory_width(&self) -> usize {
        1
    }
    fn act(&mut self, _: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        let ActContext { memory, mode, .. } = context;
        memory.empty_at_starts();
        memory.starts.fill(false);
        for (action, count) in actions.iter_mut().zip(&mut memory.state) {
            *action = if mode == Mode::Best { (*count + 1.0) % 2.0 } else { 0.0 };
            *count += 1.0;
        }
        Ok(())
    }
    fn feedback(&mut self, _: &mut Memory, envs: Range<usize>, actions: &[f32], rewards: &[f32]) {
        self.told.lock().unwrap().extend(envs.map(|i| (actions[i], rewards[i])));
    }
    fn statistics(&self) -> Option<&ObsStats> {
        None
    }
    fn visit_state(&mut self, _: &mut StateIo<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

#[test]
fn policies_act_with_their_memory_and_are_told_what_was_done() {
    let mut policy = Alternating::of("CartPole-v1");
    let episodes =
        recorded("CartPole-v1", &mut [(Behaviour::Policy(&mut policy, Mode::Best), 1.0)], Amount::Episodes(10), NONE);
    for episode in &episodes {
        let expected: Vec<f32> = (0..episode.steps()).map(|t| ((t + 1) % 2) as f32).collect();
        assert_eq!(episode.actions, expected, "each episode begins with an empty memory");
    }
    let told = std::mem::take(&mut *policy.told.lock().unwrap());
    assert!(told.iter().any(|&(action, _)| action == 1.0) && told.iter().all(|&(_, reward)| reward == 1.0));
    let behaviours = &mut [(Behaviour::Policy(&mut policy, Mode::Sample), 1.0)];
    let episodes = recorded("CartPole-v1", behaviours, Amount::Episodes(2), NONE);
    assert!(episodes.iter().all(|episode| episode.actions.iter().all(|&action| action == 0.0)));
    let behaviours = &mut [(Behaviour::Policy(&mut policy, Mode::Sample), 1.0)];
    let noisy = recorded("CartPole-v1", behaviours, Amount::Episodes(2), Noise { std: 0.0, epsilon: 1.0 });
    assert!(noisy.iter().all(|episode| episode.actions.contains(&1.0)));
    let told = policy.told.lock().unwrap();
    assert!(told.iter().any(|&(action, _)| action == 1.0), "chance overruled it, and it was told so");
}

#[test]
fn what_cannot_be_done_is_refused() {
    let mut foreign = Alternating::of("Acrobot-v1");
    let words =
        refused("CartPole-v1", &mut [(Behaviour::Policy(&mut foreign, Mode::Best), 1.0)], Amount::Episodes(1), NONE);
    assert!(words.contains("made for other spaces"), "{words}");
    let acrobot = expert("Acrobot-v1").unwrap();
    let words = refused("CartPole-v1", &mut [(Behaviour::Scripted(acrobot), 1.0)], Amount::Episodes(1), NONE);
    assert!(words.contains("cannot read these observations"), "{words}");
    assert!(refused("CartPole-v1", &mut [], Amount::Episodes(1), NONE).contains("nobody acts"));
    let one = |share| [(Behaviour::Random, share)];
    assert!(refused("CartPole-v1", &mut one(1.0), Amount::Episodes(0), NONE).contains("nothing to record"));
    for share in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert!(refused("CartPole-v1", &mut one(share), Amount::Episodes(1), NONE).contains("is no share"));
    }
    let mut tiny = [(Behaviour::Random, 1.0), (Behaviour::Random, 0.01)];
    assert!(refused("CartPole-v1", &mut tiny, Amount::Episodes(5), NONE).contains("less than one of 5 episodes"));
    let noise = Noise { std: 0.0, epsilon: 1.5 };
    assert!(refused("CartPole-v1", &mut one(1.0), Amount::Episodes(1), noise).contains("from 0 to 1"));
    let noise = Noise { std: f32::NAN, epsilon: 0.0 };
    assert!(refused("Pendulum-v1", &mut one(1.0), Amount::Episodes(1), noise).contains("noise of size"));
}

#[test]
fn numbers_that_are_none_end_it() {
    for (option, words) in [("nan_reward_at", "a reward of NaN"), ("nan_observation_at", "NaN in the observation")] {
        let options = json!({ option: 3 }).as_object().unwrap().clone();
        let source = registry::source("Faulty-v0", &options, Wrapping::default()).unwrap();
        let behaviours = &mut [(Behaviour::Random, 1.0)];
        let error = record("test", source.as_ref(), behaviours, Amount::Episodes(8), 0, NONE).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("mend the environment"), "{error}");
    }
}

#[test]
fn an_error_of_the_sink_ends_it() {
    let mut taken = 0;
    let behaviours = &mut [(Behaviour::Random, 1.0)];
    let amount = Amount::Episodes(5);
    let outcome = collect(source("CartPole-v1").as_ref(), behaviours, amount, 0, NONE, &mut |_| {
        taken += 1;
        if taken == 2 { Err(DataError::Invalid("the disk is full".into())) } else { Ok(()) }
    });
    assert!(outcome.unwrap_err().to_string().contains("the disk is full"));
    assert_eq!(taken, 2);
}

/// Steps only as a whole, and begins with a step in which nothing happens.
struct Sluggish {
    spaces: Spaces,
    state: VecState,
    time: usize,
}

struct SluggishSource;

impl EnvSource for SluggishSource {
    fn spaces(&self) -> Result<Spaces, EnvError> {
        source("IdentityDiscrete-v0").spaces()
    }
    fn make(&self, n: usize, _: &Seeding, _: Purpose) -> Result<Box<dyn VecEnv>, EnvError> {
        let spaces = self.spaces()?;
        Ok(Box::new(Sluggish { state: VecState::new(&spaces, n), spaces, time: 0 }))
    }
}

impl VecEnv for Sluggish {
    fn spaces(&self) -> &Spaces {
        &self.spaces
    }
    fn num_envs(&self) -> usize {
        self.state.reward.len()
    }
    fn stepping(&self) -> Stepping {
        Stepping::Whole
    }
    fn reset(&mut self, _: Option<&Seeding>) -> Result<(), EnvError> {
        self.time = 0;
        self.state.clear_outcomes();
        self.state.obs.floats.fill(1.0);
        Ok(())
    }
    fn step(&mut self, range: Range<usize>, _: &[f32]) -> Result<(), EnvError> {
        assert_eq!(range, 0..self.num_envs(), "all or none");
        self.time += 1;
        self.state.stepped.fill(self.time > 1);
        self.state.obs.floats.fill(0.0);
        self.state.reward.fill(self.time as f32);
        // Environment i ends after 2 + i steps.
        for i in 0..self.num_envs() {
            self.state.terminated[i] = self.time == 3 + i;
            self.state.final_obs.floats[i] = 1.0;
        }
        Ok(())
    }
    fn state(&self) -> &VecState {
        &self.state
    }
}

#[test]
fn a_step_in_which_nothing_was_done_is_no_transition() {
    let behaviours = &mut [(Behaviour::Random, 1.0)];
    let recording = record("test", &SluggishSource, behaviours, Amount::Episodes(3), 0, NONE).unwrap();
    let rewards: Vec<&[f32]> = recording.episodes.iter().map(|episode| &episode.rewards[..]).collect();
    assert_eq!(rewards, [&[2.0, 3.0][..], &[2.0, 3.0, 4.0], &[2.0, 3.0, 4.0, 5.0]]);
    assert_eq!(recording.episodes[0].obs.floats, [0.0, 0.0, 1.0], "it begins with what was shown after that step");
}
