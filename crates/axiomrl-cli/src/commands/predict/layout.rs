//! What the numbers of an observation and the entries of a mask stand for.

use axiomrl_envs::{DType, Space};
use serde_json::{Map, Value, json};

/// An observation as a row of numbers, part by part. Only a Dict has several parts, and only their names are not empty.
pub struct Layout {
    parts: Vec<Part>,
}

struct Part {
    name: String,
    start: usize,
    shape: Vec<usize>,
    values: Values,
}

enum Values {
    /// Any finite number: bounds of a Box say what is usual, not what is possible.
    Real,
    /// 0 to 255.
    Pixels,
    /// Whole numbers, each below the number of its choices.
    Choices(Vec<usize>),
}

impl Layout {
    pub fn of(space: &Space) -> Self {
        let mut layout = Self { parts: Vec::new() };
        layout.add("", space);
        layout
    }

    fn add(&mut self, name: &str, space: &Space) {
        let (shape, values) = match space {
            Space::Dict { entries } => {
                let dot = if name.is_empty() { "" } else { "." };
                return entries.iter().for_each(|(inner, space)| self.add(&format!("{name}{dot}{inner}"), space));
            }
            Space::Box(b) if b.dtype == DType::U8 => (b.shape.clone(), Values::Pixels),
            Space::Box(b) => (b.shape.clone(), Values::Real),
            Space::Discrete { n } => (Vec::new(), Values::Choices(vec![*n])),
            Space::MultiDiscrete { nvec } => (vec![nvec.len()], Values::Choices(nvec.clone())),
            Space::MultiBinary { n } => (vec![*n], Values::Choices(vec![2; *n])),
        };
        self.parts.push(Part { name: name.to_owned(), start: self.width(), shape, values });
    }

    pub fn width(&self) -> usize {
        self.parts.last().map_or(0, Part::end)
    }

    /// The numbers of an observation given as JSON: lists, read row by row, or an object with a value for each part.
    pub fn numbers(&self, value: &Value) -> Result<Vec<f32>, String> {
        let mut numbers = Vec::with_capacity(self.width());
        match value {
            Value::Object(given) if self.is_named() => self.named_numbers(given, &mut numbers)?,
            other => flatten(other, &mut numbers)?,
        }
        Ok(numbers)
    }

    fn named_numbers(&self, given: &Map<String, Value>, numbers: &mut Vec<f32>) -> Result<(), String> {
        let names = || self.parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join(", ");
        if let Some(unknown) = given.keys().find(|key| self.parts.iter().all(|part| part.name != **key)) {
            return Err(format!("an observation has no part `{unknown}`; its parts are {}", names()));
        }
        for part in &self.parts {
            let name = &part.name;
            let value =
                given.get(name).ok_or_else(|| format!("the part `{name}` is missing; needed are {}", names()))?;
            flatten(value, numbers)?;
            let found = numbers.len() - part.start;
            if found != part.width() {
                return Err(format!("{found} numbers in `{name}`, which has {}", part.width()));
            }
        }
        Ok(())
    }

    /// Refuses what the environment could never have shown.
    pub fn check(&self, numbers: &[f32]) -> Result<(), String> {
        if let Some(bad) = numbers.iter().find(|number| !number.is_finite()) {
            return Err(format!("{bad} is not a finite number"));
        }
        if numbers.len() != self.width() {
            return Err(format!("{} numbers, and an observation has {}{}", numbers.len(), self.width(), self.order()));
        }
        for part in &self.parts {
            for (i, &number) in numbers[part.start..part.end()].iter().enumerate() {
                let Some((what, highest)) = part.whole(i) else { continue };
                if number.fract() != 0.0 || number < 0.0 || f64::from(number) > highest as f64 {
                    let place = part.start + i + 1;
                    return Err(format!(
                        "number {place} of the observation is {number}, and {what} is a whole number from 0 to {highest}"
                    ));
                }
            }
        }
        Ok(())
    }

    fn is_named(&self) -> bool {
        self.parts.iter().all(|part| !part.name.is_empty())
    }

    /// The parts in their order, in brackets, where there are several.
    fn order(&self) -> String {
        let parts: Vec<String> = self.parts.iter().map(|part| format!("{} {}", part.name, part.width())).collect();
        if self.is_named() { format!(" ({})", parts.join(", ")) } else { String::new() }
    }

    /// A line for each part.
    pub fn lines(&self) -> Vec<String> {
        let line = |part: &Part| {
            let name = if part.name.is_empty() { String::new() } else { format!("{}: ", part.name) };
            name + &part.words()
        };
        self.parts.iter().map(line).collect()
    }

    pub fn json(&self) -> Value {
        json!({ "width": self.width(), "parts": self.parts.iter().map(Part::json).collect::<Vec<_>>() })
    }
}

impl Part {
    fn width(&self) -> usize {
        self.shape.iter().product()
    }

    fn end(&self) -> usize {
        self.start + self.width()
    }

    /// What number `i` is and how large it may be, where it is a whole number.
    fn whole(&self, i: usize) -> Option<(&'static str, usize)> {
        match &self.values {
            Values::Real => None,
            Values::Pixels => Some(("a pixel", 255)),
            Values::Choices(counts) => Some(("a choice", counts[i].saturating_sub(1))),
        }
    }

    fn words(&self) -> String {
        let numbers = if self.width() == 1 { "1 number".to_owned() } else { format!("{} numbers", self.width()) };
        match &self.values {
            Values::Real => numbers,
            Values::Pixels => {
                let shape: Vec<String> = self.shape.iter().map(usize::to_string).collect();
                format!("{numbers}, pixels of height × width × channels {}, each 0 to 255", shape.join(" × "))
            }
            Values::Choices(counts) if counts.iter().all(|count| *count == counts[0]) => {
                format!("{numbers}, whole, 0 to {}", counts[0].saturating_sub(1))
            }
            Values::Choices(counts) => format!("{numbers}, whole, each below {counts:?}"),
        }
    }

