//! Fills a large replay store, samples from it, and tells the most memory the process held:
//! `cargo run --release -p axiomrl-core --example store_memory -- vectors|frames`. Linux only: the kernel keeps the peak.

use axiomrl_core::{Batch, FrameSpec, Replay, ReplaySpec, stream};
use axiomrl_envs::{DType, ObsRef};
use serde_json::json;
use std::process::ExitCode;

const EPISODE: usize = 1000;
const FRAME: usize = 84 * 84;
const STACK: usize = 4;

fn main() -> ExitCode {
    let store = match std::env::args().nth(1).as_deref() {
        Some("vectors") => vectors(),
        Some("frames") => frames(),
        _ => {
            eprintln!("say which store: `vectors` or `frames`");
            return ExitCode::from(2);
        }
    };
    let Some(peak_mib) = peak_mib() else {
        eprintln!("the peak is read from /proc/self/status, which is not here");
        return ExitCode::FAILURE;
    };
    println!("{}", json!({ "store": store, "peak_mib": peak_mib }));
    ExitCode::SUCCESS
}

fn spec(capacity: usize, obs_width: usize, obs_dtype: DType, frames: FrameSpec) -> ReplaySpec {
    ReplaySpec {
        capacity,
        lanes: 1,
        obs_width,
        obs_dtype,
        frames,
        action_width: 1,
        mask_width: 0,
        n_step: 1,
        gamma: 0.99,
        prioritized: None,
    }
}

fn vectors() -> String {
    let (capacity, width) = (1_000_000, 17);
    let mut replay = Replay::new(spec(capacity, width, DType::F32, FrameSpec::SINGLE));
    let obs = |i: usize| (0..width).map(|j| (i + j) as f32).collect::<Vec<f32>>();
    replay.begin(0, ObsRef::F32(&obs(0)), &[]);
    for i in 0..capacity {
        let (now, ended) = (obs(i + 1), i % EPISODE == EPISODE - 1);
        replay.push(0, &[0.0], 1.0, ended, false, ObsRef::F32(&now), &[], ObsRef::F32(&now), &[]);
    }
    sample(&replay);
    format!("{} transitions of {width} floats", replay.len())
}

/// Stacked frames as an image environment hands them out: each observation repeats three frames of the one before, and the
/// store keeps each frame once.
fn frames() -> String {
    let capacity = 100_000;
    let mut replay = Replay::new(spec(capacity, FRAME * STACK, DType::U8, FrameSpec { count: STACK, chunk: 1 }));
    // Pages that were never written would not count.
    let mut stack: Vec<u8> = (0..FRAME * STACK).map(|i| (i % 251) as u8 + 1).collect();
    replay.begin(0, ObsRef::U8(&stack), &[]);
    for i in 0..capacity {
        // Channels last: the oldest frame of each pixel makes room for the newest.
        for (at, pixel) in stack.chunks_exact_mut(STACK).enumerate() {
            pixel.rotate_left(1);
            pixel[STACK - 1] = ((at * 7 + i * 13) % 255) as u8 + 1;
        }
        let (last, ended) = (stack.clone(), i % EPISODE == EPISODE - 1);
        if ended {
            // A new episode shows its first frame as often as there is room.
            stack.chunks_exact_mut(STACK).for_each(|pixel| pixel.fill(pixel[STACK - 1]));
        }
        replay.push(0, &[0.0], 1.0, ended, false, ObsRef::U8(&stack), &[], ObsRef::U8(&last), &[]);
    }
    sample(&replay);
    format!("{} transitions of 84x84x4 bytes", replay.len())
}

fn sample(replay: &Replay) {
    let mut batch = Batch::default();
    replay.sample(256, 1.0, &mut stream(1, "sample"), &mut batch);
}

fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib / 1024)
}
