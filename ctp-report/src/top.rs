//! `--top`: a table of the coroutines of a recording that goes on, or of a running process. It is live on a
//! terminal, and printed once with `--once`.
//!
//! - `session` follows the trace, and keeps `rows` up to date. It judges by the rule of `--stuck`, at the
//!   `pace` that a small part of a processor allows.
//! - `order` sorts and groups rows. `line` and `summary` have their texts.
//! - `text` is the page of `--once`. `live` shows the table on the terminal that `shown` takes: `input` reads keys,
//!   `keys` changes what is shown, and `screen` draws. `proof` and `wake_chain` have the pages about a row, which
//!   `page` renders, and `background` makes the latter on a thread.
//! - `recorder` runs `ctp-record` for `-p`.

#[cfg(feature = "top")]
mod background;
#[cfg(feature = "top")]
mod input;
mod interval;
#[cfg(feature = "top")]
mod keys;
mod line;
#[cfg(feature = "top")]
mod live;
mod order;
mod pace;
#[cfg(feature = "top")]
mod page;
#[cfg(feature = "top")]
mod proof;
mod recorder;
mod row;
mod rows;
#[cfg(feature = "top")]
mod screen;
mod session;
#[cfg(feature = "top")]
mod shown;
mod signals;
mod summary;
mod text;
#[cfg(feature = "top")]
mod wake_chain;

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use ctp_trace::record::Nanos;
use serde_json::json;

use crate::config::{Config, TopView};
use crate::document;
use crate::evidence::inspected::check_filter;
use crate::load::follow::{Followed, TraceProgress};
use crate::terminal;
use line::EntryText;
use order::Order;
use recorder::Recorder;
use session::Session;
use signals::Signals;
use summary::Summary;

/// Shows the table, on a terminal or once.
///
/// # Errors
/// If the trace or the process cannot be read, or `out` cannot be written.
pub fn show(config: &Config, view: &TopView, out: &mut dyn Write) -> Result<()> {
    if !view.once {
        terminal_is_there()?;
    }
    let signals = Signals::watch()?;
    let shown = if view.once {
        show_once(config, view, &signals, out)
    } else {
        show_live(config, view, &signals)
    };
    signals.obey();
    shown
}

fn terminal_is_there() -> Result<()> {
    if terminal::is_stdout() {
        return Ok(());
    }
    bail!(
        "--top shows a live table on a terminal, which standard output is not: add --once to print it"
    )
}

#[cfg(feature = "top")]
fn show_live(config: &Config, view: &TopView, signals: &Signals) -> Result<()> {
    live::show(config, view, signals)
}

#[cfg(not(feature = "top"))]
fn show_live(_: &Config, _: &TopView, _: &Signals) -> Result<()> {
    bail!(
        "this ctp-report was built without the live table (feature `top`): --top --once prints it"
    )
}

fn show_once(
    config: &Config,
    view: &TopView,
    signals: &Signals,
    out: &mut dyn Write,
) -> Result<()> {
    let Some(pid) = view.pid else {
        return once(config, view, &config.input, (signals, out));
    };
    // Two inspections, of which the second begins after the interval.
    let duration = Nanos(view.interval.0.saturating_mul(2));
    let mut recorder = Recorder::start(pid, view.interval, Some(duration))?;
    recorder.wait(signals)?;
    once(config, view, &recorder.trace(), (signals, out))
}

/// Prints the table. If the recording goes on, rates are those of an interval from now on.
fn once(
    config: &Config,
    view: &TopView,
    trace: &Path,
    (signals, out): (&Signals, &mut dyn Write),
) -> Result<()> {
    let mut session = Session::open(config, view, Followed::open(config, trace)?)?;
    if session.followed().progress() == TraceProgress::GoesOn {
        signals.sleep(Duration::from_nanos(view.interval.0));
        session.refresh()?;
    }
    if signals.have_arrived() {
        return Ok(());
    }
    session.judge_now();
    let model = &session.followed().model;
    if model.is_inspection() {
        check_filter(&config.filter)?;
    } else {
        model.check_not_empty()?;
    }
    print(config, view, &session, out)
}

fn print(config: &Config, view: &TopView, session: &Session, out: &mut dyn Write) -> Result<()> {
    let order = Order {
        sort: view.sort,
        is_reversed: false,
        is_grouped: view.is_grouped,
    };
    let limit = view.limit.unwrap_or(usize::MAX);
    let entries = session.entries(order, limit);
    let shown = entries.first.iter();
    let lines: Vec<EntryText> = shown.map(|entry| session.line(entry)).collect();
    let summary = Summary::of(session);
    let about = (&session.followed().model, session.names());
    let fields = || json!({ "top": summary, "rows": lines });
    document::write(config, about, out, fields, |page| {
        text::page(page, &summary, (&lines, entries.count), view.is_grouped)
    })
}
