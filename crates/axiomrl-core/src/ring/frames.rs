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
            match chunk {
                1 => spread::<1>(from, to, place, count),
                2 => spread::<2>(from, to, place, count),
                3 => spread::<3>(from, to, place, count),
                4 => spread::<4>(from, to, place, count),
                _ => {
                    for (from, to) in from.chunks_exact(chunk).zip(to.chunks_exact_mut(count * chunk)) {
                        to[place..place + chunk].copy_from_slice(from);
                    }
                }
            }
        }
    }
}

/// Puts each pixel of a frame to its `place` in a stacked one. The bytes of most pixels are few: a copy of known length is a move
/// or two, any other one a call, for every pixel of every row.
fn spread<const CHUNK: usize>(frame: &[u8], to: &mut [u8], place: usize, count: usize) {
    for (from, to) in frame.as_chunks::<CHUNK>().0.iter().zip(to.chunks_exact_mut(count * CHUNK)) {
        to[place..place + CHUNK].copy_from_slice(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three frames of two pixels each, of any depth: stacked pixel by pixel, the oldest frame first.
    #[test]
    fn frames_are_interleaved_pixel_by_pixel_and_the_newest_comes_out_again() {
        for chunk in 1..=6 {
            let frames = FrameSpec { count: 3, chunk };
            let frame = 2 * chunk;
            let from: Vec<u8> = (0..4 * frame as u8).collect();
            let mut stacked = vec![255; 2 * 3 * frame];
            stack(frames, &from, &[3, 1], &mut stacked, 3 * frame, |row, back| row.saturating_sub(back));
            let want = |rows: [usize; 3]| {
                let pixel = move |row: usize, at: usize| row * frame + at * chunk;
                (0..2).flat_map(move |at| rows.map(|row| pixel(row, at))).flat_map(|first| first..first + chunk)
            };
            let want: Vec<u8> = want([1, 2, 3]).chain(want([0, 0, 1])).map(|byte| byte as u8).collect();
            assert_eq!(stacked, want, "{chunk} bytes a pixel");
            let mut last = vec![0; frame];
            newest(frames, &stacked[..3 * frame], &mut last);
            assert_eq!(last, from[3 * frame..], "{chunk} bytes a pixel");
        }
    }
}
