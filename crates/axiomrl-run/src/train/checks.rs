//! What a checkpoint says of a run is checked before it is used. Its hashes prove that nothing was damaged by chance, not
//! that nobody wrote nonsense into it.

use super::record::Record;
use axiomrl_algos::StateError;
use axiomrl_envs::Space;
use serde_json::Value;
use std::collections::BTreeMap;

/// No run counts that far, and above it a double does not hold every whole number.
const MOST: u64 = 1 << 53;

/// The loop's own record.
pub(super) fn record(record: &Record, num_envs: usize) -> Result<(), StateError> {
    let round = record.round as u64;
    if record.steps > MOST || round >= num_envs as u64 || record.steps % num_envs as u64 != round {
        let problem = format!("step {} is not {} steps into a round of {num_envs}", record.steps, record.round);
        return misfit("record", problem);
    }
    if !record.is_possible() {
        return misfit("record", "more episodes or evaluations than steps".to_owned());
    }
    Ok(())
}

/// The actions of the round under way.
pub(super) fn actions(actions: &[f32], num_envs: usize, space: &Space) -> Result<(), StateError> {
    let (found, needed) = (actions.len(), num_envs * space.width());
    if found != needed {
        return misfit("actions", format!("{found} numbers where {needed} belong"));
    }
    match actions.chunks(space.width().max(1)).find(|row| !is_possible(space, row)) {
        Some(row) => misfit("actions", format!("{row:?} is no action")),
        None => Ok(()),
    }
}

fn is_possible(space: &Space, row: &[f32]) -> bool {
    let choice = |x: f32, n: usize| x >= 0.0 && x.fract() == 0.0 && (x as usize) < n;
    match space {
        Space::Discrete { n } => row.iter().all(|&x| choice(x, *n)),
        Space::MultiDiscrete { nvec } => row.iter().zip(nvec).all(|(&x, &n)| choice(x, n)),
        Space::MultiBinary { .. } => row.iter().all(|&x| choice(x, 2)),
        Space::Box(_) | Space::Dict { .. } => row.iter().all(|x| x.is_finite()),
    }
}

/// Whatever counts in the state: a count at the end of its range could not go on.
pub(super) fn counts(state: &BTreeMap<String, Value>) -> Result<(), StateError> {
    match state.iter().find(|(_, value)| is_beyond(value)) {
        Some((name, _)) => misfit(name, "it has counted further than any run gets".to_owned()),
        None => Ok(()),
    }
}

fn is_beyond(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_u64().is_some_and(|count| count > MOST),
        Value::Array(items) => items.iter().any(is_beyond),
        Value::Object(map) => map.values().any(is_beyond),
        _ => false,
    }
}

/// Seconds of training so far.
pub(super) fn seconds(counters: &Value) -> Result<f64, StateError> {
    match counters.get("seconds").map(Value::as_f64) {
        None => Ok(0.0),
        Some(Some(seconds)) if (0.0..=MOST as f64).contains(&seconds) => Ok(seconds),
        Some(_) => misfit("seconds", "it is no length of time".to_owned()),
    }
}

fn misfit<T>(name: &str, problem: String) -> Result<T, StateError> {
    Err(StateError::Misfit { name: name.to_owned(), problem })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_envs::BoxSpace;
    use serde_json::json;

    #[test]
    fn a_step_belongs_to_its_place_in_the_round() {
        let at = |steps, round| {
            let mut at = Record::default();
            (at.steps, at.round) = (steps, round);
            at
        };
        for (steps, round) in [(0, 0), (8, 0), (12, 4), (7, 7)] {
            assert!(record(&at(steps, round), 8).is_ok(), "{steps} {round}");
        }
        for (steps, round) in [(8, 1), (12, 0), (8, 8), (12, 1_000_000_000), (u64::MAX, 7)] {
            assert!(record(&at(steps, round), 8).is_err(), "{steps} {round}");
        }
        let mut restless = at(8, 0);
        restless.episodes = 9;
        assert!(record(&restless, 8).is_err());
    }

    #[test]
    fn actions_have_the_shape_and_the_values_of_their_space() {
        let discrete = Space::Discrete { n: 3 };
        assert!(actions(&[0.0, 2.0], 2, &discrete).is_ok());
        for wrong in [vec![0.0], vec![0.0, 3.0], vec![0.0, -1.0], vec![0.5, 0.0], vec![f32::NAN, 0.0]] {
            assert!(actions(&wrong, 2, &discrete).is_err(), "{wrong:?}");
        }
        let continuous = Space::Box(BoxSpace::uniform(2, -1.0, 1.0));
        assert!(actions(&[0.5, -7.0], 1, &continuous).is_ok());
        assert!(actions(&[0.5, f32::INFINITY], 1, &continuous).is_err());
        let several = Space::MultiDiscrete { nvec: vec![2, 4] };
        assert!(actions(&[1.0, 3.0], 1, &several).is_ok() && actions(&[3.0, 1.0], 1, &several).is_err());
    }

    #[test]
    fn counts_that_could_not_go_on_are_refused_by_name() {
        let state = |value| BTreeMap::from([("updates".to_owned(), value)]);
        assert!(counts(&state(json!({"a": [1, 2.5e300, "18446744073709551615"]}))).is_ok());
        let refused = counts(&state(json!({"a": [[u64::MAX]]}))).unwrap_err().to_string();
        assert!(refused.contains("`updates`"), "{refused}");
        assert_eq!(seconds(&json!({"seconds": 1.5})).unwrap(), 1.5);
        assert!(seconds(&json!({"seconds": -1})).is_err() && seconds(&json!({"seconds": "x"})).is_err());
    }
}
