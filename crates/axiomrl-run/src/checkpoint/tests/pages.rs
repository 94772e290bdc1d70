//! Pages that will not change are taken over from one checkpoint to the next.

use super::*;

fn digest_of(dir: &Path, name: &str) -> FileDigest {
    read_manifest(dir).unwrap().files[name].clone()
}

/// Saves twice, the second time with more numbers, after `change` was made to the first checkpoint.
fn saved_twice(change: impl FnOnce(&Path), look: impl Fn(&Path)) {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("last");
    save_with(&dir, 1, &mut numbers(25, 1)).unwrap();
    look(&dir);
    change(&dir);
    save_with(&dir, 2, &mut numbers(37, 1)).unwrap();
    look(&dir);
    let mut replay = Numbers::default();
    StoreReader(&load(&dir).unwrap()).paged("replay", &mut replay).unwrap();
    assert_eq!(replay.0, numbers(37, 1).0);
    assert_eq!(names(root.path()), ["last"]);
}

/// Which file of the disk a name stands for.
#[cfg(unix)]
fn inode(dir: &Path, name: &str) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&fs::metadata(dir.join(name)).unwrap())
}

#[cfg(unix)]
#[test]
fn final_pages_are_shared_and_the_others_written_again() {
    let seen = std::cell::RefCell::new(Vec::new());
    saved_twice(
        |_| (),
        |dir| {
            let pages = [0, 1, 2].map(|page| format!("replay.{page}.zst"));
            seen.borrow_mut().push(pages.map(|name| (inode(dir, &name), digest_of(dir, &name))));
        },
    );
    let seen = seen.into_inner();
    assert_eq!(seen[0].each_ref().map(|page| page.1.is_final), [true, true, false]);
    assert_eq!(seen[1].each_ref().map(|page| page.1.is_final), [true, true, true]);
    assert_eq!(seen[0][..2], seen[1][..2]);
    assert_ne!(seen[0][2].1.sha256, seen[1][2].1.sha256, "it has grown");
}

/// A page that was damaged on the disk is still in memory.
#[test]
fn a_page_of_another_size_or_none_is_written_again() {
    saved_twice(|dir| fs::write(dir.join(PAGE), "x").unwrap(), |_| ());
    saved_twice(|dir| fs::remove_file(dir.join(PAGE)).unwrap(), |_| ());
    saved_twice(|dir| fs::write(dir.join(MANIFEST), "{").unwrap(), |_| ());
}

/// The last page has the same name and other numbers.
#[test]
fn what_is_not_final_is_never_taken_over() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("last");
    save_with(&dir, 1, &mut numbers(25, 1)).unwrap();
    let before = digest_of(&dir, "replay.2.zst");
    save_with(&dir, 1, &mut numbers(25, 3)).unwrap();
    assert_ne!(digest_of(&dir, "replay.2.zst").sha256, before.sha256);
}
