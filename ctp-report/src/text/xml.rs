//! Text in elements and attributes of XML.

use ctp_trace::escape::escaped_lines;

/// Text that is only text, in an element as in an attribute. Control characters are escaped too: XML
/// has no way to write them. The ends of lines stay, as in tooltips.
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
