//! From a tree to typed settings. The reader is our own so that a mistake says, in words that a user of the program
//! understands, which key it is about and where that was written.

use super::tree::{Content, Entry, Node, Place};
use axiomrl_envs::names::{short, suggestion};
use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, Error as _, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde::forward_to_deserialize_any;
use std::fmt::{self, Display};

/// Why a tree is not what was asked for.
#[derive(Debug)]
pub struct Mistake {
    /// Keys from the outside in; filled in on the way out.
    pub path: Vec<String>,
    pub place: Option<Place>,
    pub message: String,
    /// Whether the message itself says which key it is about.
    names_key: bool,
}

impl Mistake {
    fn new(message: String, names_key: bool) -> Self {
        Self { path: Vec::new(), place: None, message, names_key }
    }

    /// Seen from one level further out.
    pub fn inside(mut self, key: &str, place: Place) -> Self {
        self.path.insert(0, key.to_owned());
        self.place.get_or_insert(place);
        self
    }
}

impl Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.names_key && !self.path.is_empty() {
            write!(f, "`{}`: ", short(&self.path.join(".")))?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Mistake {}

impl de::Error for Mistake {
    fn custom<T: Display>(message: T) -> Self {
        Self::new(message.to_string(), false)
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let found = match unexpected {
            Unexpected::Bool(flag) => flag.to_string(),
            Unexpected::Unsigned(number) => number.to_string(),
            Unexpected::Signed(number) => number.to_string(),
            Unexpected::Float(number) => number.to_string(),
            Unexpected::Str(text) => format!("the text \"{}\"", short(text)),
            Unexpected::Unit | Unexpected::Option => "nothing".to_owned(),
            Unexpected::Seq => "a list".to_owned(),
            Unexpected::Map => "a map of keys".to_owned(),
            other => other.to_string(),
        };
        let quoted = matches!(unexpected, Unexpected::Str(text) if text.trim().parse::<f64>().is_ok());
        let remedy = if quoted { "; remove the quotes" } else { "" };
        Self::custom(format!("{found} where {expected} belongs{remedy}"))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(unexpected, expected)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("unknown key `{}`{}", short(field), suggestion(field, expected)), true)
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(format!("unknown value `{}`{}", short(variant), suggestion(variant, expected)))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("the key `{field}` is missing"), true)
    }
}

/// `node` where `wanted` belongs.
fn misfit(node: &Node, wanted: &str, remedy: &str) -> Mistake {
    Mistake::custom(format!("{} where {wanted} belongs{remedy}", node.words()))
}

impl Node {
    fn number_misfit(&self, wanted: &str) -> Mistake {
        let remedy = match &self.content {
            Content::Text(text) if text.trim().parse::<f64>().is_ok() => "; remove the quotes".to_owned(),
            Content::Number(number) => match number.as_f64() {
                Some(n) if number.is_f64() && n.fract() == 0.0 && n.abs() < 1e15 => format!("; write {n:.0}"),
                _ => String::new(),
            },
            _ => String::new(),
        };
        misfit(self, wanted, &remedy)
    }

    fn whole<'de, V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value, Mistake> {
        match &self.content {
            Content::Number(number) if number.is_u64() => visitor.visit_u64(number.as_u64().unwrap_or_default()),
            Content::Number(number) if number.is_i64() => visitor.visit_i64(number.as_i64().unwrap_or_default()),
            _ => Err(self.number_misfit("a whole number")),
        }
    }

    fn counted<'de, V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value, Mistake> {
        match &self.content {
            Content::Number(number) if number.is_u64() => visitor.visit_u64(number.as_u64().unwrap_or_default()),
            Content::Number(number) if number.is_i64() => Err(misfit(self, "a whole number from 0 on", "")),
            _ => Err(self.number_misfit("a whole number")),
        }
    }

    fn number<'de, V: Visitor<'de>>(&self, visitor: V, most: f64) -> Result<V::Value, Mistake> {
        let Content::Number(number) = &self.content else { return Err(self.number_misfit("a number")) };
        let number = number.as_f64().unwrap_or(f64::INFINITY);
        if number.abs() > most {
            return Err(misfit(self, &format!("a number of at most {most:.1e}"), ""));
        }
        visitor.visit_f64(number)
    }

    fn text<'de, V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value, Mistake> {
        match &self.content {
            Content::Text(text) => visitor.visit_str(text),
            Content::Number(_) | Content::Flag(_) => Err(misfit(self, "text", "; put it into quotes")),
            _ => Err(misfit(self, "text", "")),
        }
    }
}

/// The integers that may be negative, those that may not, and single and double precision each want their own words.
macro_rules! read_as {
    ($($method:ident => |$node:ident, $visitor:ident| $read:expr;)*) => {
        $(fn $method<V: Visitor<'de>>(self, $visitor: V) -> Result<V::Value, Mistake> {
            let $node = self;
            $read
        })*
    };
}

