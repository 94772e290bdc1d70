//! A run can stop after any of its pieces: between two minibatches, inside a burst of updates, inside a round of
//! environments. However often it does, it ends with the bytes of one that never stopped.

mod support;

use axiomrl_algos::find;
use axiomrl_core::{random, stream};
use axiomrl_run::experiment::Experiment;
use axiomrl_run::train::{Outcome, StopReason, Trainer, Unit};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::Ordering;
use support::{CATALOGUE, assert_same, config, options};

/// Three environments, and everything is due inside a round.
const INSIDE_ROUNDS: &[&str] = &[
    "num_envs=3",
    "eval_interval=50",
    "eval_episodes=1",
    "log_interval=35",
    "checkpoint_interval=70",
    "keep_checkpoints=9",
];
const NORMALISED: &[&str] = &["normalize_observation=true", "normalize_reward=true"];
const ROLLOUTS: &[&str] = &["algo_kwargs.num_steps=16", "algo_kwargs.minibatch_size=16", "algo_kwargs.update_epochs=2"];
const BURSTS: &[&str] = &[
    "algo_kwargs.learning_starts=40",
    "algo_kwargs.train_frequency=4",
    "algo_kwargs.gradient_steps=3",
    "algo_kwargs.batch_size=8",
    "algo_kwargs.buffer_capacity=120",
];

/// Runs to the end and says what the pieces were.
fn undisturbed(run: &Path, experiment: Experiment) -> (Vec<Unit>, Outcome) {
    let mut trainer = Trainer::new(experiment, options(run), Vec::new()).unwrap();
    let mut units = Vec::new();
    loop {
        match trainer.unit().unwrap() {
            Unit::Ended(outcome) => return (units, outcome),
            unit => units.push(unit),
        }
    }
}

/// Runs to the end, stopping after each piece that `stops` names, each time to be taken up as by another process.
fn stopping(run: &Path, experiment: Experiment, stops: &BTreeSet<usize>) -> Outcome {
    let mut settings = options(run);
    let mut trainer = Trainer::new(experiment, settings.clone(), Vec::new()).unwrap();
    for piece in 0.. {
        if let Unit::Ended(outcome) = trainer.unit().unwrap() {
            return outcome;
        }
        if stops.contains(&piece) {
            settings.stop.store(true, Ordering::Relaxed);
            let ended = trainer.unit().unwrap();
            assert!(matches!(&ended, Unit::Ended(outcome) if outcome.reason == StopReason::Interrupted), "{ended:?}");
            drop(trainer);
            settings = options(run);
            trainer = Trainer::resume(&CATALOGUE, run, None, settings.clone(), Vec::new()).unwrap();
        }
    }
    unreachable!("a run ends")
}

/// One piece in `chance`, and at least one of each kind of place: between two updates, before the first of them, after a round
/// that calls for none, and after what was due.
fn places(units: &[Unit], chance: usize) -> BTreeSet<usize> {
    let mut rng = stream(7, "stops");
    let mut places: BTreeSet<usize> = (0..units.len()).filter(|_| random::below(&mut rng, chance) == 0).collect();
    let pair = |at: &usize| (&units[*at], &units[at + 1]);
    let kinds: [fn((&Unit, &Unit)) -> bool; 4] = [
        |pair| matches!(pair, (Unit::Update, Unit::Update)),
        |pair| matches!(pair, (Unit::Round, Unit::Update)),
        |pair| matches!(pair, (Unit::Round, Unit::Round)),
        |pair| matches!(pair, (Unit::Duties, _)),
    ];
    for kind in kinds {
        let found: Vec<usize> = (0..units.len() - 1).filter(|at| kind(pair(at))).collect();
        assert!(!found.is_empty(), "there is no such place in the run");
        places.insert(found[random::below(&mut rng, found.len())]);
    }
    places
}

/// Asserts that a run which stops again and again leaves the same behind as one that never did.
fn stops_change_nothing(algo: &str, env: &str, settings: &[&[&str]]) {
    stops_of(algo, env, 211, 12, settings);
}

/// `steps` are environment steps, or for learners of recorded data updates.
fn stops_of(algo: &str, env: &str, steps: u64, chance: usize, settings: &[&[&str]]) {
    let folder = tempfile::tempdir().unwrap();
    let (whole, pieces) = (folder.path().join("whole"), folder.path().join("pieces"));
    let experiment = config(find(algo).unwrap(), env, steps, 5, &settings.concat());
    let (units, reference) = undisturbed(&whole, experiment.clone());
    let places = places(&units, chance);
    let outcome = stopping(&pieces, experiment, &places);
    let end = |outcome: &Outcome| (outcome.steps, outcome.updates, outcome.reason);
    assert_eq!(end(&outcome), (reference.steps, reference.updates, StopReason::Finished), "{algo}");
    assert!(reference.at >= steps, "{algo}");
    assert_same(&format!("{algo} stopped after pieces {places:?}"), &pieces, &whole);
}

#[test]
fn ppo_stops_between_minibatches() {
    stops_change_nothing("ppo", "CartPole-v1", &[INSIDE_ROUNDS, ROLLOUTS]);
}

