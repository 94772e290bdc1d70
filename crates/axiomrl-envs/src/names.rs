//! "Did you mean …?", said the same way of keys, algorithms, environments and files.

/// How alike two names must be for one to be taken for the other.
const ALIKE: f64 = 0.75;
/// More names than this are not listed in a message: a command lists them better.
const FEW: usize = 50;
/// No name is longer than this: what comes after it is not compared.
const LONGEST: usize = 64;

/// The known name that may have been meant.
pub fn nearest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let written = written.chars().take(LONGEST).collect::<String>().to_lowercase();
    let likeness = |name: &str| strsim::jaro_winkler(&written, &name.to_lowercase());
    // Of equals the first in the alphabet, whatever the order of the list.
    let best = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)).then(b.cmp(a)));
    best.copied().filter(|best| likeness(best) > ALIKE)
}

/// The end of a message about a name that does not exist: the nearest one, or all of them when nothing is near.
pub fn suggestion(written: &str, known: &[&str]) -> String {
    match nearest(written, known) {
        Some(name) => did_you_mean(name),
        None if known.is_empty() || known.len() > FEW => String::new(),
        None => format!("; known: {}", known.join(", ")),
    }
}

pub fn did_you_mean(name: &str) -> String {
    format!("; did you mean `{name}`?")
}

/// For messages: what was written may be of any length and hold anything, a message is one short line.
pub fn short(text: &str) -> String {
    let mut shown: String = text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_whatever_the_case() {
        assert_eq!(nearest("Gama", &["alpha", "gamma", "tau"]), Some("gamma"));
        assert_eq!(nearest("xyz", &["alpha", "gamma", "tau"]), None);
        assert_eq!(nearest("dqx", &["dqn", "dqa"]), Some("dqa"));
    }

    #[test]
    fn few_names_are_listed_and_many_are_not() {
        assert_eq!(suggestion("xyz", &["alpha", "tau"]), "; known: alpha, tau");
        assert_eq!(suggestion("alhpa", &["alpha", "tau"]), "; did you mean `alpha`?");
        assert_eq!(suggestion("xyz", &[]), "");
        assert_eq!(suggestion("xyz", &["alpha"; FEW + 1]), "");
    }

    #[test]
    fn a_monstrous_name_costs_no_more_than_a_long_one() {
        assert_eq!(nearest(&"q".repeat(10_000_000), &["alpha"; 1000]), None);
    }
}
