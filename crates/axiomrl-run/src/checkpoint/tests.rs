mod damage;
mod legacy;
mod pages;

use super::*;
use axiomrl_algos::{StoreIo, Streamed, TensorData};
use axiomrl_core::PagedStore;
use axiomrl_envs::Space;
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};

const HEAD: &str = "replay.head.zst";
const PAGE: &str = "replay.0.zst";
const STREAM: &str = "rollout.zst";

fn snapshot(scale: f32) -> Snapshot {
    let tensor =
        |shape: &[usize]| TensorData { shape: shape.to_vec(), values: vec![scale; shape.iter().product::<usize>()] };
    let tensors = |named: &[(&str, &[usize])]| named.iter().map(|(n, s)| ((*n).to_owned(), tensor(s))).collect();
    let value = |name: &str| BTreeMap::from([(name.to_owned(), json!({"seed": [1, 2], "scale": f64::from(scale)}))]);
    Snapshot {
        policy: Section {
            tensors: tensors(&[("actor.0.weight", &[3, 2]), ("actor.0.bias", &[3]), ("log_std", &[])]),
            values: value("observation_statistics"),
        },
        training: Section { tensors: tensors(&[("adam.m", &[9])]), values: value("rng.act") },
    }
}

fn spaces() -> Spaces {
    Spaces::new(Space::Discrete { n: 3 }, Space::Discrete { n: 2 })
}

/// Numbers, as a store of either kind. Page `k` holds the numbers `10 * k..10 * (k + 1)`, and is final once it is full.
#[derive(Default)]
struct Numbers(Vec<u64>);

impl Streamed for Numbers {
    fn write(&mut self, to: &mut dyn Write) -> io::Result<()> {
        self.0.iter().try_for_each(|number| to.write_all(&number.to_le_bytes()))
    }

    fn read(&mut self, from: &mut dyn Read) -> io::Result<()> {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes)?;
        self.0 = bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        Ok(())
    }
}

impl PagedStore for Numbers {
    fn head(&self) -> Vec<u8> {
        self.0.len().to_le_bytes().to_vec()
    }

    fn pages(&self) -> Vec<u64> {
        (0..self.0.len().div_ceil(10) as u64).collect()
    }

    fn is_final(&self, page: u64) -> bool {
        self.0.len() as u64 >= (page + 1) * 10
    }

    fn write_page(&self, page: u64, to: &mut dyn Write) -> io::Result<()> {
        let page = self.0.chunks(10).nth(page as usize).unwrap();
        Streamed::write(&mut Numbers(page.to_vec()), to)
    }

    fn read(&mut self, head: &[u8], open: &mut dyn FnMut(u64) -> io::Result<Box<dyn Read>>) -> io::Result<()> {
        let count = u64::from_le_bytes(head.try_into().unwrap());
        self.0.clear();
        for page in 0..count.div_ceil(10) {
            let mut part = Numbers::default();
            Streamed::read(&mut part, &mut *open(page)?)?;
            self.0.extend(part.0);
        }
        Ok(())
    }
}

fn numbers(count: u64, times: u64) -> Numbers {
    Numbers((0..count).map(|i| i * times).collect())
}

/// A checkpoint with everything there can be.
fn save_with(dir: &Path, number: u64, replay: &mut Numbers) -> Result<(), CheckpointError> {
    let mut writer = CheckpointWriter::begin(dir)?;
    writer.paged("replay", replay).unwrap();
    writer.streamed("rollout", &mut numbers(1000, number)).unwrap();
    let (config, counters) = (json!({"algo": "sac"}), json!({ "step": number }));
    writer.finish(&config, &counters, &spaces(), &snapshot(number as f32), Some(&[number as u8; 9]), false)
}

fn save_numbered(dir: &Path, number: u64) {
    save_with(dir, number, &mut numbers(25, number)).unwrap();
}

/// A checkpoint without stores.
fn save_small(dir: &Path, snapshot: &Snapshot, policy_only: bool) -> Result<(), CheckpointError> {
    CheckpointWriter::begin(dir)?.finish(&Value::Null, &Value::Null, &spaces(), snapshot, None, policy_only)
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
    assert_eq!(loaded.environments, Some(vec![7; 9]));
    let (mut replay, mut rollout) = (Numbers::default(), Numbers::default());
    let mut stores = StoreReader(&loaded);
    stores.paged("replay", &mut replay).unwrap();
    stores.streamed("rollout", &mut rollout).unwrap();
    assert_eq!((replay.0, rollout.0), (numbers(25, 7).0, numbers(1000, 7).0));
    let absent = stores.streamed("sequences", &mut Numbers::default()).unwrap_err();
    assert!(absent.to_string().contains("sequences.zst"), "{absent}");
    assert_eq!(names(dir.parent().unwrap()), ["last"]);
}

