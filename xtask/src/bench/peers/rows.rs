//! Ours against theirs, line by line.

use super::figures::{Figure, Figures, Unit, fastest};
use super::peer::PEERS;
use super::works::{self, FROM_START, WORKS};
use super::{NATIVE, THREADS};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    pub work: String,
    pub peer: String,
    pub variant: String,
    /// "best" compares each side at its own best number, "1" and "2" both at the same.
    pub threads: String,
    pub ours: f64,
    pub ours_threads: usize,
    pub theirs: f64,
    pub theirs_threads: usize,
    pub unit: Unit,
    /// Above 1 we are faster.
    pub ratio: f64,
    /// What the ratio must reach, where something was asked for.
    pub mark: Option<f64>,
    pub met: Option<bool>,
}

impl Row {
    fn new(peer: &str, threads: &str, ours: &Figure, theirs: &Figure) -> Self {
        let ratio = theirs.unit.ratio(ours.value, theirs.value);
        let mark = works::mark(&theirs.work, peer, &theirs.variant).filter(|_| threads == "best");
        Self {
            work: theirs.work.clone(),
            peer: peer.to_owned(),
            variant: theirs.variant.clone(),
            threads: threads.to_owned(),
            ours: rounded(ours.value),
            ours_threads: ours.threads,
            theirs: rounded(theirs.value),
            theirs_threads: theirs.threads,
            unit: theirs.unit,
            ratio: (ratio * 100.0).round() / 100.0,
            mark,
            met: mark.map(|mark| ratio >= mark),
        }
    }
}

fn rounded(value: f64) -> f64 {
    if value < 100.0 { (value * 1000.0).round() / 1000.0 } else { value.round() }
}

/// The ids of all works, runs from the start behind the runs they belong to.
pub fn ids() -> impl Iterator<Item = String> {
    WORKS.iter().flat_map(|work| [work.id.to_owned(), format!("{}{FROM_START}", work.id)])
}

pub fn rows(figures: &Figures) -> Vec<Row> {
    let mut rows = Vec::new();
    for work in ids() {
        let ours: Vec<&Figure> = figures.of("ours").filter(|figure| figure.work == work).collect();
        for peer in PEERS.iter().map(|peer| peer.name).chain([NATIVE]) {
            let theirs: Vec<&Figure> = figures.of(peer).filter(|figure| figure.work == work).collect();
            let mut variants: Vec<&str> = Vec::new();
            for figure in &theirs {
                if !variants.contains(&figure.variant.as_str()) {
                    variants.push(&figure.variant);
                }
            }
            for variant in variants {
                let same: Vec<&Figure> = theirs.iter().copied().filter(|figure| figure.variant == variant).collect();
                rows.extend(compare(peer, &ours, &same));
            }
        }
    }
    rows
}

fn compare(peer: &str, ours: &[&Figure], theirs: &[&Figure]) -> Vec<Row> {
    let with =
        |figures: &[&Figure], threads: usize| figures.iter().copied().find(|figure| figure.threads == threads).cloned();
    let best = fastest(ours.iter().copied()).zip(fastest(theirs.iter().copied()));
    let mut rows: Vec<Row> = best.map(|(ours, theirs)| Row::new(peer, "best", ours, theirs)).into_iter().collect();
    for threads in THREADS {
        let pair = with(ours, threads).zip(with(theirs, threads));
        rows.extend(pair.map(|(ours, theirs)| Row::new(peer, &threads.to_string(), &ours, &theirs)));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::super::figures::figure;
    use super::*;

    #[test]
    fn each_side_is_compared_at_its_best_and_at_equal_threads() {
        let mut figures = Figures::default();
        let us = |variant: &str, threads, value| figure("sac_update", variant, threads, value, Unit::Microseconds);
        figures.add_all("ours", vec![us("ours", 1, 6000.0), us("ours", 2, 3000.0)]);
        figures.add_all("torch", vec![us("tuned", 1, 6600.0), us("tuned", 2, 9000.0)]);
        let found: Vec<(String, f64, Option<bool>)> =
            rows(&figures).into_iter().map(|row| (row.threads, row.ratio, row.met)).collect();
        // Two threads of ours against one of theirs: 2.2, above the mark of 1.6.
        assert_eq!(found, [("best".into(), 2.2, Some(true)), ("1".into(), 1.1, None), ("2".into(), 3.0, None)]);
    }

    #[test]
    fn more_steps_per_second_are_faster() {
        let mut figures = Figures::default();
        figures.add_all("ours", vec![figure("dqn_cartpole", "ours", 1, 11_000.0, Unit::StepsPerSecond)]);
        figures.add_all("sb3", vec![figure("dqn_cartpole", "default", 1, 1000.0, Unit::StepsPerSecond)]);
        let rows = rows(&figures);
        assert_eq!((rows[0].ratio, rows[0].met), (11.0, Some(false)));
    }
}
