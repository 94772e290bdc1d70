//! One update seen from outside: which networks it changes, what a switch changes, and that a run can stop anywhere.

mod judges;
mod learning;
mod policies;

use super::*;
use crate::agent::Clock;
use crate::offline::regression::presets;
use crate::state::Snapshot;
use crate::testing::{batch, changed, tensors, vector_and_image};
use axiomrl_core::{Dataset, DatasetBuilder, Episode, Metrics, stream};
use axiomrl_envs::{BoxSpace, ObsBuf, Space, Spaces};
use rand::RngExt;

const ROWS: usize = 8;

pub fn box_actions() -> Space {
    Space::Box(BoxSpace::uniform(2, -1.0, 1.0))
}

/// Small networks, and a few turns of each kind.
pub fn small(config: RegressionConfig) -> RegressionConfig {
    RegressionConfig { hidden_sizes: vec![16], value_updates: 2, actor_updates: 3, ..config }
}

/// Episodes of noise of these lengths; every other one ends by itself.
pub fn dataset(spaces: &Spaces, lengths: &[usize]) -> Dataset {
    let (mut builder, mut rng) = (DatasetBuilder::new(spaces.clone()).unwrap(), stream(4, "data"));
    for (number, &steps) in lengths.iter().enumerate() {
        let mut obs = ObsBuf::zeros(spaces.obs().widths, steps + 1);
        obs.floats.iter_mut().for_each(|x| *x = rng.random_range(-1.0..1.0));
        obs.bytes.iter_mut().for_each(|byte| *byte = rng.random());
        let action: Vec<f32> = (0..steps * spaces.action.width())
            .map(|_| match &spaces.action {
                Space::Discrete { n } => rng.random_range(0..*n) as f32,
                _ => rng.random_range(-1.0..1.0),
            })
            .collect();
        let reward: Vec<f32> = (0..steps).map(|_| rng.random_range(-1.0..1.0)).collect();
        let mut ends = vec![false; steps];
        ends[steps - 1] = true;
        let never = vec![false; steps];
        let (terminated, truncated) = if number % 2 == 0 { (&ends, &never) } else { (&never, &ends) };
        let episode =
            Episode { obs: obs.as_ref(), masks: &[], action: &action, reward: &reward, terminated, truncated };
        builder.push(&episode).unwrap();
    }
    builder.build().unwrap()
}

/// With recorded episodes, and a batch whose rows are named after transitions of theirs.
pub fn with_data(setup: &Setup) -> (Setup, Batch) {
    let data = dataset(&setup.spaces, &[5, 4, 3]);
    let mut batch = batch(setup, ROWS);
    batch.index.iter_mut().zip([0, 4, 5, 8, 9, 11, 2, 7]).for_each(|(name, number)| *name = number);
    (Setup { prior: Some(data), ..setup.clone() }, batch)
}

pub fn learner(config: RegressionConfig, setup: &Setup) -> RegressionLearner {
    config.check().unwrap();
    RegressionLearner::new(config, setup).unwrap()
}

/// The update with this number, whose random numbers depend on nothing else; gives what it reported.
pub fn update(learner: &mut RegressionLearner, batch: &Batch, number: u64) -> Vec<(String, f64)> {
    let (mut rng, mut metrics) = (stream(number, "learn"), Metrics::default());
    let clock = Clock { env_steps: 0, updates: number - 1, at: number - 1, total: 1000 };
    let mut context = UpdateContext::new(clock, &mut rng, &mut metrics);
    learner.update(batch, &mut context).unwrap();
    metrics.take().into_iter().map(|(name, value)| (name.into_owned(), value)).collect()
}

pub fn metric(found: &[(String, f64)], name: &str) -> f32 {
    found.iter().find(|(key, _)| key == name).unwrap_or_else(|| panic!("no {name} in {found:?}")).1 as f32
}

/// Every preset over the spaces that it acts in, with numbers and with an image beside them.
fn each(mut check: impl FnMut(&str, RegressionConfig, Setup, Batch, bool)) {
    let discrete = presets::VARIANTS.iter().map(|variant| (variant, Space::Discrete { n: 3 }));
    let continuous = presets::VARIANTS.iter().chain(presets::CONTINUOUS).map(|variant| (variant, box_actions()));
    for ((name, _, _, preset), actions) in discrete.chain(continuous) {
        for (sees, setup) in vector_and_image(&actions).into_iter().enumerate() {
            let (setup, batch) = with_data(&setup);
            check(name, small(preset()), setup, batch, sees == 1);
        }
    }
}

