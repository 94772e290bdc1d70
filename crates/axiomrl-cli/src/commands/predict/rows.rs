//! One row of input from one line of text.

use super::layout::Layout;
use serde_json::{Map, Value};

/// An observation and what goes with it.
#[derive(Debug, Default, PartialEq)]
pub struct Row {
    pub obs: Vec<f32>,
    /// Whether an episode begins here.
    pub start: bool,
    /// Which choices are allowed, where the line says so.
    pub mask: Option<Vec<bool>>,
}

/// A row from a JSON list (nested lists are read row by row), from values separated by commas, or from a JSON object with
/// the keys `obs`, `start` and `mask`.
pub fn parse(line: &str, layout: &Layout) -> Result<Row, String> {
    let line = line.trim();
    let row = if line.starts_with('{') {
        let object = serde_json::from_str(line).map_err(|error| format!("not a JSON object: {error}"))?;
        from_object(&object, layout)?
    } else if line.starts_with('[') {
        let list = serde_json::from_str(line).map_err(|error| format!("not a JSON list: {error}"))?;
        Row { obs: layout.numbers(&list)?, ..Row::default() }
    } else {
        let number = |cell: &str| cell.parse::<f32>().map_err(|_| format!("`{cell}` is not a number"));
        let obs = line.split(',').map(str::trim).map(number).collect::<Result<_, _>>()?;
        Row { obs, ..Row::default() }
    };
    layout.check(&row.obs)?;
    Ok(row)
}

fn from_object(object: &Map<String, Value>, layout: &Layout) -> Result<Row, String> {
    if let Some(unknown) = object.keys().find(|key| !["obs", "start", "mask"].contains(&key.as_str())) {
        return Err(format!("unknown key `{unknown}`; a row has `obs`, and may have `start` and `mask`"));
    }
    let obs = object.get("obs").ok_or("a row needs an observation, `obs`")?;
    let start = match object.get("start") {
        None => false,
        Some(Value::Bool(start)) => *start,
        Some(other) => return Err(format!("`start` is true or false, not {other}")),
    };
    let mask = object.get("mask").map(|value| {
        let mut mask = Vec::new();
        allowed(value, &mut mask).map(|()| mask)
    });
    Ok(Row { obs: layout.numbers(obs)?, start, mask: mask.transpose()? })
}

/// Lists of true and false, or of 1 and 0.
fn allowed(value: &Value, mask: &mut Vec<bool>) -> Result<(), String> {
    match value {
        Value::Array(items) => return items.iter().try_for_each(|item| allowed(item, mask)),
        Value::Bool(allowed) => mask.push(*allowed),
        Value::Number(number) if number.as_u64().is_some_and(|number| number < 2) => {
            mask.push(number.as_u64() == Some(1))
        }
        other => return Err(format!("a mask is a list of true and false, or 1 and 0, and {other} is neither")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_envs::{BoxSpace, Space};

    fn parse(line: &str, width: usize) -> Result<Row, String> {
        super::parse(line, &Layout::of(&Space::Box(BoxSpace::uniform(width, -1.0, 1.0))))
    }

    #[test]
    fn json_and_csv_mean_the_same() {
        let expected = Ok(Row { obs: vec![0.5, -1.0, 2e3], ..Row::default() });
        for line in ["[0.5, -1, 2e3]", " 0.5,-1,2000 ", "[[0.5], [-1, 2000.0]]", "{\"obs\": [0.5, -1, 2e3]}"] {
            assert_eq!(parse(line, 3), expected);
        }
    }

    #[test]
    fn an_object_says_more() {
        let row = parse(r#"{"obs": 0.5, "start": true, "mask": [[true], [0, 1]]}"#, 1).unwrap();
        assert_eq!(row, Row { obs: vec![0.5], start: true, mask: Some(vec![true, false, true]) });
        assert!(parse(r#"{"start": true}"#, 1).unwrap_err().contains("needs an observation"));
        assert!(parse(r#"{"obs": 1, "masks": []}"#, 1).unwrap_err().contains("unknown key `masks`"));
        assert!(parse(r#"{"obs": 1, "start": 1}"#, 1).unwrap_err().contains("true or false, not 1"));
        assert!(parse(r#"{"obs": 1, "mask": [2]}"#, 1).unwrap_err().contains("2 is neither"));
    }

    #[test]
    fn mistakes_are_told() {
        assert_eq!(parse("1,2", 3).unwrap_err(), "2 numbers, and an observation has 3");
        assert_eq!(parse("1,x", 2).unwrap_err(), "`x` is not a number");
        assert!(parse("[1, \"a\"]", 2).unwrap_err().contains("is not a number"));
        assert!(parse("[1, 2", 2).unwrap_err().starts_with("not a JSON list"));
        assert_eq!(parse("NaN", 1).unwrap_err(), "NaN is not a finite number");
        assert_eq!(parse("[1e300]", 1).unwrap_err(), "inf is not a finite number");
    }
}
