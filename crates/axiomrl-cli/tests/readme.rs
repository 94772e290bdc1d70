//! The README's table of algorithms and the sourcebook follow from the code; this notices when they do not any more.

mod common;
/// The very code that writes them.
#[path = "../../../xtask/src/docs/shown.rs"]
mod shown;
#[path = "../../../xtask/src/docs/sourcebook.rs"]
mod sourcebook;
#[path = "../../../xtask/src/docs/table.rs"]
mod table;

use common::Workshop;
use serde_json::Value;
use std::fs;
use std::path::Path;

#[test]
fn what_follows_from_the_registry_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let runs =
        fs::read(root.join("benchmarks/learn.json")).map_or(Value::Null, |b| serde_json::from_slice(&b).unwrap());
    let algorithms = Workshop::new().succeed(&["algos", "--json"]).json();
    let fresh = table::insert(&readme, &algorithms, &runs).unwrap();
    assert!(readme == fresh, "README.md is stale: run `cargo xtask docs`");
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    let page = sourcebook::page(&read("docs/sourcebook.csv"), &algorithms, &runs).unwrap();
    assert!(read("docs/algorithms.md") == page, "docs/algorithms.md is stale: run `cargo xtask docs`");
}