#[test]
fn an_update_changes_the_networks_of_its_method_and_no_others() {
    each(|name, config, setup, batch, sees| {
        let is_box = matches!(setup.action_space(), Space::Box(_));
        let mut learner = learner(config, &setup);
        let found = changed(&mut learner, |learner| drop(update(learner, &batch, 1)));
        let networks: &[&str] = match name {
            "bc" => &["actor"],
            "marwil" => &["actor", "advantage_mean_square", "value"],
            // The value has its turn first.
            "awr" => &["returns", "value"],
            "iql" | "xql" => &["actor", "critic", "critic_target", "value"],
            "awac" => &["actor", "critic", "critic_target"],
            // Copies are made every hundredth time.
            "crr" => &["actor", "critic"],
            _ => panic!("{name} is new here"),
        };
        let mut wanted: Vec<String> = networks.iter().map(|&network| network.to_owned()).collect();
        if is_box && !["bc", "awr"].contains(&name) {
            wanted.push("log_std".to_owned());
        }
        if sees {
            // Each network looks for itself, and is taught to.
            let looks = networks.iter().filter(|network| !["advantage_mean_square", "returns"].contains(network));
            wanted.extend(looks.map(|network| format!("{network}.vision")));
        }
        wanted.sort();
        assert_eq!(found, wanted, "{name}");
    });
}

#[test]
fn the_turns_of_awr_are_the_values_and_then_the_policys() {
    let [setup, _] = vector_and_image(&box_actions());
    let (setup, batch) = with_data(&setup);
    let mut learner = learner(small(presets::awr()), &setup);
    let turns: Vec<String> = (1..=11)
        .map(|number| changed(&mut learner, |learner| drop(update(learner, &batch, number))).join(" "))
        .collect();
    // Returns are taken anew before the first turn of the value, and from then on before those of the policy.
    let wanted = [
        "returns value",
        "value",
        "actor returns",
        "actor",
        "actor",
        "value",
        "value",
        "actor returns",
        "actor",
        "actor",
        "value",
    ];
    assert_eq!(turns, wanted);
}

#[test]
fn a_run_may_stop_between_any_two_updates() {
    each(|name, config, setup, batch, sees| {
        let stops: &[u64] = if sees { &[3] } else { &[1, 2, 3, 5, 6] };
        for &stop in stops {
            let mut whole = learner(config.clone(), &setup);
            (1..=7).for_each(|number| drop(update(&mut whole, &batch, number)));
            let mut first = learner(config.clone(), &setup);
            (1..=stop).for_each(|number| drop(update(&mut first, &batch, number)));
            let mut saved = Snapshot::default();
            let mut io = StateIo::save(&mut saved, None);
            io.policy(|io| first.visit_policy(io)).unwrap();
            first.visit_state(&mut io).unwrap();
            let other = Setup { seed: 99, ..setup.clone() };
            let mut second = learner(config.clone(), &other);
            let mut io = StateIo::load(&saved, None);
            io.policy(|io| second.visit_policy(io)).unwrap();
            second.visit_state(&mut io).unwrap();
            (stop + 1..=7).for_each(|number| drop(update(&mut second, &batch, number)));
            assert_eq!(tensors(&mut whole), tensors(&mut second), "{name} stopped after {stop}");
        }
    });
}

#[test]
fn weights_teach_the_policy_alone() {
    for preset in [presets::iql(), presets::xql(), presets::awac(), presets::crr(), presets::marwil()] {
        let [setup, _] = vector_and_image(&box_actions());
        let (setup, batch) = with_data(&setup);
        let trained = |weight| {
            let mut learner = learner(RegressionConfig { weight, ..small(preset.clone()) }, &setup);
            (1..=1).for_each(|number| drop(update(&mut learner, &batch, number)));
            tensors(&mut learner)
        };
        let (plain, weighed) = (trained(crate::offline::regression::WeightKind::One), trained(preset.weight));
        // The first step of Adam is as long whatever the gradient's size, so single numbers may move alike.
        let differs = |name: &String| weighed[name] != plain[name];
        let of_policy = |name: &&String| name.starts_with("actor") || name.starts_with("log_std");
        assert!(plain.keys().filter(of_policy).any(differs), "weights change nothing");
        let others = plain.keys().filter(|name| !of_policy(name)).find(|name| differs(name));
        assert_eq!(others, None, "they reach beyond the policy");
    }
}

#[test]
fn a_policy_whose_rate_has_fallen_to_nothing_stays_while_the_rest_learns() {
    let [setup, _] = vector_and_image(&box_actions());
    let (setup, batch) = with_data(&setup);
    let mut learner = learner(small(presets::iql()), &setup);
    let found = changed(&mut learner, |learner| drop(update(learner, &batch, 1001)));
    assert_eq!(found, ["critic", "critic_target", "value"]);
}

#[test]
fn a_row_that_nobody_recorded_has_no_return() {
    for preset in [presets::marwil(), presets::awr()] {
        let [setup, _] = vector_and_image(&box_actions());
        let (setup, mut batch) = with_data(&setup);
        let failed = |batch: &Batch, setup: &Setup| {
            let mut learner = learner(small(preset.clone()), setup);
            let (mut rng, mut metrics) = (stream(1, "learn"), Metrics::default());
            let clock = Clock { total: 10, ..Clock::default() };
            let mut context = UpdateContext::new(clock, &mut rng, &mut metrics);
            learner.update(batch, &mut context).unwrap_err().to_string()
        };
        assert!(failed(&batch, &Setup { prior: None, ..setup.clone() }).contains("dataset"));
        batch.index[3] = 12;
        assert!(failed(&batch, &setup).contains("not recorded"));
    }
}
