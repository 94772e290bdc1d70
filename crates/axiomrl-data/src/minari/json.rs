//! JSON as Python writes it: with three numbers that JSON does not have.

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use std::fmt;

const TOKENS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// The same text with `Infinity`, `-Infinity` and `NaN` as strings, where they are none.
pub(super) fn quote_tokens(text: &str) -> String {
    let (mut quoted, mut rest, mut in_string) = (String::with_capacity(text.len()), text, false);
    while let Some(c) = rest.chars().next() {
        let token = if in_string { None } else { TOKENS.iter().find(|token| rest.starts_with(**token)) };
        if let Some(token) = token {
            quoted.extend(["\"", token, "\""]);
            rest = &rest[token.len()..];
            continue;
        }
        // What is escaped ends no string.
        let taken =
            if in_string && c == '\\' { 1 + rest.chars().nth(1).map_or(0, char::len_utf8) } else { c.len_utf8() };
        in_string ^= c == '"';
        quoted.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    quoted
}

/// As Python writes a number.
pub(super) fn number(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".into(),
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        _ => format!("{value:?}"),
    }
}

/// A number, or nested lists of them, one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Numbers(pub Vec<f64>);

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Flatten;
        impl<'de> Visitor<'de> for Flatten {
            type Value = Numbers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a number or lists of numbers")
            }

            fn visit_f64<E>(self, value: f64) -> Result<Numbers, E> {
                Ok(Numbers(vec![value]))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Numbers, E> {
                Ok(Numbers(vec![value as f64]))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Numbers, E> {
                Ok(Numbers(vec![value as f64]))
            }

            fn visit_bool<E>(self, value: bool) -> Result<Numbers, E> {
                Ok(Numbers(vec![f64::from(u8::from(value))]))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Numbers, E> {
                match text {
                    "Infinity" => Ok(Numbers(vec![f64::INFINITY])),
                    "-Infinity" => Ok(Numbers(vec![f64::NEG_INFINITY])),
                    "NaN" => Ok(Numbers(vec![f64::NAN])),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Numbers, A::Error> {
                let mut all = Numbers::default();
                while let Some(Numbers(numbers)) = list.next_element()? {
                    all.0.extend(numbers);
                }
                Ok(all)
            }
        }
        from.deserialize_any(Flatten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pythons_numbers_are_read_wherever_they_stand() {
        let text = r#"[[1, -2.5], [Infinity, -Infinity], [NaN, 3e38]]"#;
        let Numbers(numbers) = serde_json::from_str(&quote_tokens(text)).unwrap();
        assert_eq!(numbers[..4], [1.0, -2.5, f64::INFINITY, f64::NEG_INFINITY]);
        assert!(numbers[4].is_nan() && numbers[5] == 3e38);
        // In a string they are letters, after an escaped quote too.
        for text in [r#"{"Infinity": "NaN \" Infinity", "é\\": 1}"#, r#""\\" "#, r#""unfinished \"#] {
            assert_eq!(quote_tokens(text), text);
        }
        assert_eq!(quote_tokens(r#"["\\",NaN]"#), r#"["\\","NaN"]"#);
        assert!(serde_json::from_str::<Numbers>("[null]").is_err());
        assert!(serde_json::from_str::<Numbers>(r#"["much"]"#).is_err());
    }

    #[test]
    fn numbers_are_written_as_python_does() {
        assert_eq!(number(f64::from(4.8f32)), "4.800000190734863");
        assert_eq!(number(f64::from(f32::MAX)), "3.4028234663852886e38");
        assert_eq!([1.0, f64::INFINITY, f64::NEG_INFINITY].map(number), ["1.0", "Infinity", "-Infinity"]);
    }
}
