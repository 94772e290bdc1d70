//! JSON Schema of choices that are defined in crates that know nothing of schemas.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use std::fmt::{self, Display};

/// For schemars' `schema_with`: the names of `T`, an enumeration without data, as its reader knows them.
pub fn choices<T: for<'de> Deserialize<'de>>(_: &mut SchemaGenerator) -> Schema {
    let names = match T::deserialize(Asking) {
        Err(Names(names)) => names,
        Ok(_) => &[],
    };
    json_schema!({ "type": "string", "enum": names })
}

/// A reader that has nothing to read: it is there to be told what could be read.
struct Asking;

/// The answer, on the way back as an error.
#[derive(Debug)]
struct Names(&'static [&'static str]);

impl<'de> Deserializer<'de> for Asking {
    type Error = Names;

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Names> {
        Err(Names(variants))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Names> {
        Err(Names(&[]))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

impl std::error::Error for Names {}

impl de::Error for Names {
    fn custom<T: Display>(_: T) -> Self {
        Self(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_nn::CellKind;

    #[test]
    fn the_names_are_those_that_are_read() {
        let schema = choices::<CellKind>(&mut SchemaGenerator::default()).to_value();
        assert_eq!(schema, serde_json::json!({ "type": "string", "enum": ["lstm", "gru"] }));
    }
}
