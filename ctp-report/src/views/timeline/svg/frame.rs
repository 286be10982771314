//! Draws everything around the rows: title, findings, legend, axes, headings of groups.

use std::fmt::Write as _;

use super::{CHART, LEFT, RIGHT, TimelineChart, WIDTH, arrows, captions, hidden, row, summary};
use crate::findings::notes;
use crate::text;
use crate::text::xml::escape;
use crate::time_scale::{Scale, Tick, UNITS};
use crate::views::timeline::model::RowGroup;

/// The height of the time axis.
pub const AXIS: u64 = 24;

/// The height of a heading.
pub const HEADING: u64 = 20;

/// The hatching of lost time, in rows and in the legend.
pub const PATTERNS: &str = "\
<defs><pattern id=\"lost\" width=\"6666\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
<path class=\"band\" d=\"M0 6L3333 6L6666 0L3333 0z\"/></pattern>\
<pattern id=\"lost-key\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
<path class=\"band\" d=\"M0 6L3 6L6 0L3 0z\"/></pattern></defs>\n";

/// How many notes are shown. The text report has all.
const NOTES: usize = 4;

/// How many characters fit on a line.
const COLUMNS: usize = 190;

/// How many characters of a headline fit on a line.
const HEADLINE: usize = 100;

/// The lines of the legend: classes and their meanings.
const LEGEND: [&[(&str, &str)]; 3] = [
    &[
        ("stuck", "stuck, to an open end"),
        ("stuck likely", "STUCK?: likely"),
        ("busy", "has kept its thread for long"),
        ("runs", "runs"),
        ("shades", "runs and waits, too short to draw"),
        ("born", "born, not run yet"),
    ],
    &[
        ("fd", "waits for an fd"),
        ("timer", "a timer"),
        ("lock", "a lock, permits"),
        ("channel", "a channel"),
        ("notification", "a notification"),
        ("join", "the end of another"),
        ("turn", "yields"),
        ("untold", "others, not recorded"),
        ("lost-key", "lost, unknown"),
    ],
    &[
        ("wakes", "woken"),
        ("call", "woken by another row"),
        ("closes", "awaited resource closed"),
        ("moves", "moved to another thread"),
        ("birth", "birth"),
        ("death", "death"),
        ("cancelled", "cancelled"),
        ("burst", "crash"),
        ("losses", "records of a thread lost"),
    ],
];

/// Draws everything above the time axis. Returns the SVG and the y coordinate of the lower edge.
pub fn head(chart: &TimelineChart, title: Option<&str>) -> (String, u64) {
    let program = chart.model.program_name();
    let usual = format!("{program}: what its coroutines did");
    let mut y = 30;
    let title = text::cut(&text::escape(title.unwrap_or(&usual)), HEADLINE);
    let mut drawn = line("title", y, &title);
    let mut put = |class: &str, step: u64, text: &str| {
        y += step;
        drawn += &line(class, y, text);
        y
    };
    put("facts", 20, &summary::facts(chart.model, chart.threads));
    for (class, finding) in summary::findings(chart) {
        put(class, 19, &text::cut(&finding, COLUMNS - 25));
    }
    put("facts", 19, &summary::shown(chart));
    if let Some(message) = hidden::message(chart) {
        put("facts", 15, &message);
    }
    if let Some(message) = arrows::message(chart) {
        put("facts", 15, &message);
    }
    for note in notes::notes(chart.model, chart.names).iter().take(NOTES) {
        put("facts", 15, &format!("note: {}", text::escape(note)));
    }
    drawn += &tools(y + 20);
    for items in LEGEND {
        y += 20;
        drawn += &legend(items, y);
    }
    (drawn, y + 8)
}

fn line(class: &str, y: u64, words: &str) -> String {
    let words = escape(&text::cut(words, COLUMNS));
    format!("<text class=\"{class}\" x=\"10\" y=\"{y}\">{words}</text>\n")
}

/// The tools, which are visible only if the script runs.
fn tools(y: u64) -> String {
    let x = WIDTH - 10;
    format!(
        "<g id=\"tools\"><text id=\"search\" class=\"tool\" role=\"button\" tabindex=\"0\" \
         aria-live=\"polite\" x=\"{x}\" y=\"30\">search (/)</text>\
         <text id=\"reset\" class=\"tool\" role=\"button\" tabindex=\"0\" x=\"{x}\" y=\"50\">\
         whole time (0)</text>\
         <text class=\"hint\" x=\"{x}\" y=\"{y}\">zoom: drag or wheel on the time axis</text></g>\n"
    )
}

