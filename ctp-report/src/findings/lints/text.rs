//! The lints section of a page: each lint with its advice and places.

use std::io;

use super::LintPlace;
use crate::text::units::grouped;
use crate::text::{self, Page};

/// Maximum number of places that are shown for each lint.
const PLACES: usize = 3;

const LINTS: &str = "LINTS  rarely intended, even if nothing is stuck; --allow NAME hides a lint";

/// Writes the lints. `tool` is the command that reads this trace.
pub fn page(page: &mut Page, places: &[LintPlace], tool: &str) -> io::Result<()> {
    if places.is_empty() {
        return Ok(());
    }
    page.gap()?;
    page.line(LINTS)?;
    places
        .chunk_by(|a, b| a.lint.name == b.lint.name)
        .try_for_each(|places| of_sort(page, places, tool))
}

fn of_sort(page: &mut Page, places: &[LintPlace], tool: &str) -> io::Result<()> {
    let lint = places[0].lint;
    let mut words = text::words(&format!("{}: {}", lint.name, lint.advice));
    words.extend(lint.see.map(|option| format!("{tool} {option}")));
    page.lines(&text::flow("  ", "    ", " ", &words))?;
    let shown = places.iter().take(PLACES);
    shown.map(line).try_for_each(|line| page.line(&line))?;
    match places.len().saturating_sub(PLACES) {
        0 => Ok(()),
        1 => page.line("    and 1 place more (--json has all)"),
        more => page.line(&format!("    and {more} places more (--json has all)")),
    }
}

fn line(lint_place: &LintPlace) -> String {
    let function = text::cut_middle(&lint_place.function, 30);
    let left = format!(
        "    {} x {function}  {}",
        grouped(lint_place.coroutines),
        (lint_place.lint.message)(lint_place)
    );
    let at = text::cut_middle(
        lint_place.at.as_deref().unwrap_or("(place not recorded)"),
        40,
    );
    text::spread(&left, &at)
}
