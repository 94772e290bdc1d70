//! Text to tree, and what can be wrong with the text itself, in our own words.

use super::tree::Node;
use axiomrl_envs::names::short;
use serde_saphyr::{Error, Options};

/// A text that is not YAML, or not YAML that we read.
pub struct Unreadable {
    /// Line and column, where they are known.
    pub at: Option<(u64, u64)>,
    pub message: String,
}

pub fn parse(text: &str) -> Result<Node, Unreadable> {
    let mut options = Options::default();
    options.with_snippet = false;
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let at = error.location().filter(|at| at.line() > 0).map(|at| (at.line(), at.column()));
        Unreadable { at, message: words(&error) }
    })
}

fn words(error: &Error) -> String {
    match error {
        Error::WithSnippet { error, .. } | Error::AliasError { error, .. } => words(error),
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("the key `{}` is given twice; keep one", short(key))
        }
        Error::DuplicateMappingKey { .. } => "a key is given twice; keep one".to_owned(),
        Error::MultipleDocuments { .. } => "a run file is one document; remove what follows the line `---`".to_owned(),
        Error::NonFiniteFloat { value, .. } => format!("{} is not a finite number", short(value)),
        Error::Eof { .. } => "the file ends in the middle of something".to_owned(),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => "this is larger or deeper than any run file is".to_owned(),
        Error::RecursiveReferencesRequireWeakTypes { .. } => "`*` refers to something it is part of".to_owned(),
        Error::UnknownAnchor { .. } => "`*` refers to a name that no `&` has given".to_owned(),
        Error::MergeValueNotMapOrSeqOfMaps { .. } => "`<<` takes a map of keys".to_owned(),
        Error::InvalidUtf8Input => "this is not text in UTF-8".to_owned(),
        // Found by our own tree.
        Error::Message { msg, .. } if msg.ends_with("is not a finite number") => short(msg),
        // The scanner's own words, such as "did not find expected ',' or ']'"; no others come to a tree that takes everything.
        Error::Message { msg, .. } | Error::ExternalMessage { msg, .. } => {
            // A scalar is what everybody else calls a value.
            let words = msg.lines().next().unwrap_or_default().replace("scalar", "value");
            format!("not valid YAML: {}", short(&words))
        }
        Error::Unexpected { .. }
        | Error::NullIntoString { .. }
        | Error::InvalidScalar { .. }
        | Error::SerdeInvalidType { .. } => "a key must be a word".to_owned(),
        _ => "not valid YAML".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (Option<(u64, u64)>, String) {
        let error = parse(text).err().unwrap();
        (error.at, error.message)
    }

    #[test]
    fn broken_text_is_placed_and_told_in_our_words() {
        let deep = format!("a: {}1{}", "[".repeat(200), "]".repeat(200));
        let bomb: String = (1..30).map(|i| format!("a{i}: &a{i} [*a{0}, *a{0}, *a{0}]\n", i - 1)).collect();
        for (text, told) in [
            ("a: 1\nb: 2\na: 3\n", "the key `a` is given twice; keep one"),
            ("a: 1\n---\nb: 2\n", "one document"),
            ("a: .inf\n", ".inf is not a finite number"),
            ("a: 1e999\n", "1e999 is not a finite number"),
            ("a: *b\n", "no `&` has given"),
            ("a: [1\n", "not valid YAML"),
            ("a: \"x\n", "not valid YAML"),
            ("a: b: c\n", "not valid YAML"),
            ("a:\n\t- 1\n", "not valid YAML"),
            ("? [1, 2]\n: 3\n", "a key must be a word"),
            (&deep, "larger or deeper"),
            (&format!("a0: &a0 [1, 1, 1]\n{bomb}"), "larger or deeper"),
        ] {
            let (at, message) = refused(text);
            assert!(message.contains(told), "{text}: {message}");
            assert!(at.is_some(), "{text}: {message}");
            for foreign in ["Options", "from_str", "budget", "policy", "at line", "u64", "scalar"] {
                assert!(!message.contains(foreign), "{message}");
            }
        }
    }

    #[test]
    fn a_long_key_makes_no_long_message() {
        let long = "k".repeat(500);
        assert!(refused(&format!("{long}: 1\n{long}: 2\n")).1.len() < 200);
    }
}
