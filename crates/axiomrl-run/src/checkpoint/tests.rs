use super::*;
use axiomrl_core::TensorData;
use serde_json::json;
use std::collections::BTreeSet;

fn snapshot(scale: f32) -> Snapshot {
    let tensor =
        |shape: &[usize]| TensorData { shape: shape.to_vec(), values: vec![scale; shape.iter().product::<usize>()] };
    Snapshot {
        model: [("actor.0.weight", tensor(&[3, 2])), ("actor.0.bias", tensor(&[3])), ("log_std", tensor(&[]))]
            .map(|(name, tensor)| (name.to_owned(), tensor))
            .into(),
        optimizer: [("adam.m".to_owned(), tensor(&[9]))].into(),
        state: [("rng/act".to_owned(), json!({"seed": [1, 2], "scale": f64::from(scale)}))].into(),
    }
}

fn save_numbered(dir: &Path, number: u64) {
    let counters = json!({ "step": number });
    let mut store = |out: &mut dyn Write| (0..1000u64).try_for_each(|i| out.write_all(&(i * number).to_le_bytes()));
    save(dir, &json!({"algo": "sac"}), &counters, &snapshot(number as f32), Some(&mut store)).unwrap();
}

fn step_of(dir: &Path) -> u64 {
    load(dir).unwrap().counters["step"].as_u64().unwrap()
}

fn names(dir: &Path) -> Vec<String> {
    let names: BTreeSet<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.into_iter().collect()
}

#[test]
fn what_is_saved_is_loaded() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run/checkpoints/last");
    save_numbered(&dir, 7);
    let loaded = load(&dir).unwrap();
    assert_eq!(loaded.snapshot, snapshot(7.0));
    assert_eq!(loaded.config, json!({"algo": "sac"}));
    assert_eq!(loaded.counters, json!({"step": 7}));
    let mut store = Vec::new();
    open_store(&loaded).unwrap().unwrap().read_to_end(&mut store).unwrap();
    let expected: Vec<u8> = (0..1000u64).flat_map(|i| (i * 7).to_le_bytes()).collect();
    assert_eq!(store, expected);
    assert_eq!(names(dir.parent().unwrap()), ["last"]);
}

#[test]
fn special_floats_and_no_tensors_survive() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("best");
    let values = vec![f32::NAN, f32::INFINITY, -0.0, f32::MIN_POSITIVE / 2.0];
    let model = [("odd".to_owned(), TensorData { shape: vec![4], values: values.clone() })].into();
    save(&dir, &Value::Null, &Value::Null, &Snapshot { model, ..Snapshot::default() }, None).unwrap();
    let loaded = load(&dir).unwrap();
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&loaded.snapshot.model["odd"].values), bits(&values));
    assert!(loaded.snapshot.optimizer.is_empty());
    assert!(open_store(&loaded).unwrap().is_none());
}

#[test]
fn identical_content_gives_identical_bytes() {
    let root = tempfile::tempdir().unwrap();
    let (a, b) = (root.path().join("a"), root.path().join("b"));
    save_numbered(&a, 3);
    save_numbered(&b, 3);
    assert_eq!(names(&a), [MANIFEST, MANIFEST_DIGEST, MODEL, OPTIMIZER, STORE]);
    for name in names(&a) {
        assert_eq!(fs::read(a.join(&name)).unwrap(), fs::read(b.join(&name)).unwrap(), "{name}");
    }
}

#[test]
fn a_tensor_that_contradicts_its_shape_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let model = [("w".to_owned(), TensorData { shape: vec![2, 2], values: vec![0.0; 3] })].into();
    let snapshot = Snapshot { model, ..Snapshot::default() };
    let error = save(&root.path().join("last"), &Value::Null, &Value::Null, &snapshot, None).unwrap_err();
    assert!(matches!(error, CheckpointError::BadTensor { name, .. } if name == "w"));
    assert!(names(root.path()).is_empty());
}

/// Every state a kill can leave, built by hand from two complete checkpoints.
#[test]
fn a_kill_at_any_moment_leaves_one_complete_checkpoint() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    save_numbered(&at("one"), 1);
    save_numbered(&at("two"), 2);
    let copy = |from: &str, to: &str, files: usize| {
        fs::create_dir(at(to)).unwrap();
        for name in names(&at(from)).into_iter().rev().take(files) {
            fs::copy(at(from).join(&name), at(to).join(&name)).unwrap();
        }
    };
    // (files of `last`, from; files of `last.old`; files of `last.tmp-1`; the step that must load)
    let (all, some, none) = (5, 2, 0);
    let states = [
        ("writing, folder just made", all, "one", None, Some(none), 1),
        ("writing, half of the files", all, "one", None, Some(some), 1),
        ("written, nothing renamed", all, "one", None, Some(all), 1),
        ("previous moved away", none, "", Some(all), Some(all), 1),
        ("new one in place", all, "two", Some(all), None, 2),
        ("previous half removed", all, "two", Some(some), None, 2),
        ("a stale .old and a new write", all, "two", Some(some), Some(some), 2),
    ];
    for (moment, last, source, old, temporary, expected) in states {
        if last > 0 {
            copy(source, "last", last);
        }
        if let Some(files) = old {
            copy("one", "last.old", files);
        }
        if let Some(files) = temporary {
            copy("two", "last.tmp-1", files);
        }
        assert_eq!(step_of(&at("last")), expected, "{moment}");
        assert_eq!(step_of(&find(&at("last")).unwrap()), expected, "{moment}");
        // And the next save goes through, cleaning up after the killed one.
        save_numbered(&at("last"), 3);
        assert_eq!(step_of(&at("last")), 3, "{moment}");
        assert_eq!(names(root.path()), ["last", "one", "two"], "{moment}");
        fs::remove_dir_all(at("last")).unwrap();
    }
}

