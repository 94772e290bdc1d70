//! Measured figures, the best of each kind.

use serde::{Deserialize, Serialize};

/// One line of a peer's script or of our own example.
#[derive(Clone, Debug, Deserialize)]
pub struct Figure {
    pub work: String,
    pub variant: String,
    pub threads: usize,
    pub value: f64,
    pub unit: Unit,
    /// Millions of floating-point operations behind it; ours alone tells.
    #[serde(default)]
    pub mflop: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    #[serde(rename = "us")]
    Microseconds,
    #[serde(rename = "steps/s")]
    StepsPerSecond,
    #[serde(rename = "GFLOP/s")]
    Gigaflops,
}

impl Unit {
    pub fn name(self) -> &'static str {
        match self {
            Unit::Microseconds => "µs",
            Unit::StepsPerSecond => "steps/s",
            Unit::Gigaflops => "GFLOP/s",
        }
    }

    /// How many times faster `ours` is than `theirs`.
    pub fn ratio(self, ours: f64, theirs: f64) -> f64 {
        match self {
            Unit::Microseconds => theirs / ours,
            Unit::StepsPerSecond | Unit::Gigaflops => ours / theirs,
        }
    }
}

/// The best figure of each side, work, variant and number of threads, in the order in which they first came.
#[derive(Default)]
pub struct Figures {
    best: Vec<(String, Figure)>,
}

impl Figures {
    pub fn add_all(&mut self, side: &str, figures: Vec<Figure>) {
        for figure in figures {
            self.add(side, figure);
        }
    }

    fn add(&mut self, side: &str, new: Figure) {
        let same = |(known, old): &&mut (String, Figure)| {
            known == side && old.work == new.work && old.variant == new.variant && old.threads == new.threads
        };
        match self.best.iter_mut().find(same) {
            Some((_, old)) if new.unit.ratio(new.value, old.value) > 1.0 => *old = new,
            Some(_) => {}
            None => self.best.push((side.to_owned(), new)),
        }
    }

    pub fn of<'a>(&'a self, side: &'a str) -> impl Iterator<Item = &'a Figure> {
        self.best.iter().filter(move |(known, _)| known == side).map(|(_, figure)| figure)
    }
}

/// The fastest of several.
pub fn fastest<'a>(figures: impl Iterator<Item = &'a Figure>) -> Option<&'a Figure> {
    figures.reduce(|best, next| if next.unit.ratio(next.value, best.value) > 1.0 { next } else { best })
}

#[cfg(test)]
pub fn figure(work: &str, variant: &str, threads: usize, value: f64, unit: Unit) -> Figure {
    Figure { work: work.into(), variant: variant.into(), threads, value, unit, mflop: 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_round_stays_whatever_the_unit() {
        let mut figures = Figures::default();
        for value in [5.0, 3.0, 4.0] {
            figures.add("ours", figure("a", "ours", 1, value, Unit::Microseconds));
            figures.add("ours", figure("b", "ours", 1, value, Unit::StepsPerSecond));
        }
        let best: Vec<f64> = figures.of("ours").map(|figure| figure.value).collect();
        assert_eq!(best, [3.0, 5.0]);
    }

    #[test]
    fn a_line_of_a_script_is_understood() {
        let line = r#"{"work": "lstm", "variant": "tuned", "threads": 2, "value": 7.5, "unit": "us"}"#;
        let figure: Figure = serde_json::from_str(line).expect("a figure");
        assert_eq!((figure.threads, figure.value, figure.unit), (2, 7.5, Unit::Microseconds));
    }
}
