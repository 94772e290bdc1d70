use super::*;
use std::collections::BTreeSet;
use std::fs;

#[test]
fn every_error_can_still_be_made() {
    let all = all();
    for file in all.iter().map(|mutant| mutant.file).collect::<BTreeSet<_>>() {
        let file = format!("crates/{file}");
        let text = fs::read_to_string(root().join(&file)).unwrap();
        assert!(weave::woven(&file, &text, &all).unwrap().is_some(), "{file}");
    }
}

#[test]
fn every_error_has_a_name_of_its_own_and_words_and_tests() {
    let all = all();
    assert!(all.len() >= 60, "there are only {}", all.len());
    let names: BTreeSet<_> = all.iter().map(|mutant| mutant.name).collect();
    assert_eq!(names.len(), all.len());
    for mutant in all {
        assert!(
            mutant.find != mutant.replace && !mutant.what.is_empty() && !mutant.filter.is_empty(),
            "{}",
            mutant.name
        );
    }
}

#[test]
fn an_unknown_name_is_refused() {
    let command = Mutants { only: vec!["nonsense".into()], list: false, jobs: None };
    assert!(command.chosen(&all()).err().unwrap().to_string().contains("nonsense"));
}

#[test]
fn work_beside_each_other_keeps_its_order() {
    assert_eq!(in_parallel(3, &[1, 2, 3, 4], |n| Ok(n * 2)).unwrap(), [2, 4, 6, 8]);
    assert!(in_parallel(2, &[1, 2], |n| if *n == 2 { bail!("two") } else { Ok(*n) }).is_err());
}