#[test]
fn a_full_disk_keeps_the_previous_checkpoint() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("last");
    save_numbered(&dir, 1);
    let mut store = |out: &mut dyn Write| {
        out.write_all(&[1; 200_000])?;
        Err(io::Error::from(io::ErrorKind::StorageFull))
    };
    let error = save(&dir, &Value::Null, &Value::Null, &snapshot(2.0), Some(&mut store)).unwrap_err();
    assert!(matches!(&error, CheckpointError::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull));
    assert!(error.to_string().contains("the previous checkpoint, if there was one, is untouched"));
    assert_eq!(step_of(&dir), 1);
    assert_eq!(names(root.path()), ["last"]);
}

#[test]
fn saving_does_not_replace_what_is_not_a_checkpoint() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("thesis.tex"), "x").unwrap();
    let error = save(root.path(), &Value::Null, &Value::Null, &snapshot(1.0), None).unwrap_err();
    assert!(error.to_string().contains("thesis.tex"), "{error}");
    assert_eq!(names(root.path()), ["thesis.tex"]);
}

#[test]
fn every_damaged_file_is_refused_by_name() {
    for name in [MODEL, OPTIMIZER, STORE, MANIFEST] {
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
            if (name, damage) == (MODEL, "cut") {
                assert!(text.contains("truncated: expected") && text.contains("step_5"), "{text}");
            }
            if (name, damage) == (STORE, "flip") {
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
    fs::write(&manifest, json!({"kind": KIND, "schema_version": 2}).to_string()).unwrap();
    let error = load(root.path()).unwrap_err();
    assert!(matches!(error, CheckpointError::NewerSchema { found: 2, supported: 1, .. }));
    assert!(error.to_string().contains("install a newer AxiomRL"));
    fs::write(&manifest, json!({"name": "my web app"}).to_string()).unwrap();
    assert!(matches!(load(root.path()).unwrap_err(), CheckpointError::NotACheckpoint { .. }));
}

#[test]
fn find_takes_run_folders_and_explains_everything_else() {
    let root = tempfile::tempdir().unwrap();
    let run = root.path().join("run");
    let checkpoints = run.join("checkpoints");
    fs::create_dir_all(&checkpoints).unwrap();
    let message = |path: &Path| find(path).unwrap_err().to_string();
    assert!(message(&run).contains("before its first checkpoint"));

    save_numbered(&checkpoints.join("step_1000"), 1000);
    save_numbered(&checkpoints.join("step_200"), 200);
    assert!(message(&run).contains("step_200, step_1000"), "{}", message(&run));
    assert!(message(&checkpoints).contains("name one of them: step_200, step_1000"));
    assert!(message(&checkpoints.join("step_300")).contains("has the checkpoints step_200, step_1000"));

    save_numbered(&checkpoints.join("last"), 7);
    assert_eq!(find(&run).unwrap(), checkpoints.join("last"));
    assert_eq!(find(&checkpoints.join("step_200")).unwrap(), checkpoints.join("step_200"));
    fs::rename(checkpoints.join("last"), checkpoints.join("last.old")).unwrap();
    assert_eq!(step_of(&find(&run).unwrap()), 7);
    assert_eq!(list(&checkpoints).len(), 2);

    let foreign = root.path().join("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("weights.pth"), "x").unwrap();
    assert!(message(&foreign).contains("it holds weights.pth"));
    assert!(message(&foreign.join("weights.pth")).contains("it is a file"));
    assert!(matches!(find(&root.path().join("a/b")).unwrap_err(), CheckpointError::NotFound { .. }));
}

/// Both refused unread: a pipe would never end, a device never stop, and a huge file fill the memory.
#[cfg(unix)]
#[test]
fn what_is_not_a_plain_file_of_the_right_size_is_not_read() {
    for name in [MODEL, OPTIMIZER, STORE, MANIFEST_DIGEST] {
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
    fs::set_permissions(dir.join(MODEL), fs::Permissions::from_mode(0o000)).unwrap();
    // An administrator may read everything.
    if let Err(error) = load(&dir) {
        assert!(error.to_string().starts_with("cannot read"), "{error}");
    }
}

#[test]
fn a_run_folder_without_checkpoints_is_one_that_has_not_saved_yet() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("config.yaml"), "algo: ppo").unwrap();
    let error = find(root.path()).unwrap_err();
    assert!(matches!(error, CheckpointError::NotFound { .. }), "{error}");
    assert!(error.to_string().contains("before its first checkpoint"), "{error}");
}
