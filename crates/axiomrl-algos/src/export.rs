//! A policy as a graph in the ONNX format: raw observations in, the best action in the environment's units out.
//!
//! What stands between a learner and an environment is said here once: the parts of an observation, the statistics they are scaled
//! by, the way from [−1, 1] to an action space's own units. A learner says the rest ([`Actor::onnx`]), out of the parts that it
//! acts with, each of which knows its own nodes.

mod choices;

use crate::parts::statistics::ObsStats;
use crate::policy::Actor;
use axiomrl_envs::{ActionMap, Kind, ObsWidths, Part, Space, Spaces};
pub use axiomrl_onnx::{Attribute, Element, Graph, Named, Value};
pub use choices::{allowed, best};
use std::ops::Range;

/// Names that are not those of an observation's part.
const TAKEN: [&str; 7] = ["action", "mask", "state", "next_state", "noise", "logits", "q"];

/// Why there is no graph that acts like a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoGraph(pub String);

impl NoGraph {
    pub fn because(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}

/// What a learner's part of a graph begins with.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// The block of floats `[rows, floats]`, scaled where the run asks for it. None where there is nothing in it.
    pub floats: Option<Value>,
    /// The block of bytes `[rows, bytes]`, as numbers from 0 to 255.
    pub bytes: Option<Value>,
    pub widths: ObsWidths,
    /// Which choices are allowed, `[rows, choices]`, where not all always are.
    pub mask: Option<Value>,
    /// What is remembered, `[rows, memory width]`; all zeros where an episode begins.
    pub memory: Option<Value>,
}

impl Shown {
    /// Some columns of the block of bytes, scaled to 0..1.
    pub fn pixels(&self, graph: &mut Graph, columns: Range<usize>) -> Option<Value> {
        let bytes = graph.columns(self.bytes?, columns, self.widths.bytes);
        let whole = graph.scalar(255.0);
        Some(graph.div(bytes, whole))
    }
}

/// What a learner's part of a graph ends with.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The best action: whole numbers, `[rows]` for one choice and `[rows, choices]` for several, or numbers in [−1, 1].
    pub action: Value,
    /// What is remembered with the next observation.
    pub memory: Option<Value>,
    /// What the choice was made by: its name, and how many numbers a row has.
    pub grounds: Option<(&'static str, Value, usize)>,
}

impl Answer {
    /// Of what remembers nothing and gives no grounds.
    pub fn of(action: Value) -> Self {
        Self { action, memory: None, grounds: None }
    }

    /// The same with what is remembered.
    pub fn remembering(self, memory: Option<Value>) -> Self {
        Self { memory, ..self }
    }
}

/// The graph of a learner with all that stands round it.
pub(crate) fn graph_of<L: Actor + ?Sized>(
    learner: &L,
    spaces: &Spaces,
    map: &ActionMap,
    stats: Option<&ObsStats>,
) -> Result<Graph, NoGraph> {
    let mut graph = Graph::new();
    let shown = inputs(&mut graph, spaces, stats, learner.memory_width());
    let answer = learner.onnx(&mut graph, shown)?;
    let action = action_out(&mut graph, &spaces.action, map, answer.action);
    let (element, shape) = action_shape(&spaces.action);
    graph.output("action", action, element, &shape);
    if let Some((name, value, width)) = answer.grounds {
        graph.output(name, value, Element::Float, &[width]);
    }
    if let Some(memory) = answer.memory {
        graph.output("next_state", memory, Element::Float, &[learner.memory_width()]);
    }
    Ok(graph)
}

/// All that goes in, as a learner takes it.
fn inputs(graph: &mut Graph, spaces: &Spaces, stats: Option<&ObsStats>, memory: usize) -> Shown {
    let obs = spaces.obs();
    let (mut floats, mut bytes) = (Vec::new(), Vec::new());
    for part in &obs.parts {
        let block = if part.kind == Kind::U8 { &mut bytes } else { &mut floats };
        block.push(part_in(graph, part, &spaces.observation));
    }
    let mut joined = |parts: Vec<Value>| (!parts.is_empty()).then(|| graph.concat(&parts));
    let (mut floats, bytes) = (joined(floats), joined(bytes));
    if let (Some(stats), Some(raw)) = (stats, floats) {
        floats = Some(stats.onnx(graph, raw, obs.widths.floats));
    }
    // The likeliest of independent bits are those above one half, whatever the mask.
    let masked = spaces.masks > 0 && !matches!(spaces.action, Space::MultiBinary { .. });
    let mask = masked.then(|| graph.input("mask", Element::Bool, &[spaces.masks]));
    let memory = (memory > 0).then(|| graph.input("state", Element::Float, &[memory]));
    Shown { floats, bytes, widths: obs.widths, mask, memory }
}

