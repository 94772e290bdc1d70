//! Two records of the same run, number by number.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// What a run said of itself, whatever its files look like.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    pub metrics: Vec<Row>,
    /// Returns of the evaluation after the run, then lengths.
    pub evaluation: Vec<Value>,
    /// One per fixed observation.
    pub actions: Vec<Value>,
}

/// A line of `metrics.jsonl`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Row {
    pub step: u64,
    pub metrics: BTreeMap<String, Value>,
}

/// Beginnings of the names of metrics that do not count, besides `time/`.
pub struct Ignored<'a>(pub &'a [String]);

impl Ignored<'_> {
    fn counts(&self, name: &str) -> bool {
        !name.starts_with("time/") && !self.0.iter().any(|prefix| name.starts_with(prefix.as_str()))
    }
}

/// The first place where two records differ, in words.
pub fn first_difference(before: &Record, after: &Record, ignored: &Ignored) -> Option<String> {
    metrics(&before.metrics, &after.metrics, ignored)
        .or_else(|| list("eval", &before.evaluation, &after.evaluation))
        .or_else(|| list("predict", &before.actions, &after.actions))
}

fn metrics(before: &[Row], after: &[Row], ignored: &Ignored) -> Option<String> {
    for (index, (old, new)) in before.iter().zip(after).enumerate() {
        if old.step != new.step {
            return Some(format!("row {}: at step {}, and {} after", index + 1, old.step, new.step));
        }
        if let Some(how) = row(old, new, ignored) {
            return Some(format!("row {}, step {}: {how}", index + 1, old.step));
        }
    }
    (before.len() != after.len()).then(|| format!("{} rows, and {} after", before.len(), after.len()))
}

fn row(before: &Row, after: &Row, ignored: &Ignored) -> Option<String> {
    let mut names: Vec<&String> =
        before.metrics.keys().chain(after.metrics.keys()).filter(|name| ignored.counts(name)).collect();
    names.sort();
    names.dedup();
    names.into_iter().find_map(|name| match (before.metrics.get(name), after.metrics.get(name)) {
        (Some(old), Some(new)) if equal(old, new) => None,
        (Some(old), Some(new)) => Some(format!("{name} is {old}, and {new} after")),
        (Some(old), None) => Some(format!("{name} is {old}, and missing after")),
        (None, new) => Some(format!("{name} is new: {}", new.unwrap_or(&Value::Null))),
    })
}

fn list(what: &str, before: &[Value], after: &[Value]) -> Option<String> {
    let differs = before.iter().zip(after).position(|(old, new)| !equal(old, new));
    match differs {
        Some(at) => Some(format!("{what} {}: {}, and {} after", at + 1, before[at], after[at])),
        None if before.len() == after.len() => None,
        None => Some(format!("{what}: {} numbers, and {} after", before.len(), after.len())),
    }
}

/// Numbers by value, whether written as 1 or as 1.0; lists element by element.
fn equal(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Array(old), Value::Array(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| equal(old, new))
        }
        (Value::Number(old), Value::Number(new)) => old.as_f64() == new.as_f64(),
        _ => before == after,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NONE: Ignored = Ignored(&[]);

    fn record() -> Record {
        let row = |step: u64, loss: f64| {
            serde_json::from_value(json!({"step": step, "metrics": {"train/loss": loss, "time/fps": step}})).unwrap()
        };
        Record {
            metrics: vec![row(100, 0.5), row(200, 0.25)],
            evaluation: vec![json!(9.0), json!(10.0)],
            actions: vec![json!(1), json!([0.5, -0.5])],
        }
    }

    fn changed(change: impl FnOnce(&mut Record)) -> Option<String> {
        let mut after = record();
        change(&mut after);
        first_difference(&record(), &after, &NONE)
    }

    #[test]
    fn equal_numbers_are_the_same_however_they_are_written_and_time_does_not_count() {
        assert_eq!(changed(|_| {}), None);
        assert_eq!(changed(|after| after.evaluation = vec![json!(9), json!(10)]), None);
        let time = |after: &mut Record| {
            after.metrics[1].metrics.insert("time/fps".into(), json!(1e9));
            after.metrics[0].metrics.remove("time/fps");
        };
        assert_eq!(changed(time), None);
    }

    #[test]
    fn the_last_bit_of_a_metric_is_a_difference_with_its_row_and_name() {
        let next = f64::from_bits(0.25f64.to_bits() + 1);
        let said = changed(|after| drop(after.metrics[1].metrics.insert("train/loss".into(), json!(next)))).unwrap();
        assert!(said.starts_with("row 2, step 200: train/loss is 0.25, and 0.25000000000000006"), "{said}");
    }

    #[test]
    fn missing_and_new_metrics_rows_and_steps_are_differences() {
        let said = changed(|after| drop(after.metrics[0].metrics.remove("train/loss"))).unwrap();
        assert_eq!(said, "row 1, step 100: train/loss is 0.5, and missing after");
        let said = changed(|after| drop(after.metrics[0].metrics.insert("a".into(), json!(null)))).unwrap();
        assert_eq!(said, "row 1, step 100: a is new: null");
        assert_eq!(changed(|after| drop(after.metrics.pop())).unwrap(), "2 rows, and 1 after");
        assert_eq!(changed(|after| after.metrics[1].step = 201).unwrap(), "row 2: at step 200, and 201 after");
    }

    #[test]
    fn a_number_that_became_nan_is_a_difference() {
        let said = changed(|after| drop(after.metrics[0].metrics.insert("train/loss".into(), json!(null))));
        assert_eq!(said.unwrap(), "row 1, step 100: train/loss is 0.5, and null after");
    }

    #[test]
    fn evaluations_and_actions_are_compared_after_the_metrics() {
        let said = changed(|after| after.evaluation[1] = json!(11.0)).unwrap();
        assert_eq!(said, "eval 2: 10.0, and 11.0 after");
        let said = changed(|after| after.actions[1] = json!([0.5, -0.25])).unwrap();
        assert_eq!(said, "predict 2: [0.5,-0.5], and [0.5,-0.25] after");
        assert_eq!(changed(|after| after.actions.clear()).unwrap(), "predict: 2 numbers, and 0 after");
    }

    #[test]
    fn ignored_metrics_do_not_count_and_others_still_do() {
        let mut after = record();
        after.metrics[0].metrics.insert("train/loss".into(), json!(9.0));
        let prefixes = ["train/".to_owned()];
        assert_eq!(first_difference(&record(), &after, &Ignored(&prefixes)), None);
        let other = ["rollout/".to_owned()];
        assert!(first_difference(&record(), &after, &Ignored(&other)).is_some());
    }
}
