//! How a schedule is written in YAML and JSON.
//!
//! The reader is written by hand: serde's untagged enums try one form after the other and lose the place of the error
//! on the way.

use super::Schedule;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::{borrow::Cow, fmt};

const KINDS: &[&str] = &["linear", "exponential", "cosine", "piecewise"];

#[derive(Clone, Copy)]
enum Kind {
    Linear,
    Exponential,
    Cosine,
    Piecewise,
}

impl Serialize for Schedule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Schedule::Constant(value) = self {
            return serializer.serialize_f64(*value);
        }
        let mut map = serializer.serialize_map(Some(1))?;
        match self {
            Schedule::Constant(_) => {}
            Schedule::Linear { start, end, fraction } if *fraction == 1.0 => {
                map.serialize_entry("linear", &[start, end])?;
            }
            Schedule::Linear { start, end, fraction } => map.serialize_entry("linear", &[start, end, fraction])?,
            Schedule::Exponential { start, end } => map.serialize_entry("exponential", &[start, end])?,
            Schedule::Cosine { start, end } => map.serialize_entry("cosine", &[start, end])?,
            Schedule::Piecewise(points) => map.serialize_entry("piecewise", points)?,
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Schedule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScheduleVisitor)
    }
}

struct ScheduleVisitor;

