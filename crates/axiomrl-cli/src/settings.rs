//! An algorithm's settings, read from its JSON Schema.

use serde_json::{Value, json};

/// One setting in words.
pub struct Setting {
    pub name: String,
    pub kind: String,
    pub default: Value,
    pub range: String,
    pub doc: String,
}

impl Setting {
    /// As cells of a table.
    pub fn row(self) -> Vec<String> {
        let default = if self.default.is_null() { "none".to_owned() } else { plain(&self.default) };
        vec![self.name, self.kind, default, self.range, self.doc]
    }

    /// For programs.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name, "type": self.kind, "default": self.default, "range": self.range, "meaning": self.doc
        })
    }
}

/// The settings below `algo_kwargs`, in the schema's order.
pub fn settings(schema: &Value) -> Vec<Setting> {
    let own = resolve(schema, &schema["properties"]["algo_kwargs"]);
    let Some(properties) = own["properties"].as_object() else { return Vec::new() };
    let setting = |(name, property): (&String, &Value)| Setting {
        name: name.clone(),
        kind: kind(schema, property),
        default: property["default"].clone(),
        range: range(schema, property),
        doc: property["description"].as_str().unwrap_or("").replace('\n', " "),
    };
    properties.iter().map(setting).collect()
}

/// Follows `$ref`.
fn resolve<'a>(schema: &'a Value, part: &'a Value) -> &'a Value {
    let name = part["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
    name.map_or(part, |name| &schema["$defs"][name])
}

fn kind(schema: &Value, part: &Value) -> String {
    // Spelling out the forms of a schedule would take a line each; the page explains them.
    if part["$ref"].as_str().is_some_and(|path| path.ends_with("/Schedule")) {
        return "number or schedule".to_owned();
    }
    let part = resolve(schema, part);
    let either = part["oneOf"].as_array().or(part["anyOf"].as_array());
    if let Some(choices) = either {
        let (none, some): (Vec<&Value>, Vec<&Value>) = choices.iter().partition(|choice| choice["type"] == "null");
        let some = some.into_iter().map(|choice| kind(schema, choice)).collect::<Vec<_>>().join(" or ");
        return if none.is_empty() { some } else { format!("{some}, optional") };
    }
    if let Some(choices) = part["enum"].as_array() {
        return choices.iter().map(plain).collect::<Vec<_>>().join(" or ");
    }
    match &part["type"] {
        _ if !part["const"].is_null() => plain(&part["const"]),
        Value::String(name) if name == "array" => format!("list of {}s", kind(schema, &part["items"])),
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            let names: Vec<&str> = names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect();
            format!("{}, optional", names.join(" or "))
        }
        _ => "any".to_owned(),
    }
}

fn range(schema: &Value, part: &Value) -> String {
    let part = resolve(schema, part);
    match (part["minimum"].as_f64(), part["maximum"].as_f64()) {
        (Some(low), Some(high)) => format!("{low} to {high}"),
        (Some(low), None) => format!("at least {low}"),
        (None, Some(high)) => format!("at most {high}"),
        (None, None) => String::new(),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_of_every_algorithm_is_described() {
        for entry in axiomrl_algos::registry() {
            let settings = settings(&entry.schema());
            assert!(settings.len() > 5, "{}", entry.name);
            for setting in settings {
                let name = format!("{}.{}", entry.name, setting.name);
                assert!(!setting.doc.is_empty() && setting.kind != "any", "{name}: {} {}", setting.kind, setting.doc);
            }
        }
    }

    #[test]
    fn the_defaults_that_are_shown_are_those_that_are_used() {
        for entry in axiomrl_algos::registry() {
            let listed = settings(&entry.schema());
            let shown = listed.iter().map(|setting| (setting.name.clone(), setting.to_json()["default"].clone()));
            assert_eq!(Value::Object(shown.collect()), entry.defaults(), "{}", entry.name);
        }
        let td3 = settings(&axiomrl_algos::find("td3").unwrap().schema());
        let row = |name: &str| td3.iter().find(|setting| setting.name == name).unwrap().default.clone();
        assert_eq!((row("policy_delay"), row("actor")), (json!(2), json!("deterministic")));
    }

    #[test]
    fn types_defaults_and_ranges_are_found() {
        let found = settings(&axiomrl_algos::find("dqn").unwrap().schema());
        let get = |name: &str| found.iter().find(|setting| setting.name == name).unwrap();
        assert_eq!(get("gamma").default, json!(0.99));
        assert_eq!(get("gamma").range, "0 to 1");
        assert_eq!(get("batch_size").kind, "integer");
        assert_eq!(get("learning_rate").kind, "number or schedule");
        assert_eq!(get("hidden_sizes").kind, "list of integers");
        assert_eq!(get("hidden_sizes").default, json!([64, 64]));
        assert_eq!(get("activation").kind, "identity or relu or tanh or elu or silu");
        assert_eq!(get("target_epsilon").kind, "number, optional");
    }
}