impl<'de> Deserializer<'de> for &Node {
    type Error = Mistake;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match &self.content {
            Content::Null => visitor.visit_unit(),
            Content::Flag(flag) => visitor.visit_bool(*flag),
            Content::Number(number) if number.is_f64() => visitor.visit_f64(number.as_f64().unwrap_or_default()),
            Content::Number(_) => self.whole(visitor),
            Content::Text(text) => visitor.visit_str(text),
            Content::List(items) => visitor.visit_seq(Items { items: items.iter(), next: 0 }),
            Content::Map(entries) => visitor.visit_map(Entries { entries: entries.iter(), value: None }),
        }
    }

    read_as! {
        deserialize_i8 => |node, visitor| node.whole(visitor);
        deserialize_i16 => |node, visitor| node.whole(visitor);
        deserialize_i32 => |node, visitor| node.whole(visitor);
        deserialize_i64 => |node, visitor| node.whole(visitor);
        deserialize_u8 => |node, visitor| node.counted(visitor);
        deserialize_u16 => |node, visitor| node.counted(visitor);
        deserialize_u32 => |node, visitor| node.counted(visitor);
        deserialize_u64 => |node, visitor| node.counted(visitor);
        deserialize_f32 => |node, visitor| node.number(visitor, f64::from(f32::MAX));
        deserialize_f64 => |node, visitor| node.number(visitor, f64::MAX);
        deserialize_str => |node, visitor| node.text(visitor);
        deserialize_string => |node, visitor| node.text(visitor);
        deserialize_bool => |node, visitor| match &node.content {
            Content::Flag(flag) => visitor.visit_bool(*flag),
            _ => Err(misfit(node, "true or false", "")),
        };
        deserialize_seq => |node, visitor| match &node.content {
            Content::List(_) => node.deserialize_any(visitor),
            _ => Err(misfit(node, "a list in brackets", "")),
        };
        deserialize_map => |node, visitor| match &node.content {
            Content::Map(_) => node.deserialize_any(visitor),
            _ => Err(misfit(node, "a map of keys", "")),
        };
        deserialize_option => |node, visitor| match &node.content {
            Content::Null => visitor.visit_none(),
            _ => visitor.visit_some(node),
        };
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        match &self.content {
            Content::Text(text) => visitor.visit_enum(name(text)),
            _ => Err(misfit(self, &format!("one of {}", variants.join(", ")), "")),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit unit_struct tuple tuple_struct identifier ignored_any
    }
}

fn name(text: &str) -> StrDeserializer<'_, Mistake> {
    text.into_deserializer()
}

struct Items<'a> {
    items: std::slice::Iter<'a, Node>,
    next: usize,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Mistake;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Mistake> {
        let Some(item) = self.items.next() else { return Ok(None) };
        self.next += 1;
        seed.deserialize(item).map(Some).map_err(|mistake| mistake.inside(&(self.next - 1).to_string(), item.place))
    }
}

struct Entries<'a> {
    entries: std::slice::Iter<'a, Entry>,
    value: Option<&'a Entry>,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Mistake;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Mistake> {
        let Some(entry) = self.entries.next() else { return Ok(None) };
        self.value = Some(entry);
        let placed = |mut mistake: Mistake| {
            mistake.place.get_or_insert(entry.key_place);
            mistake
        };
        seed.deserialize(name(&entry.key)).map(Some).map_err(placed)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Mistake> {
        let entry = self.value.take().ok_or_else(|| Mistake::custom("a value without a key"))?;
        seed.deserialize(&entry.value).map_err(|mistake| mistake.inside(&entry.key, entry.value.place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Choice {
        First,
        Second,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        rate: f32,
        #[serde(default)]
        widths: Vec<usize>,
        #[serde(default)]
        steps: i64,
        #[serde(default)]
        choice: Option<Choice>,
        #[serde(default)]
        on: bool,
        #[serde(default)]
        name: String,
    }

    #[derive(Debug, Deserialize)]
    struct Outer {
        inner: Inner,
    }

    fn read(inner: &str) -> Result<Outer, Mistake> {
        let root: Node = serde_saphyr::from_str(&format!("inner:\n  {inner}\n")).unwrap();
        Outer::deserialize(&root)
    }

    #[test]
    fn what_is_right_is_read() {
        let read = read("{rate: 1, widths: [2, 3], steps: -4, choice: second, on: true, name: x}").unwrap().inner;
        assert_eq!((read.rate, read.steps, read.on), (1.0, -4, true));
        assert_eq!((read.widths, read.name), (vec![2, 3], "x".to_owned()));
        assert!(matches!(read.choice, Some(Choice::Second)));
        assert!(matches!(Choice::deserialize(name("first")), Ok(Choice::First)));
    }

    #[test]
    fn mistakes_are_placed_and_told_in_our_words() {
        for (inner, column, told) in [
            ("rate: \"0.9\"", 9, "`inner.rate`: the text \"0.9\" where a number belongs; remove the quotes"),
            ("rate: [1]", 9, "`inner.rate`: a list where a number belongs"),
            ("rate: 1e39", 9, "`inner.rate`: 1e+39 where a number of at most 3.4e38 belongs"),
            ("{rate: 1, steps: 1e3}", 20, "`inner.steps`: 1000.0 where a whole number belongs; write 1000"),
            ("{rate: 1, steps: 1.5}", 20, "`inner.steps`: 1.5 where a whole number belongs"),
            ("{rate: 1, widths: [1, -2]}", 25, "`inner.widths.1`: -2 where a whole number from 0 on belongs"),
            ("{rate: 1, widths: 5}", 21, "`inner.widths`: 5 where a list in brackets belongs"),
            ("{rate: 1, choice: secnd}", 21, "`inner.choice`: unknown value `secnd`; did you mean `second`?"),
            ("{rate: 1, choice: 2}", 21, "`inner.choice`: 2 where one of first, second belongs"),
            ("{rate: 1, on: 1}", 17, "`inner.on`: 1 where true or false belongs"),
            ("{rate: 1, name: 8}", 19, "`inner.name`: 8 where text belongs; put it into quotes"),
            ("{rate: 1, naem: 8}", 13, "unknown key `naem`; did you mean `name`?"),
            ("{on: true}", 3, "the key `rate` is missing"),
            ("[1]", 3, "`inner`: a list where a map of keys belongs"),
        ] {
            let mistake = read(inner).unwrap_err();
            assert_eq!(mistake.to_string(), told, "{inner}");
            assert_eq!(mistake.place, Some(Place::File { line: 2, column }), "{inner}");
        }
    }
}
