//! Averages of what an algorithm reports between two log lines.

use std::borrow::Cow;
use std::collections::BTreeMap;

type Name = Cow<'static, str>;

/// Named values, averaged since they were last taken.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    sums: BTreeMap<Name, (f64, u64)>,
    /// The same of some updates only, for whoever asked for these. Beside the others and not taken out of them: what is logged is
    /// the same to the bit, watched or not.
    watched: Option<BTreeMap<Name, (f64, u64)>>,
    /// What the user should know, each said once in the life of a process.
    notes: BTreeMap<Name, bool>,
}

impl Metrics {
    /// Adds one observation of `name` to its average.
    pub fn add(&mut self, name: impl Into<Name>, value: f32) {
        let name = name.into();
        if let Some(watched) = &mut self.watched {
            count(watched, name.clone(), value);
        }
        count(&mut self.sums, name, value);
    }

    /// Sets a value that is not averaged (a learning rate, a counter).
    pub fn set(&mut self, name: impl Into<Name>, value: f64) {
        let name = name.into();
        if let Some(watched) = &mut self.watched {
            watched.insert(name.clone(), (value, 1));
        }
        self.sums.insert(name, (value, 1));
    }

    /// The averages so far, in the order of their names; the next ones start afresh.
    pub fn take(&mut self) -> Vec<(Cow<'static, str>, f64)> {
        averages(std::mem::take(&mut self.sums))
    }

    /// From here on everything is averaged once more, apart, until [`Metrics::watched`] asks.
    pub fn watch(&mut self) {
        self.watched = Some(BTreeMap::new());
    }

    /// The averages since [`Metrics::watch`], which the logs have as well.
    pub fn watched(&mut self) -> Vec<(Cow<'static, str>, f64)> {
        averages(self.watched.take().unwrap_or_default())
    }

    /// Says something to the user, unless it was said before.
    pub fn note(&mut self, text: impl Into<Name>) {
        self.notes.entry(text.into()).or_insert(false);
    }

    /// What is to be said now.
    pub fn take_notes(&mut self) -> Vec<Cow<'static, str>> {
        let new = self.notes.iter_mut().filter(|(_, said)| !**said);
        new.map(|(text, said)| {
            *said = true;
            text.clone()
        })
        .collect()
    }

    /// The pairs of sum and count, so that a run that stops between two log lines resumes with the same averages.
    pub fn save(&self) -> serde_json::Value {
        serde_json::to_value(&self.sums).unwrap_or_default()
    }

    /// Brings back what [`Metrics::save`] gave.
    pub fn load(&mut self, saved: &serde_json::Value) {
        let saved: BTreeMap<String, (f64, u64)> = serde_json::from_value(saved.clone()).unwrap_or_default();
        self.sums = saved.into_iter().map(|(name, pair)| (name.into(), pair)).collect();
    }
}

fn count(sums: &mut BTreeMap<Name, (f64, u64)>, name: Name, value: f32) {
    let entry = sums.entry(name).or_insert((0.0, 0));
    entry.0 += f64::from(value);
    entry.1 += 1;
}

fn averages(sums: BTreeMap<Name, (f64, u64)>) -> Vec<(Name, f64)> {
    sums.into_iter().map(|(name, (sum, n))| (name, sum / n as f64)).collect()
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

    #[test]
    fn what_is_watched_is_averaged_apart_and_logged_all_the_same() {
        let mut metrics = Metrics::default();
        metrics.add("loss", 1.0);
        metrics.watch();
        metrics.add("loss", 3.0);
        metrics.add("loss", 5.0);
        metrics.set("rate", 0.5);
        assert_eq!(metrics.watched(), [("loss".into(), 4.0), ("rate".into(), 0.5)]);
        metrics.add("loss", 7.0);
        assert!(metrics.watched().is_empty());
        assert_eq!(metrics.take(), [("loss".into(), 4.0), ("rate".into(), 0.5)]);
    }

    #[test]
    fn averages_go_on_after_a_file_whatever_their_names() {
        let mut metrics = Metrics::default();
        metrics.add("loss", 1.0);
        metrics.add(format!("head_{}/loss", 2), 5.0);
        metrics.set("rate", 0.5);
        let mut back = Metrics::default();
        back.load(&metrics.save());
        back.add("loss", 3.0);
        assert_eq!(back.take(), [("head_2/loss".into(), 5.0), ("loss".into(), 2.0), ("rate".into(), 0.5)]);
        back.load(&serde_json::Value::Null);
        assert!(back.take().is_empty());
    }
}
