//! Spaces as Minari writes them, which is not quite as ours are: with a `start` of choices, and with tuples.

use super::json::{Numbers, number, quote_tokens};
use axiomrl_envs::{BoxSpace, DType, Space};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// A space of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree {
    Leaf(Leaf),
    Dict(Vec<(String, Tree)>),
    Tuple(Vec<Tree>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Leaf {
    pub space: Space,
    /// What choices count from, one for each number; empty where that is 0.
    pub start: Vec<f32>,
}

/// A leaf and the way to it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    pub leaf: Leaf,
    /// Names of groups and of the array; empty where the space is the leaf.
    pub hdf5: Vec<String>,
    /// Names of fields.
    pub arrow: Vec<String>,
}

impl Tree {
    /// Reads the text of a space. A problem says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let raw: Raw = serde_json::from_str(&quote_tokens(text)).map_err(|error| format!("is damaged: {error}"))?;
        raw.tree()
    }

    /// In our own terms.
    pub fn space(&self) -> Space {
        match self {
            Self::Leaf(leaf) => leaf.space.clone(),
            Self::Dict(entries) => {
                Space::Dict { entries: entries.iter().map(|(name, tree)| (name.clone(), tree.space())).collect() }
            }
            Self::Tuple(entries) => Space::Dict {
                entries: entries.iter().enumerate().map(|(i, tree)| (i.to_string(), tree.space())).collect(),
            },
        }
    }

    /// In the order of the parts of an observation.
    pub fn places(&self) -> Vec<Place> {
        fn walk(tree: &Tree, hdf5: Vec<String>, arrow: Vec<String>, places: &mut Vec<Place>) {
            let below = |way: &[String], name: String| [way, &[name]].concat();
            match tree {
                Tree::Leaf(leaf) => places.push(Place { leaf: leaf.clone(), hdf5, arrow }),
                Tree::Dict(entries) => {
                    for (name, tree) in entries {
                        walk(tree, below(&hdf5, name.clone()), below(&arrow, name.clone()), places);
                    }
                }
                Tree::Tuple(entries) => {
                    for (i, tree) in entries.iter().enumerate() {
                        walk(tree, below(&hdf5, format!("_index_{i}")), below(&arrow, i.to_string()), places);
                    }
                }
            }
        }
        let mut places = Vec::new();
        walk(self, Vec::new(), Vec::new(), &mut places);
        places
    }
}

/// Whether Minari packs values of a space as JPEG, unless it is told not to.
pub(super) fn is_image(space: &Space) -> bool {
    let Space::Box(b) = space else { return false };
    b.dtype == DType::U8
        && matches!(b.shape.as_slice(), [height, width] | [height, width, _] if *height >= 32 && *width >= 32)
        && b.low.iter().all(|&low| low == 0.0)
        && b.high.iter().all(|&high| high == 255.0)
}

#[derive(Debug, Deserialize)]
struct Raw {
    #[serde(rename = "type")]
    kind: String,
    dtype: Option<String>,
    shape: Option<Vec<usize>>,
    low: Option<Numbers>,
    high: Option<Numbers>,
    n: Option<Numbers>,
    nvec: Option<Numbers>,
    start: Option<Numbers>,
    subspaces: Option<Subspaces>,
}

/// In the order of the text, which a map would lose.
#[derive(Debug)]
enum Subspaces {
    Named(Vec<(String, Raw)>),
    Listed(Vec<Raw>),
}

impl<'de> Deserialize<'de> for Subspaces {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Subspaces;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "spaces by name or in a list")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Subspaces, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Subspaces::Named(entries))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Subspaces, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = list.next_element()? {
                    entries.push(entry);
                }
                Ok(Subspaces::Listed(entries))
            }
        }
        from.deserialize_any(InOrder)
    }
}

