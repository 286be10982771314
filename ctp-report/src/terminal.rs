//! What standard output is: a terminal of some width, or something else.

use std::env;
use std::io::{self, IsTerminal as _};

use rustix::termios::tcgetwinsize;

use crate::text::Width;

/// The width of a terminal that does not report its size, in columns.
const USUAL_COLUMNS: usize = 100;

/// Whether standard output is a terminal.
pub fn is_stdout() -> bool {
    io::stdout().is_terminal()
}

/// The width of standard output. The variable `COLUMNS` has precedence over the size of the window.
pub fn width() -> Width {
    if !is_stdout() {
        return Width::Full;
    }
    let columns = of_environment().or_else(of_window);
    Width::Columns(columns.unwrap_or(USUAL_COLUMNS))
}

/// Whether standard output is a terminal that can do more than print characters.
pub fn is_capable() -> bool {
    let is_dumb = env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    is_stdout() && !is_dumb
}

fn of_environment() -> Option<usize> {
    let columns = env::var("COLUMNS").ok()?.trim().parse().ok();
    columns.filter(|columns| 0 < *columns)
}

fn of_window() -> Option<usize> {
    let columns = tcgetwinsize(io::stdout()).ok()?.ws_col;
    Some(usize::from(columns)).filter(|columns| 0 < *columns)
}
