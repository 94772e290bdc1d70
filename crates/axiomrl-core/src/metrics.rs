//! Averages of what an algorithm reports between two log lines.

use std::collections::BTreeMap;

/// Named values, averaged since they were last taken.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    sums: BTreeMap<&'static str, (f64, u64)>,
    /// What the user should know, each said once in the life of a process.
    notes: BTreeMap<&'static str, bool>,
}

impl Metrics {
    /// Adds one observation of `name` to its average.
    pub fn add(&mut self, name: &'static str, value: f32) {
        let entry = self.sums.entry(name).or_insert((0.0, 0));
        entry.0 += f64::from(value);
        entry.1 += 1;
    }

    /// Sets a value that is not averaged (a learning rate, a counter).
    pub fn set(&mut self, name: &'static str, value: f64) {
        self.sums.insert(name, (value, 1));
    }

    /// The averages so far, in the order of their names; the next ones start afresh.
    pub fn take(&mut self) -> Vec<(&'static str, f64)> {
        std::mem::take(&mut self.sums).into_iter().map(|(name, (sum, n))| (name, sum / n as f64)).collect()
    }

    /// Says something to the user, unless it was said before.
    pub fn note(&mut self, text: &'static str) {
        self.notes.entry(text).or_insert(false);
    }

    /// What is to be said now.
    pub fn take_notes(&mut self) -> Vec<&'static str> {
        let new = self.notes.iter_mut().filter(|(_, said)| !**said);
        new.map(|(text, said)| {
            *said = true;
            *text
        })
        .collect()
    }

    /// The pairs of sum and count, so that a run that stops between two log lines resumes with the same averages.
    pub fn save(&self) -> serde_json::Value {
        serde_json::to_value(&self.sums).unwrap_or_default()
    }

    /// Brings back what [`Metrics::save`] gave. `names` are the metrics the algorithm can report.
    pub fn load(&mut self, saved: &serde_json::Value, names: &[&'static str]) {
        let saved: BTreeMap<String, (f64, u64)> = serde_json::from_value(saved.clone()).unwrap_or_default();
        self.sums = names.iter().filter_map(|&name| saved.get(name).map(|&pair| (name, pair))).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_said_once() {
        let mut metrics = Metrics::default();
        metrics.note("careful");
        assert_eq!(metrics.take_notes(), ["careful"]);
        metrics.note("careful");
        assert!(metrics.take_notes().is_empty());
    }
}
