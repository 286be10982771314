//! Makes the page about a selected row of `--top`: the page of `--stuck` for this coroutine or task, with the records that
//! prove the verdict.

use anstream::adapter::strip_str;
use anyhow::Result;

use super::row::RowId;
use super::session::Session;
use crate::config::filter::Filter;
use crate::config::ignore::Ignore;
use crate::config::{Config, Detail, StuckView, TopView};
use crate::document::Output;
use crate::text::{Page, Width};
use crate::views::stuck;

/// The lines of the page about a coroutine or task, at most `width` columns wide.
///
/// # Errors
/// If the page cannot be made.
pub fn lines(
    config: &Config,
    view: &TopView,
    session: &mut Session,
    id: RowId,
    width: u16,
) -> Result<Vec<String>> {
    let number = id.number();
    let config = Config {
        filter: Filter {
            ids: vec![number..=number],
            ..Filter::default()
        },
        detail: Detail::Quiet,
        json: false,
        has_links: false,
        ..config.clone()
    };
    let view = StuckView {
        threshold: view.threshold,
        fail: false,
        all_ids: false,
        ignore: Ignore(view.ignore.0.clone()),
        markdown: None,
    };
    let mut text = Vec::new();
    let (followed, names) = session.names_mut();
    let read = (followed.input(), &followed.model, names);
    let page = Page::terminal(&mut text, Width::Columns(width.into()));
    stuck::report(&config, &view, read, Output::Page(page))?;
    let text = String::from_utf8_lossy(&text);
    let text = strip_str(&text).to_string();
    // The first lines say that a filter is used.
    let lines = text.lines();
    let lines = lines.skip_while(|line| line.is_empty() || line.starts_with('#'));
    Ok(lines.map(str::to_owned).collect())
}
