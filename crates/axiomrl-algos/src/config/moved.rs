//! Keys of recorded data that the Python original keeps among an algorithm's settings. Here they make a block of their own,
//! `dataset`, and files that were written for the original go on working.

use super::tree::{Content, Entry, Node};

/// What the original calls a key, and its name in the block.
const MOVED: &[(&str, &str)] = &[
    ("dataset_kind", "dataset_kind"),
    ("dataset_path", "dataset_path"),
    ("dataset_id", "dataset_id"),
    ("dataset_size", "dataset_size"),
    ("dataset_seed", "dataset_seed"),
    ("dataset_mix", "dataset_mix"),
    ("dataset_mix_size", "dataset_size"),
    ("dataset_mix_seed", "dataset_seed"),
    ("expert_dataset_kind", "dataset_kind"),
    ("expert_dataset_path", "dataset_path"),
    ("expert_dataset_id", "dataset_id"),
    ("expert_dataset_size", "dataset_size"),
    ("expert_dataset_seed", "dataset_seed"),
];

/// Moves them from `settings` to the block `dataset` of a run file. A key that the block has already stays where it was
/// written, to be refused there: it would say something twice.
pub fn move_data_keys(root: &mut Node, settings: &str) {
    let Some(Content::Map(own)) = root.get(settings).map(|node| &node.content) else { return };
    let named = |entry: &&Entry| MOVED.iter().any(|(old, _)| *old == entry.key);
    let written: Vec<Entry> = own.iter().filter(named).cloned().collect();
    for entry in written {
        let Some((_, new)) = MOVED.iter().find(|(old, _)| *old == entry.key) else { continue };
        let taken = root.get("dataset").is_some_and(|block| block.entry(new).is_some());
        if !taken && root.set(&format!("dataset.{new}"), entry.value.clone()).is_ok() {
            root.remove(settings, &entry.key);
        }
    }
}