impl<'de> Visitor<'de> for ScheduleVisitor {
    type Value = Schedule;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a number or one of {{linear: [start, end]}}, {{exponential: …}}, {{cosine: …}}, {{piecewise: …}}")
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Schedule, E> {
        Ok(Schedule::Constant(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Schedule, E> {
        Ok(Schedule::Constant(value as f64))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Schedule, E> {
        Ok(Schedule::Constant(value as f64))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Schedule, A::Error> {
        let Some(kind) = map.next_key::<Kind>()? else {
            return Err(de::Error::invalid_length(0, &self));
        };
        let schedule = map.next_value_seed(Points(kind))?;
        map.next_key::<NoSecondKey>()?;
        Ok(schedule)
    }
}

/// Refuses a second key while the reader stands on it, so that the error points there.
struct NoSecondKey;

impl<'de> Deserialize<'de> for NoSecondKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = Cow::<str>::deserialize(deserializer)?;
        Err(de::Error::custom(format!("a schedule is of one kind: remove `{key}` or the key before it")))
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KindVisitor;
        impl Visitor<'_> for KindVisitor {
            type Value = Kind;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                write!(f, "one of {}", KINDS.join(", "))
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Kind, E> {
                match name {
                    "linear" => Ok(Kind::Linear),
                    "exponential" => Ok(Kind::Exponential),
                    "cosine" => Ok(Kind::Cosine),
                    "piecewise" => Ok(Kind::Piecewise),
                    _ => Err(E::unknown_field(name, KINDS)),
                }
            }
        }
        deserializer.deserialize_identifier(KindVisitor)
    }
}

/// The list after the key. It checks what it reads while the reader still knows the line.
struct Points(Kind);

impl<'de> de::DeserializeSeed<'de> for Points {
    type Value = Schedule;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Schedule, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Points {
    type Value = Schedule;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Linear => "[start, end] or [start, end, fraction of the run]",
            Kind::Exponential | Kind::Cosine => "[start, end]",
            Kind::Piecewise => "[[progress, value], …]",
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Schedule, A::Error> {
        if let Kind::Piecewise = self.0 {
            return points(seq).map(Schedule::Piecewise);
        }
        let mut numbers = Vec::new();
        while let Some(number) = seq.next_element::<f64>()? {
            numbers.push(number);
        }
        match (self.0, numbers[..].as_ref()) {
            (Kind::Linear, &[start, end]) => Ok(Schedule::linear(start, end)),
            (Kind::Linear, &[start, end, fraction]) if fraction > 0.0 && fraction <= 1.0 => {
                Ok(Schedule::Linear { start, end, fraction })
            }
            (Kind::Linear, &[_, _, fraction]) => {
                Err(de::Error::custom(format!("the fraction of the run is above 0 and at most 1, not {fraction}")))
            }
            (Kind::Exponential, &[start, end]) if start * end > 0.0 => Ok(Schedule::Exponential { start, end }),
            (Kind::Exponential, &[_, _]) => Err(de::Error::custom(
                "an exponential schedule never reaches or crosses 0: give two numbers of the same sign",
            )),
            (Kind::Cosine, &[start, end]) => Ok(Schedule::Cosine { start, end }),
            _ => Err(de::Error::invalid_length(numbers.len(), &self)),
        }
    }
}

fn points<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<Vec<(f64, f64)>, A::Error> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    while let Some((progress, value)) = seq.next_element::<(f64, f64)>()? {
        let before = points.last().map_or(0.0, |point| point.0);
        if !(before..=1.0).contains(&progress) {
            return Err(de::Error::custom(format!(
                "progress goes from 0 to 1 and never back: {progress} cannot follow {before}"
            )));
        }
        points.push((progress, value));
    }
    match points.is_empty() {
        true => Err(de::Error::custom("a piecewise schedule needs at least one [progress, value]")),
        false => Ok(points),
    }
}

impl schemars::JsonSchema for Schedule {
    fn schema_name() -> Cow<'static, str> {
        "Schedule".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let numbers = |most: u32| serde_json::json!({"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": most});
        let one_key = |name: &str, value: serde_json::Value| {
            serde_json::json!({
                "type": "object", "properties": {name: value}, "required": [name], "additionalProperties": false
            })
        };
        let points = serde_json::json!({"type": "array", "items": numbers(2), "minItems": 1});
        schemars::json_schema!({
            "description": "A number, or how it changes over the run.",
            "oneOf": [
                {"type": "number"},
                one_key("linear", numbers(3)),
                one_key("exponential", numbers(2)),
                one_key("cosine", numbers(2)),
                one_key("piecewise", points),
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml(text: &str) -> Result<Schedule, String> {
        #[derive(serde::Deserialize)]
        struct File {
            learning_rate: Schedule,
        }
        serde_saphyr::from_str::<File>(text).map(|file| file.learning_rate).map_err(|error| error.to_string())
    }

    #[test]
    fn every_form_reads_from_yaml_and_survives_json() {
        for (text, expected) in [
            ("3e-4", Schedule::Constant(3e-4)),
            ("1", Schedule::Constant(1.0)),
            ("-2", Schedule::Constant(-2.0)),
            ("{linear: [3e-4, 0]}", Schedule::linear(3e-4, 0.0)),
            ("{linear: [1, 0.05, 0.1]}", Schedule::Linear { start: 1.0, end: 0.05, fraction: 0.1 }),
            ("{exponential: [1e-3, 1e-5]}", Schedule::Exponential { start: 1e-3, end: 1e-5 }),
            ("{cosine: [1, 0]}", Schedule::Cosine { start: 1.0, end: 0.0 }),
            (
                "{piecewise: [[0, 1.0], [0.5, 0.1], [1, 0.05]]}",
                Schedule::Piecewise(vec![(0.0, 1.0), (0.5, 0.1), (1.0, 0.05)]),
            ),
            ("\n  linear:\n    - 1\n    - 0", Schedule::linear(1.0, 0.0)),
        ] {
            let read = yaml(&format!("learning_rate: {text}")).unwrap();
            assert_eq!(read, expected, "{text}");
            let json = serde_json::to_string(&read).unwrap();
            assert_eq!(serde_json::from_str::<Schedule>(&json).unwrap(), expected, "{json}");
        }
    }

    #[test]
    fn the_written_form_is_the_short_one() {
        let written = |s: Schedule| serde_json::to_string(&s).unwrap();
        assert_eq!(written(Schedule::Constant(0.5)), "0.5");
        assert_eq!(written(Schedule::linear(1.0, 0.0)), r#"{"linear":[1.0,0.0]}"#);
        assert_eq!(written(Schedule::Piecewise(vec![(0.0, 1.0)])), r#"{"piecewise":[[0.0,1.0]]}"#);
    }

    #[test]
    fn mistakes_are_named_at_their_place() {
        for (text, message, line) in [
            ("learning_rate:\n  linaer: [1, 0]", "linaer", 2),
            ("learning_rate:\n  linear: [1]", "[start, end]", 2),
            ("learning_rate:\n  linear: [1, 0, 0.5, 3]", "[start, end]", 2),
            ("learning_rate:\n  linear: [1, 0, 1.5]", "fraction", 2),
            ("learning_rate:\n  linear: [1, 0]\n  cosine: [1, 0]", "one kind", 3),
            ("learning_rate:\n  exponential: [1, 0]", "same sign", 2),
            ("learning_rate:\n  piecewise: [[0.5, 1], [0.2, 1]]", "0.2 cannot follow 0.5", 2),
            ("learning_rate:\n  piecewise: []", "at least one", 2),
            ("learning_rate: fast", "a number or one of", 1),
        ] {
            let error = yaml(text).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
            assert!(error.contains(&format!("line {line}")), "{text}: {error}");
        }
    }

    #[test]
    fn the_schema_has_one_entry_per_form() {
        let schema = schemars::schema_for!(Schedule);
        let forms = schema.get("oneOf").and_then(|forms| forms.as_array()).unwrap();
        let keys: Vec<&str> = forms.iter().filter_map(|f| f["required"][0].as_str()).collect();
        assert_eq!((forms.len(), keys.as_slice()), (5, KINDS));
    }
}
