//! Standard output: plain text that aligns, or JSON.

use crate::failure::Failure;
use serde_json::Value;
use std::io::{self, Write};

/// Prints one piece of text and a line end.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    checked(writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush()))
}

/// Prints a value on one line, for programs that read line by line.
pub fn print_json(value: &Value) -> Result<(), Failure> {
    print(&value.to_string())
}

/// Prints a value for programs and people alike.
pub fn print_pretty(value: &Value) -> Result<(), Failure> {
    print(&format!("{value:#}"))
}

/// A reader that went away ends the command without a complaint.
pub fn checked(written: io::Result<()>) -> Result<(), Failure> {
    written.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::reader_gone(),
        _ => Failure::other(format!("cannot write to standard output: {error}")),
    })
}

/// Columns side by side, as wide as their content; columns of numbers are aligned at the right.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let width = |text: &str| text.chars().count();
    let columns: Vec<(usize, bool)> = (0..header.len())
        .map(|i| {
            let cells = || rows.iter().filter_map(|row| row.get(i)).filter(|cell| !cell.is_empty());
            let widest = cells().map(|cell| width(cell)).max().unwrap_or(0).max(width(header[i]));
            let numeric = cells().next().is_some() && cells().all(|cell| is_number(cell));
            (widest, numeric)
        })
        .collect();
    let line = |cells: &[&str]| {
        let mut text = String::new();
        for (cell, (widest, numeric)) in cells.iter().zip(&columns) {
            let gap = " ".repeat(widest - width(cell));
            let (before, after) = if *numeric { (gap.as_str(), "") } else { ("", gap.as_str()) };
            text += &format!("{before}{cell}{after}  ");
        }
        text.trim_end().to_owned()
    };
    let body = rows.iter().map(|row| line(&row.iter().map(String::as_str).collect::<Vec<_>>()));
    std::iter::once(line(header)).chain(body).collect::<Vec<_>>().join("\n")
}

fn is_number(cell: &str) -> bool {
    cell == "-" || cell.replace(',', "").parse::<f64>().is_ok()
}

/// Two columns without a header: names and what they stand for.
pub fn pairs(rows: &[(&str, String)]) -> String {
    let widest = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let lines = rows.iter().map(|(name, value)| format!("{name:widest$}  {value}").trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

/// `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    groups.iter().map(|group| String::from_utf8_lossy(group)).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_left_and_numbers_right() {
        let rows = vec![vec!["a".into(), "1.5".into(), "first".into()], vec!["longer".into(), "120".into(), "".into()]];
        let text = table(&["name", "score", "words"], &rows);
        assert_eq!(text, "name    score  words\na         1.5  first\nlonger    120");
    }

    #[test]
    fn pairs_align() {
        assert_eq!(pairs(&[("a", "1".into()), ("bcd", "2".into())]), "a    1\nbcd  2");
    }

    #[test]
    fn digits_come_in_threes() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
