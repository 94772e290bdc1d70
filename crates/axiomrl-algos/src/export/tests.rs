//! What goes in and comes out; that numbers agree is for `python/tests/test_export.py`, which runs the files.

use super::*;
use crate::agent::Setup;
use crate::parts::statistics::ObsScaling;
use crate::registry::{ActionKind, find, registry};
use axiomrl_envs::BoxSpace;
use serde_json::{Value as Json, json};

fn numbers(count: usize) -> Space {
    Space::Box(BoxSpace::uniform(count, -1.0, 1.0))
}

fn dict(parts: &[(&str, Space)]) -> Space {
    Space::Dict { entries: parts.iter().map(|(name, space)| ((*name).to_owned(), space.clone())).collect() }
}

/// The graph of a policy that has learned nothing, with some settings of its own.
fn graph(algo: &str, settings: Json, setup: &Setup) -> Result<Graph, NoGraph> {
    let entry = find(algo).unwrap();
    let mut all = entry.defaults();
    for (key, value) in settings.as_object().unwrap() {
        all[key] = value.clone();
    }
    entry.build(&all, setup).unwrap().into_policy(setup).unwrap().onnx()
}

/// Names, kinds and shapes, as a user reads them.
fn listed(all: &[Named]) -> Vec<String> {
    all.iter().map(|named| format!("{} {} {:?}", named.name, named.element.name(), named.shape)).collect()
}

#[test]
fn every_part_is_an_input_as_the_environment_gives_it() {
    let inner = dict(&[("gear", Space::Discrete { n: 3 }), ("doors", Space::MultiDiscrete { nvec: vec![2, 2] })]);
    let observation =
        dict(&[("camera", Space::Box(BoxSpace::image(10, 5, 1))), ("state", numbers(4)), ("inside", inner)]);
    let spaces = Spaces { masks: 5, ..Spaces::new(observation, Space::MultiDiscrete { nvec: vec![2, 3] }) };
    let found = graph("ppo", json!({ "memory": "lstm", "shared": true }), &Setup::new(spaces)).unwrap();
    let width = found.inputs().last().unwrap().shape[0];
    let wanted = [
        "camera uint8 [10, 5, 1]",
        "observation_state float32 [4]",
        "inside/gear int64 []",
        "inside/doors int64 [2]",
        "mask bool [5]",
        &format!("state float32 [{width}]"),
    ];
    assert_eq!(listed(found.inputs()), wanted);
    let wanted = ["action int64 [2]", "logits float32 [5]", &format!("next_state float32 [{width}]")];
    assert_eq!(listed(found.outputs()), wanted);
    assert!(width > 0);
}

#[test]
fn actions_have_the_shape_of_their_space() {
    let outputs = |algo: &str, action: Space| {
        let found = graph(algo, json!({}), &Setup::new(Spaces::new(numbers(3), action))).unwrap();
        assert_eq!(listed(found.inputs()), ["observation float32 [3]"]);
        listed(found.outputs())
    };
    let matrix = Space::Box(BoxSpace { shape: vec![2, 2], ..BoxSpace::uniform(4, -1.0, 1.0) });
    assert_eq!(outputs("sac", matrix), ["action float32 [2, 2]"]);
    assert_eq!(outputs("dqn", Space::Discrete { n: 4 }), ["action int64 []", "q float32 [4]"]);
    assert_eq!(outputs("ppo", Space::MultiBinary { n: 3 }), ["action int64 [3]", "logits float32 [3]"]);
}

#[test]
fn every_learner_says_its_graph_or_why_there_is_none() {
    let mut refused = Vec::new();
    for entry in registry() {
        let action = match entry.actions.contains(&ActionKind::Box) {
            true => numbers(2),
            false => Space::Discrete { n: 3 },
        };
        let observation = match entry.name {
            "her" => ["observation", "achieved_goal", "desired_goal"].map(|part| (part, numbers(2))).to_vec(),
            _ => vec![("only", numbers(3))],
        };
        let setup = Setup::new(Spaces::new(dict(&observation), action));
        // Small networks, and no hindsight, which asks for an environment's rules.
        let small = [("hidden_sizes", json!([8])), ("size", json!("cpu_tiny")), ("n_sampled_goal", json!(0))];
        let defaults = entry.defaults();
        let has = |key: &str| defaults.get(key).is_some_and(|default| !default.is_null());
        let settings = small.into_iter().filter(|(key, _)| has(key)).map(|(key, value)| (key.to_owned(), value));
        match graph(entry.name, Json::Object(settings.collect()), &setup) {
            Ok(found) => {
                assert_eq!(found.outputs()[0].name, "action", "{}", entry.name);
                assert!(found.model("policy", &[]).len() > 100, "{}", entry.name);
            }
            Err(NoGraph(reason)) => {
                assert!(!reason.contains("Actor::onnx"), "{}: the reason is a programmer's: {reason}", entry.name);
                refused.push(entry.name);
            }
        }
    }
    assert_eq!(refused, ["pets", "decision_transformer"]);
}

#[test]
fn statistics_are_nodes_of_the_graph() {
    let setup = |scaling| Setup { scaling, ..Setup::new(Spaces::new(numbers(3), Space::Discrete { n: 2 })) };
    let model = |scaling| graph("ppo", json!({}), &setup(scaling)).unwrap().model("policy", &[]);
    let (raw, scaled) = (model(ObsScaling::Raw), model(ObsScaling::Running));
    let casts = |model: &[u8]| model.windows(4).filter(|window| window == b"Cast").count();
    assert_eq!((casts(&raw), casts(&scaled)), (0, 2), "to double precision and back");
}

#[test]
fn a_learner_that_says_nothing_is_refused() {
    struct Silent;
    impl Actor for Silent {
        fn act(
            &mut self,
            _: crate::ActInput<'_>,
            _: crate::ActContext<'_>,
            _: &mut [f32],
        ) -> Result<(), crate::LearnError> {
            Ok(())
        }

        fn visit_policy(&mut self, _io: &mut crate::StateIo<'_>) -> Result<(), crate::StateError> {
            Ok(())
        }
    }
    let spaces = Spaces::new(numbers(1), Space::Discrete { n: 2 });
    let map = ActionMap::of(&spaces.action).unwrap();
    let refused = graph_of(&Silent, &spaces, &map, None).unwrap_err().to_string();
    assert!(refused.contains("does not say how it acts"), "{refused}");
}
