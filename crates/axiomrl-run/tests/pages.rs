//! Replay stores are saved in pages: a checkpoint writes what has changed since the one before, and no more.

mod support;

use axiomrl_core::Rng;
use axiomrl_envs::{BoxSpace, Env, EnvError, ObsMut, Space, Step, snapshot};
use axiomrl_run::catalogue::Catalogue;
use axiomrl_run::experiment::Experiment;
use axiomrl_run::train::{Trainer, Unit};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use support::{assert_same, options};

/// As many numbers as make a page of 32 transitions.
const WIDTH: usize = 12_000;

/// Counts its steps, over and over again, in an observation that is large enough for many pages.
struct Wide {
    observation: Space,
    action: Space,
    step: usize,
}

impl Wide {
    fn new() -> Self {
        let observation = Space::Box(BoxSpace::uniform(WIDTH, 0.0, 1.0));
        Self { observation, action: Space::Discrete { n: 2 }, step: 0 }
    }
}

impl Env for Wide {
    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        &self.action
    }

    fn reset(&mut self, _rng: &mut Rng) -> Result<(), EnvError> {
        self.step = 0;
        Ok(())
    }

    fn step(&mut self, action: &[f32], _rng: &mut Rng) -> Result<Step, EnvError> {
        self.step += 1;
        Ok(Step { reward: f64::from(action[0]), terminated: self.step == 7, truncated: false })
    }

    fn observe(&self, mut out: ObsMut<'_>) {
        let mut numbers = vec![0.0; WIDTH];
        numbers[self.step] = 1.0;
        out.write(&numbers);
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        Some(snapshot::to_bytes(&self.step))
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), EnvError> {
        self.step = snapshot::from_bytes("Wide", bytes)?;
        Ok(())
    }
}

fn catalogue() -> Catalogue {
    let mut catalogue = Catalogue::builtin();
    catalogue.environment("Wide-v0", "Wide observations", Wide::new).unwrap();
    catalogue
}

/// A run whose store holds `capacity` transitions.
fn experiment(capacity: usize, extra: &[&str]) -> Experiment {
    let text = format!(
        "{{algo: dqn, env_id: Wide-v0, seed: 3, total_timesteps: 200, eval_interval: 0, eval_episodes: 1, \
         keep_checkpoints: 0, checkpoint_interval: 0, algo_kwargs: {{hidden_sizes: [4], batch_size: 4, \
         learning_starts: 20, train_frequency: 4, gradient_steps: 2, buffer_capacity: {capacity}}}}}"
    );
    let extra: Vec<String> = extra.iter().map(|&text| text.to_owned()).collect();
    catalogue().read(&text, "test", &extra).unwrap()
}

/// A page of a checkpoint: whether it is final, its digest, and which file of the disk it is.
#[derive(Clone, Debug, PartialEq)]
struct Page {
    is_final: bool,
    sha256: String,
    inode: u64,
}

/// The pages of the last checkpoint by their numbers.
fn pages(run: &Path) -> BTreeMap<u64, Page> {
    let last = run.join("checkpoints/last");
    let manifest: Value = serde_json::from_slice(&fs::read(last.join("manifest.json")).unwrap()).unwrap();
    let number = |name: &str| name.strip_prefix("replay.")?.strip_suffix(".zst")?.parse().ok();
    let files = manifest["files"].as_object().unwrap().iter();
    files
        .filter_map(|(name, digest)| {
            let sha256 = digest["sha256"].as_str().unwrap().to_owned();
            let is_final = digest["final"].as_bool().unwrap_or(false);
            Some((number(name)?, Page { is_final, sha256, inode: inode(&last.join(name)) }))
        })
        .collect()
}

#[cfg(unix)]
fn inode(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap())
}

/// Where files have no numbers, equal digests have to do.
#[cfg(not(unix))]
fn inode(_path: &Path) -> u64 {
    0
}

/// Runs on for so many steps and stops there.
fn run_on(trainer: Trainer, steps: u64, stop: &std::sync::atomic::AtomicBool) {
    let mut trainer = trainer;
    assert!(trainer.advance(steps).unwrap().is_none());
    stop.store(true, Ordering::Relaxed);
    assert!(matches!(trainer.unit().unwrap(), Unit::Ended(_)));
}

