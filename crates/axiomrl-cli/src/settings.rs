//! An algorithm's settings, read from its JSON Schema.

use serde_json::Value;

/// One setting in words.
pub struct Setting {
    pub name: String,
    pub kind: String,
    pub default: String,
    pub range: String,
    pub doc: String,
}

/// The settings below `algo_kwargs`, in the schema's order.
pub fn settings(schema: &Value) -> Vec<Setting> {
    let own = resolve(schema, &schema["properties"]["algo_kwargs"]);
    let Some(properties) = own["properties"].as_object() else { return Vec::new() };
    let setting = |(name, property): (&String, &Value)| Setting {
        name: name.clone(),
        kind: kind(schema, property),
        default: match &property["default"] {
            Value::Null => "none".to_owned(),
            Value::String(text) => text.clone(),
            other => short(other),
        },
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
        return choices.iter().map(|choice| kind(schema, choice)).collect::<Vec<_>>().join(" or ");
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

/// Single precision written as double shows digits nobody typed: 0.005 as 0.004999999888241291.
fn short(value: &Value) -> String {
    match value.as_f64() {
        Some(number) if value.is_f64() && f64::from(number as f32) == number => (number as f32).to_string(),
        _ => value.to_string(),
    }
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
    fn types_defaults_and_ranges_are_found() {
        let found = settings(&axiomrl_algos::find("dqn").unwrap().schema());
        let get = |name: &str| found.iter().find(|setting| setting.name == name).unwrap();
        assert_eq!(get("gamma").default, "0.99");
        assert_eq!(get("gamma").range, "0 to 1");
        assert_eq!(get("batch_size").kind, "integer");
        assert_eq!(get("learning_rate").kind, "number or schedule");
        assert_eq!(get("hidden_sizes").kind, "list of integers");
        assert_eq!(get("hidden_sizes").default, "[64,64]");
    }
}
