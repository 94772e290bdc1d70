//! One log-log plot of all axes: how many times larger against time per update.

use super::{Point, by_axis};
use std::fmt::Write;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
const COLOURS: [&str; 5] = ["#1b6ca8", "#c8553d", "#3b8132", "#7d4e9e", "#a8791b"];

/// Where values lie on paper.
struct Frame {
    /// Largest multiple of the smallest size, as a power of two.
    powers_of_two: f64,
    /// Powers of ten of the least and the greatest time.
    tens: (f64, f64),
}

impl Frame {
    fn around(points: &[Point]) -> Self {
        let times = points.iter().map(|point| point.microseconds.log10());
        let (low, high) = times.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), t| (low.min(t), high.max(t)));
        let multiples = by_axis(points)
            .into_iter()
            .flat_map(|(_, axis)| axis.iter().map(|p| p.size / axis[0].size).collect::<Vec<_>>());
        let powers_of_two = multiples.fold(1.0f64, f64::max).log2().ceil().max(1.0);
        Self { powers_of_two, tens: (low.floor(), high.ceil().max(low.floor() + 1.0)) }
    }

    fn x(&self, multiple: f64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * multiple.log2() / self.powers_of_two
    }

    fn y(&self, microseconds: f64) -> f64 {
        let share = (microseconds.log10() - self.tens.0) / (self.tens.1 - self.tens.0);
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share
    }
}

/// Writing to a string cannot fail, so the results of `write!` are dropped throughout.
pub fn draw(points: &[Point]) -> String {
    let frame = Frame::around(points);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"22\" font-size=\"14\">Time per update as one size grows</text>\n"
    );
    grid(&mut svg, &frame);
    for (index, (axis, points)) in by_axis(points).into_iter().enumerate() {
        series(&mut svg, &frame, axis, &points, COLOURS[index % COLOURS.len()], index);
    }
    svg.push_str("</svg>\n");
    svg
}

fn grid(svg: &mut String, frame: &Frame) {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    for power in 0..=frame.powers_of_two as i32 {
        let x = frame.x(2f64.powi(power));
        let _ = writeln!(svg, "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom}\" stroke=\"#ddd\"/>");
        let _ =
            writeln!(svg, "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}x</text>", bottom + 18.0, 1 << power);
    }
    for power in frame.tens.0 as i32..=frame.tens.1 as i32 {
        let y = frame.y(10f64.powi(power));
        let _ = writeln!(svg, "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>");
        let label =
            if power < 3 { format!("{} µs", 10f64.powi(power)) } else { format!("{} ms", 10f64.powi(power - 3)) };
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>", LEFT - 6.0, y + 4.0);
    }
    let middle = (LEFT + right) / 2.0;
    let _ = writeln!(
        svg,
        "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">size, as a multiple of the smallest</text>",
        HEIGHT - 12.0
    );
}

fn series(svg: &mut String, frame: &Frame, axis: &str, points: &[&Point], colour: &str, index: usize) {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
    let at = |point: &Point| (frame.x(point.size / first.size), frame.y(point.microseconds));
    let path: Vec<String> = points.iter().map(|point| at(point)).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ =
        writeln!(svg, "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>", path.join(" "));
    for point in points {
        let (x, y) = at(point);
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"><title>{axis} {}: {:.1} µs</title></circle>",
            point.size, point.microseconds
        );
    }
    let (x, y) = (WIDTH - RIGHT + 14.0, TOP + 14.0 + 20.0 * index as f64);
    let _ = writeln!(svg, "<rect x=\"{x}\" y=\"{}\" width=\"12\" height=\"4\" fill=\"{colour}\"/>", y - 6.0);
    let _ = writeln!(svg, "<text x=\"{}\" y=\"{y}\">{axis} {} … {}</text>", x + 18.0, first.size, last.size);
}

#[cfg(test)]
mod tests {
    use super::super::point;
    use super::*;

    #[test]
    fn equal_factors_are_equal_distances_on_both_scales() {
        let points = [point("width", 32.0, 10.0, 1.0), point("width", 128.0, 1000.0, 1.0)];
        let frame = Frame::around(&points);
        assert!((frame.x(2.0) - frame.x(1.0) - (frame.x(4.0) - frame.x(2.0))).abs() < 1e-9);
        assert!((frame.y(10.0) - frame.y(100.0) - (frame.y(100.0) - frame.y(1000.0))).abs() < 1e-9);
        assert!((frame.x(1.0) - LEFT).abs() < 1e-9 && (frame.y(1000.0) - TOP).abs() < 1e-9);
    }

    #[test]
    fn every_axis_has_a_line_and_every_point_a_dot() {
        let points = [point("width", 32.0, 10.0, 1.0), point("width", 64.0, 20.0, 1.0), point("batch", 1.0, 5.0, 1.0)];
        let svg = draw(&points);
        assert_eq!((svg.matches("<polyline").count(), svg.matches("<circle").count()), (2, 3));
        assert!(svg.ends_with("</svg>\n"));
    }
}