    fn json(&self) -> Value {
        let mut part = json!({ "name": self.name, "start": self.start, "end": self.end(), "shape": self.shape });
        part["values"] = match &self.values {
            Values::Real => json!("real"),
            Values::Pixels => json!("pixel"),
            Values::Choices(_) => json!("choice"),
        };
        if let Values::Choices(counts) = &self.values {
            part["choices"] = json!(counts);
        }
        part
    }
}

/// How many choices there are for each part of an action that a mask can forbid; empty where policies heed no masks.
/// Those trained without them are among these: some algorithms would not look at one.
pub fn mask_parts(actions: &Space, trained_with_masks: bool) -> Vec<usize> {
    match actions {
        Space::Discrete { n } if trained_with_masks => vec![*n],
        Space::MultiDiscrete { nvec } if trained_with_masks => nvec.clone(),
        _ => Vec::new(),
    }
}

/// Refuses a mask that does not fit, or under which nothing could be chosen. A mask that would be ignored is refused, too:
/// the answer might be the very choice it forbids.
pub fn check_mask(parts: &[usize], mask: &[bool]) -> Result<(), String> {
    if parts.is_empty() {
        return Err("this policy takes no mask: only those do that were trained with masks, over Discrete or \
                    MultiDiscrete actions; leave it out"
            .to_owned());
    }
    let choices: usize = parts.iter().sum();
    if mask.len() != choices {
        return Err(format!("{} entries in the mask, and it has one for each of {choices} choices", mask.len()));
    }
    let mut rest = mask;
    for &part in parts {
        let (own, others) = rest.split_at(part);
        if !own.contains(&true) {
            return Err("the mask allows no choice at all; allow at least one".to_owned());
        }
        rest = others;
    }
    Ok(())
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
    use axiomrl_envs::{BoxSpace, goal_space};

    fn refused(space: &Space, numbers: &[f32], words: &str) {
        let complaint = Layout::of(space).check(numbers).unwrap_err();
        assert!(complaint.contains(words), "{words}: {complaint}");
    }

    #[test]
    fn only_what_can_be_observed_is_taken() {
        let choices = Space::MultiDiscrete { nvec: vec![2, 5] };
        assert_eq!(Layout::of(&choices).check(&[1.0, 4.0]), Ok(()));
        refused(&choices, &[2.0, 4.0], "number 1 of the observation is 2, and a choice is a whole number from 0 to 1");
        refused(&choices, &[1.0, -1.0], "number 2");
        refused(&choices, &[1.0, 0.5], "0 to 4");
        let image = Space::Box(BoxSpace::image(1, 2, 1));
        assert_eq!(Layout::of(&image).check(&[0.0, 255.0]), Ok(()));
        for pixel in [-7.0, 255.5, 256.0, 1e30] {
            refused(&image, &[0.0, pixel], "a pixel is a whole number from 0 to 255");
        }
        refused(&image, &[0.0, f32::NAN], "NaN is not a finite number");
        let numbers = Space::Box(BoxSpace::uniform(1, -1.0, 1.0));
        assert_eq!(Layout::of(&numbers).check(&[7.5]), Ok(()), "bounds of numbers are no limits");
    }

    #[test]
    fn a_goal_observation_is_read_by_name_or_in_order() {
        let layout = Layout::of(&goal_space(BoxSpace::uniform(2, 0.0, 1.0), BoxSpace::uniform(1, 0.0, 1.0)));
        let named = json!({ "desired_goal": [4], "observation": [1, 2], "achieved_goal": [3] });
        assert_eq!(layout.numbers(&named), Ok(vec![1.0, 2.0, 3.0, 4.0]));
        assert_eq!(layout.numbers(&json!([1, 2, 3, 4])), layout.numbers(&named));
        let order = "3 numbers, and an observation has 4 (observation 2, achieved_goal 1, desired_goal 1)";
        assert_eq!(layout.check(&[1.0; 3]).unwrap_err(), order);
        let mistake = |value: Value| layout.numbers(&value).unwrap_err();
        assert!(mistake(json!({ "observation": [1, 2], "achieved_goal": [3] })).contains("`desired_goal` is missing"));
        assert!(mistake(json!({ "goal": [1] })).contains("no part `goal`"));
        let narrow = json!({ "desired_goal": [4], "observation": [1], "achieved_goal": [2, 3] });
        assert_eq!(mistake(narrow), "1 numbers in `observation`, which has 2");
        assert_eq!(layout.json()["parts"][2]["start"], 3);
    }

    #[test]
    fn masks_must_fit_and_leave_a_choice() {
        let actions = Space::MultiDiscrete { nvec: vec![2, 2] };
        let parts = mask_parts(&actions, true);
        assert_eq!(check_mask(&parts, &[true, false, false, true]), Ok(()));
        assert!(check_mask(&parts, &[true, true, false, false]).unwrap_err().contains("no choice at all"));
        assert!(check_mask(&parts, &[true]).unwrap_err().contains("each of 4 choices"));
        let heedless = [
            mask_parts(&actions, false),
            mask_parts(&Space::MultiBinary { n: 1 }, true),
            mask_parts(&Space::Box(BoxSpace::uniform(1, -1.0, 1.0)), true),
        ];
        for parts in heedless {
            assert!(check_mask(&parts, &[true, true]).unwrap_err().contains("takes no mask"));
        }
    }
}
