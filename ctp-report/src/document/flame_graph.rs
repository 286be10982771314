//! Flame graphs as self-contained SVG files that open from disk.

use anyhow::{Context as _, Result};
use ctp_trace::escape::escaped_lines;
use inferno::flamegraph::{self, Options};

use crate::text;

/// What the widths of a flame graph count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Widths {
    /// Nanoseconds, shown as microseconds.
    Time,
    /// Tasks and threads.
    Number,
}

/// Draws folded stacks. The output depends only on the arguments.
///
/// # Errors
/// If there is no stack.
pub fn flame(folded: &str, title: &str, subtitle: &str, widths: Widths) -> Result<String> {
    let mut options = Options::default();
    options.title = text::escape(title);
    options.subtitle = Some(text::escape(subtitle));
    (options.count_name, options.factor) = match widths {
        Widths::Time => ("us".to_owned(), 1e-3),
        Widths::Number => ("tasks".to_owned(), 1.0),
    };
    options.name_type = "Frame:".to_owned();
    options.hash = true;
    let mut drawn = Vec::new();
    let folded = escaped_lines(folded);
    flamegraph::from_lines(&mut options, folded.lines(), &mut drawn)
        .context("cannot draw the flame graph")?;
    Ok(offline(
        &String::from_utf8(drawn).context("the flame graph is no text")?,
    ))
}

/// Removes all network addresses, so that the file visibly loads nothing: the document type, the
/// comments, and the addresses in the script.
fn offline(svg: &str) -> String {
    let svg = without(svg, "<!DOCTYPE", ">");
    let svg = without(&svg, "<!--", "-->");
    match (svg.find("<script"), svg.find("</script>")) {
        (Some(from), Some(to)) if from < to => {
            format!(
                "{}{}{}",
                &svg[..from],
                svg[from..to].replace("https://", ""),
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
