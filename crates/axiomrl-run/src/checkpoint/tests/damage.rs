//! Checkpoints that are not what was written.

use super::*;
#[cfg(unix)]
use std::fs::File;

#[test]
fn every_damaged_file_is_refused_by_name() {
    for name in [POLICY, TRAINING, ENVIRONMENTS, HEAD, PAGE, STREAM, MANIFEST] {
        for damage in ["flip", "cut", "extend", "remove"] {
            let root = tempfile::tempdir().unwrap();
            let dir = root.path().join("last");
            save_numbered(&dir, 1);
            save_numbered(&root.path().join("step_5"), 5);
            let path = dir.join(name);
            let mut bytes = fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            match damage {
                "flip" => bytes[middle] ^= 1,
                "cut" => bytes.truncate(middle),
                _ => bytes.push(b' '),
            }
            fs::write(&path, bytes).unwrap();
            if damage == "remove" {
                fs::remove_file(&path).unwrap();
            }
            let error = load(&dir).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(name), "{text}");
            match (name, damage) {
                (MANIFEST, "remove") => assert!(matches!(error, CheckpointError::NotACheckpoint { .. })),
                (_, "remove") => assert!(matches!(error, CheckpointError::Missing { .. })),
                _ => assert!(matches!(error, CheckpointError::Damaged { .. }), "{damage} {text}"),
            }
            if (name, damage) == (POLICY, "cut") {
                assert!(text.contains("truncated: expected") && text.contains("step_5"), "{text}");
            }
            if (name, damage) == (PAGE, "flip") {
                assert!(text.contains("sha256 differs"), "{text}");
            }
        }
    }
}

#[test]
fn an_edited_manifest_is_noticed() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("last");
    save_numbered(&dir, 1);
    let text = fs::read_to_string(dir.join(MANIFEST)).unwrap();
    fs::write(dir.join(MANIFEST), text.replace("\"step\": 1", "\"step\": 9")).unwrap();
    let error = load(&dir).unwrap_err().to_string();
    assert!(error.contains("manifest.json: sha256 differs"), "{error}");
}

#[test]
fn newer_and_foreign_manifests_are_told_apart() {
    let root = tempfile::tempdir().unwrap();
    let manifest = root.path().join(MANIFEST);
    fs::write(&manifest, json!({"kind": KIND, "schema_version": 3}).to_string()).unwrap();
    let error = load(root.path()).unwrap_err();
    assert!(matches!(error, CheckpointError::NewerSchema { found: 3, supported: 2, .. }));
    assert!(error.to_string().contains("install a newer AxiomRL"));
    fs::write(&manifest, json!({"name": "my web app"}).to_string()).unwrap();
    assert!(matches!(load(root.path()).unwrap_err(), CheckpointError::NotACheckpoint { .. }));
}

/// Both refused unread: a pipe would never end, a device never stop, and a huge file fill the memory.
#[cfg(unix)]
#[test]
fn what_is_not_a_plain_file_of_the_right_size_is_not_read() {
    for name in [POLICY, TRAINING, ENVIRONMENTS, PAGE, STREAM, MANIFEST_DIGEST] {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("last");
        save_numbered(&dir, 1);
        let path = dir.join(name);
        let refused = |words: &str| {
            let error = load(&dir).unwrap_err();
            let text = error.to_string();
            assert!(matches!(error, CheckpointError::Damaged { .. }), "{name}: {text}");
            assert!(text.contains(name) && text.contains(words), "{text}");
        };
        let elsewhere = root.path().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        refused("a link");
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        refused("a link");
        fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        refused("a pipe");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        refused("a folder");
        fs::remove_dir(&path).unwrap();
        File::create(&path).unwrap().set_len(50_000_000_000).unwrap();
        refused(if name == MANIFEST_DIGEST { "larger than" } else { "too long" });
    }
}

#[cfg(unix)]
#[test]
fn a_manifest_has_a_largest_size() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("last");
    save_numbered(&dir, 1);
    File::options().write(true).open(dir.join(MANIFEST)).unwrap().set_len(plain::LARGEST_MANIFEST + 1).unwrap();
    let text = load(&dir).unwrap_err().to_string();
    assert!(text.contains("manifest.json: it is larger than"), "{text}");
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_is_not_said_to_be_written() {
    use std::os::unix::fs::PermissionsExt;
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("last");
    save_numbered(&dir, 1);
    fs::set_permissions(dir.join(POLICY), fs::Permissions::from_mode(0o000)).unwrap();
    // An administrator may read everything.
    if let Err(error) = load(&dir) {
        assert!(error.to_string().starts_with("cannot read"), "{error}");
    }
}
