//! What can be wrong with a run file.

use axiomrl_envs::names::short;
use std::fmt::Write as _;

/// A mistake in a run file or in an override, told so that it can be mended at once.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{}", place(.source_name, .line, .column, .message, .snippet))]
    At { source_name: String, line: u64, column: u64, message: String, snippet: String },
    #[error("{source_name}: {message}")]
    Whole { source_name: String, message: String },
    #[error("`--set {}`: {message}", short(.assignment))]
    Override { assignment: String, message: String },
}

impl ConfigError {
    /// What is wrong, without the place in a file that nobody wrote.
    pub fn in_one_line(&self) -> String {
        match self {
            Self::At { message, .. } | Self::Whole { message, .. } | Self::Override { message, .. } => message.clone(),
        }
    }
}

/// Characters of a line that are shown, and how many of them before the mistake.
const SHOWN: usize = 100;
const BEFORE: usize = 60;

fn place(source: &str, line: &u64, column: &u64, message: &str, snippet: &str) -> String {
    let mut text = format!("{source}:{line}:{column}: {message}");
    if !snippet.is_empty() {
        let margin = " ".repeat(line.to_string().len());
        let (excerpt, mark) = excerpt(snippet, usize::try_from(*column).unwrap_or(1).saturating_sub(1));
        let _ = write!(text, "\n {margin} |\n {line} | {excerpt}\n {margin} | {}^", " ".repeat(mark));
    }
    text
}

/// The part of a line around a character, and where in it that character stands.
fn excerpt(line: &str, at: usize) -> (String, usize) {
    let skipped = if at >= SHOWN { at - BEFORE } else { 0 };
    let mut rest = line.chars().skip(skipped);
    let mut shown = if skipped > 0 { "…".to_owned() } else { String::new() };
    // A tab or an escape sequence would move the mark, or worse.
    shown.extend(rest.by_ref().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }));
    if rest.next().is_some() {
        shown.push('…');
    }
    (shown, at - skipped + usize::from(skipped > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(column: u64, snippet: &str) -> String {
        let (source_name, message) = ("x.yaml".into(), "unknown key `gama`".into());
        ConfigError::At { source_name, line: 12, column, message, snippet: snippet.into() }.to_string()
    }

    #[test]
    fn the_mark_stands_under_the_mistake() {
        let expected = ["x.yaml:12:3: unknown key `gama`", "    |", " 12 |   gama: 1", "    |   ^"];
        assert_eq!(at(3, "  gama: 1"), expected.join("\n"));
        assert_eq!(at(3, "\t\tgama: 1"), expected.join("\n"));
    }

    #[test]
    fn of_a_long_line_only_the_mistake_is_shown() {
        let line = format!("{}!{}", "a".repeat(5_000_000), "b".repeat(5_000_000));
        let told = at(5_000_001, &line);
        assert!(told.len() < 400, "{}", told.len());
        let lines: Vec<Vec<char>> = told.lines().map(|line| line.chars().collect()).collect();
        let mark = lines[3].iter().position(|&c| c == '^').unwrap();
        assert_eq!(lines[2][mark], '!', "{told}");
        assert!(at(2, &line).contains("aaa…"));
    }
}
