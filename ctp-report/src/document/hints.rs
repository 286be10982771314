//! Commands that a page suggests as the next step.

use crate::config::{self, Config};
use crate::text;

/// Separates two hints on a line.
pub const GAP: &str = "        ";

/// The command that reads the same trace.
pub fn tool(config: &Config) -> String {
    let path = config.input.as_os_str().as_encoded_bytes();
    if path == config::DEFAULT_INPUT.as_bytes() {
        "ctp-report".to_owned()
    } else {
        format!("ctp-report -i {}", text::shell_word(path))
    }
}

/// Suggests a view of where the time went. A trace with totals has too few events for a flame graph.
pub fn how_to_see(tool: &str, by_name: bool) -> String {
    if by_name {
        format!("as a histogram: {tool} --histogram")
    } else {
        format!("as a flame graph: {tool} --flame flame.svg")
    }
}
