//! Building errors into a source file so that each can be switched on when the program runs.

use super::{Form, Mutant};
use anyhow::{Result, ensure};

/// What every package with errors gets besides. The name of the error that is on stands in the environment.
const SWITCH: &str = "
/// Whether this error is on.
#[doc(hidden)]
pub fn mutant(name: &str) -> bool {
    static ON: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    ON.get_or_init(|| std::env::var(\"AXIOMRL_MUTANT\").ok()).as_deref() == Some(name)
}
";

/// What the file is in the copy; nothing where it is the same.
pub fn woven(file: &str, text: &str, all: &[&Mutant]) -> Result<Option<String>> {
    let Some(file) = file.strip_prefix("crates/") else { return Ok(None) };
    let here: Vec<&Mutant> = all.iter().copied().filter(|mutant| mutant.file == file).collect();
    let switched = all.iter().any(|mutant| format!("{}/src/lib.rs", mutant.package()) == file);
    if here.is_empty() && !switched {
        return Ok(None);
    }
    let mut text = weave(text, &here)?;
    if !here.is_empty() {
        // On the first line, so that the others keep their numbers.
        text.insert_str(0, "#![allow(warnings)] ");
    }
    if switched {
        text.push_str(SWITCH);
    }
    Ok(Some(text))
}

/// `X` becomes `(if crate::mutant("name") { Y } else { X })`. Several errors may be made in the same place.
fn weave(text: &str, mutants: &[&Mutant]) -> Result<String> {
    let mut places = Vec::new();
    for mutant in mutants {
        let start = place(text, mutant)?;
        places.push((start, start + mutant.find.len(), *mutant));
    }
    places.sort_by_key(|(start, end, _)| (*start, *end));
    let (mut out, mut at) = (String::new(), 0);
    for same in places.chunk_by(|a, b| a.0 == b.0 && a.1 == b.1) {
        let (start, end, first) = same[0];
        ensure!(start >= at, "{}: another error is made in the same place as a part of this one", first.name);
        out.push_str(&text[at..start]);
        let (open, close) = match first.form {
            Form::Expression => ("(", ")"),
            Form::Statements => ("", ""),
        };
        out.push_str(open);
        for (_, _, mutant) in same {
            out.push_str(&format!("if crate::mutant(\"{}\") {{ {} }} else ", mutant.name, mutant.replace));
        }
        out.push_str(&format!("{{ {} }}{close}", &text[start..end]));
        at = end;
    }
    out.push_str(&text[at..]);
    Ok(out)
}

/// Where the text that is to be replaced begins.
fn place(text: &str, mutant: &Mutant) -> Result<usize> {
    let (which, count) = mutant.place;
    let found: Vec<usize> = text.match_indices(mutant.find).map(|(at, _)| at).collect();
    let Mutant { name, file, find, .. } = mutant;
    let there = found.len();
    ensure!(there == count, "{name}: {file} has `{find}` {there} times, not {count}: put `xtask/src/mutants` right");
    Ok(found[which - 1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::{EXPRESSION, STATEMENTS};

    fn mutant(name: &'static str, find: &'static str, replace: &'static str) -> Mutant {
        Mutant { name, file: "a/src/b.rs", find, replace, ..EXPRESSION }
    }

    #[test]
    fn an_expression_becomes_a_choice() {
        let plus = mutant("minus", "a + b", "a - b");
        let woven = weave("let c = 2 * (a + b);\n", &[&plus]).unwrap();
        assert_eq!(woven, "let c = 2 * ((if crate::mutant(\"minus\") { a - b } else { a + b }));\n");
        let call = Mutant { form: STATEMENTS.form, ..mutant("still", "go();", "") };
        let woven = weave("x;\n    go();\ny;", &[&call]).unwrap();
        assert_eq!(woven, "x;\n    if crate::mutant(\"still\") {  } else { go(); }\ny;");
    }

    #[test]
    fn several_errors_share_a_file_and_even_a_place() {
        let (first, second, third) = (mutant("one", "b", "c"), mutant("two", "b", "d"), mutant("three", "a", "e"));
        let woven = weave("a * b", &[&first, &second, &third]).unwrap();
        let b = "(if crate::mutant(\"one\") { c } else if crate::mutant(\"two\") { d } else { b })";
        assert_eq!(woven, format!("(if crate::mutant(\"three\") {{ e }} else {{ a }}) * {b}"));
        let (whole, part) = (mutant("whole", "a * b", "0"), mutant("part", "b", "0"));
        assert!(weave("a * b", &[&whole, &part]).unwrap_err().to_string().contains("part"));
    }

    #[test]
    fn a_place_that_is_gone_or_there_too_often_is_named() {
        let lost = mutant("lost", "x", "y");
        for text in ["z", "x x"] {
            let error = weave(text, &[&lost]).unwrap_err().to_string();
            assert!(error.contains("lost: a/src/b.rs has `x`"), "{error}");
        }
        let second = Mutant { place: (2, 2), ..mutant("second", "x", "y") };
        assert!(weave("x x", &[&second]).unwrap().starts_with("x (if "));
    }

    #[test]
    fn each_package_with_errors_gets_its_switch() {
        let one = mutant("one", "b", "c");
        assert_eq!(woven("README.md", "b", &[&one]).unwrap(), None);
        assert_eq!(woven("crates/c/src/lib.rs", "b", &[&one]).unwrap(), None);
        assert!(woven("crates/a/src/lib.rs", "b", &[&one]).unwrap().unwrap().contains("pub fn mutant("));
        assert!(
            woven("crates/a/src/b.rs", "b", &[&one])
                .unwrap()
                .unwrap()
                .starts_with("#![allow(warnings)] (if crate::mutant")
        );
    }
}
