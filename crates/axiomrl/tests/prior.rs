//! Recorded transitions beside those of a run.

use axiomrl::prelude::*;
use std::sync::Mutex;

/// Rewards of the recorded transitions; the environment pays between 0 and 1.
const RECORDED: f32 = 7.0;

static SEEN: Mutex<Vec<(u64, usize, usize)>> = Mutex::new(Vec::new());

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(crate = "axiomrl::serde", deny_unknown_fields, default)]
#[schemars(crate = "axiomrl::schemars")]
struct WatcherConfig {
    /// Updates before the first step.
    pretraining: u64,
}

plain_settings!(WatcherConfig);

impl Settings for WatcherConfig {
    type Algorithm = Watcher;

    fn about() -> About {
        About {
            name: "watcher",
            summary: "Looks where its batches come from",
            page: "# watcher",
            actions: &[ActionKind::Discrete],
        }
    }
}

/// Learns nothing, and notes for every update how many rows were recorded and how many its own.
struct Watcher;

impl Algorithm for Watcher {
    type Config = WatcherConfig;

    fn build(config: WatcherConfig, _: &Setup) -> Result<Learner, BuildError> {
        let settings = ReplaySettings {
            capacity: 200,
            batch_size: 10,
            learning_starts: 5,
            prior_share: 0.3,
            pretraining: config.pretraining,
            ..ReplaySettings::default()
        };
        Ok(Learner::OffPolicy(Box::new(Watcher), settings))
    }
}

impl Actor for Watcher {
    fn act(&mut self, _: ActInput<'_>, _context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        actions.fill(0.0);
        Ok(())
    }

    fn visit_policy(&mut self, _: &mut StateIo<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

impl ReplayLearner for Watcher {
    fn update(&mut self, batch: &Batch, context: &mut UpdateContext<'_>) -> Result<(), LearnError> {
        let recorded = batch.reward.iter().filter(|&&reward| reward == RECORDED).count();
        SEEN.lock().unwrap().push((context.clock.env_steps, recorded, batch.rows - recorded));
        Ok(())
    }

    fn visit_state(&mut self, _: &mut StateIo<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

fn recorded(observation: Space) -> Dataset {
    let mut builder = DatasetBuilder::new(Spaces::new(observation, Space::Discrete { n: 2 })).unwrap();
    let obs: Vec<f32> = (0..6 * 4).map(|x| x as f32).collect();
    builder
        .push(&Episode {
            obs: ObsRef::of_floats(6, &obs),
            masks: &[],
            action: &[0.0, 1.0, 0.0, 1.0, 0.0],
            reward: &[RECORDED; 5],
            terminated: &[false, false, false, false, true],
            truncated: &[false; 5],
        })
        .unwrap();
    builder.build().unwrap()
}

fn cartpole_space() -> Space {
    axiomrl::envs::make("CartPole-v1", &Default::default()).unwrap().observation_space().clone()
}

#[test]
fn pretraining_draws_recorded_rows_alone_and_then_both_are_mixed() {
    let data = recorded(cartpole_space());
    let experiment = Experiment::new(WatcherConfig { pretraining: 4 }).env_id("CartPole-v1").prior(data);
    let trained = experiment.set("eval_episodes", 1).train(20).unwrap();
    assert_eq!((trained.outcome.steps, trained.outcome.updates), (20, 4 + 15));
    let seen = SEEN.lock().unwrap().clone();
    assert_eq!(seen[..4], [(0, 10, 0); 4], "before the first step");
    assert_eq!(seen.len(), 19);
    assert!(seen[4..].iter().all(|&(steps, recorded, own)| steps > 5 && (recorded, own) == (3, 7)), "{seen:?}");
}

#[test]
fn a_run_goes_on_with_the_data_it_began_with() {
    let root = tempfile::tempdir().unwrap();
    let run = root.path().join("run");
    let data = recorded(cartpole_space());
    let mut catalogue = Catalogue::builtin();
    catalogue.algorithm::<Watcher>(WatcherConfig::about(), WatcherConfig::default).unwrap();
    let experiment = Experiment::new(WatcherConfig::default()).env_id("CartPole-v1").prior(data.clone());
    experiment.set("eval_episodes", 1).run_dir(&run).train(20).unwrap();
    let resume = |prior: Option<Dataset>| {
        let options = TrainOptions { prior, quiet: true, ..TrainOptions::default() };
        Trainer::resume(&catalogue, &run, Some(40), options, Vec::new()).map(|trainer| trainer.run().unwrap())
    };
    let error = resume(None).err().unwrap().to_string();
    assert!(error.contains("recorded transitions") && error.contains("give the run a `dataset`"), "{error}");
    assert_eq!(resume(Some(data)).unwrap().steps, 40);
}

#[test]
fn data_that_does_not_fit_and_data_that_is_missing_are_refused() {
    let other = recorded(Space::Box(BoxSpace::uniform(4, -1.0, 1.0)));
    let experiment = |settings: WatcherConfig| Experiment::new(settings).env_id("Acrobot-v1");
    let error = experiment(WatcherConfig::default()).prior(other).train(20).err().unwrap().to_string();
    assert!(error.contains("recorded"), "{error}");
    let error = experiment(WatcherConfig { pretraining: 4 }).train(20).err().unwrap().to_string();
    assert!(error.contains("dataset"), "{error}");
}
