//! Whether recorded data fits an environment, and what must be moved so that it does.

use axiomrl_envs::{BoxSpace, Kind, ObsBuf, ObsSpace, ObsWidths, Part, Space, Spaces};
use std::ops::Range;

/// How rows of recorded observations become rows of the environment's.
#[derive(Debug)]
pub(crate) struct Fit {
    /// Where each part is and where it belongs, for numbers and for bytes; `None` where all are in place.
    moves: Option<[Vec<(Range<usize>, Range<usize>)>; 2]>,
    widths: ObsWidths,
    /// The data has masks that the environment does not ask for.
    pub drops_masks: bool,
}

impl Fit {
    /// A problem says what differs.
    pub fn new(data: &Spaces, env: &Spaces, any_action_bounds: bool) -> Result<Self, String> {
        fit_actions(&data.action, &env.action, any_action_bounds)?;
        if env.masks > 0 && data.masks == 0 {
            return Err(
                "the environment says which actions are allowed, and the data does not; record it with that".into()
            );
        }
        let (have, want) = (data.obs(), env.obs());
        let mut moves = [Vec::new(), Vec::new()];
        for part in &want.parts {
            let Some(found) = have.part(&part.name) else {
                return Err(missing(part, &have));
            };
            fit_part(found, part)?;
            moves[usize::from(part.kind == Kind::U8)].push((found.at.clone(), part.at.clone()));
        }
        if let Some(extra) = have.parts.iter().find(|part| want.part(&part.name).is_none()) {
            return Err(format!("the data observes `{}`, and the environment does not", extra.name));
        }
        let in_place = moves.iter().flatten().all(|(from, to)| from == to);
        Ok(Self {
            moves: if in_place { None } else { Some(moves) },
            widths: want.widths,
            drops_masks: data.masks > 0 && env.masks == 0,
        })
    }

    /// Puts the parts of observations where the environment has them.
    pub fn arrange(&self, obs: ObsBuf) -> ObsBuf {
        let Some([floats, bytes]) = &self.moves else { return obs };
        let mut arranged = ObsBuf::zeros(self.widths, obs.rows());
        for row in 0..obs.rows() {
            let (from, to) = (obs.row(row), arranged.row_mut(row));
            floats.iter().for_each(|(a, b)| to.floats[b.clone()].copy_from_slice(&from.floats[a.clone()]));
            bytes.iter().for_each(|(a, b)| to.bytes[b.clone()].copy_from_slice(&from.bytes[a.clone()]));
        }
        arranged
    }
}

fn missing(part: &Part, have: &ObsSpace) -> String {
    let names: Vec<String> = have.parts.iter().map(|part| format!("`{}`", part.name)).collect();
    match part.name.as_str() {
        "" => format!("the environment observes one thing, and the data a Dict of {}", names.join(", ")),
        name if names == ["``"] => format!("the environment observes a Dict with `{name}`, and the data one thing"),
        name => format!("the environment observes `{name}`, and the data only {}", names.join(", ")),
    }
}

/// Bounds may differ, they are often infinite in the one and not in the other; what the numbers are may not.
fn fit_part(have: &Part, want: &Part) -> Result<(), String> {
    let of = if want.name.is_empty() { String::new() } else { format!(" `{}`", want.name) };
    if have.kind != want.kind {
        return Err(format!(
            "the observation{of} is {} in the data, and {} in the environment",
            kind(have),
            kind(want)
        ));
    }
    let count = |part: &Part| part.shape.iter().product::<usize>();
    if have.shape != want.shape && (count(have) != 1 || count(want) != 1) {
        return Err(format!(
            "the observation{of} has shape {:?} in the data, and {:?} in the environment",
            have.shape, want.shape
        ));
    }
    Ok(())
}

fn kind(part: &Part) -> String {
    match &part.kind {
        Kind::F32 => "numbers".into(),
        Kind::U8 => "bytes".into(),
        Kind::OneHot(sizes) => format!("choices of {sizes:?}"),
    }
}

fn fit_actions(have: &Space, want: &Space, any_bounds: bool) -> Result<(), String> {
    let differ =
        |have: String, want: String| Err(format!("actions are {have} in the data, and {want} in the environment"));
    match (have, want) {
        (Space::Box(have), Space::Box(want)) => {
            if have.shape != want.shape && (have.dim() != 1 || want.dim() != 1) {
                return differ(format!("a Box of shape {:?}", have.shape), format!("one of {:?}", want.shape));
            }
            if !any_bounds && !same_bounds(have, want) {
                return Err(format!(
                    "actions lie in {} in the data, and in {} in the environment, so they may mean something else; if they do \
                     not, say that any bounds will do (`any_action_bounds`)",
                    bounds(have),
                    bounds(want)
                ));
            }
            Ok(())
        }
        (Space::Discrete { n: have }, Space::Discrete { n: want }) if have == want => Ok(()),
        (Space::MultiDiscrete { nvec: have }, Space::MultiDiscrete { nvec: want }) if have == want => Ok(()),
        (Space::MultiBinary { n: have }, Space::MultiBinary { n: want }) if have == want => Ok(()),
        (have, want) => differ(described(have), described(want)),
    }
}

