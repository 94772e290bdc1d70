//! The same lines as characters, for those who are at a terminal.

use crate::chart::{Chart, Line, short};

/// ANSI colours in the order of the lines.
const PAINT: [u8; 6] = [34, 33, 32, 35, 31, 36];
/// Dots of a character, two wide and four high, by their bits.
const DOTS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

impl Chart {
    /// A drawing of so many characters; `colours` where the terminal has them.
    pub fn terminal(&self, width: usize, height: usize, colours: bool) -> String {
        // Intervals are not drawn, so they need no room.
        let bare = Chart {
            lines: self.lines.iter().map(|line| Line { band: None, ..line.clone() }).collect(),
            ..self.clone()
        };
        let Some((x, y)) = bare.ranges() else { return format!("{}: nothing was logged\n", self.title) };
        let margin = [y.low, y.high].map(short).iter().map(String::len).max().unwrap_or(0) + 1;
        let (columns, rows) = (width.saturating_sub(margin + 1).max(10), height.max(4));
        let mut cells = vec![(0u8, 0usize); columns * rows];
        for (number, line) in self.lines.iter().enumerate() {
            let place = |(step, value): (f64, f64)| {
                let across = x.share(step) * (2 * columns - 1) as f64;
                (across, (1.0 - y.share(value)) * (4 * rows - 1) as f64)
            };
            let mut dot = |across: f64, down: f64| {
                let (across, down) = (across.round() as usize, down.round() as usize);
                let cell = &mut cells[down / 4 * columns + across / 2];
                *cell = (cell.0 | DOTS[across % 2][down % 4], number);
            };
            let points: Vec<(f64, f64)> = line.points.iter().copied().map(place).collect();
            points.iter().for_each(|point| dot(point.0, point.1));
            for pair in points.windows(2) {
                let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
                let dots = (x1 - x0).abs().max((y1 - y0).abs()).ceil().max(1.0);
                (0..=dots as usize).map(|i| i as f64 / dots).for_each(|t| dot(x0 + t * (x1 - x0), y0 + t * (y1 - y0)));
            }
        }
        let paint = |text: String, number: usize| match colours {
            true => format!("\x1b[{}m{text}\x1b[0m", PAINT[number % PAINT.len()]),
            false => text,
        };
        let mut out = format!("{}\n", self.title);
        for (number, row) in cells.chunks_exact(columns).enumerate() {
            let label = match number {
                0 => short(y.high),
                _ if number + 1 == rows => short(y.low),
                _ => String::new(),
            };
            let mut drawn: String = format!("{label:>margin$}│");
            for &(dots, line) in row {
                match dots {
                    0 => drawn.push(' '),
                    _ => {
                        let sign = char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' ');
                        drawn.push_str(&paint(sign.to_string(), line));
                    }
                }
            }
            out.push_str(drawn.trim_end());
            out.push('\n');
        }
        let (start, end) = (short(x.low), short(x.high));
        let gap = columns.saturating_sub(start.len() + end.len());
        out.push_str(&format!("{:margin$}└{}\n", "", "─".repeat(columns)));
        out.push_str(&format!("{:margin$} {start}{}{end} {}\n", "", " ".repeat(gap), self.x_label));
        for (number, line) in self.lines.iter().enumerate() {
            let last = line.points.last().map_or(String::new(), |point| format!(": {}", short(point.1)));
            out.push_str(&format!("{:margin$} {} {}{last}\n", "", paint("━━".into(), number), line.label));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rising_line_goes_from_the_lower_left_to_the_upper_right() {
        let line = Line { label: "dqn".into(), points: vec![(0.0, 0.0), (10.0, 1.0)], band: None };
        let chart = Chart { title: "score".into(), x_label: "steps".into(), y_label: String::new(), lines: vec![line] };
        let text = chart.terminal(24, 4, false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "score");
        assert!(lines[1].starts_with(" 1│") && lines[1].ends_with(['⠁', '⠈', '⠉', '⠊', '⠔', '⠋']), "{text}");
        assert!(lines[4].starts_with(" 0│") && !lines[4].starts_with(" 0│ "), "{text}");
        assert!(lines[6].contains("0") && lines[6].contains("10 steps") && lines[7].ends_with("dqn: 1"), "{text}");
        assert!(chart.terminal(24, 4, true).contains("\x1b[34m"));
    }
}
