//! One page that needs nothing else: tables, pictures, an episode to look at.

use crate::chart::Chart;
use crate::svg::escape;
use std::fmt::Write;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}\
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}table{border-collapse:collapse;margin:.5rem 0}\
th,td{padding:.25rem .8rem;text-align:left;border-bottom:1px solid #ddd;font-variant-numeric:tabular-nums}\
svg{max-width:100%;height:auto}img{image-rendering:auto;max-width:100%}code{background:#f4f4f4;padding:.1rem .3rem}\
.note{color:#8a5a00}";

/// A piece of a page.
pub enum Section {
    Heading(String),
    Text(String),
    /// Something that readers should not miss.
    Note(String),
    /// Head and rows.
    Table(Vec<String>, Vec<Vec<String>>),
    Chart(Box<Chart>),
    /// A picture that moves, and what it shows.
    Gif(Vec<u8>, String),
}

/// A self-contained page.
pub struct Page {
    pub title: String,
    pub sections: Vec<Section>,
}

impl Page {
    pub fn html(&self) -> String {
        let title = escape(&self.title);
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<link rel=\"icon\" href=\"data:,\">\n\
             <style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        );
        for section in &self.sections {
            match section {
                Section::Heading(text) => {
                    let _ = writeln!(out, "<h2>{}</h2>", escape(text));
                }
                Section::Text(text) => {
                    let _ = writeln!(out, "<p>{}</p>", escape(text));
                }
                Section::Note(text) => {
                    let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(text));
                }
                Section::Table(head, rows) => table(&mut out, head, rows),
                Section::Chart(chart) => out.push_str(&chart.svg()),
                Section::Gif(bytes, said) => {
                    let _ = writeln!(
                        out,
                        "<figure><img alt=\"{said}\" src=\"data:image/gif;base64,{}\"><figcaption>{said}</figcaption></figure>",
                        base64(bytes),
                        said = escape(said),
                    );
                }
            }
        }
        out.push_str("</body>\n</html>\n");
        out
    }
}

fn table(out: &mut String, head: &[String], rows: &[Vec<String>]) {
    let cells = |tag: &str, cells: &[String]| {
        cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect::<String>()
    };
    let _ = writeln!(out, "<table>\n<tr>{}</tr>", cells("th", head));
    for row in rows {
        let _ = writeln!(out, "<tr>{}</tr>", cells("td", row));
    }
    out.push_str("</table>\n");
}

fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().enumerate().fold(0u32, |bits, (i, byte)| bits | u32::from(*byte) << (16 - 8 * i));
        for i in 0..4 {
            let sign = SIGNS[(bits >> (18 - 6 * i)) as usize & 63];
            out.push(if i <= chunk.len() { sign as char } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_by_hand() {
        assert_eq!(
            ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes())),
            ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]
        );
    }

    #[test]
    fn a_page_shows_what_it_was_given_and_asks_for_nothing_else() {
        let page = Page {
            title: "a < b".into(),
            sections: vec![
                Section::Heading("Scores".into()),
                Section::Table(vec!["x".into()], vec![vec!["1 & 2".into()]]),
                Section::Gif(vec![1, 2, 3], "an episode".into()),
            ],
        };
        let html = page.html();
        assert!(html.contains("<title>a &lt; b</title>") && html.contains("<td>1 &amp; 2</td>"));
        assert!(html.contains("data:image/gif;base64,AQID"));
        assert!(!html.contains("http"), "nothing is loaded from elsewhere");
    }
}
