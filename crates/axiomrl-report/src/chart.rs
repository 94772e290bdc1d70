//! Lines with intervals over steps, as a picture.

use crate::scene::{Anchor, Mark, Scene, Text};

/// Colours that are told apart with colour-blind eyes too (after Okabe and Ito).
pub const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#333333"];

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
/// Room for the axes' numbers and names.
const LEFT: f64 = 78.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 56.0;
const ROW: f64 = 18.0;

/// An interval at each point of a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    pub low: Vec<f64>,
    pub high: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub label: String,
    pub points: Vec<(f64, f64)>,
    pub band: Option<Band>,
}

#[derive(Clone, Debug)]
pub struct Chart {
    pub title: String,
    pub x_label: String,
    pub y_label: String,
    pub lines: Vec<Line>,
}

/// The range of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub low: f64,
    pub high: f64,
}

impl Range {
    /// What holds all of them; something round them where they are all the same.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let (low, high) = values
            .filter(|value| value.is_finite())
            .fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            return None;
        }
        let room = if high > low { 0.0 } else { (low.abs() * 0.1).max(0.5) };
        Some(Self { low: low - room, high: high + room })
    }

    pub fn share(self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    /// About `count` round numbers within.
    pub fn ticks(self, count: usize) -> Vec<f64> {
        let rough = (self.high - self.low) / count.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * power).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(10.0 * power);
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|i| i as f64 * step).collect()
    }
}

/// A number as people write it on an axis.
pub fn short(value: f64) -> String {
    let size = value.abs();
    let (divided, unit) = match size {
        _ if size >= 1e6 => (value / 1e6, "M"),
        _ if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let text = if size != 0.0 && size < 1e-3 { format!("{value:.0e}") } else { format!("{divided:.3}") };
    let text = if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    };
    format!("{}{unit}", if text == "-0" { "0" } else { &text })
}

impl Chart {
    /// The ranges of both axes, or nothing where there is no point.
    pub fn ranges(&self) -> Option<(Range, Range)> {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let bands = self.lines.iter().filter_map(|line| line.band.as_ref());
        let bands = bands.flat_map(|band| band.low.iter().chain(&band.high)).copied();
        let x = Range::of(points().map(|point| point.0))?;
        let y = Range::of(points().map(|point| point.1).chain(bands))?;
        Some((x, y))
    }

    /// The picture in SVG.
    pub fn svg(&self) -> String {
        self.scene().svg()
    }

    /// The picture in PNG.
    pub fn png(&self) -> Vec<u8> {
        self.scene().png()
    }

    /// What is drawn; without points that says so.
    fn scene(&self) -> Scene {
        let height = HEIGHT + ROW * self.lines.len().div_ceil(2) as f64;
        let mut scene = Scene { width: WIDTH, height, title: self.title.clone(), marks: Vec::new() };
        scene.text(Text { size: 15.0, bold: true, ..Text::new((LEFT, 24.0), &self.title) });
        match self.ranges() {
            Some(ranges) => self.draw(&mut scene, ranges),
            None => scene.text(Text::new((LEFT, HEIGHT / 2.0), "nothing was logged")),
        }
        scene
    }

    fn draw(&self, scene: &mut Scene, (x, y): (Range, Range)) {
        let at_x = |value: f64| LEFT + x.share(value) * (WIDTH - LEFT - RIGHT);
        let at_y = |value: f64| HEIGHT - BOTTOM - y.share(value) * (HEIGHT - TOP - BOTTOM);
        let (floor, end) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        for tick in y.ticks(6) {
            let at = at_y(tick);
            scene.line(&[(LEFT, at), (end, at)], "#e4e4e4", 1.0);
            scene.text(Text::new((LEFT - 8.0, at + 4.0), short(tick)).anchored(Anchor::End));
        }
        for tick in x.ticks(7) {
            let at = at_x(tick);
            scene.line(&[(at, floor), (at, floor + 5.0)], "#888888", 1.0);
            scene.text(Text::new((at, floor + 20.0), short(tick)).anchored(Anchor::Middle));
        }
        scene.line(&[(LEFT, TOP), (LEFT, floor), (end, floor)], "#888888", 1.0);
        scene.text(Text::new(((LEFT + end) / 2.0, floor + 40.0), &self.x_label).anchored(Anchor::Middle));
        let y_label = Text::new((18.0, (TOP + floor) / 2.0), &self.y_label).anchored(Anchor::Middle);
        scene.text(Text { upright: true, ..y_label });
        for (number, line) in self.lines.iter().enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            let place = |(x, y): (f64, f64)| (at_x(x), at_y(y));
            if let Some(band) = &line.band {
                let steps = line.points.iter().map(|point| point.0);
                let there = steps.clone().zip(band.low.iter().copied()).map(place);
                let back = steps.zip(band.high.iter().copied()).rev().map(place);
                scene.marks.push(Mark::Area { points: there.chain(back).collect(), colour });
            }
            let points: Vec<(f64, f64)> = line.points.iter().copied().map(place).collect();
            scene.line(&points, colour, 2.0);
            let (left, top) = (LEFT + (number % 2) as f64 * 340.0, HEIGHT + ROW * (number / 2) as f64);
            scene.line(&[(left, top), (left + 22.0, top)], colour, 3.0);
            scene.text(Text::new((left + 28.0, top + 4.0), &line.label));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Chart {
        let band = Band { low: vec![0.0, 8.0], high: vec![2.0, 12.0] };
        let line = Line { label: "dqn <a>".into(), points: vec![(0.0, 1.0), (100.0, 10.0)], band: Some(band) };
        Chart { title: "t & u".into(), x_label: "steps".into(), y_label: "return".into(), lines: vec![line] }
    }

    #[test]
    fn a_picture_has_the_line_the_interval_and_no_raw_text() {
        let svg = chart().svg();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
        assert!(svg.contains("t &amp; u") && svg.contains("dqn &lt;a&gt;"));
        // From the lower left to near the upper right: 10 of 12 is 10/12 of the way up.
        assert!(svg.contains("M78.0 337.0L742.0 94.0"), "{svg}");
        assert_eq!(svg.matches("fill-opacity").count(), 1);
        let empty = Chart { lines: Vec::new(), ..chart() };
        assert!(empty.svg().contains("nothing was logged"));
        assert!(chart().png().starts_with(b"\x89PNG") && chart().png() != empty.png());
    }

    #[test]
    fn ticks_are_round_and_numbers_short() {
        assert_eq!(Range { low: 0.0, high: 100.0 }.ticks(5), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(Range { low: -0.3, high: 0.45 }.ticks(4), [-0.2, 0.0, 0.2, 0.4]);
        assert_eq!(
            [0.0, 1500.0, 20_000.0, 2.5e6, -0.25, 1e-5].map(short),
            ["0", "1500", "20k", "2.5M", "-0.25", "1e-5"]
        );
        assert_eq!(Range::of([3.0, f64::NAN].into_iter()), Some(Range { low: 2.5, high: 3.5 }));
        assert_eq!(Range::of(std::iter::empty()), None);
    }
}
