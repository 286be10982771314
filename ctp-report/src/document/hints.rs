//! Commands that a page suggests to type next.

use crate::config::{self, Config};
use crate::text;

/// Between two hints on one line.
pub const GAP: &str = "        ";

/// How to call this program for the same trace.
pub fn tool(config: &Config) -> String {
    let path = config.input.as_os_str().as_encoded_bytes();
    if path == config::DEFAULT_INPUT.as_bytes() {
        "ctp-report".to_owned()
    } else {
        format!("ctp-report -i {}", text::shell_word(path))
    }
}

/// A picture of where the time went. A flame graph is made of events, of which a trace with totals
/// has few.
pub fn how_to_see(tool: &str, by_name: bool) -> String {
    match by_name {
        true => format!("how long each took: {tool} --histogram"),
        false => format!("to see it: {tool} --flame flame.svg"),
    }
}
