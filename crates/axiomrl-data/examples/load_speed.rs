//! How long a million recorded transitions take to load, in how much memory, and how fast they can be drawn afterwards.
//!
//! Each file is loaded by a process of its own, whose largest resident memory is printed beside the size of what it read.
//! Run with `cargo run --release -p axiomrl-data --example load_speed`; a number of transitions may be given.

use axiomrl_core::{Batch, BatchSource, Owned, Ring, RingSpec, SampleOptions, View, Window, random, stream};
use axiomrl_data::{
    DataError, Ending, EpisodeBuf, EpisodeReader, LoadOptions, Metadata, OpenOptions, load, minari, npz, open,
};
use axiomrl_envs::{BoxSpace, FrameSpec, ObsBuf, Space, Spaces};
use std::error::Error;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use std::{env, fs};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const OBSERVED: usize = 17;
const ACTIONS: usize = 6;
const EPISODE: usize = 1000;
const BATCH: usize = 256;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [order, path] = arguments.as_slice() {
        assert_eq!(order, "load");
        return load_one(Path::new(path));
    }
    let transitions: usize = arguments.first().map_or(Ok(1_000_000), |number| number.parse())?;
    let folder = env::temp_dir().join(format!("axiomrl-load-speed-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let outcome = compare(&folder, transitions);
    fs::remove_dir_all(&folder)?;
    outcome
}

fn compare(folder: &Path, transitions: usize) -> Outcome<()> {
    let linked = folder.join("linked.npz");
    npz::write(&linked, &mut Made::new(transitions))?;
    let single = folder.join("single.npz");
    write_d4rl(&single, transitions)?;
    let data = minari::write(folder, "bench/load-v0", &mut Made::new(transitions))?;
    println!("{transitions} transitions, {OBSERVED} numbers observed, {ACTIONS} of an action");
    for (what, path) in [
        ("npz, each observation twice (obs, next_obs)", &linked),
        ("npz, each observation once (D4RL's keys)", &single),
        ("Minari's HDF5", &data),
    ] {
        println!("{what}: {:.0} MB", size(path)? as f64 / 1e6);
        let output = Command::new(env::current_exe()?).arg("load").arg(path).output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        print!("{}", String::from_utf8_lossy(&output.stdout));
    }
    sampling(&single)
}

fn size(path: &Path) -> Outcome<u64> {
    if !path.is_dir() {
        return Ok(fs::metadata(path)?.len());
    }
    fs::read_dir(path)?.map(|entry| size(&entry?.path())).sum()
}

fn load_one(path: &Path) -> Outcome<()> {
    let before = peak()?;
    let start = Instant::now();
    let (dataset, report) = load(&mut opened(path)?, None, &LoadOptions::default())?;
    let seconds = start.elapsed().as_secs_f64();
    let (memory, file) = (peak()? - before, size(path)? as f64);
    println!(
        "  {} transitions in {} episodes, loaded in {seconds:.2} s, at most {:.0} MB resident, {:.2} of the file",
        dataset.len(),
        report.episodes,
        memory / 1e6,
        memory / file
    );
    Ok(())
}

fn opened(path: &Path) -> Result<Box<dyn EpisodeReader>, DataError> {
    open(path, &OpenOptions { spaces: Some(spaces()), max_episode_steps: None })
}

/// The most memory that this process has had, in bytes.
fn peak() -> Outcome<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM in /proc/self/status")?;
    Ok(1024.0 * line.trim().trim_end_matches(" kB").parse::<f64>()?)
}

