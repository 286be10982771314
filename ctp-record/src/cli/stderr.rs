//! Output on stderr: all messages of the recorder pass through here.

use std::io::{self, Write as _};

use ctp_trace::escape::escaped_lines;

/// Prints these lines, with everything escaped that a terminal would act on.
pub fn say(lines: &str) {
    // If stderr cannot be written, only the exit status reports the result.
    let _ = io::stderr().write_all(escaped_lines(lines).as_bytes());
}

/// Writes over the cursor's line, and leaves the cursor at its start.
pub fn say_over(line: &str) {
    let line = escaped_lines(line);
    let _ = io::stderr().write_all(format!("\r{line}\x1b[K\r").as_bytes());
}

/// Clears the line of the cursor.
pub fn clear_line() {
    let _ = io::stderr().write_all(b"\r\x1b[K");
}
