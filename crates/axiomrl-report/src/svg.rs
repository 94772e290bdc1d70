//! Pictures in SVG.

use crate::scene::{Anchor, Mark, OPACITY, Scene, Text};
use std::fmt::Write;

pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

impl Scene {
    pub fn svg(&self) -> String {
        let Self { width, height, title, marks } = self;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             font-family=\"system-ui, sans-serif\" role=\"img\">\n<title>{}</title>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
            escape(title)
        );
        for mark in marks {
            let _ = match mark {
                Mark::Stroke { points, colour, width } => writeln!(
                    out,
                    "<path d=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"/>",
                    path(points)
                ),
                Mark::Area { points, colour } => {
                    writeln!(out, "<path d=\"{}Z\" fill=\"{colour}\" fill-opacity=\"{OPACITY}\"/>", path(points))
                }
                Mark::Text(text) => writeln!(out, "{}", element(text)),
            };
        }
        out.push_str("</svg>\n");
        out
    }
}

fn path(points: &[(f64, f64)]) -> String {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
    format!("M{}", points.join("L"))
}

fn element(text: &Text) -> String {
    let (x, y) = text.at;
    let place = match text.upright {
        true => format!("transform=\"translate({x:.1} {y:.1}) rotate(-90)\""),
        false => format!("x=\"{x:.1}\" y=\"{y:.1}\""),
    };
    let anchor = match text.anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let weight = if text.bold { " font-weight=\"600\"" } else { "" };
    let (size, words) = (text.size, escape(&text.text));
    format!("<text {place} font-size=\"{size}\"{weight} text-anchor=\"{anchor}\">{words}</text>")
}
