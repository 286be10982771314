//! Escapes text for elements and attributes of XML.

use ctp_trace::escape::escaped_lines;

/// Escapes text for an element or attribute. Control characters, which XML does not allow, are escaped as
/// visible text. Line ends stay, for tooltips.
pub fn escape(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for c in escaped_lines(text).chars() {
        match c {
            '&' => written += "&amp;",
            '<' => written += "&lt;",
            '>' => written += "&gt;",
            '"' => written += "&quot;",
            '\'' => written += "&apos;",
            c => written.push(c),
        }
    }
    written
}