fn begin(run: &Path, experiment: Experiment, steps: u64) {
    let options = options(run);
    run_on(Trainer::new(experiment, options.clone(), Vec::new()).unwrap(), steps, &options.stop);
}

fn go_on(run: &Path, steps: u64) {
    let options = options(run);
    let resumed = Trainer::resume(&catalogue(), run, None, options.clone(), Vec::new()).unwrap();
    run_on(resumed, steps, &options.stop);
}

#[test]
fn checkpoints_share_their_final_pages_and_write_the_others_again() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    begin(&run, experiment(1000, &[]), 80);
    let first = pages(&run);
    assert_eq!(first.values().map(|page| page.is_final).collect::<Vec<_>>(), [true, true, false]);
    go_on(&run, 10);
    let second = pages(&run);
    assert_eq!((&second[&0], &second[&1]), (&first[&0], &first[&1]));
    assert_ne!(second[&2].sha256, first[&2].sha256, "it has grown");
    assert!(!second[&2].is_final);
    // And within one process: a checkpoint at every hundredth step, the last of them at the end.
    let resumed = Trainer::resume(&catalogue(), &run, None, options(&run), Vec::new()).unwrap();
    resumed.run().unwrap();
    let last = pages(&run);
    assert_eq!(last.len(), 200_usize.div_ceil(32));
    assert_eq!((&last[&0], &last[&1]), (&first[&0], &first[&1]));
    assert!(last[&2].is_final && last[&2].sha256 != second[&2].sha256);
}

#[test]
fn periodic_checkpoints_of_one_process_share_pages() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut trainer = Trainer::new(experiment(1000, &["checkpoint_interval=40"]), options(&run), Vec::new()).unwrap();
    let mut seen: Vec<BTreeMap<u64, Page>> = Vec::new();
    loop {
        match trainer.unit().unwrap() {
            Unit::Ended(_) => break,
            Unit::Duties if trainer.clock().at.is_multiple_of(40) && !trainer.clock().is_over() => {
                seen.push(pages(&run))
            }
            _ => {}
        }
    }
    assert_eq!(seen.iter().map(BTreeMap::len).collect::<Vec<_>>(), [2, 3, 4, 5]);
    for (before, after) in seen.iter().zip(&seen[1..]) {
        for (number, page) in before {
            assert_eq!(page.is_final, *page == after[number], "page {number}: what is final, and only that, is shared");
        }
    }
}

/// Pages that have lost a part of their transitions are written again, and pages that have lost all are gone.
#[test]
fn a_run_whose_store_has_lost_its_oldest_goes_on_with_the_same_samples() {
    let folder = tempfile::tempdir().unwrap();
    for (name, extra) in
        [("one", &[][..]), ("three", &["num_envs=3"]), ("prioritised", &["algo_kwargs.prioritized_replay=true"])]
    {
        let (whole, pieces) =
            (folder.path().join(format!("{name} whole")), folder.path().join(format!("{name} pieces")));
        let capacity = if name == "three" { 150 } else { 70 };
        Trainer::new(experiment(capacity, extra), options(&whole), Vec::new()).unwrap().run().unwrap();
        begin(&pieces, experiment(capacity, extra), 91);
        let first = pages(&pieces);
        go_on(&pieces, 27);
        go_on(&pieces, 54);
        let third = pages(&pieces);
        if name != "three" {
            // Transitions 21 to 90, then 102 to 171 and no others.
            assert_eq!(first.keys().collect::<Vec<_>>(), [&0, &1, &2]);
            assert_eq!(first.values().map(|page| page.is_final).collect::<Vec<_>>(), [false, true, false]);
            assert_eq!(third.keys().collect::<Vec<_>>(), [&3, &4, &5]);
        }
        let resumed = Trainer::resume(&catalogue(), &pieces, None, options(&pieces), Vec::new()).unwrap();
        resumed.run().unwrap();
        assert_same(name, &pieces, &whole);
    }
}
