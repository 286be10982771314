//! The commands that a page suggests as the next step.

use crate::config::{self, Config};
use crate::text;

/// Separates two hints on a line.
pub const GAP: &str = "        ";

/// The command, without a view, that reads the same trace.
pub fn tool(config: &Config) -> String {
    let path = config.input.as_os_str().as_encoded_bytes();
    if path == config::DEFAULT_INPUT.as_bytes() {
        "ctp-report".to_owned()
    } else {
        format!("ctp-report -i {}", text::shell_word(path))
    }
}

/// The command that shows where the time went: as a histogram for a trace with totals, which has too few events
/// for a flame graph, and as a flame graph otherwise.
pub fn time_view(tool: &str, by_name: bool) -> String {
    if by_name {
        format!("as a histogram: {tool} --histogram")
    } else {
        format!("as a flame graph: {tool} --flame flame.svg")
    }
}
