//! A run file as a tree in which everything knows where it was written.

use axiomrl_envs::names::short;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::Spanned;
use std::fmt;

/// Where something was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nowhere: a default, or a value that came from a program.
    Nowhere,
    File {
        line: u64,
        column: u64,
    },
    /// In the override of this number.
    Override(usize),
}

/// A value and its place.
#[derive(Clone, Debug)]
pub struct Node {
    pub place: Place,
    pub content: Content,
}

#[derive(Clone, Debug)]
pub enum Content {
    Null,
    Flag(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key of a map, with a place of its own, and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    pub key: String,
    pub key_place: Place,
    pub value: Node,
}

impl Node {
    /// A plain value, all of it written at `place`.
    pub fn of(value: &Value, place: Place) -> Self {
        let content = match value {
            Value::Null => Content::Null,
            Value::Bool(flag) => Content::Flag(*flag),
            Value::Number(number) => Content::Number(number.clone()),
            Value::String(text) => Content::Text(text.clone()),
            Value::Array(items) => Content::List(items.iter().map(|item| Self::of(item, place)).collect()),
            Value::Object(map) => {
                let entry = |(key, value): (&String, &Value)| Entry {
                    key: key.clone(),
                    key_place: place,
                    value: Self::of(value, place),
                };
                Content::Map(map.iter().map(entry).collect())
            }
        };
        Self { place, content }
    }

    /// Without places.
    pub fn to_value(&self) -> Value {
        match &self.content {
            Content::Null => Value::Null,
            Content::Flag(flag) => Value::Bool(*flag),
            Content::Number(number) => Value::Number(number.clone()),
            Content::Text(text) => Value::String(text.clone()),
            Content::List(items) => items.iter().map(Self::to_value).collect(),
            Content::Map(entries) => {
                Value::Object(entries.iter().map(|e| (e.key.clone(), e.value.to_value())).collect::<Map<_, _>>())
            }
        }
    }

    /// The entry of a map.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        let Content::Map(entries) = &self.content else { return None };
        entries.iter().find(|entry| entry.key == key)
    }

    fn entry_mut(&mut self, key: &str) -> Option<&mut Entry> {
        let Content::Map(entries) = &mut self.content else { return None };
        entries.iter_mut().find(|entry| entry.key == key)
    }

    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The node at a path of keys and numbers of items, or the last one on the way there.
    pub fn nearest_to(&self, path: &[&str]) -> &Node {
        let Some((first, rest)) = path.split_first() else { return self };
        let next = match &self.content {
            Content::List(items) => first.parse::<usize>().ok().and_then(|i| items.get(i)),
            _ => self.get(first),
        };
        next.map_or(self, |node| node.nearest_to(rest))
    }

    /// Puts `value` at a dotted path, making the maps on the way; all that is new is written at the value's place.
    pub fn set(&mut self, path: &str, value: Node) -> Result<(), String> {
        let (key, rest) = path.split_once('.').map_or((path, None), |(key, rest)| (key, Some(rest)));
        if key.is_empty() {
            return Err("an empty key".to_owned());
        }
        if let Content::Null = self.content {
            *self = Node { place: value.place, content: Content::Map(Vec::new()) };
        }
        let place = value.place;
        let Content::Map(entries) = &mut self.content else {
            return Err(format!("`{}` is inside something that has no keys", short(key)));
        };
        let found = entries.iter().position(|entry| entry.key == key).unwrap_or_else(|| {
            let value = Node { place, content: Content::Null };
            entries.push(Entry { key: key.to_owned(), key_place: place, value });
            entries.len() - 1
        });
        let entry = &mut entries[found];
        match rest {
            Some(rest) => entry.value.set(rest, value),
            None => {
                *entry = Entry { key: key.to_owned(), key_place: place, value };
                Ok(())
            }
        }
    }

    /// Takes a key out of the map at `outer`.
    pub fn remove(&mut self, outer: &str, key: &str) {
        if let Some(Content::Map(entries)) = self.entry_mut(outer).map(|entry| &mut entry.value.content) {
            entries.retain(|entry| entry.key != key);
        }
    }

    /// Of a map: an entry without a value gets this one.
    pub fn fill_empty(&mut self, key: &str, content: Content) {
        if let Some(entry) = self.entry_mut(key)
            && matches!(entry.value.content, Content::Null)
        {
            entry.value.content = content;
        }
    }

    /// What stands there, in words that fit a message.
    pub fn words(&self) -> String {
        match &self.content {
            Content::Null => "nothing".to_owned(),
            Content::Flag(flag) => flag.to_string(),
            Content::Number(number) => number.to_string(),
            Content::Text(text) => format!("the text \"{}\"", short(text)),
            Content::List(_) => "a list".to_owned(),
            Content::Map(_) => "a map of keys".to_owned(),
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let found = Spanned::<Content>::deserialize(from)?;
        Ok(Self { place: at(&found.referenced), content: found.value })
    }
}

fn at(location: &serde_saphyr::Location) -> Place {
    Place::File { line: location.line(), column: location.column() }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Content, E> {
        Ok(Content::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Content, E> {
        Ok(Content::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Content, E> {
        Ok(Content::Number(number.into()))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Content, E> {
        let finite = Number::from_f64(number).map(Content::Number);
        finite.ok_or_else(|| E::custom(format!("{number} is not a finite number")))
    }

    fn visit_str<E>(self, text: &str) -> Result<Content, E> {
        Ok(Content::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Content, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Content::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Content, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let key_place = at(&key.referenced);
            entries.push(Entry { key: key.value, key_place, value: map.next_value()? });
        }
        Ok(Content::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Node {
        serde_saphyr::from_str(text).unwrap()
    }

    #[test]
    fn keys_and_values_know_their_places() {
        let root = parse("a: 1\nb:\n  c: [2.5, yes]\n  d: \"3\"\n");
        assert_eq!(root.to_value(), serde_json::json!({"a": 1, "b": {"c": [2.5, true], "d": "3"}}));
        let b = root.entry("b").unwrap();
        assert_eq!(b.key_place, Place::File { line: 2, column: 1 });
        let c = b.value.entry("c").unwrap();
        assert_eq!(c.key_place, Place::File { line: 3, column: 3 });
        assert_eq!(c.value.place, Place::File { line: 3, column: 6 });
        assert_eq!(root.nearest_to(&["b", "c", "1"]).place, Place::File { line: 3, column: 12 });
        assert_eq!(root.nearest_to(&["b", "d", "x"]).place, Place::File { line: 4, column: 6 });
    }

    #[test]
    fn a_path_makes_the_maps_it_needs_and_nothing_else() {
        let mut root = parse("a: {b: 1}\nempty:\n");
        let new = |n: i64| Node::of(&n.into(), Place::Override(0));
        root.set("a.c", new(2)).unwrap();
        root.set("empty.x.y", new(3)).unwrap();
        root.set("a.b", new(4)).unwrap();
        assert_eq!(root.to_value(), serde_json::json!({"a": {"b": 4, "c": 2}, "empty": {"x": {"y": 3}}}));
        assert_eq!(root.get("a").unwrap().place, Place::File { line: 1, column: 4 });
        assert_eq!(root.nearest_to(&["a", "b"]).place, Place::Override(0));
        assert!(root.set("a.b.c", new(1)).unwrap_err().contains("no keys"));
        assert!(root.set("a..c", new(1)).unwrap_err().contains("empty"));
    }
}
