//! Writing a resolved configuration as YAML that people would have written.

use serde_json::Value;

/// Block style for mappings with content, flow style for lists and empty mappings.
pub fn to_yaml(value: &Value) -> String {
    let mut text = String::new();
    if let Value::Object(map) = value {
        write_mapping(map, 0, &mut text);
    } else {
        text = flow(value);
        text.push('\n');
    }
    text
}

fn write_mapping(map: &serde_json::Map<String, Value>, depth: usize, text: &mut String) {
    for (key, value) in map {
        text.push_str(&"  ".repeat(depth));
        text.push_str(&scalar(key));
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                text.push_str(":\n");
                write_mapping(inner, depth + 1, text);
            }
            other => {
                text.push_str(": ");
                text.push_str(&flow(other));
                text.push('\n');
            }
        }
    }
}

fn flow(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let entries: Vec<String> = map.iter().map(|(k, v)| format!("{}: {}", scalar(k), flow(v))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}

/// Plain where no reader could take it for anything but this string; quoted as JSON otherwise.
fn scalar(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c))
        && !matches!(
            text.to_ascii_lowercase().as_str(),
            "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n"
        );
    if plain { text.to_owned() } else { Value::String(text.to_owned()).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_reads_back_the_same() {
        let value = json!({
            "algo": "ppo", "seed": 7, "rate": 0.0003, "note": "yes", "empty": {}, "none": null, "text": "a: b # c",
            "algo_kwargs": {"hidden_sizes": [64, 64], "clip_coef": {"linear": [0.2, 0.0, 1.0]}, "number": "1e3"},
        });
        let text = to_yaml(&value);
        let back: Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(back, value, "{text}");
        assert!(text.contains("algo_kwargs:\n  clip_coef:\n    linear: [0.2, 0.0, 1.0]"), "{text}");
    }
}