/// A part as the environment gives it, made to rows of floats.
fn part_in(graph: &mut Graph, part: &Part, whole: &Space) -> Value {
    let name = match part.name.as_str() {
        "" => "observation".to_owned(),
        name if TAKEN.contains(&name) => format!("observation_{name}"),
        name => name.to_owned(),
    };
    let element = match part.kind {
        Kind::F32 => Element::Float,
        Kind::U8 => Element::Byte,
        Kind::OneHot(_) => Element::Int,
    };
    // One choice is a number and no list of one, as the environment gives it.
    let single = matches!(space_of(whole, &part.name), Some(Space::Discrete { .. }));
    let given = graph.input(&name, element, if single { &[] } else { &part.shape });
    let numbers = if element == Element::Float { given } else { graph.cast(given, Element::Float) };
    if part.shape.len() == 1 && !single { numbers } else { graph.reshape(numbers, &[-1, part.at.len() as i64]) }
}

/// The space of a part, by its name of nested names.
fn space_of<'a>(whole: &'a Space, name: &str) -> Option<&'a Space> {
    let Space::Dict { entries } = whole else { return Some(whole) };
    entries.iter().find_map(|(entry, space)| match name.strip_prefix(entry.as_str())? {
        "" => Some(space),
        rest => space_of(space, rest.strip_prefix('/')?),
    })
}

/// In the environment's units, in its shape.
fn action_out(graph: &mut Graph, space: &Space, map: &ActionMap, action: Value) -> Value {
    let Space::Box(space) = space else { return action };
    let (centre, half): (Vec<f64>, Vec<f64>) = map.centres_and_halves().unzip();
    let inside = graph.clip(action, -1.0, 1.0);
    // In double precision, so that −1 and 1 land exactly on the bounds.
    let inside = graph.cast(inside, Element::Double);
    let (centre, half) = (graph.doubles(&[centre.len()], &centre), graph.doubles(&[half.len()], &half));
    let moved = graph.mul(inside, half);
    let moved = graph.add(moved, centre);
    let moved = graph.cast(moved, Element::Float);
    match space.shape.len() {
        1 => moved,
        _ => {
            let shape: Vec<i64> = std::iter::once(-1).chain(space.shape.iter().map(|&size| size as i64)).collect();
            graph.reshape(moved, &shape)
        }
    }
}

/// What a row of actions is made of.
fn action_shape(space: &Space) -> (Element, Vec<usize>) {
    match space {
        Space::Box(space) => (Element::Float, space.shape.clone()),
        Space::Discrete { .. } => (Element::Int, Vec::new()),
        other => (Element::Int, vec![other.width()]),
    }
}

/// `(x - mean) * factor` within ±`clip`, column by column, in double precision as policies do it.
pub(crate) fn standardised(graph: &mut Graph, x: Value, columns: &[(f64, f64, f32)]) -> Value {
    let shape = [columns.len()];
    let mean = graph.doubles(&shape, &columns.iter().map(|column| column.0).collect::<Vec<_>>());
    let factor = graph.doubles(&shape, &columns.iter().map(|column| column.1).collect::<Vec<_>>());
    let x = graph.cast(x, Element::Double);
    let centred = graph.sub(x, mean);
    let scaled = graph.mul(centred, factor);
    let scaled = graph.cast(scaled, Element::Float);
    if columns.iter().all(|column| column.2.is_infinite()) {
        return scaled;
    }
    let high = graph.floats(&shape, &columns.iter().map(|column| column.2).collect::<Vec<_>>());
    let low = graph.floats(&shape, &columns.iter().map(|column| -column.2).collect::<Vec<_>>());
    let below = graph.node("Min", &[scaled, high], &[]);
    graph.node("Max", &[below, low], &[])
}

/// A column that is left as it is.
pub(crate) const UNTOUCHED: (f64, f64, f32) = (0.0, 1.0, f32::INFINITY);

#[cfg(test)]
mod tests;
