//! Pictures in PNG.

use crate::glyphs::{CAPITAL, strokes};
use crate::scene::{Anchor, Mark, OPACITY, Scene, Text};
use flate2::{Compression, Crc, write::ZlibEncoder};
use std::io::Write;
use tiny_skia::{Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Transform};

/// Pixels of a unit: fine enough for screens that have many.
const SCALE: f64 = 2.0;
/// Height of a capital letter as a part of a text's size.
const CAPITAL_SHARE: f64 = 0.7;
const INK: &str = "#000000";

impl Scene {
    /// The bytes of the file.
    pub fn png(&self) -> Vec<u8> {
        let [width, height] = [self.width, self.height].map(|size| (SCALE * size).ceil().max(1.0) as u32);
        let Some(mut canvas) = Pixmap::new(width, height) else { return Vec::new() };
        canvas.fill(Color::WHITE);
        for mark in &self.marks {
            match mark {
                Mark::Stroke { points, colour, width } => stroke(&mut canvas, points, colour, *width),
                Mark::Area { points, colour } => {
                    if let Some(path) = outline(points, true) {
                        let paint = paint(colour, OPACITY);
                        canvas.fill_path(&path, &paint, FillRule::Winding, Transform::identity(), None);
                    }
                }
                Mark::Text(text) => write_text(&mut canvas, text),
            }
        }
        let rgb: Vec<u8> = canvas.pixels().iter().flat_map(|p| [p.red(), p.green(), p.blue()]).collect();
        encode(width, height, &rgb)
    }
}

fn stroke(canvas: &mut Pixmap, points: &[(f64, f64)], colour: &str, width: f64) {
    if let Some(path) = outline(points, false) {
        let style = tiny_skia::Stroke {
            width: (SCALE * width) as f32,
            line_cap: LineCap::Round,
            line_join: LineJoin::Round,
            ..tiny_skia::Stroke::default()
        };
        canvas.stroke_path(&path, &paint(colour, 1.0), &style, Transform::identity(), None);
    }
}

fn outline(points: &[(f64, f64)], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    let at = |(x, y): (f64, f64)| ((SCALE * x) as f32, (SCALE * y) as f32);
    let (first, rest) = points.split_first()?;
    let (x, y) = at(*first);
    path.move_to(x, y);
    if rest.is_empty() {
        // A dot: the round ends of a line that goes nowhere.
        path.line_to(x + 0.01, y);
    }
    rest.iter().map(|point| at(*point)).for_each(|(x, y)| path.line_to(x, y));
    if closed {
        path.close();
    }
    path.finish()
}

/// `colour` is written as in style sheets: six hexadecimal digits after a `#`.
fn paint(colour: &str, opacity: f64) -> Paint<'static> {
    let part = |from: usize| colour.get(from..from + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
    let [red, green, blue] = [1, 3, 5].map(|from| part(from).unwrap_or(0));
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(red, green, blue, (255.0 * opacity).round() as u8);
    paint
}

fn write_text(canvas: &mut Pixmap, text: &Text) {
    let unit = CAPITAL_SHARE * text.size / CAPITAL;
    let (strokes, width) = strokes(&text.text);
    let left = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -width / 2.0,
        Anchor::End => -width,
    };
    let place = |(x, y): (f64, f64)| {
        let (along, down) = (unit * (x + left), unit * (y - CAPITAL));
        match text.upright {
            true => (text.at.0 + down, text.at.1 - along),
            false => (text.at.0 + along, text.at.1 + down),
        }
    };
    for points in strokes {
        let points: Vec<(f64, f64)> = points.into_iter().map(place).collect();
        stroke(canvas, &points, INK, if text.bold { 1.7 } else { 1.0 });
    }
}

