//! One observation from one line of text.

use serde_json::Value;

/// Numbers from a JSON list (nested lists are read row by row) or from values separated by commas.
pub fn parse(line: &str, width: usize) -> Result<Vec<f32>, String> {
    let line = line.trim();
    let mut numbers = Vec::with_capacity(width);
    if line.starts_with('[') {
        let value: Value = serde_json::from_str(line).map_err(|error| format!("not a JSON list: {error}"))?;
        flatten(&value, &mut numbers)?;
    } else {
        for cell in line.split(',').map(str::trim) {
            numbers.push(cell.parse::<f32>().map_err(|_| format!("`{cell}` is not a number"))?);
        }
    }
    if let Some(bad) = numbers.iter().find(|number| !number.is_finite()) {
        return Err(format!("{bad} is not a finite number"));
    }
    if numbers.len() != width {
        return Err(format!("{} numbers, and an observation has {width}", numbers.len()));
    }
    Ok(numbers)
}

fn flatten(value: &Value, numbers: &mut Vec<f32>) -> Result<(), String> {
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| flatten(item, numbers)),
        Value::Number(number) => {
            numbers.push(number.as_f64().unwrap_or(f64::NAN) as f32);
            Ok(())
        }
        other => Err(format!("{other} is not a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_csv_mean_the_same() {
        let expected = Ok(vec![0.5, -1.0, 2e3]);
        for line in ["[0.5, -1, 2e3]", " 0.5,-1,2000 ", "[[0.5], [-1, 2000.0]]"] {
            assert_eq!(parse(line, 3), expected);
        }
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
