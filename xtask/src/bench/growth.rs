//! `cargo xtask bench --only growth`: time per update against size, one axis at a time, and the memory of large stores.
//!
//! Writes `benchmarks/growth.json`, `benchmarks/growth.svg` and `benchmarks/growth.md`.

mod plot;
mod report;
mod stores;

use super::machine::Machine;
use crate::binary::build_executable;
use crate::shell::{root, succeeded};
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::fs;
use std::process::{Command, Stdio};

/// How much dearer one operation may become from one size to the next before we call it a cliff.
const CLIFF: f64 = 1.5;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Point {
    /// What grows.
    axis: String,
    size: f64,
    microseconds: f64,
    /// Millions of floating-point operations of the update.
    mflop: f64,
    threads: usize,
    work: String,
}

#[derive(Serialize)]
struct Growth {
    machine: Machine,
    points: Vec<Point>,
    cliffs: Vec<Cliff>,
    stores: Vec<stores::Store>,
}

/// A size at which an operation costs much more than at the size before.
#[derive(Debug, PartialEq, Serialize)]
struct Cliff {
    axis: String,
    from: f64,
    to: f64,
    /// Time per operation, as a multiple of that at the size before.
    times_dearer: f64,
}

pub fn measure() -> Result<()> {
    let machine = Machine::find();
    println!("{machine}\n");
    let points = run()?;
    let growth = Growth { cliffs: cliffs(&points), stores: stores::measure()?, machine, points };
    let text = report::markdown(&growth);
    print!("{text}");
    let folder = root().join("benchmarks");
    let files = [
        ("growth.json", serde_json::to_string_pretty(&growth)? + "\n"),
        ("growth.svg", plot::draw(&growth.points)),
        ("growth.md", text),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn run() -> Result<Vec<Point>> {
    let program = build_executable(&["--package", "axiomrl-nn", "--example", "updates"], "updates")?;
    let mut command = Command::new(&program);
    command.args(["--growth", "--threads", "2", "--rounds", "10"]).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().with_context(|| format!("cannot start {}", program.display()))?;
    succeeded("the example `updates`", output.status)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let points: Result<Vec<Point>, _> = text.lines().map(serde_json::from_str).collect();
    let points = points.context("the example `updates` printed something that is not a point")?;
    ensure!(!points.is_empty(), "the example `updates` measured nothing");
    Ok(points)
}

/// The axes, each with its points by size.
fn by_axis(points: &[Point]) -> Vec<(&str, Vec<&Point>)> {
    let mut axes: Vec<(&str, Vec<&Point>)> = Vec::new();
    for point in points {
        match axes.iter_mut().find(|(name, _)| *name == point.axis) {
            Some((_, known)) => known.push(point),
            None => axes.push((&point.axis, vec![point])),
        }
    }
    axes
}

fn cliffs(points: &[Point]) -> Vec<Cliff> {
    let cost = |point: &Point| point.microseconds / point.mflop;
    let mut cliffs = Vec::new();
    for (axis, points) in by_axis(points) {
        for pair in points.windows(2) {
            let times_dearer = cost(pair[1]) / cost(pair[0]);
            if times_dearer > CLIFF {
                cliffs.push(Cliff { axis: axis.to_owned(), from: pair[0].size, to: pair[1].size, times_dearer });
            }
        }
    }
    cliffs
}

#[cfg(test)]
fn point(axis: &str, size: f64, microseconds: f64, mflop: f64) -> Point {
    Point { axis: axis.into(), size, microseconds, mflop, threads: 2, work: axis.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cliff_is_a_rise_of_the_cost_per_operation() {
        let even = [point("width", 32.0, 10.0, 1.0), point("width", 64.0, 40.0, 4.0), point("batch", 32.0, 900.0, 1.0)];
        assert_eq!(cliffs(&even), []);
        let steep = [point("width", 32.0, 10.0, 1.0), point("width", 64.0, 80.0, 4.0)];
        let found = cliffs(&steep);
        assert_eq!(found, [Cliff { axis: "width".into(), from: 32.0, to: 64.0, times_dearer: 2.0 }]);
    }
}