#[test]
fn a_policy_is_loaded_without_the_rest_and_holds_no_more_than_it_needs() {
    let root = tempfile::tempdir().unwrap();
    let (last, best) = (root.path().join("last"), root.path().join("best"));
    save_numbered(&last, 7);
    save_small(&best, &snapshot(7.0), true).unwrap();
    assert_eq!(names(&best), [MANIFEST, MANIFEST_DIGEST, POLICY]);
    // Damage to what acting does not need is none of its business.
    for name in [TRAINING, ENVIRONMENTS, HEAD, PAGE, STREAM] {
        fs::write(last.join(name), "x").unwrap();
    }
    for dir in [&last, &best] {
        let saved = load_policy(dir).unwrap();
        assert_eq!(saved.snapshot, Snapshot { policy: snapshot(7.0).policy, ..Snapshot::default() });
        assert_eq!(saved.spaces, Some(spaces()));
    }
    assert!(matches!(load(&best).unwrap_err(), CheckpointError::NoStore { .. }));
}

#[test]
fn special_floats_and_no_tensors_survive() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("last");
    let values = vec![f32::NAN, f32::INFINITY, -0.0, f32::MIN_POSITIVE / 2.0];
    let mut odd = Snapshot::default();
    odd.policy.tensors.insert("odd".to_owned(), TensorData { shape: vec![4], values: values.clone() });
    save_small(&dir, &odd, false).unwrap();
    let loaded = load(&dir).unwrap();
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&loaded.snapshot.policy.tensors["odd"].values), bits(&values));
    assert!(loaded.snapshot.training.tensors.is_empty());
    assert_eq!(loaded.environments, None);
}

#[test]
fn identical_content_gives_identical_bytes() {
    let root = tempfile::tempdir().unwrap();
    let (a, b) = (root.path().join("a"), root.path().join("b"));
    save_numbered(&a, 3);
    save_numbered(&b, 3);
    let pages = ["replay.1.zst", "replay.2.zst"];
    let expected = [ENVIRONMENTS, MANIFEST, MANIFEST_DIGEST, POLICY, PAGE, pages[0], pages[1], HEAD, STREAM, TRAINING];
    assert_eq!(names(&a), expected);
    for name in names(&a) {
        assert_eq!(fs::read(a.join(&name)).unwrap(), fs::read(b.join(&name)).unwrap(), "{name}");
    }
}

#[test]
fn a_tensor_that_contradicts_its_shape_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let mut wrong = Snapshot::default();
    wrong.policy.tensors.insert("w".to_owned(), TensorData { shape: vec![2, 2], values: vec![0.0; 3] });
    let error = save_small(&root.path().join("last"), &wrong, false).unwrap_err();
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
    let (all, some, none) = (names(&at("one")).len(), 2, 0);
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

/// A store of a full disk.
struct Full;

impl Streamed for Full {
    fn write(&mut self, to: &mut dyn Write) -> io::Result<()> {
        to.write_all(&[1; 200_000])?;
        Err(io::Error::from(io::ErrorKind::StorageFull))
    }

    fn read(&mut self, _from: &mut dyn Read) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_keeps_the_previous_checkpoint() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("last");
    save_numbered(&dir, 1);
    let mut writer = CheckpointWriter::begin(&dir).unwrap();
    writer.paged("replay", &mut numbers(25, 2)).unwrap();
    let error = writer.streamed("rollout", &mut Full).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    drop(writer);
    assert_eq!(step_of(&dir), 1);
    assert_eq!(names(root.path()), ["last"]);
}

#[test]
fn saving_does_not_replace_what_is_not_a_checkpoint() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("thesis.tex"), "x").unwrap();
    let error = save_small(root.path(), &snapshot(1.0), false).unwrap_err();
    assert!(error.to_string().contains("thesis.tex"), "{error}");
    assert_eq!(names(root.path()), ["thesis.tex"]);
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

#[test]
fn a_run_folder_without_checkpoints_is_one_that_has_not_saved_yet() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("config.yaml"), "algo: ppo").unwrap();
    let error = find(root.path()).unwrap_err();
    assert!(matches!(error, CheckpointError::NotFound { .. }), "{error}");
    assert!(error.to_string().contains("before its first checkpoint"), "{error}");
}