fn described(space: &Space) -> String {
    match space {
        Space::Discrete { n } => format!("Discrete({n})"),
        Space::MultiDiscrete { nvec } => format!("MultiDiscrete({nvec:?})"),
        Space::MultiBinary { n } => format!("MultiBinary({n})"),
        Space::Box(b) => format!("a Box of shape {:?}", b.shape),
        Space::Dict { .. } => "a Dict".into(),
    }
}

/// Up to the rounding of a bound that went through text or another precision.
fn same_bounds(have: &BoxSpace, want: &BoxSpace) -> bool {
    let close = |(a, b): (&f32, &f32)| a == b || (a - b).abs() <= 1e-5 * a.abs().max(b.abs());
    have.low.iter().zip(&want.low).all(close) && have.high.iter().zip(&want.high).all(close)
}

fn bounds(b: &BoxSpace) -> String {
    let span = |i: usize| format!("[{}, {}]", b.low[i], b.high[i]);
    let alike = (0..b.dim()).all(|i| b.low[i] == b.low[0] && b.high[i] == b.high[0]);
    match b.dim() {
        0 => "nothing".into(),
        _ if alike => span(0),
        n => (0..n.min(6)).map(span).chain((n > 6).then(|| "…".to_owned())).collect::<Vec<_>>().join(" × "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(dim: usize, bound: f32) -> Space {
        Space::Box(BoxSpace::uniform(dim, -bound, bound))
    }

    fn dict(names: [&str; 2]) -> Space {
        let sizes = |name: &str| if name == "a" { 1 } else { 2 };
        Space::Dict { entries: names.map(|name| (name.to_owned(), vector(sizes(name), 1.0))).to_vec() }
    }

    #[test]
    fn parts_are_found_by_name_and_put_in_place() {
        let action = vector(1, 1.0);
        let (data, env) = (Spaces::new(dict(["a", "b"]), action.clone()), Spaces::new(dict(["b", "a"]), action));
        let obs = ObsBuf::zeros(data.obs().widths, 0);
        let mut filled = obs.clone();
        filled.floats = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let fit = Fit::new(&data, &env, false).unwrap();
        assert_eq!(fit.arrange(filled.clone()).floats, [2.0, 3.0, 1.0, 5.0, 6.0, 4.0]);
        let same = Fit::new(&data, &data, false).unwrap();
        assert!(same.moves.is_none());
        assert_eq!(same.arrange(filled.clone()), filled);
    }

    #[test]
    fn what_differs_is_said() {
        let of = |observation: Space, action: Space| Spaces::new(observation, action);
        let base = || of(vector(3, 8.0), vector(2, 1.0));
        // Other bounds of observations, an axis more or less, rounded bounds of actions.
        assert!(Fit::new(&of(vector(3, f32::INFINITY), vector(2, 1.0 + 1e-6)), &base(), false).is_ok());
        for (data, words) in [
            (of(vector(4, 8.0), vector(2, 1.0)), "shape [4] in the data, and [3]"),
            (of(Space::Discrete { n: 3 }, vector(2, 1.0)), "choices of [3] in the data, and numbers"),
            (of(dict(["a", "b"]), vector(2, 1.0)), "one thing, and the data a Dict of `a`, `b`"),
            (of(vector(3, 8.0), vector(3, 1.0)), "a Box of shape [3] in the data, and one of [2]"),
            (of(vector(3, 8.0), vector(2, 2.0)), "in [-2, 2] in the data, and in [-1, 1]"),
            (of(vector(3, 8.0), Space::Discrete { n: 2 }), "Discrete(2) in the data, and a Box of shape [2]"),
        ] {
            let problem = Fit::new(&data, &base(), false).unwrap_err();
            assert!(problem.contains(words), "{problem}");
        }
        assert!(Fit::new(&of(vector(3, 8.0), vector(2, 2.0)), &base(), true).is_ok());
        let problem = Fit::new(&base(), &of(dict(["a", "b"]), vector(2, 1.0)), false).unwrap_err();
        assert!(problem.contains("a Dict with `a`, and the data one thing"), "{problem}");
        let part = Space::Dict { entries: vec![("a".into(), vector(1, 1.0))] };
        let problem = Fit::new(&of(dict(["a", "b"]), vector(2, 1.0)), &of(part, vector(2, 1.0)), false).unwrap_err();
        assert!(problem.contains("the data observes `b`"), "{problem}");
        let discrete = || of(vector(3, 8.0), Space::Discrete { n: 2 });
        let masked = Spaces { masks: 2, ..discrete() };
        assert!(Fit::new(&discrete(), &masked, false).unwrap_err().contains("which actions are allowed"));
        assert!(Fit::new(&masked, &discrete(), false).unwrap().drops_masks);
        assert!(!Fit::new(&masked, &masked, false).unwrap().drops_masks);
    }
}
