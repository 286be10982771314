//! Pages of other views, as lines without colours for the screen.

use anstream::adapter::strip_str;
use anyhow::Result;

use crate::config::{Config, Detail};
use crate::document::Output;
use crate::text::{Page, Width};

/// The configuration of a page on the screen: without the header, which the table shows.
pub fn config(config: &Config) -> Config {
    Config {
        detail: Detail::Quiet,
        json: false,
        has_links: false,
        ..config.clone()
    }
}

/// The lines of the page that `write` writes, at most `width` columns wide.
///
/// # Errors
/// Those of `write`.
pub fn printed(width: u16, write: impl FnOnce(Output) -> Result<()>) -> Result<Vec<String>> {
    let mut text = Vec::new();
    let page = Page::terminal(&mut text, Width::Columns(width.into()));
    write(Output::Page(page))?;
    let text = String::from_utf8_lossy(&text);
    let text = strip_str(&text).to_string();
    Ok(text.lines().map(str::to_owned).collect())
}
