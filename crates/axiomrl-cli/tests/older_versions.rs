//! Policies that older versions have trained still play as they did. `scripts/record_fixtures.sh` made them.

mod common;

use common::Workshop;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// Instruction sets sum in different orders, and a pendulum makes more of the last bit with every step: over an episode of 40
/// steps up to a ten-thousandth of its return. An action chosen among two is the same on all of them, unless its values were equal
/// to six digits; so are the lengths of episodes.
const TOLERANCE: f64 = 1e-2;

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../axiomrl-run/tests/fixtures/0.1.0")
}

fn numbers(said: &Value, key: &str) -> Vec<f64> {
    said[key].as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

#[test]
fn policies_of_0_1_0_play_as_they_did() {
    let shop = Workshop::new();
    for name in ["ppo", "rainbow_dqn", "fqf", "crossq", "r2d2", "drqv2"] {
        let text = fs::read_to_string(fixtures().join(name).with_extension("json")).unwrap();
        let then: Value = serde_json::from_str(&text).unwrap();
        let (path, episodes) = (fixtures().join(name), then["episodes"].to_string());
        let now = shop.succeed(&["eval", path.to_str().unwrap(), "--json", "--episodes", &episodes]).json();
        assert_eq!(numbers(&now, "lengths"), numbers(&then, "lengths"), "lengths of {name}");
        let (now, then) = (numbers(&now, "returns"), numbers(&then, "returns"));
        assert_eq!(now.len(), then.len(), "{name}");
        for (now, then) in now.iter().zip(&then) {
            assert!((now - then).abs() <= TOLERANCE * then.abs(), "{name}: a return of {now}, and {then} in its time");
        }
        // A policy that always does the same would play like any other that does.
        assert!(then.iter().any(|other| *other != then[0]), "{name}: {then:?} tells nothing");
    }
}