#[test]
fn ppo_stops_with_normalised_observations_and_rewards() {
    stops_change_nothing("ppo", "Pendulum-v1", &[INSIDE_ROUNDS, ROLLOUTS, NORMALISED]);
}

#[test]
fn recurrent_ppo_stops_between_minibatches() {
    let short = ["algo_kwargs.sequence_length=5", "algo_kwargs.recurrent_hidden_size=8"];
    stops_change_nothing("recurrent_ppo", "CartPoleNoVel-v1", &[INSIDE_ROUNDS, ROLLOUTS, NORMALISED, &short]);
}

#[test]
fn curiosity_stops_while_it_warms_up_and_between_its_steps_and_the_policys() {
    let warm = ["algo_kwargs.warm_up_steps=20"];
    stops_change_nothing("rnd", "CartPole-v1", &[INSIDE_ROUNDS, ROLLOUTS, NORMALISED, &warm]);
    stops_change_nothing("icm", "Pendulum-v1", &[INSIDE_ROUNDS, ROLLOUTS, &warm]);
    let memory = ["algo_kwargs.memory=lstm", "algo_kwargs.recurrent_hidden_size=8"];
    stops_change_nothing("rnd", "CartPoleNoVel-v1", &[INSIDE_ROUNDS, ROLLOUTS, &warm, &memory]);
}

#[test]
fn reinforce_stops_between_policy_and_value() {
    stops_change_nothing("reinforce", "CartPole-v1", &[INSIDE_ROUNDS, &["algo_kwargs.num_steps=16"]]);
}

#[test]
fn trpo_stops_between_policy_and_value() {
    stops_change_nothing("trpo", "Pendulum-v1", &[INSIDE_ROUNDS, ROLLOUTS, NORMALISED]);
}

#[test]
fn acer_stops_between_updates_on_stored_rollouts() {
    let soon = ["algo_kwargs.num_steps=8", "algo_kwargs.replay_start=48", "algo_kwargs.buffer_capacity=96"];
    stops_change_nothing("acer", "CartPole-v1", &[INSIDE_ROUNDS, NORMALISED, &soon]);
}

#[test]
fn ppg_stops_in_either_phase() {
    let phases = ["algo_kwargs.aux_frequency=2", "algo_kwargs.aux_epochs=2", "algo_kwargs.aux_minibatch_size=32"];
    stops_change_nothing("ppg", "CartPole-v1", &[INSIDE_ROUNDS, ROLLOUTS, NORMALISED, &phases]);
}

#[test]
fn dqn_stops_inside_a_burst() {
    stops_change_nothing("dqn", "CartPole-v1", &[INSIDE_ROUNDS, BURSTS]);
    stops_change_nothing("dqn", "CartPole-v1", &[INSIDE_ROUNDS, BURSTS, NORMALISED]);
}

#[test]
fn priorities_and_noise_of_rainbow_go_on_where_they_were() {
    stops_change_nothing("rainbow_dqn", "CartPole-v1", &[INSIDE_ROUNDS, BURSTS]);
}

#[test]
fn fractions_and_quantiles_of_fqf_go_on_where_they_were() {
    stops_change_nothing("fqf", "CartPole-v1", &[INSIDE_ROUNDS, BURSTS]);
}

#[test]
fn draws_of_quantiles_go_on_where_they_were() {
    stops_change_nothing("iqn", "CartPole-v1", &[INSIDE_ROUNDS, BURSTS]);
    stops_change_nothing("qr_dqn", "CartPole-v1", &[INSIDE_ROUNDS, BURSTS]);
}

#[test]
fn distributional_critics_and_dropout_go_on_where_they_were() {
    stops_change_nothing("tqc", "Pendulum-v1", &[INSIDE_ROUNDS, BURSTS]);
    stops_change_nothing("d4pg", "Pendulum-v1", &[INSIDE_ROUNDS, BURSTS]);
    stops_change_nothing("droq", "Pendulum-v1", &[INSIDE_ROUNDS, BURSTS]);
}

#[test]
fn shifted_and_contrasted_images_go_on_where_they_were() {
    let small = ["algo_kwargs.vision=small", "eval_interval=100", "checkpoint_interval=60"];
    for algo in ["drqv2", "curl"] {
        stops_of(algo, "PendulumPixels-v0", 91, 12, &[INSIDE_ROUNDS, BURSTS, &small]);
    }
}

#[test]
fn sac_stops_inside_a_burst() {
    stops_change_nothing("sac", "Pendulum-v1", &[INSIDE_ROUNDS, BURSTS, NORMALISED]);
}

#[test]
fn td3_stops_between_two_updates_of_its_policy() {
    stops_change_nothing("td3", "Pendulum-v1", &[INSIDE_ROUNDS, BURSTS]);
}

#[test]
fn crossq_and_its_statistics_of_batches_go_on_where_they_were() {
    stops_change_nothing("crossq", "Pendulum-v1", &[INSIDE_ROUNDS, BURSTS]);
}

