//! The README's table of algorithms follows from the code; this notices when it does not any more.

mod common;
/// The very code that writes the table.
#[path = "../../../xtask/src/docs/table.rs"]
mod table;

use common::Workshop;
use serde_json::Value;
use std::fs;
use std::path::Path;

#[test]
fn the_table_of_algorithms_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let runs =
        fs::read(root.join("benchmarks/learn.json")).map_or(Value::Null, |b| serde_json::from_slice(&b).unwrap());
    let algorithms = Workshop::new().succeed(&["algos", "--json"]).json();
    let fresh = table::insert(&readme, &algorithms, &runs).unwrap();
    assert!(readme == fresh, "README.md is stale: run `cargo xtask docs`");
}
