//! What a page says about a filter.

use std::io;

use crate::config::filter::Filter;
use crate::text::{Page, units};

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
        counts(page, (admitted, all), what)?;
    }
    if filter.began.is_some() {
        began(page)?;
    }
    if is_whole && filter.began.is_none() {
        Ok(())
    } else {
        page.gap()
    }
}

/// Writes how many are shown.
pub(super) fn counts(page: &mut Page, (shown, all): (usize, usize), what: &str) -> io::Result<()> {
    let shown = units::grouped(shown as u64);
    let all = units::grouped(all as u64);
    page.line(&format!("# filtered: {shown} of {all} {what}"))
}

/// Writes what `--time` selects in views that list coroutines.
pub(super) fn began(page: &mut Page) -> io::Result<()> {
    page.line("# filtered: only coroutines whose latest wait or run began in the time of --time")
}
