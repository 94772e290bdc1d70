//! What can be wrong with a run file.

use std::fmt::Write as _;

/// A mistake in a run file or in an override, told so that it can be mended at once.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{}", place(.source_name, .line, .column, .message, .snippet, .hint))]
    At { source_name: String, line: u64, column: u64, message: String, snippet: String, hint: String },
    #[error("{source_name}: {message}{hint}")]
    Whole { source_name: String, message: String, hint: String },
    #[error("`--set {assignment}`: {message}")]
    Override { assignment: String, message: String },
}

fn place(source: &str, line: &u64, column: &u64, message: &str, snippet: &str, hint: &str) -> String {
    let mut text = format!("{source}:{line}:{column}: {message}{hint}");
    if !snippet.is_empty() {
        let margin = " ".repeat(line.to_string().len());
        let indent = " ".repeat(usize::try_from(*column).unwrap_or(1).saturating_sub(1));
        let _ = write!(text, "\n {margin} |\n {line} | {snippet}\n {margin} | {indent}^");
    }
    text
}

/// The candidates nearest to what was written, as the end of a message.
pub fn nearest(written: &str, known: &[&str]) -> String {
    let lower = written.to_lowercase();
    let mut scored: Vec<(f64, &str)> =
        known.iter().map(|k| (strsim::jaro_winkler(&lower, &k.to_lowercase()), *k)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    match scored.first() {
        Some((score, best)) if *score > 0.75 => format!("; did you mean `{best}`?"),
        _ if known.len() <= 40 => format!("; known: {}", known.join(", ")),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_stands_under_the_mistake() {
        let error = ConfigError::At {
            source_name: "x.yaml".into(),
            line: 12,
            column: 3,
            message: "unknown key `gama`".into(),
            snippet: "  gama: 1".into(),
            hint: "; did you mean `gamma`?".into(),
        };
        let expected =
            ["x.yaml:12:3: unknown key `gama`; did you mean `gamma`?", "    |", " 12 |   gama: 1", "    |   ^"];
        assert_eq!(error.to_string(), expected.join("\n"));
    }
}