/// A picture of red, green and blue bytes as a file.
fn encode(width: u32, height: u32, rgb: &[u8]) -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    for row in rgb.chunks_exact(3 * width as usize) {
        // Rows are not predicted from those above.
        let _ = packed.write_all(&[0]).and_then(|()| packed.write_all(row));
    }
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    // Eight bits for each of three colours, packed in the one way that there is, one row after the other.
    let head = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
    chunk(&mut file, *b"IHDR", &head);
    chunk(&mut file, *b"IDAT", &packed.finish().unwrap_or_default());
    chunk(&mut file, *b"IEND", &[]);
    file
}

fn chunk(file: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    let mut sum = Crc::new();
    sum.update(&kind);
    sum.update(data);
    file.extend_from_slice(&(data.len() as u32).to_be_bytes());
    file.extend_from_slice(&kind);
    file.extend_from_slice(data);
    file.extend_from_slice(&sum.sum().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::ZlibDecoder;
    use std::io::Read;

    /// Rows of a file of ours, without what says how they were predicted.
    fn rows(file: &[u8], width: usize) -> Vec<Vec<u8>> {
        assert_eq!(&file[..8], b"\x89PNG\r\n\x1a\n");
        let at = file.windows(4).position(|four| four == b"IDAT").unwrap();
        let length = u32::from_be_bytes(file[at - 4..at].try_into().unwrap()) as usize;
        let mut all = Vec::new();
        ZlibDecoder::new(&file[at + 4..at + 4 + length]).read_to_end(&mut all).unwrap();
        all.chunks_exact(1 + 3 * width).map(|row| row[1..].to_vec()).collect()
    }

    #[test]
    fn the_end_of_a_file_is_that_of_every_png() {
        // Twelve bytes that every file of this format ends with, its checksum among them.
        let file = encode(1, 1, &[1, 2, 3]);
        assert_eq!(file[file.len() - 12..], [0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82]);
        assert_eq!(rows(&file, 1), [[1, 2, 3]]);
    }

    #[test]
    fn lines_and_areas_have_their_colours_and_places() {
        let mut scene = Scene { width: 20.0, height: 10.0, title: String::new(), marks: Vec::new() };
        scene.line(&[(0.0, 5.0), (20.0, 5.0)], "#ff0000", 2.0);
        scene
            .marks
            .push(Mark::Area { points: vec![(0.0, 8.0), (20.0, 8.0), (20.0, 10.0), (0.0, 10.0)], colour: "#000000" });
        let found = rows(&scene.png(), 40);
        assert_eq!((found.len(), &found[10][60..63], &found[2][60..63]), (20, &[255, 0, 0][..], &[255, 255, 255][..]));
        let grey = f64::from(found[18][60]);
        assert!((grey - 255.0 * (1.0 - OPACITY)).abs() < 2.0, "{grey}");
    }

    #[test]
    fn text_stands_where_it_is_anchored() {
        let ink = |text: Text| {
            let scene = Scene { width: 60.0, height: 60.0, title: String::new(), marks: vec![Mark::Text(text)] };
            let found = rows(&scene.png(), 120);
            let dark = |x: usize, y: usize| found[y][3 * x] < 128;
            let all: Vec<(usize, usize)> =
                (0..120).flat_map(|y| (0..120).map(move |x| (x, y))).filter(|&(x, y)| dark(x, y)).collect();
            let (xs, ys): (Vec<usize>, Vec<usize>) = all.into_iter().unzip();
            (*xs.iter().min().unwrap(), *xs.iter().max().unwrap(), *ys.iter().min().unwrap(), *ys.iter().max().unwrap())
        };
        let text = Text::new((30.0, 30.0), "HH");
        let (left, right, top, foot) = ink(text.clone());
        assert!(
            left.abs_diff(60) < 3 && right > 80 && top < 48 && foot.abs_diff(60) < 3,
            "{left} {right} {top} {foot}"
        );
        let (_, right, ..) = ink(text.clone().anchored(Anchor::End));
        assert!(right.abs_diff(60) < 3, "{right}");
        let (left, right, top, foot) = ink(Text { upright: true, ..text });
        assert!(
            right.abs_diff(60) < 3 && left < 48 && foot.abs_diff(60) < 3 && top < 40,
            "{left} {right} {top} {foot}"
        );
    }
}
