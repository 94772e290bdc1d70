//! Stacked bytes stored one frame each.
//!
//! An observation that shows the last few frames repeats all but one of them. The store keeps the newest frame of each row
//! and puts the others together again from the rows before, which is where they came from.

use axiomrl_envs::FrameSpec;

/// Writes the newest frame of stacked bytes.
pub(super) fn newest(frames: FrameSpec, from: &[u8], to: &mut [u8]) {
    let FrameSpec { count, chunk } = frames;
    for (from, to) in from.chunks_exact(count * chunk).zip(to.chunks_exact_mut(chunk)) {
        to.copy_from_slice(&from[(count - 1) * chunk..]);
    }
}

/// Whether `obs` shows what must come after `before`: the same frames, moved by one. Without anything before, all its frames
/// are one and the same.
pub(crate) fn continues(frames: FrameSpec, before: Option<&[u8]>, obs: &[u8]) -> bool {
    let FrameSpec { count, chunk } = frames;
    let width = count * chunk;
    match before {
        None => obs.chunks_exact(width).all(|stack| stack[chunk..] == stack[..width - chunk]),
        Some(before) => {
            let mut pairs = before.chunks_exact(width).zip(obs.chunks_exact(width));
            pairs.all(|(before, obs)| before[chunk..] == obs[..width - chunk])
        }
    }
}

/// Writes stacked rows to consecutive rows of `to`, which are `width` bytes each. `frame_row` gives, for one of `rows` and a
/// number of frames back from the newest, the row of `from` to look in.
pub(super) fn stack(
    frames: FrameSpec,
    from: &[u8],
    rows: &[usize],
    to: &mut [u8],
    width: usize,
    frame_row: impl Fn(usize, usize) -> usize,
) {
    let FrameSpec { count, chunk } = frames;
    let frame = width / count;
    for (to, &row) in to.chunks_exact_mut(width).zip(rows) {
        for back in 0..count {
            let from = &from[frame_row(row, back) * frame..][..frame];
            let place = (count - 1 - back) * chunk;
            for (from, to) in from.chunks_exact(chunk).zip(to.chunks_exact_mut(count * chunk)) {
                to[place..place + chunk].copy_from_slice(from);
            }
        }
    }
}