/// Microseconds for a batch out of the dataset, and out of a replay store with the same transitions, in turns.
fn sampling(path: &Path) -> Outcome<()> {
    let (dataset, _) = load(&mut opened(path)?, None, &LoadOptions::default())?;
    let mut ring = Ring::new(RingSpec {
        capacity: dataset.len(),
        lanes: 1,
        widths: spaces().obs().widths,
        byte_frames: FrameSpec::SINGLE,
        action_width: ACTIONS,
        mask_width: 0,
    });
    let mut reader = opened(path)?;
    while let Some(episode) = reader.next_episode()? {
        ring.begin(0, episode.obs.row(0), &[]);
        for t in 0..episode.steps() {
            let (obs, last) = (episode.obs.row(t + 1), t + 1 == episode.steps());
            let action = &episode.actions[t * ACTIONS..(t + 1) * ACTIONS];
            ring.push(0, action, episode.rewards[t], false, last, obs, &[], obs, &[]);
        }
    }
    let window = Window::steps(1, 0.99);
    let mut views: [Box<dyn BatchSource>; 2] =
        [Box::new(View::new(dataset, window, None, None)?), Box::new(View::new(Owned(ring), window, None, None)?)];
    let mut best = [f64::INFINITY; 2];
    for _ in 0..10 {
        for (view, best) in views.iter_mut().zip(&mut best) {
            let (mut batch, mut rng) = (Batch::default(), stream(1, "bench"));
            batch.resize(&view.shape(), BATCH);
            let start = Instant::now();
            for _ in 0..2000 {
                let mut options = SampleOptions { rng: &mut rng, beta: 0.0, reward: Default::default() };
                view.fill(0..BATCH, &mut options, &mut batch)?;
            }
            *best = best.min(start.elapsed().as_secs_f64() / 2000.0 * 1e6);
        }
    }
    let [dataset, replay] = best;
    println!(
        "a batch of {BATCH}: {dataset:.1} µs from the dataset, {replay:.1} µs from a replay store, {:.2} times",
        dataset / replay
    );
    Ok(())
}

fn spaces() -> Spaces {
    let unbounded = Space::Box(BoxSpace::uniform(OBSERVED, f32::NEG_INFINITY, f32::INFINITY));
    Spaces::new(unbounded, Space::Box(BoxSpace::uniform(ACTIONS, -1.0, 1.0)))
}

/// Episodes of noise, made as they are asked for.
struct Made {
    spaces: Spaces,
    metadata: Metadata,
    left: usize,
    rng: axiomrl_core::Rng,
}

impl Made {
    fn new(transitions: usize) -> Self {
        Self { spaces: spaces(), metadata: Metadata::default(), left: transitions, rng: stream(1, "made") }
    }

    fn noise(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| 2.0 * random::uniform(&mut self.rng) as f32 - 1.0).collect()
    }
}

impl EpisodeReader for Made {
    fn name(&self) -> &str {
        "noise"
    }

    fn spaces(&self) -> &Spaces {
        &self.spaces
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn next_episode(&mut self) -> Result<Option<EpisodeBuf>, DataError> {
        let steps = self.left.min(EPISODE);
        if steps == 0 {
            return Ok(None);
        }
        self.left -= steps;
        let mut obs = ObsBuf::zeros(self.spaces.obs().widths, 0);
        obs.floats = self.noise((steps + 1) * OBSERVED);
        let (actions, rewards) = (self.noise(steps * ACTIONS), self.noise(steps));
        Ok(Some(EpisodeBuf { obs, masks: Vec::new(), actions, rewards, ending: Ending::Truncated }))
    }
}

/// The same numbers with D4RL's keys and without next observations: the least that a file of them can be. A row with a time-out
/// more for each episode stands in for what its last step led to.
fn write_d4rl(path: &Path, transitions: usize) -> Outcome<()> {
    let rows = transitions + transitions.div_ceil(EPISODE);
    let mut archive = ZipWriter::new(BufWriter::new(fs::File::create(path)?));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    let mut array = |key: &str, kind: &str, width: usize, of: &dyn Fn(&EpisodeBuf) -> Vec<u8>| -> Outcome<()> {
        archive.start_file(format!("{key}.npy"), options)?;
        let shape = if width == 1 { format!("({rows},)") } else { format!("({rows}, {width})") };
        let text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
        archive.write_all(b"\x93NUMPY\x01\x00")?;
        archive.write_all(&(text.len() as u16).to_le_bytes())?;
        archive.write_all(text.as_bytes())?;
        let mut made = Made::new(transitions);
        while let Some(episode) = made.next_episode()? {
            archive.write_all(&of(&episode))?;
        }
        Ok(())
    };
    let floats = |values: &[f32], more: usize| -> Vec<u8> {
        values.iter().chain(&vec![0.0; more]).flat_map(|value| value.to_le_bytes()).collect()
    };
    array("observations", "<f4", OBSERVED, &|episode| floats(&episode.obs.floats, 0))?;
    array("actions", "<f4", ACTIONS, &|episode| floats(&episode.actions, ACTIONS))?;
    array("rewards", "<f4", 1, &|episode| floats(&episode.rewards, 1))?;
    array("terminals", "|b1", 1, &|episode| vec![0; episode.steps() + 1])?;
    array("timeouts", "|b1", 1, &|episode| [vec![0; episode.steps()], vec![1]].concat())?;
    archive.finish()?.flush()?;
    Ok(())
}
