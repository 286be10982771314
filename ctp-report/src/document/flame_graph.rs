//! Flame graphs as self-contained SVG files that open from disk.

use anyhow::{Context as _, Result};
use ctp_trace::escape::escaped_lines;
use ctp_trace::verdict::Verdict;
use inferno::flamegraph::color::{BasicPalette, Color, PaletteMap};
use inferno::flamegraph::{self, Options, Palette, TextTruncateDirection};

use crate::text;

/// Colours for dark themes, and a visible search.
const STYLE: &str = include_str!("../../assets/flame.css");

/// How the script notes the zoom in the address of the file.
const REMEMBER: &str = "history.replaceState(";

/// The same, also in a frame of a page, which has no address of its own.
const REMEMBER_IF_POSSIBLE: &str =
    "((...state) => { try { history.replaceState(...state); } catch (_) {} })(";

/// What the widths of a flame graph count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Widths {
    /// Nanoseconds of waiting, shown as microseconds.
    WaitingTime,
    /// Nanoseconds of running, shown as microseconds.
    RunningTime,
    /// Microseconds of waiting, of two recordings.
    Changes,
    /// Tasks and threads.
    Number,
}

/// Draws folded stacks. The output depends only on the arguments.
///
/// # Errors
/// If there is no stack.
pub fn flame(folded: &str, title: &str, subtitle: &str, widths: Widths) -> Result<String> {
    let mut stuck = stuck_in_red();
    let mut options = Options::default();
    options.colors = match widths {
        Widths::RunningTime => Palette::Basic(BasicPalette::Hot),
        Widths::WaitingTime | Widths::Changes | Widths::Number => {
            Palette::Basic(BasicPalette::Aqua)
        }
    };
    options.palette_map = Some(&mut stuck);
    options.title = text::escape(title);
    options.subtitle = Some(text::escape(subtitle));
    (options.count_name, options.factor) = match widths {
        Widths::WaitingTime | Widths::RunningTime => ("us".to_owned(), 1e-3),
        // For changes, the percentages of the library ignore the factor.
        Widths::Changes => ("us".to_owned(), 1.0),
        Widths::Number => ("tasks".to_owned(), 1.0),
    };
    options.name_type = "Frame:".to_owned();
    options.hash = true;
    // The function comes first.
    options.text_truncate_direction = TextTruncateDirection::Right;
    let mut drawn = Vec::new();
    let folded = escaped_lines(folded);
    flamegraph::from_lines(&mut options, folded.lines(), &mut drawn)
        .context("cannot draw the flame graph")?;
    Ok(offline(
        &String::from_utf8(drawn).context("the flame graph is no text")?,
    ))
}

/// The frame on top of a wait that lasts to the end of the recording, by the verdict of the coroutine.
pub fn end_of_recording(verdict: Verdict) -> String {
    match verdict {
        verdict if verdict.is_stuck() => {
            format!("({} to the end of the recording)", verdict.word())
        }
        _ => "(to the end of the recording)".to_owned(),
    }
}

/// The colours of the ends of stuck coroutines.
fn stuck_in_red() -> PaletteMap {
    let mut map = PaletteMap::default();
    let (red, orange) = (color(255, 105, 105), color(255, 165, 90));
    for (verdict, color) in [
        (Verdict::Deadlock, red),
        (Verdict::Stuck, red),
        (Verdict::MaybeStuck, orange),
    ] {
        map.insert(end_of_recording(verdict), color);
    }
    map
}

fn color(r: u8, g: u8, b: u8) -> Color {
    Color { r, g, b }
}

/// Adds the style. Removes all network addresses, so that the file visibly loads nothing: the document type, the
/// comments, and the addresses in the script.
fn offline(svg: &str) -> String {
    let svg = without(svg, "<!DOCTYPE", ">");
    let svg = without(&svg, "<!--", "-->");
    // The search is hardly visible until the mouse is over it.
    let svg = svg.replace("opacity:0.1;", "opacity:1;");
    let svg = svg.replacen("</style>", &format!("{STYLE}</style>"), 1);
    match (svg.find("<script"), svg.find("</script>")) {
        (Some(from), Some(to)) if from < to => {
            format!(
                "{}{}{}",
                &svg[..from],
                svg[from..to]
                    .replace("https://", "")
                    .replace(REMEMBER, REMEMBER_IF_POSSIBLE),
                &svg[to..]
            )
        }
        _ => svg,
    }
}

/// Removes the first range between two marks, with the marks.
fn without(text: &str, from: &str, to: &str) -> String {
    let cut = text.split_once(from).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(to)?;
        Some(format!("{before}{after}"))
    });
    cut.unwrap_or_else(|| text.to_owned())
}
