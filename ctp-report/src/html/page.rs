//! The HTML file around findings, table and graphics.

use std::fmt::Write as _;

use super::table::Table;
use crate::text::xml::escape;

const STYLE: &str = include_str!("../../assets/page.css");
/// Gives the frames of fitted graphics their shape. It comes first, since a frame may be ready before the page.
const FRAMES: &str = include_str!("../../assets/page-frames.js");

/// The search, and then the rest, which uses it.
const SCRIPT: &str = concat!(
    include_str!("../../assets/search.js"),
    include_str!("../../assets/page.js")
);

/// What a page has.
pub struct Contents<'c> {
    /// The title.
    pub title: &'c str,
    /// The findings, as HTML elements.
    pub findings: &'c str,
    /// All coroutines or tasks.
    pub table: &'c Table,
    /// The graphics.
    pub graphics: &'c [Graphic],
}

/// A graphic of the page.
pub struct Graphic {
    id: &'static str,
    title: &'static str,
    svg: String,
    /// Whether the graphic fits any width, with the same height. Other graphics are scaled.
    is_fluid: bool,
}

impl Graphic {
    /// The timeline, as an SVG file.
    pub fn timeline(svg: String) -> Self {
        Graphic {
            id: "timeline",
            title: "Timeline",
            svg,
            is_fluid: false,
        }
    }

    /// The flame graph of waiting time, as an SVG file.
    pub fn flame(svg: String) -> Self {
        Graphic {
            id: "flame",
            title: "Where the time was spent waiting",
            svg,
            is_fluid: true,
        }
    }

    /// The flame graph of stacks, as an SVG file.
    pub fn stacks(svg: String) -> Self {
        Graphic {
            id: "flame",
            title: "Where all tasks and threads are",
            svg,
            is_fluid: true,
        }
    }

    /// A frame with the graphic as a document of its own.
    fn frame(&self) -> String {
        let Graphic { id, title, svg, .. } = self;
        let (width, height) = (size(svg, "width"), size(svg, "height"));
        let (class, style) = if self.is_fluid {
            ("fluid", format!("height:{height}px"))
        } else {
            ("wide", format!("aspect-ratio:{width}/{height}"))
        };
        format!(
            "<section id=\"{id}\">\n<h2>{title}</h2>\n\
             <div class=\"{class}\"><iframe title=\"{title}\" style=\"{style}\" \
             src=\"data:image/svg+xml;charset=utf-8,{}\"></iframe></div>\n</section>\n",
            percent_encoded(svg)
        )
    }
}

/// An attribute of the outermost element that is a number of pixels.
fn size(svg: &str, attribute: &str) -> u64 {
    let (_, rest) = svg.split_once("<svg").unwrap_or_default();
    let (element, _) = rest.split_once('>').unwrap_or_default();
    let start = format!(" {attribute}=\"");
    let value = element
        .split_once(&start)
        .and_then(|(_, rest)| rest.split('"').next());
    value.and_then(|value| value.parse().ok()).unwrap_or(1000)
}

/// Encodes text for a `data:` address in an attribute.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() * 5 / 4);
    for byte in text.bytes() {
        match byte {
            b' ' | b'!' | b'\''..=b';' | b'=' | b'?'..=b'_' | b'a'..=b'~' => {
                encoded.push(byte.into())
            }
            byte => write!(encoded, "%{byte:02X}").expect("a string takes everything"),
        }
    }
    encoded
}

/// Returns the file.
pub fn write(contents: &Contents) -> String {
    let title = escape(contents.title);
    let graphics = contents.graphics;
    let frames: String = graphics.iter().map(Graphic::frame).collect();
    let row = contents.table.row();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n<script>\n{FRAMES}</script>\n</head>\n<body>\n\
         <header>\n<h1>{title}</h1>\n<nav aria-label=\"Parts of this page\">{}</nav>\n</header>\n\
         <main>\n<div id=\"findings\">\n{}</div>\n{}{frames}</main>\n\
         <footer>Written by ctp-report {}.</footer>\n\
         <script type=\"application/json\" id=\"data\">{}</script>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        links(row, graphics),
        contents.findings,
        rows(contents.table),
        env!("CARGO_PKG_VERSION"),
        contents.table.json(),
    )
}

fn links(row: &str, graphics: &[Graphic]) -> String {
    let mut links =
        format!("<a href=\"#findings\">Findings</a> <a href=\"#rows\">All {row}s alive</a>");
    for Graphic { id, title, .. } in graphics {
        let _ = write!(links, " <a href=\"#{id}\">{title}</a>");
    }
    links
}

/// The section of the table. The script fills in the rows.
fn rows(table: &Table) -> String {
    let row = table.row();
    format!(
        "<section id=\"rows\">\n<h2>All {row}s alive at the end</h2>\n\
         <noscript><p>The table of all {row}s needs scripts. The findings above do not.</p></noscript>\n\
         <div id=\"tools\" hidden>\n<label for=\"search\">Search</label>\n\
         <input id=\"search\" type=\"search\" autocomplete=\"off\" spellcheck=\"false\" \
         placeholder=\"words, or /regular expression/\" aria-describedby=\"count\">\n\
         <output id=\"count\" for=\"search\"></output>\n\
         <span>Choose a row to see its life, its source lines and what woke it.</span>\n</div>\n\
         <div id=\"table\" role=\"grid\" tabindex=\"0\" aria-label=\"All {row}s\" hidden></div>\n\
         <aside id=\"details\" aria-live=\"polite\" hidden></aside>\n</section>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::{Graphic, size};

    #[test]
    fn frames_have_the_size_of_the_svg() {
        let svg = "<?xml version=\"1.0\"?>\n<svg xmlns=\"a\" width=\"1380\" height=\"90\"><text width=\"3\"/></svg>";
        assert_eq!((size(svg, "width"), size(svg, "height")), (1380, 90));
        let frame = Graphic::timeline(svg.to_owned()).frame();
        assert!(frame.contains("aspect-ratio:1380/90"));
        assert!(
            frame.contains("charset=utf-8,%3C?xml version=%221.0%22?%3E%0A%3Csvg xmlns=%22a%22")
        );
    }
}
