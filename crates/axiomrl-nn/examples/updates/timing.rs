//! Best times, and how they are told.

use axiomrl_nn::recycled;
use serde_json::json;
use std::time::Instant;

/// A round lasts about this long, here and in the scripts of the peers: far above the clock's resolution, short enough to fit
/// between two interruptions.
const ROUND_SECONDS: f64 = 0.05;

/// The mean as a loss: its value and its gradient.
pub fn mean_loss(y: &[f32]) -> (f32, [Vec<f32>; 1]) {
    // Several sums at a time, so that none has to wait for the one before.
    let mut sums = [0.0; 16];
    for y in y.chunks(16) {
        sums.iter_mut().zip(y).for_each(|(sum, y)| *sum += y);
    }
    let share = 1.0 / y.len() as f32;
    let mut gradient = recycled(y.len());
    gradient.fill(share);
    (share * sums.iter().sum::<f32>(), [gradient])
}

/// Something to time, and what it costs in arithmetic.
pub struct Work {
    pub title: String,
    /// Floating-point operations of one call, products of matrices only; 0 where nobody counts.
    pub flops: f64,
    pub call: Box<dyn FnMut()>,
}

impl Work {
    pub fn new(title: impl Into<String>, flops: f64, call: impl FnMut() + 'static) -> Self {
        Self { title: title.into(), flops, call: Box::new(call) }
    }
}

pub struct Timer {
    pub rounds: usize,
    pub threads: usize,
    pub json: bool,
}

impl Timer {
    /// Best time per call, in microseconds.
    pub fn best(&self, call: &mut dyn FnMut()) -> f64 {
        let mut seconds_of = |calls: usize| {
            let begun = Instant::now();
            (0..calls).for_each(|_| call());
            begun.elapsed().as_secs_f64()
        };
        // Twice, because the first calls grow buffers.
        seconds_of(3);
        let one = seconds_of(3) / 3.0;
        let calls = ((ROUND_SECONDS / one.max(1e-9)) as usize).max(1);
        let best = (0..self.rounds).map(|_| seconds_of(calls)).fold(f64::INFINITY, f64::min);
        best * 1e6 / calls as f64
    }

    /// `peak` in GFLOP/s.
    pub fn report(&self, name: &str, work: &Work, microseconds: f64, peak: Option<f64>) {
        let megaflops = work.flops / 1e6;
        if self.json {
            let line = json!({
                "work": name, "variant": "ours", "threads": self.threads, "value": microseconds, "unit": "us",
                "mflop": megaflops,
            });
            println!("{line}");
            return;
        }
        println!("{:<44} {microseconds:>10.2} us", work.title);
        if work.flops > 0.0 {
            let speed = work.flops / microseconds / 1e3;
            let share = peak.map_or(String::new(), |peak| format!(", {:.0} % of peak", 100.0 * speed / peak));
            println!("{:<44} {speed:>10.1} GFLOP/s of {megaflops:.2} MFLOP{share}", "");
        }
    }
}

/// Values to calculate with.
pub fn wave(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i as f32 * 0.37).sin()).collect()
}
