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
    page.list("  ", "    ", " ", &words)?;
    let mut shown = places.iter().take(PLACES);
    shown.try_for_each(|shown| line(page, shown))?;
    match places.len().saturating_sub(PLACES) {
        0 => Ok(()),
        1 => page.line("    and 1 place more (--json has all)"),
        more => page.line(&format!("    and {more} places more (--json has all)")),
    }
}

fn line(page: &mut Page, lint_place: &LintPlace) -> io::Result<()> {
    let function = &lint_place.function;
    let left = format!(
        "    {} x {function}  {}",
        grouped(lint_place.coroutines),
        (lint_place.lint.message)(lint_place)
    );
    let at = lint_place.at.as_deref().unwrap_or("(place not recorded)");
    page.spread(&left, at)
}
