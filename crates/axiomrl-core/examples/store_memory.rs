//! Fills a large replay store, samples from it, and tells the most memory the process held:
//! `cargo run --release -p axiomrl-core --example store_memory -- vectors|frames`. Linux only: the kernel keeps the peak.

use axiomrl_core::{Batch, BatchSource, RewardScale, Ring, RingSpec, SampleOptions, View, Window, stream};
use axiomrl_envs::{FrameSpec, ObsRef, ObsWidths};
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

fn spec(capacity: usize, widths: ObsWidths, byte_frames: FrameSpec) -> RingSpec {
    RingSpec { capacity, lanes: 1, widths, byte_frames, action_width: 1, mask_width: 0 }
}

fn vectors() -> String {
    let (capacity, width) = (1_000_000, 17);
    let mut ring = Ring::new(spec(capacity, ObsWidths { floats: width, bytes: 0 }, FrameSpec::SINGLE));
    let obs = |i: usize| (0..width).map(|j| (i + j) as f32).collect::<Vec<f32>>();
    ring.begin(0, ObsRef::of_floats(1, &obs(0)), &[]);
    for i in 0..capacity {
        let (now, ended) = (obs(i + 1), i % EPISODE == EPISODE - 1);
        let now = ObsRef::of_floats(1, &now);
        ring.push(0, &[0.0], 1.0, ended, false, now, &[], now, &[]);
    }
    sample(&ring);
    format!("{} transitions of {width} floats", ring.len())
}

/// Stacked frames as an image environment hands them out: each observation repeats three frames of the one before, and the
/// store keeps each frame once.
fn frames() -> String {
    let capacity = 100_000;
    let widths = ObsWidths { floats: 0, bytes: FRAME * STACK };
    let mut ring = Ring::new(spec(capacity, widths, FrameSpec { count: STACK, chunk: 1 }));
    // Pages that were never written would not count.
    let mut stack: Vec<u8> = (0..FRAME * STACK).map(|i| (i % 251) as u8 + 1).collect();
    ring.begin(0, ObsRef::of_bytes(1, &stack), &[]);
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
        let (next, last) = (ObsRef::of_bytes(1, &stack), ObsRef::of_bytes(1, &last));
        ring.push(0, &[0.0], 1.0, ended, false, next, &[], last, &[]);
    }
    sample(&ring);
    format!("{} transitions of 84x84x4 bytes", ring.len())
}

fn sample(ring: &Ring) {
    let mut view = View::new(ring, Window::steps(1, 0.99), None, None).expect("windows of one step");
    let (mut batch, mut rng) = (Batch::default(), stream(1, "sample"));
    batch.resize(&view.shape(), 256);
    let mut options = SampleOptions { rng: &mut rng, beta: 1.0, reward: RewardScale::default() };
    view.fill(0..256, &mut options, &mut batch).expect("the store is full");
}

fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib / 1024)
}