impl Raw {
    fn tree(self) -> Result<Tree, String> {
        let lacks = |what: &str| format!("has a {} without `{what}`", self.kind);
        let leaf = |space: Space, start: Vec<f32>| {
            let start = if start.iter().all(|&start| start == 0.0) { Vec::new() } else { start };
            Ok(Tree::Leaf(Leaf { space, start }))
        };
        let sizes = |numbers: &Option<Numbers>, key: &str| {
            let Numbers(numbers) = numbers.as_ref().ok_or_else(|| lacks(key))?;
            let whole =
                |&n: &f64| if n >= 1.0 && n.fract() == 0.0 && n < 1e9 { Ok(n as usize) } else { Err(lacks(key)) };
            numbers.iter().map(whole).collect::<Result<Vec<usize>, String>>()
        };
        let start: Vec<f32> = self.start.iter().flat_map(|numbers| &numbers.0).map(|&start| start as f32).collect();
        match self.kind.as_str() {
            "Box" => self.box_space().and_then(|space| leaf(space, Vec::new())),
            "Discrete" => match sizes(&self.n, "n")?.as_slice() {
                [n] => leaf(Space::Discrete { n: *n }, start),
                _ => Err(lacks("n")),
            },
            "MultiDiscrete" => {
                let nvec = sizes(&self.nvec, "nvec")?;
                if !start.is_empty() && start.len() != nvec.len() {
                    return Err(lacks("start"));
                }
                leaf(Space::MultiDiscrete { nvec }, start)
            }
            "MultiBinary" => {
                let bits = sizes(&self.n, "n")?.iter().try_fold(1usize, |product, &n| product.checked_mul(n));
                leaf(Space::MultiBinary { n: bits.ok_or_else(|| lacks("n"))? }, Vec::new())
            }
            "Dict" | "Tuple" => match self.subspaces {
                Some(Subspaces::Named(entries)) if !entries.is_empty() => {
                    let entries = entries.into_iter().map(|(name, raw)| Ok((name, raw.tree()?)));
                    Ok(Tree::Dict(entries.collect::<Result<_, String>>()?))
                }
                Some(Subspaces::Listed(entries)) if !entries.is_empty() => {
                    Ok(Tree::Tuple(entries.into_iter().map(Raw::tree).collect::<Result<_, String>>()?))
                }
                _ => Err(format!("has a {} of nothing", self.kind)),
            },
            "Text" => Err("holds Text, which no learner here can read; leave that part out of the recording".into()),
            other => Err(format!("holds a space of type {other}, which is unknown")),
        }
    }

    fn box_space(&self) -> Result<Space, String> {
        let lacks = |what: &str| format!("has a Box without `{what}`");
        let shape = self.shape.clone().ok_or_else(|| lacks("shape"))?;
        let dtype = match self.dtype.as_deref().ok_or_else(|| lacks("dtype"))? {
            "uint8" => DType::U8,
            other if ["float", "int", "uint", "bool"].iter().any(|kind| other.starts_with(kind)) => DType::F32,
            other => return Err(format!("has a Box of {other}, which are no numbers")),
        };
        let dim = shape.iter().try_fold(1usize, |product, &n| product.checked_mul(n));
        let bounds = |numbers: &Option<Numbers>, key: &str| {
            let Numbers(numbers) = numbers.as_ref().ok_or_else(|| lacks(key))?;
            if Some(numbers.len()) != dim {
                return Err(format!("has a Box of shape {shape:?} with {} numbers in `{key}`", numbers.len()));
            }
            if numbers.iter().any(|bound| bound.is_nan()) {
                return Err(format!("has a Box with NaN in `{key}`"));
            }
            Ok(numbers.iter().map(|&bound| bound as f32).collect::<Vec<f32>>())
        };
        let (low, high) = (bounds(&self.low, "low")?, bounds(&self.high, "high")?);
        Ok(Space::Box(BoxSpace { shape, low, high, dtype, frames: 1 }))
    }
}

