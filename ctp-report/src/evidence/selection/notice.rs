//! What a page says about a filter.

use std::io;

use crate::config::filter::Filter;
use crate::text::{Page, units};

/// How a line of a page about a filter begins.
const MARK: &str = "# filtered: ";

/// What `--time` selects in views that list coroutines.
pub(super) const BEGAN: &str =
    "only coroutines whose latest wait or run began in the time of --time";

/// What `--time` selects in views of waits and runs.
pub(super) const PARTS: &str = "only waits and runs in the time of --time, and only that part";

/// What `--time` selects in checks and comparisons.
pub(super) const ENDS: &str = "only waits and runs that ended in the time of --time";

/// Writes how many of `all` the filter admits, unless all, and what `--time` selects. `what` is the end of
/// the sentence, as `coroutines are shown`.
///
/// # Errors
/// If the page cannot be written.
pub fn write(
    page: &mut Page,
    filter: &Filter,
    (admitted, all): (usize, usize),
    what: &str,
) -> io::Result<()> {
    let is_whole = admitted == all;
    if !is_whole {
        page.line(&line(&counts((admitted, all), what)))?;
    }
    if filter.began.is_some() {
        page.line(&line(BEGAN))?;
    }
    if is_whole && filter.began.is_none() {
        Ok(())
    } else {
        page.gap()
    }
}

/// The line of a page that makes this statement about a filter.
pub(super) fn line(statement: &str) -> String {
    format!("{MARK}{statement}")
}

/// Says how many are shown.
pub(super) fn counts((shown, all): (usize, usize), what: &str) -> String {
    let shown = units::grouped(shown as u64);
    let all = units::grouped(all as u64);
    format!("{shown} of {all} {what}")
}
