//! Networks with memory.

use crate::timing::{Work, mean_loss, wave};
use axiomrl_nn::{CellKind, Recurrent, RecurrentSpec, fused_loss, gradients, leaf};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::hint::black_box;

const WIDTH: usize = 64;

fn cell(kind: CellKind) -> Recurrent {
    Recurrent::new(RecurrentSpec::new(kind, WIDTH, WIDTH), &mut ChaCha8Rng::seed_from_u64(1))
}

/// A whole sequence forward and backward, gradients of the inputs included.
pub fn sequence(kind: CellKind, steps: usize) -> Work {
    let (rows, net) = (32, cell(kind));
    let (data, width) = (wave(steps * rows * WIDTH), net.spec.state_width());
    let (resets, start) = (vec![false; steps * rows], vec![0.0; rows * width]);
    let flops = 3.0 * net.spec.flops(steps * rows) as f64;
    // In memory before the clock starts, like the data of the other works and of the peers.
    let (data, start) = (leaf(&data, [steps, rows, WIDTH]), leaf(&start, [rows, width]));
    Work::new(format!("{kind:?} 64, batch 32, {steps} steps, fwd + bwd"), flops, move || {
        let params = net.params.tracked();
        let y = net.forward(data.clone().require_grad(), params.clone(), &resets, start.clone());
        let loss = fused_loss([y], |[y]| mean_loss(y));
        black_box(gradients(loss, [&params]));
    })
}

/// One step for one row, as when acting.
pub fn step(kind: CellKind) -> Work {
    let net = cell(kind);
    let (data, mut state, mut out) = (wave(WIDTH), vec![0.0; net.spec.state_width()], Vec::new());
    let flops = net.spec.flops(1) as f64;
    Work::new(format!("{kind:?} 64, batch 1, one step"), flops, move || {
        net.infer(black_box(&data), 1, 1, &[false], &mut state, &mut out);
    })
}
