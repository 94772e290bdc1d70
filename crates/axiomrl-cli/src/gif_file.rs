//! Pictures to an animated GIF with one palette for all of them.

use crate::failure::Failure;
use axiomrl_envs::Frame;
use gif::{Encoder, Repeat};
use std::collections::{BTreeSet, HashMap};

/// Colours of a GIF.
const MOST_COLOURS: usize = 256;
/// Enough samples for a good palette; more would only take longer.
const MOST_SAMPLES: usize = 1 << 15;

type Rgb = [u8; 3];

/// Encodes frames of one size, to be shown `fps` times a second, over and over.
pub fn encode(frames: &[Frame], fps: u16) -> Result<Vec<u8>, Failure> {
    let failed = |error: gif::EncodingError| Failure::other(format!("cannot make a GIF: {error}"));
    let Some(first) = frames.first() else { return Err(Failure::other("there is no picture to record")) };
    let size = |pixels: usize| {
        u16::try_from(pixels).map_err(|_| Failure::bad_input("the picture is too large for a GIF; use --downscale"))
    };
    let (width, height) = (size(first.width)?, size(first.height)?);
    let palette = palette(frames);
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, width, height, palette.as_flattened()).map_err(failed)?;
    encoder.set_repeat(Repeat::Infinite).map_err(failed)?;
    let mut nearest = HashMap::new();
    for frame in frames {
        let mut pixels = Vec::with_capacity(frame.rgb.len() / 3);
        for (colour, length) in stretches(frame) {
            let index = *nearest.entry(colour).or_insert_with(|| nearest_index(&palette, colour));
            pixels.resize(pixels.len() + length, index);
        }
        let mut frame = gif::Frame::from_indexed_pixels(width, height, pixels, None);
        // In hundredths of a second, the only unit the format has.
        frame.delay = (100 / fps.max(1)).max(1);
        encoder.write_frame(&frame).map_err(failed)?;
    }
    drop(encoder);
    Ok(bytes)
}

/// Drawn scenes have few colours, which are kept as they are; where there are more, the nearest 256 are found.
fn palette(frames: &[Frame]) -> Vec<Rgb> {
    let distinct: BTreeSet<Rgb> = frames.iter().flat_map(stretches).map(|(colour, _)| colour).collect();
    if distinct.len() <= MOST_COLOURS {
        return distinct.into_iter().collect();
    }
    let every = distinct.len().div_ceil(MOST_SAMPLES);
    let samples: Vec<Rgb> = distinct.into_iter().step_by(every).collect();
    let (width, pixels) = (samples.len() as u16, samples.as_flattened());
    let quantised = gif::Frame::from_rgb_speed(width, 1, pixels, 1).palette.unwrap_or_default();
    quantised.as_chunks::<3>().0.to_vec()
}

/// Neighbours of one colour, and how many: drawn scenes are mostly background, and looking up each pixel takes long.
fn stretches(frame: &Frame) -> impl Iterator<Item = (Rgb, usize)> {
    frame.rgb.as_chunks::<3>().0.chunk_by(|a, b| a == b).map(|same| (same[0], same.len()))
}

fn nearest_index(palette: &[Rgb], colour: Rgb) -> u8 {
    let distance = |other: &Rgb| (0..3).map(|i| u32::from(other[i].abs_diff(colour[i])).pow(2)).sum::<u32>();
    let nearest = palette.iter().enumerate().min_by_key(|(_, other)| distance(other));
    nearest.map_or(0, |(index, _)| index as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(width: usize, height: usize, colour: impl Fn(usize) -> Rgb) -> Frame {
        Frame { width, height, rgb: (0..width * height).flat_map(colour).collect() }
    }

    #[test]
    fn what_is_written_reads_back_exactly_when_there_are_few_colours() {
        let frames = [frame(4, 3, |i| [i as u8, 0, 200]), frame(4, 3, |i| [0, 10 * i as u8, 7])];
        let bytes = encode(&frames, 25).unwrap();
        assert!(bytes.starts_with(b"GIF89a"));
        let mut options = gif::DecodeOptions::new();
        options.set_color_output(gif::ColorOutput::RGBA);
        let mut decoder = options.read_info(bytes.as_slice()).unwrap();
        for expected in &frames {
            let found = decoder.read_next_frame().unwrap().unwrap();
            assert_eq!(found.delay, 4);
            let rgb: Vec<u8> = found.buffer.chunks_exact(4).flat_map(|p| [p[0], p[1], p[2]]).collect();
            assert_eq!(rgb, expected.rgb);
        }
        assert!(decoder.read_next_frame().unwrap().is_none());
    }

    #[test]
    fn many_colours_become_256_near_ones() {
        let frames = [frame(64, 64, |i| [(i % 64 * 4) as u8, (i / 64 * 4) as u8, 128])];
        let palette = palette(&frames);
        assert!(palette.len() <= MOST_COLOURS);
        let worst = stretches(&frames[0])
            .map(|(c, _)| {
                (0..3).map(|i| palette[usize::from(nearest_index(&palette, c))][i].abs_diff(c[i])).max().unwrap()
            })
            .max();
        assert!(worst.unwrap() <= 40, "{worst:?}");
    }
}
