//! Makes the page about a selected row of `--top`: the page of `--stuck` for this coroutine or task, with the records that
//! prove the verdict.

use anyhow::Result;

use super::page::{self, printed};
use super::row::RowId;
use super::session::Session;
use crate::config::filter::Filter;
use crate::config::ignore::Ignore;
use crate::config::{Config, StuckView, TopView};
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
        ..page::config(config)
    };
    let view = StuckView {
        threshold: view.threshold,
        fail: false,
        all_ids: false,
        ignore: Ignore(view.ignore.0.clone()),
        markdown: None,
    };
    let (followed, names) = session.names_mut();
    let read = (followed.input(), &followed.model, names);
    let lines = printed(width, |output| {
        stuck::report(&config, &view, read, output).map(drop)
    })?;
    // The first lines say that a filter is used.
    let lines = lines.into_iter();
    Ok(lines
        .skip_while(|line| line.is_empty() || line.starts_with('#'))
        .collect())
}