#[test]
fn naf_mpo_and_discrete_sac_stop_inside_a_burst() {
    stops_change_nothing("naf", "Pendulum-v1", &[INSIDE_ROUNDS, BURSTS]);
    stops_change_nothing("mpo", "Pendulum-v1", &[INSIDE_ROUNDS, BURSTS]);
    stops_change_nothing("discrete_sac", "CartPole-v1", &[INSIDE_ROUNDS, BURSTS]);
}

#[test]
fn her_stops_inside_a_burst() {
    stops_change_nothing("her", "BitFlip-v0", &[INSIDE_ROUNDS, BURSTS, &["algo_kwargs.n_sampled_goal=4"]]);
}

const SEQUENCES: &[&str] = &["algo_kwargs.recurrent_hidden_size=8", "algo_kwargs.batch_size=4"];

#[test]
fn r2d2_stops_inside_a_burst() {
    stops_change_nothing("r2d2", "CartPoleNoVel-v1", &[INSIDE_ROUNDS, BURSTS, NORMALISED, SEQUENCES]);
}

#[test]
fn drqn_stops_inside_a_burst() {
    stops_change_nothing("drqn", "CartPoleNoVel-v1", &[INSIDE_ROUNDS, BURSTS, SEQUENCES]);
}

#[test]
fn recurrent_sac_stops_inside_a_burst() {
    let stored = ["algo_kwargs.stored_state=true", "algo_kwargs.burn_in=2", "algo_kwargs.sequence_length=8"];
    stops_change_nothing("recurrent_sac", "PendulumNoVel-v1", &[INSIDE_ROUNDS, BURSTS, NORMALISED, SEQUENCES, &stored]);
}

/// Short fits, looked at often, and refreshes of several pieces.
const MODEL: &[&str] = &[
    "algo_kwargs.model_train_frequency=30",
    "algo_kwargs.rollout_refresh_interval=15",
    "algo_kwargs.model_updates=12",
    "algo_kwargs.model_check_interval=5",
    "algo_kwargs.model_hidden_sizes=[8]",
    "algo_kwargs.rollout_batch_size=70000",
    "algo_kwargs.rollout_horizon=2",
];

#[test]
fn mbpo_stops_inside_a_fit_and_inside_a_refresh() {
    stops_of("mbpo", "Pendulum-v1", 91, 12, &[INSIDE_ROUNDS, BURSTS, NORMALISED, MODEL]);
    // Ends that are learned, and targets as they are.
    let learned = ["algo_kwargs.termination=learned", "algo_kwargs.standardize_targets=false"];
    stops_of("mbpo", "Probe3Continuous-v0", 91, 30, &[INSIDE_ROUNDS, BURSTS, MODEL, &learned]);
}

#[test]
fn pets_stops_inside_a_fit_and_goes_on_with_its_plan() {
    let small = ["algo_kwargs.learning_starts=40", "algo_kwargs.model_updates=30", "algo_kwargs.buffer_capacity=120"];
    stops_change_nothing("pets", "Pendulum-v1", &[INSIDE_ROUNDS, &small]);
    let known = ["algo_kwargs.reward=known", "algo_kwargs.project=true", "algo_kwargs.propagation=ts1"];
    stops_of("pets", "Pendulum-v1", 91, 12, &[INSIDE_ROUNDS, &small, &known]);
}

/// Streams of rows with the states that the model had in them, a queue of what just arrived, and updates by a ratio.
#[test]
fn world_models_stop_between_any_two_updates() {
    let few = ["algo_kwargs.learning_starts=40", "algo_kwargs.batch_size=4", "algo_kwargs.buffer_capacity=120"];
    let often = ["algo_kwargs.batch_length=5", "algo_kwargs.train_ratio=16"];
    stops_change_nothing("dreamerv3", "CartPole-v1", &[INSIDE_ROUNDS, &few, &often, NORMALISED]);
    stops_change_nothing("dreamer", "CartPole-v1", &[INSIDE_ROUNDS, &few, &often]);
    stops_change_nothing("dreamer", "Pendulum-v1", &[INSIDE_ROUNDS, &few, &often, NORMALISED]);
    let images = ["eval_interval=100", "checkpoint_interval=60"];
    stops_of("dreamerv3", "PendulumPixels-v0", 91, 12, &[INSIDE_ROUNDS, &few, &often, &images]);
}

/// The strictest of all: nothing but what was saved goes from one piece to the next.
#[test]
fn runs_that_stop_after_every_single_piece_end_alike() {
    stops_of("ppo", "CartPole-v1", 70, 1, &[INSIDE_ROUNDS, ROLLOUTS, NORMALISED]);
    stops_of("sac", "Pendulum-v1", 70, 1, &[INSIDE_ROUNDS, BURSTS, NORMALISED]);
}

/// Updates on recorded data alone, then steps with updates on both: stops in the one, in the other and in between.
#[test]
fn offline_runs_that_go_on_in_the_environment_stop_anywhere() {
    let mixed = ["algo_kwargs.online_timesteps=120", "algo_kwargs.offline_batch_ratio=0.5", "dataset.dataset_size=300"];
    stops_of("cql_dqn", "CartPole-v1", 60, 9, &[INSIDE_ROUNDS, BURSTS, &mixed]);
}