/// The text of one of our spaces.
pub(super) fn print(space: &Space) -> String {
    match space {
        Space::Box(b) => {
            let dtype = if b.dtype == DType::U8 { "uint8" } else { "float32" };
            let bound = |value: &f32| match b.dtype {
                DType::U8 => format!("{}", *value as u8),
                DType::F32 => number(f64::from(*value)),
            };
            let nested = |bounds: &[f32]| nest(&b.shape, &mut bounds.iter().map(bound));
            let (low, high) = (nested(&b.low), nested(&b.high));
            format!(r#"{{"type": "Box", "dtype": "{dtype}", "shape": {:?}, "low": {low}, "high": {high}}}"#, b.shape)
        }
        Space::Discrete { n } => format!(r#"{{"type": "Discrete", "dtype": "int64", "start": 0, "n": {n}}}"#),
        Space::MultiDiscrete { nvec } => {
            let start = vec![0; nvec.len()];
            format!(r#"{{"type": "MultiDiscrete", "dtype": "int64", "nvec": {nvec:?}, "start": {start:?}}}"#)
        }
        Space::MultiBinary { n } => format!(r#"{{"type": "MultiBinary", "n": {n}}}"#),
        Space::Dict { entries } => {
            let entry = |(name, space): &(String, Space)| format!("{}: {}", serde_json::json!(name), print(space));
            let entries: Vec<String> = entries.iter().map(entry).collect();
            format!(r#"{{"type": "Dict", "subspaces": {{{}}}}}"#, entries.join(", "))
        }
    }
}

/// Lists in lists, as deep as there are axes.
fn nest(shape: &[usize], values: &mut dyn Iterator<Item = String>) -> String {
    match shape.split_first() {
        None => values.next().unwrap_or_default(),
        Some((&n, inner)) => format!("[{}]", (0..n).map(|_| nest(inner, values)).collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(space: &Space) -> Space {
        Tree::parse(&print(space)).unwrap().space()
    }

    #[test]
    fn every_space_goes_there_and_back_with_infinite_bounds() {
        let high = [4.8, f32::INFINITY, f32::MAX];
        let vector = Space::Box(BoxSpace::vector(&high.map(|h| -h), &high));
        assert_eq!(
            print(&Space::Box(BoxSpace::vector(&[f32::NEG_INFINITY, 0.0], &[1.0, f32::INFINITY]))),
            r#"{"type": "Box", "dtype": "float32", "shape": [2], "low": [-Infinity, 0.0], "high": [1.0, Infinity]}"#
        );
        let image = Space::Box(BoxSpace::image(2, 3, 1));
        assert!(print(&image).contains(r#""dtype": "uint8", "shape": [2, 3, 1], "low": [[[0], [0], [0]], [[0], "#));
        let scalar =
            Space::Box(BoxSpace { shape: vec![], low: vec![0.0], high: vec![2.0], dtype: DType::F32, frames: 1 });
        for space in [
            vector.clone(),
            image.clone(),
            scalar,
            Space::Discrete { n: 3 },
            Space::MultiDiscrete { nvec: vec![2, 5] },
            Space::MultiBinary { n: 4 },
            // Not in the order of the alphabet.
            Space::Dict {
                entries: vec![
                    ("z \"quoted\"".into(), vector),
                    (
                        "a".into(),
                        Space::Dict { entries: vec![("y".into(), image), ("b".into(), Space::Discrete { n: 2 })] },
                    ),
                ],
            },
        ] {
            assert_eq!(back(&space), space);
        }
    }

    #[test]
    fn starts_and_tuples_are_understood() {
        let text = r#"{"type":"Tuple","subspaces":[{"type":"Discrete","dtype":"int64","start":-1,"n":3},
            {"type":"Dict","subspaces":{"m":{"type":"MultiDiscrete","dtype":"int64","nvec":[[2,3]],"start":[[5,0]]}}},
            {"type":"MultiBinary","n":[2,2]}]}"#;
        let tree = Tree::parse(text).unwrap();
        let places = tree.places();
        let found: Vec<_> = places
            .iter()
            .map(|place| (place.hdf5.join("/"), place.arrow.join("/"), place.leaf.start.clone()))
            .collect();
        assert_eq!(
            found,
            [
                ("_index_0".into(), "0".into(), vec![-1.0]),
                ("_index_1/m".into(), "1/m".into(), vec![5.0, 0.0]),
                ("_index_2".into(), "2".into(), vec![]),
            ]
        );
        let names: Vec<String> =
            axiomrl_envs::ObsSpace::of(&tree.space()).parts.into_iter().map(|part| part.name).collect();
        assert_eq!(names, ["0", "1/m", "2"]);
        assert_eq!(places[2].leaf.space, Space::MultiBinary { n: 4 });
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (text, words) in [
            (r#"{"type":"Text","max_length":5,"min_length":0,"charset":"ab"}"#, "holds Text"),
            (r#"{"type":"Graph"}"#, "type Graph"),
            (
                r#"{"type":"Box","dtype":"float32","shape":[2],"low":[0],"high":[1,1]}"#,
                "shape [2] with 1 numbers in `low`",
            ),
            (r#"{"type":"Box","dtype":"float32","shape":[1],"low":[NaN],"high":[1]}"#, "NaN in `low`"),
            (r#"{"type":"Box","dtype":"float32","shape":[1],"low":[null],"high":[1]}"#, "is damaged"),
            (r#"{"type":"Box","dtype":"<U3","shape":[1],"low":[0],"high":[1]}"#, "no numbers"),
            (r#"{"type":"Box","shape":[1],"low":[0],"high":[1]}"#, "without `dtype`"),
            (r#"{"type":"Discrete","start":0}"#, "Discrete without `n`"),
            (r#"{"type":"Discrete","n":0,"start":0}"#, "Discrete without `n`"),
            (r#"{"type":"Dict","subspaces":{}}"#, "Dict of nothing"),
            ("not json", "is damaged"),
        ] {
            let problem = Tree::parse(text).unwrap_err();
            assert!(problem.contains(words), "{problem}");
        }
    }

    #[test]
    fn images_are_those_that_minari_packs() {
        let image = |height, width| Space::Box(BoxSpace::image(height, width, 3));
        assert!(is_image(&image(32, 64)));
        assert!(!is_image(&image(31, 64)) && !is_image(&image(64, 31)));
        let numbers = BoxSpace { dtype: DType::F32, ..BoxSpace::image(64, 64, 3) };
        assert!(!is_image(&Space::Box(numbers)));
        let grey = BoxSpace { shape: vec![64, 192], ..BoxSpace::image(64, 64, 3) };
        assert!(is_image(&Space::Box(grey.clone())));
        assert!(!is_image(&Space::Box(BoxSpace { shape: vec![64, 64, 3, 1], ..grey.clone() })));
        let mut dim = grey;
        dim.high[5] = 254.0;
        assert!(!is_image(&Space::Box(dim)));
    }
}
