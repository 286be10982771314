//! The one way to stderr: all that the recorder says there passes through here.

use std::io::{self, Write as _};

use ctp_trace::escape::escaped_lines;

/// Writes these lines. What a terminal would obey in them is escaped, wherever it comes from.
pub fn say(lines: &str) {
    // Where stderr takes nothing, the exit status has to do.
    let _ = io::stderr().write_all(escaped_lines(lines).as_bytes());
}

/// Writes this over the line in which the cursor is, and leaves the cursor at its beginning.
pub fn say_over(line: &str) {
    let line = escaped_lines(line);
    let _ = io::stderr().write_all(format!("\r{line}\x1b[K\r").as_bytes());
}

/// Clears the line in which the cursor is.
pub fn clear_line() {
    let _ = io::stderr().write_all(b"\r\x1b[K");
}
