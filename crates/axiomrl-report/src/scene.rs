//! A picture as what is drawn, one thing after the other; files are made of it in `svg` and `png`.

/// Where a text stands to its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// On the baseline.
    pub at: (f64, f64),
    pub text: String,
    pub size: f64,
    pub bold: bool,
    pub anchor: Anchor,
    /// Read from below.
    pub upright: bool,
}

impl Text {
    pub fn new(at: (f64, f64), text: impl Into<String>) -> Self {
        Self { at, text: text.into(), size: 12.0, bold: false, anchor: Anchor::Start, upright: false }
    }

    pub fn anchored(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// Points joined by a line.
    Stroke {
        points: Vec<(f64, f64)>,
        colour: &'static str,
        width: f64,
    },
    /// What points enclose, hardly coloured.
    Area {
        points: Vec<(f64, f64)>,
        colour: &'static str,
    },
    Text(Text),
}

/// How much of the colour of an area is seen.
pub const OPACITY: f64 = 0.18;

#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    pub width: f64,
    pub height: f64,
    pub title: String,
    pub marks: Vec<Mark>,
}

impl Scene {
    pub fn line(&mut self, points: &[(f64, f64)], colour: &'static str, width: f64) {
        self.marks.push(Mark::Stroke { points: points.to_vec(), colour, width });
    }

    pub fn text(&mut self, text: Text) {
        self.marks.push(Mark::Text(text));
    }
}