fn legend(items: &[(&str, &str)], y: u64) -> String {
    let mut drawn =
        String::from("<g class=\"legend\" role=\"graphics-object\" aria-label=\"Legend\">");
    let mut x = 10;
    for (class, meaning) in items {
        let top = y - 10;
        let mark = match *class {
            "wakes" => format!("<path class=\"wakes\" d=\"M{} {}v8\"/>", x + 10, top - 1),
            "call" => format!(
                "<g class=\"call\">{}</g>",
                arrows::shape(&[x + 10], top, top + 12)
            ),
            "moves" => format!("<path class=\"moves\" d=\"M{} {}v8\"/>", x + 10, top + 5),
            "birth" | "death" | "cancelled" | "losses" => {
                format!("<path class=\"{class}\" d=\"M{} {top}v12\"/>", x + 10)
            }
            "closes" => row::closing(x + 10, top, 12, meaning),
            "burst" => row::burst(x + 10, top),
            "shades" => ["m0", "m2", "m4"]
                .iter()
                .zip([x, x + 7, x + 14])
                .map(|(class, x)| swatch(class, x, top, 8))
                .collect(),
            _ => swatch(class, x, top, 22),
        };
        let after = x + 28;
        let _ = write!(
            drawn,
            "{mark}<text x=\"{after}\" y=\"{y}\">{meaning}</text>"
        );
        x = after + 7 * meaning.len() as u64 + 16;
    }
    drawn + "</g>\n"
}

fn swatch(class: &str, x: u64, y: u64, width: u64) -> String {
    format!("<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"12\"/>")
}

/// Draws the time axes above and below the rows, and the lines between them.
pub fn axes(scale: &Scale, top: u64, bottom: u64) -> String {
    let mut drawn = String::from("<g id=\"axes\">");
    for (y, id) in [(top, "above"), (bottom, "below")] {
        let _ = write!(
            drawn,
            "<rect id=\"{id}\" class=\"axis\" x=\"{LEFT}\" y=\"{y}\" width=\"{CHART}\" \
             height=\"{AXIS}\"/>"
        );
    }
    drawn += "<g id=\"ticks\">";
    for tick in scale.ticks(9) {
        drawn += &mark(&tick, top, bottom);
    }
    let _ = writeln!(
        drawn,
        "</g><text class=\"unit\" x=\"{}\" y=\"{}\">time since the start</text>\
         <text class=\"unit after\" x=\"{}\" y=\"{}\">at the end</text></g>",
        LEFT - 24,
        top + 15,
        RIGHT + 30,
        top + 15
    );
    drawn
}

fn mark(tick: &Tick, top: u64, bottom: u64) -> String {
    let x = LEFT + tick.x * CHART / UNITS;
    let (from, to) = (top + AXIS - 5, bottom + 5);
    let label = escape(&tick.label);
    format!(
        "<g class=\"tick\"><path d=\"M{x} {from}V{to}\"/>\
         <text x=\"{x}\" y=\"{}\">{label}</text><text x=\"{x}\" y=\"{}\">{label}</text></g>",
        top + 14,
        bottom + 18
    )
}

/// Draws the heading of a group.
pub fn heading(chart: &TimelineChart, group: &RowGroup, y: u64) -> String {
    let (verdict, rest) = summary::heading(chart, group);
    let class = captions::class(group.verdict);
    let rest = escape(&text::cut(&rest, COLUMNS - 10));
    let message = format!("<tspan class=\"{class}\">{verdict}</tspan> {rest}");
    band("group", y, &message)
}

/// Draws a heading across the picture. `message` is XML.
pub fn band(class: &str, y: u64, message: &str) -> String {
    let (width, baseline) = (WIDTH - 10, y + 14);
    format!(
        "<g class=\"{class}\"><rect x=\"5\" y=\"{y}\" width=\"{width}\" height=\"18\"/>\
         <text x=\"10\" y=\"{baseline}\">{message}</text></g>\n"
    )
}
