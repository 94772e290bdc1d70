//! A small drawing board whose y axis points up, as in the physics.

use crate::Frame;
use tiny_skia::{Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, Transform};

/// A point in pixels from the lower left corner.
pub(super) type Point = (f64, f64);
pub(super) type Rgb = [u8; 3];

pub(super) struct Canvas {
    pixels: Pixmap,
    height: f64,
}

impl Canvas {
    /// A white board.
    pub fn new(width: u32, height: u32) -> Option<Self> {
        let mut pixels = Pixmap::new(width, height)?;
        pixels.fill(Color::WHITE);
        Some(Self { pixels, height: f64::from(height) })
    }

    pub fn polygon(&mut self, corners: &[Point], colour: Rgb) {
        if let Some(path) = self.path(corners, true) {
            self.fill(&path, colour);
        }
    }

    pub fn circle(&mut self, (x, y): Point, radius: f64, colour: Rgb) {
        if let Some(path) = PathBuilder::from_circle(x as f32, (self.height - y) as f32, radius as f32) {
            self.fill(&path, colour);
        }
    }

    /// A line through all points, with round ends.
    pub fn line(&mut self, points: &[Point], width: f64, colour: Rgb) {
        let stroke =
            Stroke { width: width as f32, line_cap: LineCap::Round, line_join: LineJoin::Round, ..Stroke::default() };
        if let Some(path) = self.path(points, false) {
            self.pixels.stroke_path(&path, &paint(colour), &stroke, Transform::identity(), None);
        }
    }

    pub fn finish(self) -> Frame {
        let (width, height) = (self.pixels.width() as usize, self.pixels.height() as usize);
        // The board is opaque, so the stored (premultiplied) channels are the colours themselves.
        let rgb = self.pixels.data().chunks_exact(4).flat_map(|rgba| [rgba[0], rgba[1], rgba[2]]).collect();
        Frame { width, height, rgb }
    }

    fn path(&self, points: &[Point], closed: bool) -> Option<Path> {
        let mut builder = PathBuilder::new();
        for (i, &(x, y)) in points.iter().enumerate() {
            let (x, y) = (x as f32, (self.height - y) as f32);
            if i == 0 { builder.move_to(x, y) } else { builder.line_to(x, y) }
        }
        if closed {
            builder.close();
        }
        builder.finish()
    }

    fn fill(&mut self, path: &Path, colour: Rgb) {
        self.pixels.fill_path(path, &paint(colour), FillRule::Winding, Transform::identity(), None);
    }
}

fn paint(colour: Rgb) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(colour[0], colour[1], colour[2], 255);
    paint
}
